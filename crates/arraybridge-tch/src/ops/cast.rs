//! Plain casts by the shared rules: truncating, saturating, NaN to zero; integers wrap.

use arraybridge_core::{DType, DTypeKind};
use tch::{Kind, Tensor};

use super::carrier::{arithmetic, as_dtype};
use super::failure::Failure;
use super::scalar;
use crate::torch::{self, Seen};
use crate::{dtype, exchange};

/// Casts a tensor into a new one; complex into real numbers is refused before this is called.
pub(super) fn cast(tensor: &Tensor, from: DType, to: DType) -> Result<Tensor, Failure> {
    if from == to {
        return plain(tensor, to);
    }
    match (from.kind(), to.kind()) {
        (_, DTypeKind::Bool) if arithmetic(from) != from => {
            cast(&plain(tensor, arithmetic(from))?, arithmetic(from), DType::Bool)
        }
        (DTypeKind::Complex, DTypeKind::Complex) => {
            let parts = tensor.f_resolve_conj()?.f_view_as_real()?;
            let parts = cast(&parts, part(from), part(to))?;
            Ok(parts.f_view_as_complex()?)
        }
        (_, DTypeKind::Complex) => plain(&cast(tensor, from, part(to))?, to),
        (DTypeKind::Float, DTypeKind::Signed | DTypeKind::Unsigned) => {
            let wide = if from == DType::F64 || to.size() > 2 { DType::F64 } else { DType::F32 };
            saturate(&plain(tensor, wide)?, wide, to)
        }
        (_, DTypeKind::Float) if to.size() < 4 => narrow(tensor, from, to),
        _ => plain(tensor, to),
    }
}

/// Casts as torch does.
fn plain(tensor: &Tensor, to: DType) -> Result<Tensor, Failure> {
    Ok(torch::cast(tensor, dtype::scalar_type(to, "a cast")?)?)
}

/// The dtype of a complex number's parts.
fn part(dtype: DType) -> DType {
    match dtype {
        DType::Complex32 => DType::F16,
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        real => real,
    }
}

/// Casts into a float narrower than f32, which torch does by way of f32. Where that is not exact, it
/// is rounded to odd first, so that the second rounding is as if it were the only one.
fn narrow(tensor: &Tensor, from: DType, to: DType) -> Result<Tensor, Failure> {
    let exact = from.size() < 4 || from == DType::F32;
    if exact {
        return last(&plain(tensor, DType::F32)?, to);
    }
    let wide = plain(tensor, DType::F64)?;
    let nearest = plain(&wide, DType::F32)?;
    let back = plain(&nearest, DType::F64)?;
    // NaN differs from itself, and stays NaN with its lowest bit set.
    let inexact = plain(&back.f_ne_tensor(&wide)?, DType::I32)?;
    let beyond = back.f_abs()?.f_gt_tensor(&wide.f_abs()?)?;
    // One code toward zero where it was rounded away from it, infinity to the largest number.
    let bits = as_dtype(&nearest, DType::I32)?.f_sub(&plain(&beyond, DType::I32)?)?;
    let odd = as_dtype(&bits.f_bitwise_or_tensor(&inexact)?, DType::F32)?;
    last(&odd, to)
}

/// Casts f32 into a narrower float, with NaN where the format has no number near it: there torch
/// takes the largest number (from version 2.13 on) or leaves the sign out.
fn last(tensor: &Tensor, to: DType) -> Result<Tensor, Failure> {
    let seen = Seen::of(tensor)?;
    let beyond = match to {
        // Half way from the largest number to what would be the next is still rounded down.
        DType::F8E4M3Fn => tensor.f_abs()?.f_gt_tensor(&scalar(464.0, DType::F32, &seen)?)?,
        DType::F8E8M0Fnu => tensor.f_lt_tensor(&scalar(0.0, DType::F32, &seen)?)?,
        _ => return plain(tensor, to),
    };
    let nan = scalar(f64::NAN, DType::F32, &seen)?;
    plain(&nan.f_where_self(&beyond, tensor)?, to)
}

/// Truncates floats (f32 or f64) into integers, ends beyond the range and NaN to zero. What torch
/// does there by itself depends on the device.
pub(super) fn saturate(floats: &Tensor, float: DType, to: DType) -> Result<Tensor, Failure> {
    let seen = Seen::of(floats)?;
    let numbers = floats.f_nan_to_num(0.0, f64::INFINITY, f64::NEG_INFINITY)?;
    let bits = to.size() as i32 * 8;
    let (lowest, above) = match to.kind() {
        DTypeKind::Signed => (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1)),
        _ => (0.0, 2f64.powi(bits)),
    };
    if bits < 64 {
        let (low, high) = (scalar(lowest, float, &seen)?, scalar(above - 1.0, float, &seen)?);
        return plain(&numbers.f_clamp_tensor(Some(low), Some(high))?, to);
    }
    // The largest integers of 64 bits are no floats: they are put in afterwards.
    let too_high = numbers.f_ge_tensor(&scalar(above, float, &seen)?)?;
    let numbers = numbers.f_clamp_tensor(Some(scalar(lowest, float, &seen)?), None)?;
    let zero = scalar(0.0, float, &seen)?;
    let numbers = zero.f_where_self(&too_high, &numbers)?;
    if to == DType::I64 {
        let largest = integer(i64::MAX, &seen)?;
        return Ok(largest.f_where_self(&too_high, &numbers.f_to_kind(Kind::Int64)?)?);
    }
    // The upper half of u64 is made without its highest bit, which is then set.
    let half = scalar(2f64.powi(63), float, &seen)?;
    let upper = numbers.f_ge_tensor(&half)?;
    let lower = numbers.f_sub(&half)?.f_where_self(&upper, &numbers)?.f_to_kind(Kind::Int64)?;
    let set = lower.f_bitwise_xor_tensor(&integer(i64::MIN, &seen)?)?;
    let whole = set.f_where_self(&upper, &lower)?;
    let all = integer(-1, &seen)?.f_where_self(&too_high, &whole)?;
    as_dtype(&all, DType::U64)
}

fn integer(value: i64, like: &Seen) -> Result<Tensor, Failure> {
    let value = arraybridge_core::HostArray::from_slice(&[value], &[])?;
    Ok(exchange::upload(&value, like.device)?)
}
