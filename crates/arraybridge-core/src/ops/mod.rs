//! The operations that every library runs on its own arrays: contracts and shared rules.

mod axes;
pub mod cast;
mod erased;
mod front;
pub mod scale;

use crate::{ArrayLibrary, AxisSlice, DType, Error};

pub use axes::Axes;
pub use erased::broadcast_pair;
pub(crate) use erased::{Operation, apply, assign};
pub use front::{HostExchange, Math, Ops};

/// A reduction over axes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Reduction {
    /// The largest element; NaN if there is one; keeps the dtype.
    Max,
    /// The smallest element; NaN if there is one; keeps the dtype.
    Min,
    /// The mean. Floats and complex numbers keep their dtype (`f16` and `bf16` are accumulated in
    /// `f32`); integers and bool give `f64` on ndarray and `f32` on other libraries. Over no
    /// elements: NaN.
    Mean,
    /// The sum. Floats and complex numbers keep their dtype, signed integers give `i64`, unsigned
    /// ones and bool `u64` (`i64` where a library has no `u64`). Over no elements: 0.
    Sum,
}

impl Reduction {
    /// Returns the name of the operation.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::Mean => "mean",
            Reduction::Sum => "sum",
        }
    }
}

/// Array operations: the role that a library implements.
///
/// Users call them through [`Ops`] (`Ndarray::max(&array, 0)`) or on an
/// [`AnyArray`](crate::AnyArray), which resolve and check axes, shapes and devices first: an
/// implementation may rely on what each method states. Operations never change an array that the
/// caller still holds, and run where the array is: none of them downloads.
///
/// A method that is not implemented answers [`Error::Unsupported`].
pub trait ArrayOps<L: ArrayLibrary>: Send + Sync {
    /// Reduces over `axes`, which are distinct, in range and in increasing order; the reduced axes
    /// are removed. For `Max` and `Min` no reduced axis has length 0 unless the result is empty.
    fn reduce(&self, array: &L::Array, by: Reduction, axes: &[usize]) -> Result<L::Array, Error> {
        let _ = (array, axes);
        Err(unsupported::<L>(by.name()))
    }

    /// Casts to another dtype by the rules of [`cast`].
    fn astype(&self, array: &L::Array, dtype: DType) -> Result<L::Array, Error> {
        let _ = (array, dtype);
        Err(unsupported::<L>("astype"))
    }

    /// Gives the elements, in row-major order, another shape of as many elements.
    fn reshape(&self, array: &L::Array, shape: &[usize]) -> Result<L::Array, Error> {
        let _ = (array, shape);
        Err(unsupported::<L>("reshape"))
    }

    /// Repeats the array to a shape that NumPy's rules allow.
    fn broadcast_to(&self, array: &L::Array, shape: &[usize]) -> Result<L::Array, Error> {
        let _ = (array, shape);
        Err(unsupported::<L>("broadcast_to"))
    }

    /// Makes an array of ones on the device of `reference`.
    fn ones_like(
        &self,
        reference: &L::Array,
        shape: &[usize],
        dtype: DType,
    ) -> Result<L::Array, Error> {
        let _ = (reference, shape, dtype);
        Err(unsupported::<L>("ones_like"))
    }

    /// Replaces the part of `data` that `index` selects on its first axis by `values`, whose dtype
    /// is that of `data` and whose shape broadcasts to that part. Writes in place if the array is
    /// uniquely owned and writable, else on a copy. On an error the array is left in its slot,
    /// unchanged.
    fn assign(
        &self,
        data: &mut Option<L::Array>,
        index: AxisSlice,
        values: &L::Array,
    ) -> Result<L::Array, Error> {
        let _ = (data, index, values);
        Err(unsupported::<L>("assign"))
    }

    /// Is true where both arrays, of one shape after broadcasting, are not zero (NaN is not zero).
    fn logical_and(&self, left: &L::Array, right: &L::Array) -> Result<L::Array, Error> {
        let _ = (left, right);
        Err(unsupported::<L>("logical_and"))
    }

    /// Joins arrays of one shape, dtype and device (at least one) on a new leading axis.
    fn stack(&self, arrays: &[&L::Array]) -> Result<L::Array, Error> {
        let _ = arrays;
        Err(unsupported::<L>("stack"))
    }

    /// Returns the sub-array at an index, which is in range, of the first axis, on its device: a
    /// view where neither it nor the array is ever written while both live, else a copy.
    fn plane(&self, array: &L::Array, index: usize) -> Result<L::Array, Error> {
        let _ = (array, index);
        Err(unsupported::<L>("plane"))
    }

    /// Casts every plane of the first axis to `dtype` and divides it by its scale, `None` dividing
    /// by nothing; there are as many scales as planes. Where `dtype` is an integer or bool, the
    /// result is the float that true division gives: `f64` on ndarray, `f32` on other libraries.
    /// The result never shares memory with `array`.
    fn normalize_planes(
        &self,
        array: &L::Array,
        dtype: DType,
        scales: &[Option<f64>],
    ) -> Result<L::Array, Error> {
        let _ = (array, dtype, scales);
        Err(unsupported::<L>("normalize_planes"))
    }

    /// Rescales floats into an integer dtype by the rules of [`scale`]; a cast where those say so.
    fn scale_dtype(&self, array: &L::Array, dtype: DType) -> Result<L::Array, Error> {
        let _ = (array, dtype);
        Err(unsupported::<L>("scale_dtype"))
    }
}

/// Making arrays of nothing, on the library's default device: the role that a library implements.
pub trait ArrayMath<L: ArrayLibrary>: Send + Sync {
    /// Returns the dtype of floats that nobody chose: `f64` on ndarray, `f32` on the others.
    fn default_float(&self) -> DType;

    /// Returns `count` evenly spaced numbers from `start` to `stop`, which is the last one if
    /// `endpoint`. `dtype` is a float.
    fn linspace(
        &self,
        start: f64,
        stop: f64,
        count: usize,
        endpoint: bool,
        dtype: DType,
    ) -> Result<L::Array, Error>;

    /// Returns an array of ones.
    fn ones(&self, shape: &[usize], dtype: DType) -> Result<L::Array, Error>;

    /// Returns the products of all pairs of two 1-D arrays of one dtype and device.
    fn outer(&self, left: &L::Array, right: &L::Array) -> Result<L::Array, Error>;

    /// Returns the largest whole number not above `value`, as a 0-d array of the default float.
    fn floor(&self, value: f64) -> Result<L::Array, Error>;
}

fn unsupported<L: ArrayLibrary>(operation: &'static str) -> Error {
    Error::Unsupported {
        library: L::NAME,
        operation,
        remedy: "convert the array to a library that has it, such as ndarray",
    }
}
