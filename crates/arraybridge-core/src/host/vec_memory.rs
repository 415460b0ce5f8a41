//! A `Vec` as the owner of an array's memory, and back.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::Element;

/// The raw parts of a `Vec`, which may be pointed into while they are kept here.
///
/// A `Vec` itself asserts that nobody else points to its elements whenever it is moved; raw parts
/// assert nothing.
pub(super) struct VecMemory<T: Element> {
    pointer: NonNull<T>,
    length: usize,
    capacity: usize,
}

// SAFETY: this is a `Vec<T>` in other form, which is Send as T is.
unsafe impl<T: Element> Send for VecMemory<T> {}

impl<T: Element> VecMemory<T> {
    pub(super) fn new(vec: Vec<T>) -> VecMemory<T> {
        let mut vec = ManuallyDrop::new(vec);
        let (length, capacity) = (vec.len(), vec.capacity());
        // SAFETY: a Vec's pointer is never null.
        let pointer = unsafe { NonNull::new_unchecked(vec.as_mut_ptr()) };
        VecMemory { pointer, length, capacity }
    }

    pub(super) fn pointer(&self) -> NonNull<T> {
        self.pointer
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    pub(super) fn into_vec(self) -> Vec<T> {
        let parts = ManuallyDrop::new(self);
        // SAFETY: the parts are those of the Vec that `new` took apart, and `self` does not drop.
        unsafe { Vec::from_raw_parts(parts.pointer.as_ptr(), parts.length, parts.capacity) }
    }
}

impl<T: Element> Drop for VecMemory<T> {
    fn drop(&mut self) {
        // SAFETY: as in `into_vec`; the parts are not used after this.
        drop(unsafe { Vec::from_raw_parts(self.pointer.as_ptr(), self.length, self.capacity) });
    }
}
