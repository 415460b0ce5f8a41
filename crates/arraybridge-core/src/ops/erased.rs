//! One path for every operation, typed or erased: resolve, check, run.

use crate::{ArrayLibrary, AxisSlice, DType, Description, Error, Layout};

use super::{ArrayOps, Axes, Reduction, cast};

/// An operation and its arguments besides arrays.
#[derive(Clone, Debug)]
pub(crate) enum Operation<'a> {
    Reduce(Reduction, Axes),
    Astype(DType),
    Reshape(&'a [usize]),
    BroadcastTo(&'a [usize]),
    OnesLike(Option<&'a [usize]>, DType),
    PrependAxis,
    LogicalAnd,
    Stack,
    Plane(usize),
    NormalizePlanes(DType, &'a [Option<f64>]),
    ScaleDtype(DType),
}

impl Operation<'_> {
    fn name(&self) -> &'static str {
        match self {
            Operation::Reduce(by, _) => by.name(),
            Operation::Astype(_) => "astype",
            Operation::Reshape(_) => "reshape",
            Operation::BroadcastTo(_) => "broadcast_to",
            Operation::OnesLike(..) => "ones_like",
            Operation::PrependAxis => "prepend_axis",
            Operation::LogicalAnd => "logical_and",
            Operation::Stack => "stack",
            Operation::Plane(_) => "plane",
            Operation::NormalizePlanes(..) => "normalize_planes",
            Operation::ScaleDtype(_) => "scale_dtype",
        }
    }
}

fn role<L: ArrayLibrary>(operation: &'static str) -> Result<&'static dyn ArrayOps<L>, Error> {
    L::INSTANCE.ops().ok_or_else(|| super::unsupported::<L>(operation))
}

/// Checks an operation's arguments and runs it in the arrays' own library.
pub(crate) fn apply<L: ArrayLibrary>(
    operation: Operation<'_>,
    arrays: &[&L::Array],
) -> Result<L::Array, Error> {
    let name = operation.name();
    let ops = role::<L>(name)?;
    let first = *arrays.first().ok_or_else(|| argument(name, "no arrays were given"))?;
    let seen = L::INSTANCE.describe(first)?;
    let shape = seen.layout.shape();
    match operation {
        Operation::Reduce(by, axes) => {
            let axes = axes.resolve(shape.len())?;
            check_not_empty(by, shape, &axes)?;
            ops.reduce(first, by, &axes)
        }
        Operation::Astype(dtype) => {
            cast::check(seen.dtype, dtype)?;
            ops.astype(first, dtype)
        }
        Operation::Reshape(shape) => {
            seen.layout.reshape(shape)?;
            ops.reshape(first, shape)
        }
        Operation::BroadcastTo(shape) => {
            seen.layout.broadcast_to(shape)?.nbytes(seen.dtype)?;
            ops.broadcast_to(first, shape)
        }
        Operation::OnesLike(asked, dtype) => {
            let shape = asked.unwrap_or(shape);
            Layout::row_major(shape)?.nbytes(dtype)?;
            ops.ones_like(first, shape, dtype)
        }
        Operation::PrependAxis => {
            let mut longer = vec![1];
            longer.extend_from_slice(shape);
            ops.reshape(first, &longer)
        }
        Operation::LogicalAnd => {
            let second = *arrays.get(1).ok_or_else(|| argument(name, "one array was given"))?;
            let other = L::INSTANCE.describe(second)?;
            same_device::<L>(name, &seen, &other)?;
            broadcast_pair(name, shape, other.layout.shape())?;
            ops.logical_and(first, second)
        }
        Operation::Stack => {
            for array in &arrays[1..] {
                check_stackable::<L>(name, &seen, &L::INSTANCE.describe(array)?)?;
            }
            ops.stack(arrays)
        }
        Operation::Plane(index) => {
            seen.layout.index_axis(0, index)?;
            ops.plane(first, index)
        }
        Operation::NormalizePlanes(dtype, scales) => {
            let planes = *shape.first().ok_or(Error::AxisOutOfRange { axis: 0, rank: 0 })?;
            if scales.len() != planes {
                let message = format!("{} scales for {planes} planes", scales.len());
                return Err(Error::InvalidArgument { operation: name, message });
            }
            cast::check(seen.dtype, dtype)?;
            ops.normalize_planes(first, dtype, scales)
        }
        Operation::ScaleDtype(dtype) => {
            cast::check(seen.dtype, dtype)?;
            ops.scale_dtype(first, dtype)
        }
    }
}

/// Checks an assignment and runs it; on an error the array stays in its slot.
pub(crate) fn assign<L: ArrayLibrary>(
    data: &mut Option<L::Array>,
    index: AxisSlice,
    values: &L::Array,
) -> Result<L::Array, Error> {
    let name = "assign";
    let ops = role::<L>(name)?;
    let target = data.as_ref().ok_or_else(|| argument(name, "no array was given"))?;
    let (seen, given) = (L::INSTANCE.describe(target)?, L::INSTANCE.describe(values)?);
    if seen.dtype != given.dtype {
        return Err(Error::DtypeMismatch { expected: seen.dtype, found: given.dtype });
    }
    same_device::<L>(name, &seen, &given)?;
    if seen.layout.rank() == 0 {
        return Err(Error::AxisOutOfRange { axis: 0, rank: 0 });
    }
    let (part, _) = seen.layout.slice(&[index])?;
    if given.layout.broadcast_to(part.shape()).is_err() {
        return Err(Error::ShapeMismatch {
            operation: name,
            expected: part.shape().to_vec(),
            found: given.layout.shape().to_vec(),
        });
    }
    ops.assign(data, index, values)
}

fn argument(operation: &'static str, message: &str) -> Error {
    Error::InvalidArgument { operation, message: message.into() }
}

fn check_not_empty(by: Reduction, shape: &[usize], axes: &[usize]) -> Result<(), Error> {
    let kept_empty = (0..shape.len()).any(|axis| shape[axis] == 0 && !axes.contains(&axis));
    let reduces_nothing = axes.iter().any(|&axis| shape[axis] == 0);
    if matches!(by, Reduction::Max | Reduction::Min) && reduces_nothing && !kept_empty {
        let message = format!("no elements to choose from in shape {shape:?} over axes {axes:?}");
        return Err(Error::InvalidArgument { operation: by.name(), message });
    }
    Ok(())
}

fn same_device<L: ArrayLibrary>(
    operation: &'static str,
    first: &Description,
    other: &Description,
) -> Result<(), Error> {
    if first.device == other.device {
        return Ok(());
    }
    let message = format!(
        "arrays of {} on `{}` and `{}`; move them to one device first",
        L::NAME,
        first.device,
        other.device
    );
    Err(Error::InvalidArgument { operation, message })
}

fn check_stackable<L: ArrayLibrary>(
    operation: &'static str,
    first: &Description,
    other: &Description,
) -> Result<(), Error> {
    same_device::<L>(operation, first, other)?;
    if first.dtype != other.dtype {
        return Err(Error::DtypeMismatch { expected: first.dtype, found: other.dtype });
    }
    if first.layout.shape() != other.layout.shape() {
        return Err(Error::ShapeMismatch {
            operation,
            expected: first.layout.shape().to_vec(),
            found: other.layout.shape().to_vec(),
        });
    }
    Ok(())
}

/// Returns the shape that two shapes broadcast to by NumPy's rules.
///
/// # Errors
/// [`Error::ShapeMismatch`] if they do not match.
pub fn broadcast_pair(
    operation: &'static str,
    left: &[usize],
    right: &[usize],
) -> Result<Vec<usize>, Error> {
    let rank = left.len().max(right.len());
    let length = |shape: &[usize], axis: usize| {
        (axis + shape.len()).checked_sub(rank).map_or(1, |place| shape[place])
    };
    (0..rank)
        .map(|axis| match (length(left, axis), length(right, axis)) {
            (a, b) if a == b || b == 1 => Ok(a),
            (1, b) => Ok(b),
            _ => Err(Error::ShapeMismatch {
                operation,
                expected: left.to_vec(),
                found: right.to_vec(),
            }),
        })
        .collect()
}
