//! Plain casts, rescaling, and planes divided by scales: a kernel over every element.

use arraybridge_core::ops::cast as rules;
use arraybridge_core::ops::scale::ends;
use arraybridge_core::{DType, Error, HostArray};

use super::element::{Element, real};
use super::reduce;
use super::task::{CAST, PLANES, SCALE, Task};
use super::walk::Walk;
use crate::library::NAME;
use crate::{ClArray, exchange};

/// The options that say how an array lies: few, so that there are few programs.
fn contiguous(array: &ClArray) -> Option<String> {
    array.layout().is_row_major().then(|| "CONTIGUOUS".to_owned())
}

fn walk(array: &ClArray) -> Result<Walk, Error> {
    Walk::new(array.shape(), array.layout().strides())
}

fn refs(options: &[String]) -> Vec<&str> {
    options.iter().map(String::as_str).collect()
}

/// Casts an array to another dtype.
pub(super) fn cast(array: &ClArray, dtype: DType) -> Result<ClArray, Error> {
    let place = array.place();
    let source = Element::of(array.dtype(), "astype", place)?;
    let target = Element::of(dtype, "astype", place)?;
    let made = ClArray::allocate(place, dtype, array.shape())?;
    let mut options =
        vec![format!("SOURCE={}", source.name), format!("SOURCE_PARTS={}", source.parts)];
    options.extend(contiguous(array));
    let task = Task::new(place, &CAST, &format!("to_{}", target.whole), &refs(&options))?
        .read(array)
        .value(walk(array)?)
        .write(made.memory())
        .value(made.layout().len() as u64);
    // SAFETY: the walk is that of the array, and the new array has as many elements.
    unsafe { task.run_over(made.layout().len()) }?;
    Ok(made)
}

/// Rescales floats into an integer dtype, whose ends are known to [`ends`].
pub(super) fn scale(array: &ClArray, dtype: DType) -> Result<ClArray, Error> {
    let place = array.place();
    let Some((factor, offset)) = ends(dtype) else { return cast(array, dtype) };
    let source = Element::of(array.dtype(), "scale_dtype", place)?;
    let target = Element::of(dtype, "scale_dtype", place)?;
    let made = ClArray::allocate(place, dtype, array.shape())?;
    let count = made.layout().len();
    if count == 0 {
        return Ok(made);
    }
    let wide = array.dtype() == DType::F64 || dtype.size() > 2;
    if wide && !place.known.facts.fp64 {
        // A float has too few digits for the steps of so wide an integer.
        let operation = "scale_dtype on a device without f64";
        return Err(Error::DtypeUnsupported { library: NAME, operation, dtype });
    }
    let precision = if wide { DType::F64 } else { DType::F32 };
    let range = reduce::finite_range(array, precision)?;
    let mut options = vec![
        format!("SOURCE={}", source.name),
        format!("TARGET={}", target.name),
        format!("REAL={}", real(precision)),
    ];
    options.extend(contiguous(array));
    let task = Task::new(place, &SCALE, "scale", &refs(&options))?
        .read(array)
        .value(walk(array)?)
        .write(made.memory())
        .value(count as u64)
        .read_whole(&range);
    let task = match precision {
        DType::F64 => task.value(factor).value(offset),
        _ => task.value(factor as f32).value(offset as f32),
    };
    // SAFETY: as in `cast`; the range is of two numbers of this precision.
    unsafe { task.run_over(count) }?;
    Ok(made)
}

/// Casts every plane of the first axis and divides it by its scale.
pub(super) fn normalize_planes(
    array: &ClArray,
    dtype: DType,
    scales: &[Option<f64>],
) -> Result<ClArray, Error> {
    let place = array.place();
    let cast = if array.dtype() == dtype { array.clone() } else { cast(array, dtype)? };
    let source = Element::of(dtype, "normalize_planes", place)?;
    let whole = dtype.is_integer() || dtype == DType::Bool;
    let quotient = if whole { super::QUOTIENT } else { dtype };
    let target = Element::of(quotient, "normalize_planes", place)?;
    let made = ClArray::allocate(place, quotient, array.shape())?;
    let count = made.layout().len();
    if count == 0 {
        return Ok(made);
    }
    let precision = if target.name == "f64" { DType::F64 } else { DType::F32 };
    let scales: Vec<f64> = scales.iter().map(|scale| scale.unwrap_or(1.0)).collect();
    let scales = HostArray::from_slice(&scales, &[scales.len()])?;
    let scales = rules::cast(&scales, precision)?;
    let scales = exchange::upload(&scales, place)?;
    let mut options = vec![
        format!("SOURCE={}", source.name),
        format!("TARGET={}", target.name),
        format!("PARTS={}", source.parts),
        format!("REAL={}", real(precision)),
    ];
    options.extend(contiguous(&cast));
    let task = Task::new(place, &PLANES, "divide_planes", &refs(&options))?
        .read(&cast)
        .value(walk(&cast)?)
        .write(made.memory())
        .value(count as u64)
        .read_whole(&scales)
        .value((count / array.shape()[0]) as u64);
    // SAFETY: as in `cast`; there are as many scales as planes.
    unsafe { task.run_over(count) }?;
    Ok(made)
}
