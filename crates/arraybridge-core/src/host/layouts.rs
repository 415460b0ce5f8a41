//! Views of a host array: other layouts over the same memory.

use super::HostArray;
use crate::{AxisSlice, Error, Layout};

impl HostArray {
    /// Returns the array of another layout over the same memory, whose first element is `offset`
    /// elements away from this one's.
    ///
    /// Both arrays share the memory afterwards, so neither can be written while the other lives.
    ///
    /// # Errors
    /// [`Error::InvalidLayout`] if the layout reaches elements outside of this array's span,
    /// [`Error::SizeOverflow`] if it repeats them beyond the address space.
    pub fn with_layout(&self, layout: Layout, offset: isize) -> Result<HostArray, Error> {
        layout.nbytes(self.dtype)?;
        let (whole, part) = (self.layout.span(), layout.span());
        let start = part.start.checked_add(offset);
        let end = part.end.checked_add(offset);
        let inside = layout.is_empty()
            || (start.is_some_and(|start| start >= whole.start)
                && end.is_some_and(|end| end <= whole.end));
        // A span with gaps may hold memory that is not this array's; only what lies between two of
        // its elements in one allocation is reachable, and that is initialised only if it is dense.
        let covered = layout.is_empty() || self.layout.is_dense();
        if !inside || !covered {
            return Err(Error::InvalidLayout {
                message: format!("{layout:?} at {offset} leaves an array of {:?}", self.layout),
            });
        }
        Ok(self.relaid(layout, offset))
    }

    /// Returns a view whose layout an operation on this array's own layout made.
    pub(super) fn relaid(&self, layout: Layout, offset: isize) -> HostArray {
        let bytes = if layout.is_empty() { 0 } else { offset * self.dtype.size() as isize };
        let mut view = self.clone();
        // Wrapping, hence safe; the callers' layouts keep it inside the array.
        view.pointer = std::ptr::NonNull::new(self.pointer.as_ptr().wrapping_offset(bytes))
            .unwrap_or(self.pointer);
        view.layout = layout;
        view
    }

    /// Returns a view of a slice.
    ///
    /// # Errors
    /// As [`Layout::slice`].
    pub fn slice(&self, slices: &[AxisSlice]) -> Result<HostArray, Error> {
        let (layout, offset) = self.layout.slice(slices)?;
        Ok(self.relaid(layout, offset))
    }

    /// Returns a view without `axis`, at this index of it.
    ///
    /// # Errors
    /// As [`Layout::index_axis`].
    pub fn index_axis(&self, axis: usize, index: usize) -> Result<HostArray, Error> {
        let (layout, offset) = self.layout.index_axis(axis, index)?;
        Ok(self.relaid(layout, offset))
    }

    /// Returns a view with its axes in another order.
    ///
    /// # Errors
    /// As [`Layout::permute`].
    pub fn permute(&self, axes: &[usize]) -> Result<HostArray, Error> {
        Ok(self.relaid(self.layout.permute(axes)?, 0))
    }

    /// Returns a view with its axes reversed.
    pub fn transpose(&self) -> HostArray {
        self.relaid(self.layout.transpose(), 0)
    }

    /// Returns a view repeated to a larger shape, which is never exclusive where elements repeat.
    ///
    /// # Errors
    /// As [`Layout::broadcast_to`].
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<HostArray, Error> {
        let layout = self.layout.broadcast_to(shape)?;
        layout.nbytes(self.dtype)?;
        Ok(self.relaid(layout, 0))
    }

    /// Returns the array with an axis of length 1 inserted before `axis`, over the same memory.
    ///
    /// # Errors
    /// As [`Layout::insert_axis`].
    pub fn insert_axis(&self, axis: usize) -> Result<HostArray, Error> {
        Ok(self.relaid(self.layout.insert_axis(axis)?, 0))
    }

    /// Returns the array of another shape with its elements in row-major order: a view where
    /// strides can express it, else a copy.
    ///
    /// # Errors
    /// As [`Layout::reshape`]; [`Error::OutOfMemory`] of the copy.
    pub fn reshape(&self, shape: &[usize]) -> Result<HostArray, Error> {
        match self.layout.reshape(shape)? {
            Some(layout) => Ok(self.relaid(layout, 0)),
            None => {
                let gathered = self.gather()?;
                Ok(gathered.relaid(Layout::row_major(shape)?, 0))
            }
        }
    }

    /// Returns the same array with strides that every library reads alike
    /// ([`Layout::canonical`]).
    pub fn canonical(mut self) -> HostArray {
        self.layout = self.layout.canonical();
        self
    }
}
