//! Rescaling floats into integers, by core's formula.

use arraybridge_core::ops::scale::{Rescale, ends};
use arraybridge_core::{DType, DTypeKind};
use tch::Tensor;

use super::failure::Failure;
use super::{cast, number, scalar};
use crate::torch::Seen;

pub(super) fn scale(array: &Tensor, seen: &Seen, to: DType) -> Result<Tensor, Failure> {
    let from = seen.dtype;
    let rescales = from.kind() == DTypeKind::Float && ends(to).is_some();
    if !rescales || seen.layout.is_empty() {
        return cast::cast(array, from, to);
    }
    let read = if from == DType::F64 { DType::F64 } else { DType::F32 };
    let floats = cast::cast(array, from, read)?;
    let range = finite_range(&floats, &Seen::of(&floats)?)?;
    let Some(rescale) = Rescale::new(from, to, Some(range)) else {
        return cast::cast(array, from, to);
    };
    let wide = rescale.precision;
    // Every step in place, on memory of this function's own.
    let mut x = if wide == read { floats } else { cast::cast(&floats, read, wide)? };
    let constant = |value: f64| scalar(value, wide, seen);
    // Halving is exact and keeps the span of the widest doubles finite.
    let shrink = if (rescale.max - rescale.min).is_finite() { 1.0 } else { 0.5 };
    if shrink != 1.0 {
        x = x.f_mul_(&constant(shrink)?)?;
    }
    let min = rescale.min * shrink;
    let span = match wide {
        DType::F32 => f64::from(rescale.max as f32 - rescale.min as f32),
        _ => rescale.max * shrink - min,
    };
    x = x.f_sub_(&constant(min)?)?;
    x = x.f_div_(&constant(span)?)?;
    x = x.f_mul_(&constant(rescale.factor)?)?;
    x = x.f_add_(&constant(rescale.offset)?)?;
    cast::saturate(&x, wide, to)
}

/// Returns the smallest and largest finite element; the wrong way round if there is none.
fn finite_range(floats: &Tensor, seen: &Seen) -> Result<(f64, f64), Failure> {
    let finite = floats.f_isfinite()?;
    let axes: Vec<i64> = (0..seen.layout.rank() as i64).collect();
    let end = |value: f64, smallest: bool| -> Result<f64, Failure> {
        let filler = scalar(value, seen.dtype, seen)?;
        let chosen = floats.f_where_self(&finite, &filler)?;
        number(&if smallest {
            chosen.f_amin(&axes[..], false)
        } else {
            chosen.f_amax(&axes[..], false)
        }?)
    };
    Ok((end(f64::INFINITY, true)?, end(f64::NEG_INFINITY, false)?))
}
