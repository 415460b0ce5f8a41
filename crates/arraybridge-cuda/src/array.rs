//! The library's array: memory of a device, and how it is read as an array.

use std::fmt;
use std::sync::Arc;

use arraybridge_core::{Access, DType, Device, Error, Layout};
use cudarc::driver::CudaStream;

use crate::context::Context;
use crate::library::foreign;
use crate::memory::{self, Memory};

/// An array in the memory of a CUDA device: any dtype, any strides, copy-on-write, cheap to clone.
///
/// Work on it is queued on streams. The array knows which stream wrote it last, and whoever uses it
/// on another one waits for that by an event, on the device. Memory that two arrays share is never
/// written.
#[derive(Clone)]
pub struct CudaArray {
    memory: Arc<Memory>,
    /// The address of element `[0, 0, ...]`; 0 where there are no elements.
    address: u64,
    dtype: DType,
    layout: Layout,
}

impl CudaArray {
    /// Describes an array in memory that holds all elements of the layout, counted from `address`.
    pub(crate) fn new(memory: Memory, address: u64, dtype: DType, layout: Layout) -> CudaArray {
        let address = if layout.is_empty() { 0 } else { address };
        CudaArray { memory: Arc::new(memory), address, dtype, layout }
    }

    /// Allocates a row-major array for work of a stream, which is to write it.
    pub(crate) fn allocate(
        context: &Arc<Context>,
        dtype: DType,
        shape: &[usize],
        stream: &Arc<CudaStream>,
    ) -> Result<CudaArray, Error> {
        let layout = Layout::row_major(shape)?;
        let memory = memory::allocate(context, layout.nbytes(dtype)?, stream)?;
        let address = memory.address;
        Ok(CudaArray::new(memory, address, dtype, layout))
    }

    /// Returns another array over the same memory, inside of this one's.
    pub(crate) fn view(&self, layout: Layout, offset: isize) -> CudaArray {
        let bytes = offset.wrapping_mul(self.dtype.size() as isize) as i64;
        let address = if layout.is_empty() { 0 } else { self.address.wrapping_add_signed(bytes) };
        CudaArray { memory: Arc::clone(&self.memory), address, dtype: self.dtype, layout }
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.memory.context
    }

    /// Returns the memory for writing, if nothing else reaches it.
    pub(crate) fn exclusive(&mut self) -> Option<&mut Memory> {
        if self.layout.may_overlap() {
            return None;
        }
        Arc::get_mut(&mut self.memory).filter(|memory| memory.access == Access::Exclusive)
    }

    /// Takes the memory, if no other array is over it.
    pub(crate) fn into_memory(self) -> Result<Memory, CudaArray> {
        let CudaArray { memory, address, dtype, layout } = self;
        Arc::try_unwrap(memory).map_err(|memory| CudaArray { memory, address, dtype, layout })
    }

    /// Returns the address of element `[0, 0, ...]` in the device's memory; 0 where there are no
    /// elements.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Returns shape and strides.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the size of all elements in bytes.
    pub fn nbytes(&self) -> usize {
        self.layout.len().saturating_mul(self.dtype.size())
    }

    /// Returns the device that the array lives on.
    pub fn device(&self) -> Device {
        self.memory.context.device()
    }

    /// Returns the stream that wrote the array last: work that it queues from now on finds the
    /// elements there.
    pub fn stream(&self) -> Arc<CudaStream> {
        self.memory.written()
    }

    /// Waits until the elements are there.
    ///
    /// # Errors
    /// The failure of the work that was to make them.
    pub fn wait(&self) -> Result<(), Error> {
        let waited = self.memory.after_write().and_then(|event| event.wait());
        waited.map_err(|error| foreign("waiting for an array", error))
    }
}

impl fmt::Debug for CudaArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaArray")
            .field("dtype", &self.dtype)
            .field("layout", &self.layout)
            .field("device", &self.device())
            .field("address", &format_args!("{:#x}", self.address))
            .finish_non_exhaustive()
    }
}
