//! Reductions.

use arraybridge_core::ops::Reduction;
use arraybridge_core::{DType, DTypeKind, Error};
use tch::{Kind, Tensor};

use super::carrier::{accumulator, arithmetic, as_dtype};
use super::failure::Failure;
use super::{QUOTIENT, cast};
use crate::library::NAME;
use crate::torch::Seen;

pub(super) fn reduce(
    array: &Tensor,
    seen: &Seen,
    by: Reduction,
    axes: &[usize],
) -> Result<Tensor, Failure> {
    let dtype = seen.dtype;
    let chooses = matches!(by, Reduction::Max | Reduction::Min);
    if chooses && dtype.kind() == DTypeKind::Complex {
        let operation = by.name();
        return Err(Error::DtypeUnsupported { library: NAME, operation, dtype }.into());
    }
    if chooses && seen.layout.is_empty() {
        // Where there is nothing to choose from, there is nothing to choose for; torch refuses.
        let lengths = seen.layout.shape().iter().enumerate();
        let kept: Vec<usize> =
            lengths.filter(|(axis, _)| !axes.contains(axis)).map(|(_, &length)| length).collect();
        return super::math::ones(&kept, dtype, seen.device);
    }
    if axes.is_empty() {
        // No axis means every one to torch. A new one of length 1 has nothing to reduce.
        return over(&array.f_unsqueeze(0)?, dtype, by, &[0]);
    }
    let axes: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    over(array, dtype, by, &axes)
}

fn over(array: &Tensor, dtype: DType, by: Reduction, axes: &[i64]) -> Result<Tensor, Failure> {
    match by {
        Reduction::Max | Reduction::Min => extreme(array, dtype, by, axes),
        Reduction::Mean => mean(array, dtype, axes),
        _ => sum(array, dtype, axes),
    }
}

fn extreme(array: &Tensor, dtype: DType, by: Reduction, axes: &[i64]) -> Result<Tensor, Failure> {
    let choose = |array: &Tensor| match by {
        Reduction::Max => array.f_amax(axes, false),
        _ => array.f_amin(axes, false),
    };
    if dtype == DType::U64 {
        // In signed order with the highest bit turned over.
        let lowest = super::scalar(i64::MIN as f64, DType::I64, &Seen::of(array)?)?;
        let turned = as_dtype(array, DType::I64)?.f_bitwise_xor_tensor(&lowest)?;
        let chosen = choose(&turned)?.f_bitwise_xor_tensor(&lowest)?;
        return as_dtype(&chosen, DType::U64);
    }
    let carrier = arithmetic(dtype);
    if carrier == dtype {
        return Ok(choose(array)?);
    }
    let chosen = choose(&cast::cast(array, dtype, carrier)?)?;
    cast::cast(&chosen, carrier, dtype)
}

fn sum(array: &Tensor, dtype: DType, axes: &[i64]) -> Result<Tensor, Failure> {
    match dtype.kind() {
        DTypeKind::Float | DTypeKind::Complex => {
            let carrier = accumulator(dtype);
            if carrier == dtype {
                return Ok(array.f_sum_dim_intlist(axes, false, None)?);
            }
            let sum = cast::cast(array, dtype, carrier)?.f_sum_dim_intlist(axes, false, None)?;
            cast::cast(&sum, carrier, dtype)
        }
        _ => {
            // Sums of 64 bits wrap alike, signed or not.
            let bits = if dtype == DType::U64 {
                as_dtype(array, DType::I64)?
            } else {
                array.f_detach()?
            };
            let sum = bits.f_sum_dim_intlist(axes, false, Kind::Int64)?;
            if dtype == DType::U64 { as_dtype(&sum, DType::U64) } else { Ok(sum) }
        }
    }
}

fn mean(array: &Tensor, dtype: DType, axes: &[i64]) -> Result<Tensor, Failure> {
    let (carrier, result) = match dtype.kind() {
        DTypeKind::Float | DTypeKind::Complex => (accumulator(dtype), dtype),
        // 32 bits and more are not exact in f32, and neither are their sums.
        _ if dtype.size() > 2 => (DType::F64, QUOTIENT),
        _ => (DType::F32, QUOTIENT),
    };
    if carrier == dtype {
        return Ok(array.f_mean_dim(axes, false, None)?);
    }
    let mean = cast::cast(array, dtype, carrier)?.f_mean_dim(axes, false, None)?;
    if carrier == result { Ok(mean) } else { cast::cast(&mean, carrier, result) }
}
