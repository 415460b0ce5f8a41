//! Borrowed memory that may be written.

use std::fmt;
use std::marker::PhantomData;

use super::{Access, HostArray, HostView, Owner};
use crate::{DType, Element, Error, Layout};

/// Memory of an array that is borrowed exclusively, to be filled: nothing is allocated for the
/// elements.
pub struct HostViewMut<'a> {
    /// The memory, under an owner that ends with the view. Never handed out: its clones would
    /// outlive `'a`.
    array: HostArray,
    _borrowed: PhantomData<&'a mut ()>,
}

impl<'a> HostViewMut<'a> {
    /// Makes a view of elements that nobody else reaches for `'a`.
    ///
    /// # Errors
    /// As [`HostArray::from_elements`].
    ///
    /// # Safety
    /// For all of `'a` every element of `layout`, counted from `pointer`, is a valid `T` in one
    /// allocation, may be read and written from any thread, and is reached through this view alone.
    pub unsafe fn from_elements<T: Element>(
        pointer: *mut T,
        layout: Layout,
    ) -> Result<HostViewMut<'a>, Error> {
        let owner = Owner::new(());
        // SAFETY: the caller vouches for the memory during 'a, and no handle of this array leaves
        // the view, so the array does not outlive it.
        let array = unsafe { HostArray::from_elements(owner, pointer, layout, Access::Exclusive) }?;
        Ok(HostViewMut { array, _borrowed: PhantomData })
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        self.array.layout()
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// Copies all elements of a view of the same dtype and shape into this memory.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::ShapeMismatch`]; [`Error::Shared`] if two elements of
    /// this view may be one.
    pub fn copy_from(&mut self, source: &HostView<'_>) -> Result<(), Error> {
        source.array().copy_into(&mut self.array)
    }
}

impl fmt::Debug for HostViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostViewMut")
            .field("dtype", &self.dtype())
            .field("layout", self.layout())
            .field("address", &format_args!("{:#x}", self.array.address()))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_memory_is_filled_and_what_lies_between_is_left() {
        let mut memory = [0u8; 6];
        let layout = Layout::new(&[3], &[2]).unwrap();
        // SAFETY: `memory` is used again only after the view.
        let mut view = unsafe { HostViewMut::from_elements(memory.as_mut_ptr(), layout) }.unwrap();
        let source = HostArray::from_vec(vec![1u8, 2, 3], &[3]).unwrap();
        view.copy_from(&source.view()).unwrap();
        let long = HostArray::from_vec(vec![1u8; 4], &[4]).unwrap();
        let error = view.copy_from(&long.view()).unwrap_err();
        assert_eq!(error.to_string(), "copying into an array: expected shape [3], found [4]");
        assert_eq!(memory, [1, 0, 2, 0, 3, 0]);
    }

    #[test]
    fn elements_that_lie_on_each_other_are_not_filled() {
        let mut memory = [7u8];
        let layout = Layout::new(&[2], &[0]).unwrap();
        // SAFETY: `memory` is used again only after the view.
        let mut view = unsafe { HostViewMut::from_elements(memory.as_mut_ptr(), layout) }.unwrap();
        let source = HostArray::from_vec(vec![1u8, 2], &[2]).unwrap();
        assert!(matches!(view.copy_from(&source.view()), Err(Error::Shared { .. })));
        assert_eq!(memory, [7]);
    }
}
