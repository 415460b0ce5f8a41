//! Rescaling floats into integers, as one fused program by the shared formula
//! ([`arraybridge_core::ops::scale`]).

use arraybridge_core::DType;
use arraybridge_core::ops::scale::ends;

use super::cast::cast;
use super::text::{Builder, Value};

/// Returns whether the dtypes rescale; otherwise it is a cast.
pub(super) fn rescales(from: DType, to: DType) -> bool {
    from.is_float() && ends(to).is_some()
}

pub(super) fn scale(builder: &mut Builder, value: &Value, dtype: DType) -> Value {
    let Some((factor, offset)) = ends(dtype) else { return cast(builder, value, dtype) };
    let wide = value.kind.dtype == DType::F64 || dtype.size() > 2;
    let float = if wide { DType::F64 } else { DType::F32 };
    let shape = value.kind.shape.clone();
    let axes: Vec<usize> = (0..shape.len()).collect();
    let x = builder.convert(value, float);
    let lowest = builder.float(f64::NEG_INFINITY, float);
    let highest = builder.float(f64::INFINITY, float);
    let (lowest_filled, highest_filled) =
        (builder.filled(&lowest, &shape), builder.filled(&highest, &shape));
    // Only finite elements count: for the others an end that changes nothing stands in.
    let size = builder.elementwise("abs", &[&x]);
    let finite = builder.compare("LT", &size, &highest_filled);
    let for_min = builder.select(&finite, &x, &highest_filled);
    let min = builder.reduce(&for_min, "minimum", &highest, &axes);
    let for_max = builder.select(&finite, &x, &lowest_filled);
    let max = builder.reduce(&for_max, "maximum", &lowest, &axes);
    // Halving is exact and keeps the span of the widest floats finite.
    let half = builder.float(0.5, float);
    let (low, high) = (
        builder.elementwise("multiply", &[&min, &half]),
        builder.elementwise("multiply", &[&max, &half]),
    );
    let span = builder.elementwise("subtract", &[&high, &low]);
    let [low, span, half] = [low, span, half].map(|scalar| builder.filled(&scalar, &shape));
    let factor = builder.float(factor, float);
    let factor = builder.filled(&factor, &shape);
    let offset = builder.float(offset, float);
    let offset = builder.filled(&offset, &shape);
    let halved = builder.elementwise("multiply", &[&x, &half]);
    let above = builder.elementwise("subtract", &[&halved, &low]);
    let part = builder.elementwise("divide", &[&above, &span]);
    let stretched = builder.elementwise("multiply", &[&part, &factor]);
    let scaled = builder.elementwise("add", &[&stretched, &offset]);
    let scaled = cast(builder, &scaled, dtype);
    // Without two different finite elements there is nothing to stretch.
    let varies = builder.compare("LT", &min, &max);
    let varies = builder.filled(&varies, &shape);
    let plain = cast(builder, value, dtype);
    builder.select(&varies, &scaled, &plain)
}
