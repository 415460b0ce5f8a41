//! The operations, as StableHLO programs compiled on first use and kept.

mod cast;
mod reduce;
mod scale;
mod text;

use arraybridge_core::ops::{ArrayMath, ArrayOps, Reduction, broadcast_pair};
use arraybridge_core::roles::Accelerator;
use arraybridge_core::{AxisSlice, DType, DTypeKind, Device, Error, HostArray};

use crate::program::run_compiled;
use crate::{Xla, XlaArray, exchange};
use text::{Builder, Value};

/// The dtype of integers' means and quotients.
const QUOTIENT: DType = DType::F32;

/// Builds a program over parameters of the arrays' types, and runs it on them.
fn run(
    arrays: &[&XlaArray],
    device: Device,
    build: impl FnOnce(&mut Builder, &[Value]) -> Value,
) -> Result<XlaArray, Error> {
    let mut builder = Builder::new();
    let parameters: Vec<Value> = arrays
        .iter()
        .map(|array| builder.parameter(array.dtype(), array.shape()))
        .collect::<Result<_, _>>()?;
    let result = build(&mut builder, &parameters);
    crate::dtype::name(result.kind.dtype, "an operation")?;
    // SAFETY: the program is the builder's, none of whose operations calls out of XLA.
    unsafe { run_compiled(builder.finish(&result), device, arrays) }
}

fn on_own_device(
    array: &XlaArray,
    build: impl FnOnce(&mut Builder, &Value) -> Value,
) -> Result<XlaArray, Error> {
    run(&[array], array.device(), |builder, values| build(builder, &values[0]))
}

fn refuse(operation: &'static str, message: &str) -> Error {
    Error::InvalidArgument { operation, message: message.into() }
}

/// A literal that every dtype has: one.
fn one(builder: &mut Builder, dtype: DType) -> Value {
    let literal = match dtype.kind() {
        DTypeKind::Bool => "true",
        DTypeKind::Complex => "(1.0,0.0)",
        DTypeKind::Float => "1.0",
        _ => "1",
    };
    builder.scalar(literal, dtype)
}

/// Where elements are not zero.
fn is_not_zero(builder: &mut Builder, value: &Value) -> Value {
    let dtype = value.kind.dtype;
    let literal = match dtype.kind() {
        DTypeKind::Bool => return value.clone(),
        DTypeKind::Complex => "(0.0,0.0)",
        DTypeKind::Float => "0.0",
        _ => "0",
    };
    // The 8-bit floats are compared as f32, which holds all of them (one has no zero).
    let wide = if dtype.is_float8() { builder.convert(value, DType::F32) } else { value.clone() };
    let zero = builder.scalar(literal, wide.kind.dtype);
    let zeros = builder.filled(&zero, &wide.kind.shape);
    builder.compare("NE", &wide, &zeros)
}

/// Repeats a value to a shape by NumPy's rules.
fn broadcast(builder: &mut Builder, value: &Value, shape: &[usize]) -> Value {
    let missing = shape.len() - value.kind.shape.len();
    let axes: Vec<usize> = (missing..shape.len()).collect();
    builder.broadcast(value, shape, &axes)
}

impl ArrayOps<Xla> for Xla {
    fn reduce(&self, array: &XlaArray, by: Reduction, axes: &[usize]) -> Result<XlaArray, Error> {
        reduce::check(array.dtype(), by)?;
        on_own_device(array, |builder, value| reduce::reduce(builder, value, by, axes))
    }

    fn astype(&self, array: &XlaArray, dtype: DType) -> Result<XlaArray, Error> {
        if array.dtype() == dtype {
            return Ok(array.clone());
        }
        crate::dtype::name(dtype, "astype")?;
        on_own_device(array, |builder, value| cast::cast(builder, value, dtype))
    }

    fn reshape(&self, array: &XlaArray, shape: &[usize]) -> Result<XlaArray, Error> {
        on_own_device(array, |builder, value| builder.reshape(value, shape))
    }

    fn broadcast_to(&self, array: &XlaArray, shape: &[usize]) -> Result<XlaArray, Error> {
        on_own_device(array, |builder, value| broadcast(builder, value, shape))
    }

    fn ones_like(
        &self,
        reference: &XlaArray,
        shape: &[usize],
        dtype: DType,
    ) -> Result<XlaArray, Error> {
        ones(shape, dtype, reference.device())
    }

    fn assign(
        &self,
        data: &mut Option<XlaArray>,
        index: AxisSlice,
        values: &XlaArray,
    ) -> Result<XlaArray, Error> {
        let target = data.as_ref().ok_or_else(|| Error::already_taken("assign"))?;
        let rows = *target.shape().first().ok_or_else(|| refuse("assign", "it has no axis"))?;
        let (start, count, step) = index.resolve(rows)?;
        let made = if count == 0 {
            target.clone()
        } else {
            let stride = step.unsigned_abs();
            let first = if step > 0 { start } else { start - (count - 1) * stride };
            run(&[target, values], target.device(), |builder, parameters| {
                let (target, values) = (&parameters[0], &parameters[1]);
                let mut part = target.kind.shape.clone();
                part[0] = count;
                let mut given = broadcast(builder, values, &part);
                if step < 0 {
                    given = builder.reverse_first(&given);
                }
                let filler = one(builder, given.kind.dtype);
                let spread = builder.spread_first(&given, &filler, first, stride, rows);
                let (yes, no) =
                    (builder.scalar("true", DType::Bool), builder.scalar("false", DType::Bool));
                let replaced = builder.filled(&yes, &part);
                let replaced = builder.spread_first(&replaced, &no, first, stride, rows);
                builder.select(&replaced, &spread, target)
            })?
        };
        data.take();
        Ok(made)
    }

    fn logical_and(&self, left: &XlaArray, right: &XlaArray) -> Result<XlaArray, Error> {
        let shape = broadcast_pair("logical_and", left.shape(), right.shape())?;
        run(&[left, right], left.device(), |builder, values| {
            let (left, right) =
                (is_not_zero(builder, &values[0]), is_not_zero(builder, &values[1]));
            let (left, right) =
                (broadcast(builder, &left, &shape), broadcast(builder, &right, &shape));
            builder.elementwise("and", &[&left, &right])
        })
    }

    fn stack(&self, arrays: &[&XlaArray]) -> Result<XlaArray, Error> {
        let first = arrays.first().ok_or_else(|| refuse("stack_arrays", "no array was given"))?;
        let mut shape = vec![1];
        shape.extend_from_slice(first.shape());
        run(arrays, first.device(), |builder, values| {
            let planes: Vec<Value> =
                values.iter().map(|value| builder.reshape(value, &shape)).collect();
            builder.concatenate(&planes)
        })
    }

    fn plane(&self, array: &XlaArray, index: usize) -> Result<XlaArray, Error> {
        // The index is an argument, so that one program serves every plane.
        let index = scalar(index as i64, array.device())?;
        run(&[array, &index], array.device(), |builder, values| builder.row(&values[0], &values[1]))
    }

    fn normalize_planes(
        &self,
        array: &XlaArray,
        dtype: DType,
        scales: &[Option<f64>],
    ) -> Result<XlaArray, Error> {
        crate::dtype::name(dtype, "normalize_planes")?;
        let result = if dtype.is_integer() || dtype == DType::Bool { QUOTIENT } else { dtype };
        let wide = match result {
            DType::F64 | DType::Complex128 => DType::F64,
            _ => DType::F32,
        };
        let scales: Vec<f64> = scales.iter().map(|scale| scale.unwrap_or(1.0)).collect();
        let scales = HostArray::from_slice(&scales, &[scales.len()])?;
        let scales = exchange::upload(&scales, array.device())?;
        run(&[array, &scales], array.device(), |builder, values| {
            let planes = cast::cast(builder, &values[0], dtype);
            let scales = builder.convert(&values[1], wide);
            let (planes, scales) = if result.kind() == DTypeKind::Complex {
                (cast::cast(builder, &planes, result), builder.complex(&scales, result))
            } else {
                (cast::cast(builder, &planes, wide), scales)
            };
            let scales = builder.broadcast(&scales, &planes.kind.shape.clone(), &[0]);
            let divided = builder.elementwise("divide", &[&planes, &scales]);
            cast::cast(builder, &divided, result)
        })
    }

    fn scale_dtype(&self, array: &XlaArray, dtype: DType) -> Result<XlaArray, Error> {
        crate::dtype::name(dtype, "scale_dtype")?;
        if !scale::rescales(array.dtype(), dtype) {
            return self.astype(array, dtype);
        }
        on_own_device(array, |builder, value| scale::scale(builder, value, dtype))
    }
}

fn scalar(value: i64, device: Device) -> Result<XlaArray, Error> {
    exchange::upload(&HostArray::from_slice(&[value], &[])?, device)
}

fn ones(shape: &[usize], dtype: DType, device: Device) -> Result<XlaArray, Error> {
    crate::dtype::name(dtype, "ones")?;
    run(&[], device, |builder, _| {
        let one = one(builder, dtype);
        builder.filled(&one, shape)
    })
}

impl ArrayMath<Xla> for Xla {
    fn default_float(&self) -> DType {
        DType::F32
    }

    fn linspace(
        &self,
        start: f64,
        stop: f64,
        count: usize,
        endpoint: bool,
        dtype: DType,
    ) -> Result<XlaArray, Error> {
        crate::dtype::name(dtype, "linspace")?;
        // Over no elements and over one, the step is of no consequence.
        let intervals = if endpoint { count.saturating_sub(1) } else { count }.max(1);
        let step = (stop - start) / intervals as f64;
        run(&[], self.current_device()?, |builder, _| {
            let places = builder.iota(DType::I64, count);
            let places = builder.convert(&places, DType::F64);
            let (start, step) = (builder.float(start, DType::F64), builder.float(step, DType::F64));
            let (start, step) = (builder.filled(&start, &[count]), builder.filled(&step, &[count]));
            let distance = builder.elementwise("multiply", &[&places, &step]);
            let mut line = builder.elementwise("add", &[&start, &distance]);
            if endpoint && count > 1 {
                // The end is met exactly, whatever the rounding of the step.
                let last = builder.slice_first(&line, 0, count - 1);
                let stop = builder.float(stop, DType::F64);
                let stop = builder.filled(&stop, &[1]);
                line = builder.concatenate(&[last, stop]);
            }
            cast::cast(builder, &line, dtype)
        })
    }

    fn ones(&self, shape: &[usize], dtype: DType) -> Result<XlaArray, Error> {
        ones(shape, dtype, self.current_device()?)
    }

    fn outer(&self, left: &XlaArray, right: &XlaArray) -> Result<XlaArray, Error> {
        run(&[left, right], left.device(), |builder, values| {
            if left.dtype() == DType::Bool {
                let shape = [values[0].kind.shape[0], values[1].kind.shape[0]];
                let rows = builder.broadcast(&values[0], &shape, &[0]);
                let columns = builder.broadcast(&values[1], &shape, &[1]);
                return builder.elementwise("and", &[&rows, &columns]);
            }
            builder.outer(&values[0], &values[1])
        })
    }

    fn floor(&self, value: f64) -> Result<XlaArray, Error> {
        let floor = HostArray::from_slice(&[value.floor() as f32], &[])?;
        exchange::upload(&floor, self.current_device()?)
    }
}
