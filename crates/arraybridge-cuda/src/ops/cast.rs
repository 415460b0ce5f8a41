//! Casts, pairs of arrays, and scales.

use arraybridge_core::ops::scale;
use arraybridge_core::{DType, DTypeKind, Error, HostArray};

use super::arguments::{Cast, Divide, F64, Pair, Rescale, carrier, code};
use super::reduce;
use super::task::Task;
use super::walk::Walk;
use crate::{CudaArray, exchange};

/// Casts into a row-major array; an array that has the dtype is shared.
pub(super) fn cast(task: &Task, array: &CudaArray, dtype: DType) -> Result<CudaArray, Error> {
    if array.dtype() == dtype {
        return Ok(array.clone());
    }
    let target = task.make(dtype, array.shape())?;
    let count = array.layout().len();
    if count == 0 {
        return Ok(target);
    }
    let mut source = task.read(array)?;
    let mut walk = Walk::new(source.shape(), [source.layout().strides()]);
    if !walk.fits() {
        source = task.gather(&source)?;
        walk = Walk::new(source.shape(), [source.layout().strides()]);
    }
    let arguments = Cast {
        shape: walk.shape(),
        from: walk.view(0, source.address()),
        to: target.address(),
        from_code: code(array.dtype())?,
        to_code: code(dtype)?,
    };
    let kernel = format!("cast_{}", carrier(array.dtype()).name);
    // SAFETY: `cast_*` takes these, of arrays of this task.
    unsafe { task.run(&kernel, &arguments, count) }?;
    Ok(target)
}

/// Runs a kernel of two arrays that broadcast to a shape.
pub(super) fn pair(
    task: &Task,
    kernel: &str,
    (left, right): (&CudaArray, &CudaArray),
    shape: &[usize],
    dtype: DType,
) -> Result<CudaArray, Error> {
    let target = task.make(dtype, shape)?;
    let count = target.layout().len();
    if count == 0 {
        return Ok(target);
    }
    let spread = |array: &CudaArray| -> Result<CudaArray, Error> {
        let layout = array.layout().broadcast_to(shape)?;
        task.read(&array.view(layout, 0))
    };
    let (mut left, mut right) = (spread(left)?, spread(right)?);
    let mut walk = Walk::new(shape, [left.layout().strides(), right.layout().strides()]);
    if !walk.fits() {
        (left, right) = (task.gather(&left)?, task.gather(&right)?);
        walk = Walk::new(shape, [left.layout().strides(), right.layout().strides()]);
    }
    let arguments = Pair {
        shape: walk.shape(),
        left: walk.view(0, left.address()),
        right: walk.view(1, right.address()),
        to: target.address(),
        code: code(left.dtype())?,
        to_code: code(dtype)?,
    };
    // SAFETY: `logical_and` and `multiply_*` take these, of arrays of this task.
    unsafe { task.run(kernel, &arguments, count) }?;
    Ok(target)
}

/// Divides the planes of the first axis, cast to a dtype, by their scales.
pub(super) fn normalize(
    task: &Task,
    array: &CudaArray,
    dtype: DType,
    scales: &[Option<f64>],
) -> Result<CudaArray, Error> {
    let mut planes = cast(task, array, dtype)?;
    if dtype.is_integer() || dtype == DType::Bool {
        planes = cast(task, &planes, DType::F32)?;
    }
    let planes = task.contiguous(&planes)?;
    let target = task.make(planes.dtype(), planes.shape())?;
    let count = planes.layout().len();
    if count == 0 {
        return Ok(target);
    }
    let scales: Vec<f64> = scales.iter().map(|scale| scale.unwrap_or(1.0)).collect();
    let scales = HostArray::from_slice(&scales, &[scales.len()])?;
    let scales = task.read(&exchange::upload_to(&scales, &task.context)?)?;
    let arguments = Divide {
        from: planes.address(),
        to: target.address(),
        scales: scales.address(),
        count: count as u64,
        plane: (count / planes.shape()[0]) as u64,
        code: code(planes.dtype())?,
        to_code: code(planes.dtype())?,
    };
    let kernel = format!("divide_{}", carrier(planes.dtype()).name);
    // SAFETY: `divide_*` takes these, of arrays of this task; there is a scale for each plane.
    unsafe { task.run(&kernel, &arguments, count) }?;
    Ok(target)
}

/// Rescales floats into the range of an integer dtype. The range of the elements stays on the device.
pub(super) fn rescale(task: &Task, array: &CudaArray, dtype: DType) -> Result<CudaArray, Error> {
    let ends = scale::ends(dtype).filter(|_| array.dtype().kind() == DTypeKind::Float);
    let Some((factor, offset)) = ends else { return cast(task, array, dtype) };
    let count = array.layout().len();
    if count == 0 {
        return task.make(dtype, array.shape());
    }
    let source = task.contiguous(array)?;
    let carrier = carrier(array.dtype());
    let axes: Vec<usize> = (0..array.shape().len()).collect();
    let low = reduce::fold(task, &source, "finite_min", carrier, &axes)?;
    let high = reduce::fold(task, &source, "finite_max", carrier, &axes)?;
    let target = task.make(dtype, array.shape())?;
    let arguments = Rescale {
        from: source.address(),
        to: target.address(),
        low: low.address(),
        high: high.address(),
        count: count as u64,
        factor,
        offset,
        code: code(array.dtype())?,
        to_code: code(dtype)?,
        wide: u64::from(dtype.size() > 2 || carrier == F64),
    };
    let kernel = format!("rescale_{}", carrier.name);
    // SAFETY: `rescale_*` takes these, of arrays of this task; the range is one element each.
    unsafe { task.run(&kernel, &arguments, count) }?;
    Ok(target)
}
