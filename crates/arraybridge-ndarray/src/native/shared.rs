//! `ArcArray<T, D>`: shared until written, on both sides.

use arraybridge_core::{Access, ConversionError, Element, HostArray, Layout, NativeArray, Owner};

use super::ndarray::{ArcArray, Array, Dimension};
use super::never;
use crate::types::sealed;
use crate::{NdArray, Ndarray, OwnedType};

impl<T: Element, D: Dimension + 'static> From<ArcArray<T, D>> for NdArray {
    /// Takes the array without copying. The only handle on its memory hands the memory over;
    /// otherwise it is shared, and either side copies before it writes.
    fn from(array: ArcArray<T, D>) -> NdArray {
        match array.try_into_owned_nocopy() {
            Ok(owned) => owned.into(),
            Err(shared) => {
                let pointer = shared.as_ptr().cast_mut();
                let layout = match Layout::new(shared.shape(), shared.strides()) {
                    Ok(layout) => layout,
                    Err(error) => never(&error),
                };
                // SAFETY: the pointer and the layout are those of the array that becomes the owner.
                NdArray::from_host(unsafe { lend(Owner::new(shared), pointer, layout) })
            }
        }
    }
}

/// Makes a host array of what an `ArcArray` inside of `owner` keeps alive.
///
/// # Safety
/// The layout's elements, counted from `pointer`, are valid and not written while `owner` lives.
/// (`ArcArray`s copy before they write, unless theirs is the only handle.)
unsafe fn lend<T: Element>(owner: Owner, pointer: *mut T, layout: Layout) -> HostArray {
    // SAFETY: the caller's promise; an `ArcArray` of elements that are Sync is read by any thread.
    match unsafe { HostArray::from_elements(owner, pointer, layout, Access::Immutable) } {
        Ok(host) => host,
        Err(error) => never(&error),
    }
}

impl<T: Element, D: Dimension + 'static> NativeArray<Ndarray> for ArcArray<T, D> {
    fn into_library(self) -> Result<NdArray, ConversionError<Self>> {
        Ok(self.into())
    }

    fn from_library(array: NdArray) -> Result<Self, ConversionError<NdArray>> {
        array.take()
    }
}

impl<T: Element, D: Dimension + 'static> TryFrom<NdArray> for ArcArray<T, D> {
    type Error = ConversionError<NdArray>;

    /// As [`NdArray::into_array`].
    fn try_from(array: NdArray) -> Result<Self, ConversionError<NdArray>> {
        array.into_array()
    }
}

impl<T: Element, D: Dimension + 'static> OwnedType for ArcArray<T, D> {}

impl<T: Element, D: Dimension + 'static> sealed::Owned for ArcArray<T, D> {
    type Elem = T;
    const RANK: Option<usize> = D::NDIM;

    fn take(host: HostArray) -> Result<Self, HostArray> {
        if host.owner().holds::<Self>() {
            return take_back(host);
        }
        <Array<T, D> as sealed::Owned>::take(host).map(Array::into_shared)
    }

    fn of_elements(vec: Vec<T>, shape: &[usize]) -> Option<Self> {
        <Array<T, D> as sealed::Owned>::of_elements(vec, shape).map(Array::into_shared)
    }
}

/// Takes the `ArcArray` out of an array of the same dtype that was made of it and not sliced since.
fn take_back<T: Element, D: Dimension + 'static>(
    host: HostArray,
) -> Result<ArcArray<T, D>, HostArray> {
    let (pointer, layout) = (host.as_ptr().cast::<T>().cast_mut(), host.layout().clone());
    let owner = match host.into_owner().into_inner::<ArcArray<T, D>>() {
        Ok(array) => {
            let there = layout.is_empty()
                || (array.as_ptr() == pointer.cast_const() && array.strides() == layout.strides());
            if there && array.shape() == layout.shape() {
                return Ok(array);
            }
            Owner::new(array)
        }
        Err(owner) => owner,
    };
    // SAFETY: these are the parts of the host array that was given, whose owner is or holds the
    // same `ArcArray` as before.
    Err(unsafe { lend(owner, pointer, layout) })
}
