//! The operations as functions of a library: `Ndarray::max(&array, 0)`.

use super::erased::{self, Operation};
use super::{Axes, Reduction};
use crate::{ArrayLibrary, AxisSlice, ConversionError, DType, Device, Error, HostArray, route};

/// The operations of every library, as associated functions.
///
/// They are functions of the library rather than methods of its arrays, because a native method of
/// the same name would shadow them. Each runs in the array's own library and on
/// its device, never changes an array that the caller holds, and answers [`Error::Unsupported`]
/// where the library does not have it.
pub trait Ops: ArrayLibrary {
    /// Returns the largest elements over axes, which are removed; NaN where there is one.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`], [`Error::InvalidArgument`] for an axis named twice or over no
    /// elements, [`Error::DtypeUnsupported`] for complex numbers.
    fn max(array: &Self::Array, axes: impl Into<Axes>) -> Result<Self::Array, Error> {
        run::<Self>(Operation::Reduce(Reduction::Max, axes.into()), &[array])
    }

    /// Returns the smallest elements over axes, which are removed; NaN where there is one.
    ///
    /// # Errors
    /// As [`Ops::max`].
    fn min(array: &Self::Array, axes: impl Into<Axes>) -> Result<Self::Array, Error> {
        run::<Self>(Operation::Reduce(Reduction::Min, axes.into()), &[array])
    }

    /// Returns the means over axes, which are removed; see [`Reduction::Mean`] for dtypes.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`], [`Error::InvalidArgument`].
    fn mean(array: &Self::Array, axes: impl Into<Axes>) -> Result<Self::Array, Error> {
        run::<Self>(Operation::Reduce(Reduction::Mean, axes.into()), &[array])
    }

    /// Returns the sums over axes, which are removed; see [`Reduction::Sum`] for dtypes.
    ///
    /// # Errors
    /// As [`Ops::mean`].
    fn sum(array: &Self::Array, axes: impl Into<Axes>) -> Result<Self::Array, Error> {
        run::<Self>(Operation::Reduce(Reduction::Sum, axes.into()), &[array])
    }

    /// Casts by the rules of [`cast`](super::cast).
    ///
    /// # Errors
    /// [`Error::DtypeUnsupported`] for complex into real numbers.
    fn astype(array: &Self::Array, dtype: DType) -> Result<Self::Array, Error> {
        run::<Self>(Operation::Astype(dtype), &[array])
    }

    /// Gives the elements, in row-major order, another shape.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] for another number of elements.
    fn reshape(array: &Self::Array, shape: &[usize]) -> Result<Self::Array, Error> {
        run::<Self>(Operation::Reshape(shape), &[array])
    }

    /// Repeats the array to a shape, by NumPy's rules.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`].
    fn broadcast_to(array: &Self::Array, shape: &[usize]) -> Result<Self::Array, Error> {
        run::<Self>(Operation::BroadcastTo(shape), &[array])
    }

    /// Returns ones on the array's device, of its shape unless another is given.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::SizeOverflow`].
    fn ones_like(
        array: &Self::Array,
        shape: Option<&[usize]>,
        dtype: DType,
    ) -> Result<Self::Array, Error> {
        run::<Self>(Operation::OnesLike(shape, dtype), &[array])
    }

    /// Returns the array with a leading axis of length 1.
    ///
    /// # Errors
    /// The library's own failures.
    fn prepend_axis(array: &Self::Array) -> Result<Self::Array, Error> {
        run::<Self>(Operation::PrependAxis, &[array])
    }

    /// Returns `data` with the part that `index` selects on its first axis replaced by `values`.
    /// Consumes the array: one that nobody else holds is written in place.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::ShapeMismatch`]; the array comes back, unchanged.
    fn assign(
        data: Self::Array,
        index: impl Into<AxisSlice>,
        values: &Self::Array,
    ) -> Result<Self::Array, ConversionError<Self::Array>> {
        let mut slot = Some(data);
        erased::assign::<Self>(&mut slot, index.into(), values)
            .map_err(|error| ConversionError::new(error, slot))
    }

    /// Returns where both arrays are not zero, as bool.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if they do not broadcast to one shape.
    fn logical_and(left: &Self::Array, right: &Self::Array) -> Result<Self::Array, Error> {
        run::<Self>(Operation::LogicalAnd, &[left, right])
    }

    /// Joins arrays of one shape, dtype and device on a new leading axis.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no arrays, [`Error::ShapeMismatch`],
    /// [`Error::DtypeMismatch`].
    fn stack(arrays: &[&Self::Array]) -> Result<Self::Array, Error> {
        run::<Self>(Operation::Stack, arrays)
    }

    /// Returns the sub-array at an index of the first axis, on its device.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`], [`Error::InvalidArgument`].
    fn plane(array: &Self::Array, index: usize) -> Result<Self::Array, Error> {
        run::<Self>(Operation::Plane(index), &[array])
    }

    /// Casts every plane of the first axis to `dtype` and divides it by its scale, `None` dividing
    /// by nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless there is one scale per plane.
    fn normalize_planes(
        array: &Self::Array,
        dtype: DType,
        scales: &[Option<f64>],
    ) -> Result<Self::Array, Error> {
        run::<Self>(Operation::NormalizePlanes(dtype, scales), &[array])
    }

    /// Rescales floats into an integer dtype, from their minimum and maximum to the ends of the
    /// dtype's range, by the rules of [`scale`](super::scale).
    ///
    /// # Errors
    /// [`Error::DtypeUnsupported`] for complex into real numbers.
    fn scale_dtype(array: &Self::Array, dtype: DType) -> Result<Self::Array, Error> {
        run::<Self>(Operation::ScaleDtype(dtype), &[array])
    }
}

impl<L: ArrayLibrary> Ops for L {}

/// The way to and from the host, as associated functions; both write a record.
pub trait HostExchange: ArrayLibrary {
    /// Reads an array to the host. The result shares its memory only where neither is ever written
    /// while it does.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the library's own failures.
    fn to_host(array: &Self::Array) -> Result<HostArray, Error> {
        route::to_host(Self::INSTANCE, array)
    }

    /// Makes an array on `device` of a host array.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`] with the devices that are there, [`Error::DtypeUnsupported`],
    /// [`Error::OutOfMemory`] and the library's own failures.
    fn from_host(array: &HostArray, device: Device) -> Result<Self::Array, Error> {
        let mut out = None::<Self::Array>;
        route::from_host(array, Self::INSTANCE, device, &mut out)?;
        out.ok_or_else(|| super::unsupported::<Self>("from_host"))
    }
}

impl<L: ArrayLibrary> HostExchange for L {}

use erased::apply as run;

/// Arrays made of nothing, on the library's default device, as associated functions.
pub trait Math: ArrayLibrary {
    /// Returns `count` evenly spaced numbers from `start` to `stop`, the last one if `endpoint`; of
    /// the library's default float unless a float dtype is given.
    ///
    /// # Errors
    /// [`Error::DtypeUnsupported`] for a dtype that is not a float, [`Error::OutOfMemory`].
    fn linspace(
        start: f64,
        stop: f64,
        count: usize,
        endpoint: bool,
        dtype: Option<DType>,
    ) -> Result<Self::Array, Error> {
        let math = math::<Self>("linspace")?;
        let dtype = dtype.unwrap_or_else(|| math.default_float());
        if !dtype.is_float() {
            return Err(Error::DtypeUnsupported {
                library: Self::NAME,
                operation: "linspace",
                dtype,
            });
        }
        math.linspace(start, stop, count, endpoint, dtype)
    }

    /// Returns an array of ones.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::SizeOverflow`].
    fn ones(shape: &[usize], dtype: DType) -> Result<Self::Array, Error> {
        crate::Layout::row_major(shape)?.nbytes(dtype)?;
        math::<Self>("ones")?.ones(shape, dtype)
    }

    /// Returns the products of all pairs of two 1-D arrays.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::ShapeMismatch`] if one is not 1-D.
    fn outer(left: &Self::Array, right: &Self::Array) -> Result<Self::Array, Error> {
        let math = math::<Self>("outer")?;
        let (first, other) = (Self::INSTANCE.describe(left)?, Self::INSTANCE.describe(right)?);
        for seen in [&first, &other] {
            if seen.layout.rank() != 1 {
                return Err(Error::ShapeMismatch {
                    operation: "outer",
                    expected: vec![seen.layout.len()],
                    found: seen.layout.shape().to_vec(),
                });
            }
        }
        if first.dtype != other.dtype {
            return Err(Error::DtypeMismatch { expected: first.dtype, found: other.dtype });
        }
        math.outer(left, right)
    }

    /// Returns the largest whole number not above `value`, as a 0-d array.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn floor(value: f64) -> Result<Self::Array, Error> {
        math::<Self>("floor")?.floor(value)
    }
}

impl<L: ArrayLibrary> Math for L {}

fn math<L: ArrayLibrary>(
    operation: &'static str,
) -> Result<&'static dyn super::ArrayMath<L>, Error> {
    L::INSTANCE.math().ok_or_else(|| super::unsupported::<L>(operation))
}
