//! The operations, on torch. Only calls of tch that return errors, and none that takes a `Scalar`,
//! whose drop panics when the call has failed.

mod carrier;
mod cast;
mod failure;
mod math;
mod reduce;
mod scale;

use arraybridge_core::ops::{ArrayOps, Reduction, broadcast_pair};
use arraybridge_core::{AxisSlice, DType, DTypeKind, Error, HostArray};
use tch::Tensor;

use crate::torch::{self, Reach, Seen};
use crate::{Tch, dtype, exchange};
use carrier::{from_bits, to_bits};
use failure::{Failure, run};

/// The dtype of integers' means and quotients.
const QUOTIENT: DType = DType::F32;

/// Lengths and indices as torch takes them; those of arrays fit.
fn signed(lengths: &[usize]) -> Vec<i64> {
    lengths.iter().map(|&length| length as i64).collect()
}

/// Makes a 0-d tensor on the device of another.
fn scalar(value: f64, dtype: DType, like: &Seen) -> Result<Tensor, Failure> {
    let value = HostArray::from_slice(&[value], &[])?;
    let value = arraybridge_core::ops::cast::cast(&value, dtype)?;
    Ok(exchange::upload(&value, like.device)?)
}

impl ArrayOps<Tch> for Tch {
    fn reduce(&self, array: &Tensor, by: Reduction, axes: &[usize]) -> Result<Tensor, Error> {
        let seen = Seen::of(array)?;
        run(by.name(), &seen, || reduce::reduce(array, &seen, by, axes))
    }

    fn astype(&self, array: &Tensor, dtype: DType) -> Result<Tensor, Error> {
        dtype::scalar_type(dtype, "astype")?;
        let seen = Seen::of(array)?;
        run("astype", &seen, || cast::cast(array, seen.dtype, dtype))
    }

    /// A view where torch can make one, as its own `reshape`.
    fn reshape(&self, array: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        let seen = Seen::of(array)?;
        run("reshape", &seen, || Ok(array.f_reshape(signed(shape))?))
    }

    /// A view, as torch's own `expand`.
    fn broadcast_to(&self, array: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        let seen = Seen::of(array)?;
        run("broadcast_to", &seen, || Ok(array.f_expand(signed(shape), false)?))
    }

    fn ones_like(
        &self,
        reference: &Tensor,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Tensor, Error> {
        let seen = Seen::of(reference)?;
        run("ones_like", &seen, || math::ones(shape, dtype, seen.device))
    }

    fn assign(
        &self,
        data: &mut Option<Tensor>,
        index: AxisSlice,
        values: &Tensor,
    ) -> Result<Tensor, Error> {
        let given = data.as_ref().ok_or_else(|| Error::already_taken("assign"))?;
        let seen = Seen::of(given)?;
        let rows = seen.layout.shape().first().copied().unwrap_or(0);
        let (start, count, step) = index.resolve(rows)?;
        // A graph does not see what is written below, so that its gradients would be wrong.
        let in_place = seen.reach == Reach::Exclusive
            && !seen.requires_grad
            && !seen.is_lazy
            && !seen.layout.may_overlap();
        let copied = if in_place { None } else { Some(exchange::copy(given)?) };
        let target = copied.as_ref().unwrap_or(given);
        if count > 0 {
            let _part = run("assign", &seen, || {
                // Torch's steps are positive: the rows are walked from the other end.
                let stride = step.unsigned_abs();
                let first = if step > 0 { start } else { start - (count - 1) * stride };
                let end = first + (count - 1) * stride + 1;
                let target = to_bits(&target.f_detach()?, seen.dtype)?;
                let mut part = target.f_slice(0, first as i64, end as i64, stride as i64)?;
                let values = to_bits(&values.f_detach()?, seen.dtype)?;
                let mut values = values.f_expand(part.size(), false)?;
                if step < 0 {
                    values = values.f_flip([0])?;
                }
                part.f_copy_(&values)?;
                Ok(part)
            })?;
        }
        let taken = data.take();
        copied.or(taken).ok_or_else(|| Error::already_taken("assign"))
    }

    fn logical_and(&self, left: &Tensor, right: &Tensor) -> Result<Tensor, Error> {
        let (first, second) = (Seen::of(left)?, Seen::of(right)?);
        broadcast_pair("logical_and", first.layout.shape(), second.layout.shape())?;
        run("logical_and", &first, || {
            let left = cast::cast(left, first.dtype, DType::Bool)?;
            let right = cast::cast(right, second.dtype, DType::Bool)?;
            Ok(left.f_logical_and(&right)?)
        })
    }

    fn stack(&self, arrays: &[&Tensor]) -> Result<Tensor, Error> {
        let first = *arrays.first().ok_or_else(|| Error::InvalidArgument {
            operation: "stack",
            message: "no arrays were given".into(),
        })?;
        let seen = Seen::of(first)?;
        run("stack", &seen, || {
            let planes: Vec<Tensor> =
                arrays.iter().map(|array| to_bits(array, seen.dtype)).collect::<Result<_, _>>()?;
            from_bits(&Tensor::f_stack(&planes, 0)?, seen.dtype)
        })
    }

    fn plane(&self, array: &Tensor, index: usize) -> Result<Tensor, Error> {
        let seen = Seen::of(array)?;
        let plane = run("plane", &seen, || Ok(array.f_select(0, index as i64)?))?;
        // A view would be written with the array.
        exchange::copy(&plane)
    }

    fn normalize_planes(
        &self,
        array: &Tensor,
        dtype: DType,
        scales: &[Option<f64>],
    ) -> Result<Tensor, Error> {
        dtype::scalar_type(dtype, "normalize_planes")?;
        let seen = Seen::of(array)?;
        let result = if dtype.is_integer() || dtype == DType::Bool { QUOTIENT } else { dtype };
        // What the division is computed in, and the scales are.
        let (wide, scale_dtype) = match result {
            DType::F64 => (DType::F64, DType::F64),
            DType::Complex128 => (DType::Complex128, DType::F64),
            _ if result.kind() == DTypeKind::Complex => (DType::Complex64, DType::F32),
            _ => (DType::F32, DType::F32),
        };
        let scales: Vec<f64> = scales.iter().map(|scale| scale.unwrap_or(1.0)).collect();
        let mut shape = vec![1; seen.layout.rank()];
        shape[0] = scales.len();
        let scales = HostArray::from_slice(&scales, &shape)?;
        let scales = arraybridge_core::ops::cast::cast(&scales, scale_dtype)?;
        let scales = exchange::upload(&scales, seen.device)?;
        run("normalize_planes", &seen, || {
            let planes = cast::cast(array, seen.dtype, dtype)?;
            let planes = cast::cast(&planes, dtype, wide)?;
            cast::cast(&planes.f_div(&scales)?, wide, result)
        })
    }

    fn scale_dtype(&self, array: &Tensor, dtype: DType) -> Result<Tensor, Error> {
        dtype::scalar_type(dtype, "scale_dtype")?;
        let seen = Seen::of(array)?;
        run("scale_dtype", &seen, || scale::scale(array, &seen, dtype))
    }
}

/// Reads a tensor of one element as an `f64`.
fn number(tensor: &Tensor) -> Result<f64, Failure> {
    let tensor = torch::cast(tensor, dtype::scalar_type(DType::F64, "a number")?)?;
    let host = exchange::download(&tensor)?;
    Ok(host.as_slice::<f64>()?.first().copied().unwrap_or(f64::NAN))
}
