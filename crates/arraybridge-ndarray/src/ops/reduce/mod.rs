//! Reductions over any axes of any layout.
//!
//! [`plan`] puts the axes in memory order, [`kernel`] walks them, [`fold`] says what happens to the
//! elements. Sums of floats are accumulated in `f64`, block-wise and pairwise; integers in 64 bits.

mod cascade;
mod fold;
mod kernel;
mod plan;

use arraybridge_core::ops::{Reduction, cast};
use arraybridge_core::{DType, DTypeKind, Element, Error, HostArray};
use num_complex::Complex;

use fold::{Average, Fold, Greatest, Least, Total};
use plan::Plan;

/// Reduces over axes that are in range and increasing.
pub(super) fn reduce(array: &HostArray, by: Reduction, axes: &[usize]) -> Result<HostArray, Error> {
    let dtype = array.dtype();
    let extreme = matches!(by, Reduction::Max | Reduction::Min);
    if extreme && dtype.kind() == DTypeKind::Complex {
        return Err(unsupported(by, dtype));
    }
    if array.is_empty() {
        return of_nothing(by, dtype, plan::kept_shape(array.shape(), axes));
    }
    let mut plan = Plan::new(array, axes)?;
    let wide = widened(dtype);
    if wide != dtype {
        plan.cast(wide)?;
    }
    let reduced = match by {
        Reduction::Max => largest(&plan, wide),
        Reduction::Min => smallest(&plan, wide),
        Reduction::Sum => sum(&plan, wide),
        Reduction::Mean => mean(&plan, wide),
        _ => Err(unsupported(by, dtype)),
    }?;
    let reduced = plan.restore(reduced)?;
    if wide == dtype { Ok(reduced) } else { cast::cast(&reduced, dtype) }
}

/// Returns the dtype to reduce in: every value of a narrow float is one of `f32`.
fn widened(dtype: DType) -> DType {
    match dtype {
        DType::Complex32 => DType::Complex64,
        narrow if narrow.is_float() && narrow.size() < 4 => DType::F32,
        other => other,
    }
}

/// Returns what a reduction over no elements gives: zeros, or NaN for a mean.
fn of_nothing(by: Reduction, dtype: DType, shape: Vec<usize>) -> Result<HostArray, Error> {
    let integer = !dtype.is_float() && dtype.kind() != DTypeKind::Complex;
    let result = match by {
        Reduction::Sum if dtype.kind() == DTypeKind::Signed => DType::I64,
        Reduction::Sum if integer => DType::U64,
        Reduction::Mean if integer => DType::F64,
        _ => dtype,
    };
    let value = if by == Reduction::Mean { f64::NAN } else { 0.0 };
    let one = if dtype.kind() == DTypeKind::Complex {
        HostArray::from_slice(&[Complex::new(value, value)], &[])?
    } else {
        HostArray::from_slice(&[value], &[])?
    };
    cast::cast(&one, result)?.broadcast_to(&shape)?.gather()
}

fn unsupported(by: Reduction, dtype: DType) -> Error {
    Error::DtypeUnsupported { library: "ndarray", operation: by.name(), dtype }
}

/// Runs a fold over a planned array of `S` into a new array of `T`, in the plan's order.
fn run<S: Element, F: Fold<S>, T: Element>(
    plan: &Plan,
    finish: impl Fn(F::Acc) -> T,
) -> Result<HostArray, Error> {
    let mut result = HostArray::scratch(T::DTYPE, &[plan.outputs()])?;
    kernel::fold::<S, F, T>(plan, result.as_slice_mut()?, finish)?;
    Ok(result)
}

/// Runs an expression with the integer (or bool) type of a dtype, else another expression.
macro_rules! with_integer {
    ($dtype:expr, $type:ident => $body:expr, $other:pat => $otherwise:expr) => {
        with_integer!(@arms $dtype, $type => $body, $other => $otherwise,
            Bool: bool, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64)
    };
    (@arms $dtype:expr, $type:ident => $body:expr, $other:pat => $otherwise:expr,
        $($variant:ident: $element:ty),+) => {
        match $dtype {
            $(DType::$variant => {
                type $type = $element;
                $body
            })+
            $other => $otherwise,
        }
    };
}

fn largest(plan: &Plan, dtype: DType) -> Result<HostArray, Error> {
    with_integer!(dtype, T => run::<T, Greatest, T>(plan, |best| best), other => match other {
        DType::F32 => run::<f32, Greatest, f32>(plan, |best| best),
        DType::F64 => run::<f64, Greatest, f64>(plan, |best| best),
        _ => Err(unsupported(Reduction::Max, dtype)),
    })
}

fn smallest(plan: &Plan, dtype: DType) -> Result<HostArray, Error> {
    with_integer!(dtype, T => run::<T, Least, T>(plan, |best| best), other => match other {
        DType::F32 => run::<f32, Least, f32>(plan, |best| best),
        DType::F64 => run::<f64, Least, f64>(plan, |best| best),
        _ => Err(unsupported(Reduction::Min, dtype)),
    })
}

fn sum(plan: &Plan, dtype: DType) -> Result<HostArray, Error> {
    let signed = dtype.kind() == DTypeKind::Signed;
    let repeat = plan.repeat();
    // Two's complement: the same bits are the sum modulo 2^64 of signed and unsigned integers.
    let times = |sum: i64| sum.wrapping_mul(repeat as i64);
    let many = repeat as f64;
    with_integer!(dtype, S => if signed {
        run::<S, Total, i64>(plan, times)
    } else {
        run::<S, Total, u64>(plan, |sum| times(sum) as u64)
    }, other => match other {
        DType::F32 => run::<f32, Total, f32>(plan, |sum| (sum * many) as f32),
        DType::F64 => run::<f64, Total, f64>(plan, |sum| sum * many),
        DType::Complex64 => run::<Complex<f32>, Total, _>(plan, |sum| single(sum * many)),
        DType::Complex128 => run::<Complex<f64>, Total, _>(plan, |sum| sum * many),
        _ => Err(unsupported(Reduction::Sum, dtype)),
    })
}

fn mean(plan: &Plan, dtype: DType) -> Result<HostArray, Error> {
    let count = plan.count() as f64;
    with_integer!(dtype, S => run::<S, Average, f64>(plan, |sum| sum / count), other => match other {
        DType::F32 => run::<f32, Total, f32>(plan, |sum| (sum / count) as f32),
        DType::F64 => run::<f64, Total, f64>(plan, |sum| sum / count),
        DType::Complex64 => run::<Complex<f32>, Total, _>(plan, |sum| single(sum / count)),
        DType::Complex128 => run::<Complex<f64>, Total, _>(plan, |sum| sum / count),
        _ => Err(unsupported(Reduction::Mean, dtype)),
    })
}

fn single(value: Complex<f64>) -> Complex<f32> {
    Complex::new(value.re as f32, value.im as f32)
}
