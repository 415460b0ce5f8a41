//! Reductions.

use arraybridge_core::ops::Reduction;
use arraybridge_core::{DType, DTypeKind, Error};

use super::text::{Builder, Value};
use super::{QUOTIENT, cast};
use crate::library::NAME;

/// Refuses what has no order.
pub(super) fn check(dtype: DType, by: Reduction) -> Result<(), Error> {
    let ordered = matches!(by, Reduction::Max | Reduction::Min);
    if ordered && dtype.kind() == DTypeKind::Complex {
        return Err(Error::DtypeUnsupported { library: NAME, operation: by.name(), dtype });
    }
    Ok(())
}

pub(super) fn reduce(builder: &mut Builder, value: &Value, by: Reduction, axes: &[usize]) -> Value {
    match by {
        Reduction::Max => extreme(builder, value, axes, true),
        Reduction::Min => extreme(builder, value, axes, false),
        Reduction::Mean => mean(builder, value, axes),
        _ => sum(builder, value, axes),
    }
}

fn extreme(builder: &mut Builder, value: &Value, axes: &[usize], largest: bool) -> Value {
    let dtype = value.kind.dtype;
    // The 8-bit floats are compared as f32, which holds all of them.
    let wide = if dtype.is_float8() { builder.convert(value, DType::F32) } else { value.clone() };
    let start = match wide.kind.dtype {
        DType::Bool => builder.scalar(if largest { "false" } else { "true" }, DType::Bool),
        float if float.is_float() => {
            let end = if largest { f64::NEG_INFINITY } else { f64::INFINITY };
            builder.float(end, float)
        }
        integer => {
            let (lowest, highest) = cast::ends(integer);
            builder.scalar(&if largest { lowest } else { highest }.to_string(), integer)
        }
    };
    let operation = if largest { "maximum" } else { "minimum" };
    let mut reduced = builder.reduce(&wide, operation, &start, axes);
    if wide.kind.dtype.is_float() {
        // Plugins are free to lose NaN in a minimum (XLA's CPU does), so it is looked for.
        let is_nan = builder.compare("NE", &wide, &wide);
        let none = builder.scalar("false", DType::Bool);
        let has_nan = builder.reduce(&is_nan, "or", &none, axes);
        let nan = builder.float(f64::NAN, wide.kind.dtype);
        let nans = builder.filled(&nan, &reduced.kind.shape.clone());
        reduced = builder.select(&has_nan, &nans, &reduced);
    }
    builder.convert(&reduced, dtype)
}

/// The dtype of a sum, and the wider one that it is accumulated in: plugins add one after another,
/// which in f32 itself would lose more than pairwise summation.
fn sum_dtypes(dtype: DType) -> (DType, DType) {
    match dtype {
        DType::Complex64 => (dtype, DType::Complex128),
        DType::F32 => (dtype, DType::F64),
        float if float.is_float() && float.size() < 4 => (dtype, DType::F32),
        _ => match dtype.kind() {
            DTypeKind::Signed => (DType::I64, DType::I64),
            DTypeKind::Unsigned | DTypeKind::Bool => (DType::U64, DType::U64),
            _ => (dtype, dtype),
        },
    }
}

fn accumulate(builder: &mut Builder, value: &Value, wide: DType, axes: &[usize]) -> Value {
    let addends = builder.convert(value, wide);
    let zero = match wide.kind() {
        DTypeKind::Complex => builder.scalar("(0.0,0.0)", wide),
        DTypeKind::Float => builder.float(0.0, wide),
        _ => builder.scalar("0", wide),
    };
    builder.reduce(&addends, "add", &zero, axes)
}

fn sum(builder: &mut Builder, value: &Value, axes: &[usize]) -> Value {
    let (result, wide) = sum_dtypes(value.kind.dtype);
    let total = accumulate(builder, value, wide, axes);
    builder.convert(&total, result)
}

fn mean(builder: &mut Builder, value: &Value, axes: &[usize]) -> Value {
    let count: usize = axes.iter().map(|&axis| value.kind.shape[axis]).product();
    let dtype = value.kind.dtype;
    let (result, wide) = match dtype.kind() {
        DTypeKind::Float | DTypeKind::Complex => sum_dtypes(dtype),
        _ => (QUOTIENT, DType::F64),
    };
    let total = accumulate(builder, value, wide, axes);
    let number = if wide.kind() == DTypeKind::Complex {
        builder.scalar(&format!("({count}.0,0.0)"), wide)
    } else {
        builder.float(count as f64, wide)
    };
    let number = builder.filled(&number, &total.kind.shape.clone());
    let quotient = builder.elementwise("divide", &[&total, &number]);
    builder.convert(&quotient, result)
}
