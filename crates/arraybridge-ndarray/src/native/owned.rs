//! `Array<T, D>`: its `Vec` becomes the array's memory, and comes back out of it.

use arraybridge_core::{ConversionError, Element, Error, HostArray, Layout, NativeArray};

use super::ndarray::{Array, Axis, Dimension, IxDyn, Slice};
use super::{dimension, never, reversed_axes, unsigned_shape};
use crate::types::sealed;
use crate::vec_fit::VecFit;
use crate::{NdArray, Ndarray, OwnedType};

impl<T: Element, D: Dimension> From<Array<T, D>> for NdArray {
    /// Takes the array's memory as it is, whatever its layout: nothing is copied.
    fn from(array: Array<T, D>) -> NdArray {
        let layout = Layout::new(array.shape(), array.strides());
        let (vec, first) = array.into_raw_vec_and_offset();
        let wrapped = layout.and_then(|layout| {
            HostArray::from_vec_layout(vec, first.unwrap_or(0), layout).map_err(Error::from)
        });
        match wrapped {
            Ok(host) => NdArray::from_host(host),
            Err(error) => never(&error),
        }
    }
}

impl<T: Element, D: Dimension> NativeArray<Ndarray> for Array<T, D> {
    fn into_library(self) -> Result<NdArray, ConversionError<Self>> {
        Ok(self.into())
    }

    fn from_library(array: NdArray) -> Result<Self, ConversionError<NdArray>> {
        array.take()
    }
}

impl<T: Element, D: Dimension> TryFrom<NdArray> for Array<T, D> {
    type Error = ConversionError<NdArray>;

    /// As [`NdArray::into_array`].
    fn try_from(array: NdArray) -> Result<Self, ConversionError<NdArray>> {
        array.into_array()
    }
}

impl<T: Element, D: Dimension> OwnedType for Array<T, D> {}

impl<T: Element, D: Dimension> sealed::Owned for Array<T, D> {
    type Elem = T;
    const RANK: Option<usize> = D::NDIM;

    fn take(mut host: HostArray) -> Result<Self, HostArray> {
        let fit = host.vec_place::<T>().and_then(|place| VecFit::new(host.layout(), place));
        let Some(fit) = fit else { return Err(host) };
        let layout = host.layout().clone();
        let (vec, _) = host.into_vec_parts::<T>()?;
        Ok(of_vec(vec, &fit, &layout))
    }

    fn of_elements(vec: Vec<T>, shape: &[usize]) -> Option<Self> {
        Array::from_shape_vec(dimension::<D>(shape), vec).ok()
    }
}

/// Makes an array of a vector in which it fits.
///
/// The array first reaches from the vector's start to its own end, and is then cut down: ndarray
/// has no other way to put an array's first element behind the start of its `Vec`.
fn of_vec<T: Element, D: Dimension>(vec: Vec<T>, fit: &VecFit, layout: &Layout) -> Array<T, D> {
    let mut array = match fit.skipped() {
        None => of_whole::<T, D>(vec, fit),
        Some(skipped) => {
            let whole = of_whole::<T, IxDyn>(vec, fit);
            let added = Axis(whole.ndim() - 1);
            // Without the added axis the rank is again that of the layout, hence of `D`.
            match whole.index_axis_move(added, skipped).into_dimensionality() {
                Ok(array) => array,
                Err(error) => never(&error),
            }
        }
    };
    for (axis, &length) in layout.shape().iter().enumerate() {
        let start = array.len_of(Axis(axis)) - length;
        if start > 0 {
            array.slice_axis_inplace(Axis(axis), Slice::from(start..));
        }
    }
    for axis in reversed_axes(layout) {
        array.invert_axis(axis);
    }
    array
}

fn of_whole<T: Element, D: Dimension>(vec: Vec<T>, fit: &VecFit) -> Array<T, D> {
    let shape = unsigned_shape::<D>(fit.whole());
    // SAFETY: `VecFit` keeps that the layout counts from the vector's first element, stays inside
    // the vector and has no two elements in one place; `Layout`, that its sizes fit in `isize`.
    unsafe { Array::from_shape_vec_unchecked(shape, vec) }
}
