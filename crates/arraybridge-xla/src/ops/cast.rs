//! Plain casts by the shared rules: truncating, saturating, NaN to zero; integers wrap.

use arraybridge_core::{DType, DTypeKind};

use super::is_not_zero;
use super::text::{Builder, Value};

/// Casts a value; complex into real numbers is refused before this is called.
pub(super) fn cast(builder: &mut Builder, value: &Value, dtype: DType) -> Value {
    let from = value.kind.dtype;
    if from == dtype {
        return value.clone();
    }
    match dtype.kind() {
        DTypeKind::Bool => is_not_zero(builder, value),
        DTypeKind::Complex if from.kind() != DTypeKind::Complex => {
            let part = if dtype == DType::Complex128 { DType::F64 } else { DType::F32 };
            let real = builder.convert(value, part);
            builder.complex(&real, dtype)
        }
        DTypeKind::Signed | DTypeKind::Unsigned if from.is_float() => {
            // Wide enough for the ends below, and exact.
            let wide = if from == DType::F64 { DType::F64 } else { DType::F32 };
            let wide = builder.convert(value, wide);
            saturate(builder, &wide, dtype)
        }
        _ => builder.convert(value, dtype),
    }
}

/// The smallest and largest integer of a dtype.
pub(super) fn ends(dtype: DType) -> (i128, i128) {
    let bits = dtype.size() as u32 * 8;
    match dtype.kind() {
        DTypeKind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    }
}

/// Truncates floats (f32 or f64) into integers, ends beyond the range and NaN to zero. What a plain
/// conversion does there is the plugin's choice.
fn saturate(builder: &mut Builder, value: &Value, dtype: DType) -> Value {
    let float = value.kind.dtype;
    let shape = value.kind.shape.clone();
    let (lowest, highest) = ends(dtype);
    // Powers of two, hence exact: the first value above the range and the last below it.
    let above = builder.float((highest + 1) as f64, float);
    let above = builder.filled(&above, &shape);
    let below = builder.float(lowest as f64, float);
    let below = builder.filled(&below, &shape);
    let too_high = builder.compare("GE", value, &above);
    let too_low = builder.compare("LE", value, &below);
    let is_number = builder.compare("EQ", value, value);
    let zero = builder.float(0.0, float);
    let zeros = builder.filled(&zero, &shape);
    let outside = builder.elementwise("or", &[&too_high, &too_low]);
    let inside = builder.elementwise("not", &[&outside]);
    let inside = builder.elementwise("and", &[&inside, &is_number]);
    let safe = builder.select(&inside, value, &zeros);
    let whole = builder.convert(&safe, dtype);
    let largest = builder.scalar(&highest.to_string(), dtype);
    let largest = builder.filled(&largest, &shape);
    let smallest = builder.scalar(&lowest.to_string(), dtype);
    let smallest = builder.filled(&smallest, &shape);
    let capped = builder.select(&too_high, &largest, &whole);
    builder.select(&too_low, &smallest, &capped)
}
