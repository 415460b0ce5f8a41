//! The library's array: a strided view of a buffer, copied on write.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arraybridge_core::{Access, AxisSlice, DType, Device, Error, Layout};

use crate::library::foreign;
use crate::memory::Memory;
use crate::ops::gather;
use crate::place::Place;

/// An array in an OpenCL buffer: an offset, a shape and strides over memory that is shared with
/// other arrays and copied before it is written while it is.
///
/// Cloning it and taking parts of it share the buffer. Operations are queued: an array may be handed
/// on before its elements are there, and whoever reads them waits ([`ClArray::wait`]).
#[derive(Clone)]
pub struct ClArray {
    memory: Arc<Memory>,
    /// Of element `[0, 0, ...]`, in elements from the start of the buffer.
    offset: usize,
    dtype: DType,
    layout: Layout,
}

impl ClArray {
    /// Joins the parts.
    ///
    /// # Errors
    /// [`Error::InvalidLayout`] if the layout leaves the buffer.
    pub(crate) fn new(
        memory: Arc<Memory>,
        offset: usize,
        dtype: DType,
        layout: Layout,
    ) -> Result<ClArray, Error> {
        let array = ClArray { memory, offset, dtype, layout };
        array.layout.nbytes(dtype)?;
        let span = array.byte_span()?;
        if span.end > array.memory.nbytes() && !array.layout.is_empty() {
            return Err(array.outside());
        }
        Ok(array)
    }

    /// Allocates a row-major array; its elements are of any value.
    pub(crate) fn allocate(
        place: &Arc<Place>,
        dtype: DType,
        shape: &[usize],
    ) -> Result<ClArray, Error> {
        let layout = Layout::row_major(shape)?;
        let memory = Memory::allocate(place, layout.nbytes(dtype)?)?;
        ClArray::new(Arc::new(memory), 0, dtype, layout)
    }

    fn outside(&self) -> Error {
        let message = format!(
            "{:?} of {} from element {} on leaves a buffer of {} bytes",
            self.layout,
            self.dtype,
            self.offset,
            self.memory.nbytes()
        );
        Error::InvalidLayout { message }
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    pub(crate) fn place(&self) -> &Arc<Place> {
        self.memory.place()
    }

    /// Returns the offset of element `[0, 0, ...]` in elements from the start of the buffer.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the bytes of the buffer that the array reaches: from its lowest element to behind its
    /// highest.
    pub(crate) fn byte_span(&self) -> Result<Range<usize>, Error> {
        let span = self.layout.span();
        let size = self.dtype.size();
        let at = |end: isize| {
            self.offset.checked_add_signed(end).and_then(|element| element.checked_mul(size))
        };
        let ends = at(span.start).zip(at(span.end));
        ends.map(|(start, end)| start..end).ok_or_else(|| self.outside())
    }

    /// Returns the memory for writing, if this is the only handle on it and it may be written.
    pub(crate) fn memory_mut(&mut self) -> Option<&mut Memory> {
        let memory = Arc::get_mut(&mut self.memory)?;
        (memory.access() == Access::Exclusive).then_some(memory)
    }

    /// Returns whether nobody but this array reaches its memory, and no two of its elements overlap.
    pub(crate) fn is_exclusive(&mut self) -> bool {
        self.memory_mut().is_some() && !self.layout.may_overlap()
    }

    /// Returns the array of another layout over the same buffer, `offset` elements away.
    pub(crate) fn relaid(&self, layout: Layout, offset: isize) -> Result<ClArray, Error> {
        let offset = if layout.is_empty() { 0 } else { offset };
        let offset = self.offset.checked_add_signed(offset).ok_or_else(|| self.outside())?;
        ClArray::new(Arc::clone(&self.memory), offset, self.dtype, layout)
    }

    /// Returns the address of element `[0, 0, ...]` where the buffer is in the host's memory.
    pub(crate) fn host_address(&self) -> Option<usize> {
        let start = self.memory.host_address().filter(|_| !self.layout.is_empty())?;
        Some(start + self.offset * self.dtype.size())
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the device that the array lives on.
    pub fn device(&self) -> Device {
        self.place().device()
    }

    /// Returns a view of a slice, over the same buffer.
    ///
    /// # Errors
    /// As [`Layout::slice`].
    pub fn slice(&self, slices: &[AxisSlice]) -> Result<ClArray, Error> {
        let (layout, offset) = self.layout.slice(slices)?;
        self.relaid(layout, offset)
    }

    /// Returns a view with its axes in another order, over the same buffer.
    ///
    /// # Errors
    /// As [`Layout::permute`].
    pub fn permute(&self, axes: &[usize]) -> Result<ClArray, Error> {
        self.relaid(self.layout.permute(axes)?, 0)
    }

    /// Returns a row-major array that begins its buffer, as kernels of one's own take it: this one
    /// where it is such, else a copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's failures.
    pub fn to_contiguous(&self) -> Result<ClArray, Error> {
        if self.layout.is_row_major() && self.offset == 0 { Ok(self.clone()) } else { gather(self) }
    }

    /// Makes the array the only one over its memory, copying it on the device if it is not, and
    /// returns whether it copied.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's failures; the array is left as it was.
    pub fn make_mut(&mut self) -> Result<bool, Error> {
        if self.is_exclusive() {
            return Ok(false);
        }
        *self = gather(self)?;
        Ok(true)
    }

    /// Waits until the elements are there.
    ///
    /// # Errors
    /// The failure of the work that was to make them.
    pub fn wait(&self) -> Result<(), Error> {
        self.memory.wait().map_err(|error| foreign("waiting for an array", error))
    }
}

impl fmt::Debug for ClArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClArray")
            .field("dtype", &self.dtype)
            .field("layout", &self.layout)
            .field("offset", &self.offset)
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}
