//! The library's array: an immutable buffer on a device.

use std::fmt;
use std::sync::Arc;

use arraybridge_core::{DType, Device, Error, HostArray, Layout};

use crate::dtype;
use crate::library::foreign;
use crate::pjrt::Buffer;
use crate::runtime::{self, KnownDevice};

/// An array in an XLA device buffer: immutable, row-major, cheap to clone.
///
/// Operations are queued: an array may be handed on before its elements are there, and whoever reads
/// them waits ([`XlaArray::wait`]).
#[derive(Clone)]
pub struct XlaArray {
    buffer: Arc<Buffer>,
    dtype: DType,
    layout: Layout,
    device: Device,
}

impl XlaArray {
    /// Reads what the buffer is; `device` is the one that it was made on.
    pub(crate) fn new(buffer: Buffer, device: Device) -> Result<XlaArray, Error> {
        let code = buffer.element_code().map_err(|error| foreign("describing a buffer", error))?;
        let dims = buffer.dims().map_err(|error| foreign("describing a buffer", error))?;
        let dtype = dtype::from_code(code).ok_or_else(|| Error::Unsupported {
            library: crate::library::NAME,
            operation: "an element type of less than a byte",
            remedy: "convert it inside the program",
        })?;
        let in_order = buffer.is_row_major(dims.len());
        if !in_order.map_err(|error| foreign("describing a buffer", error))? {
            return Err(Error::Unsupported {
                library: crate::library::NAME,
                operation: "an array whose elements are not in row-major order",
                remedy: "leave the layout of the program's results to its default",
            });
        }
        let layout = Layout::row_major(&dims)?;
        Ok(XlaArray { buffer: Arc::new(buffer), dtype, layout, device })
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn known_device(&self) -> Result<&'static KnownDevice, Error> {
        runtime::device(self.device)
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Returns the layout, which is row-major.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the device that the array lives on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Waits until the elements are there.
    ///
    /// # Errors
    /// The failure of the work that was to make them.
    pub fn wait(&self) -> Result<(), Error> {
        self.buffer.wait().map_err(|error| foreign("waiting for an array", error))
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the plugin's own failures.
    pub(crate) fn download(&self) -> Result<HostArray, Error> {
        let nbytes = self.layout.nbytes(self.dtype)?;
        let mut bytes = HostArray::scratch(DType::U8, &[nbytes])?;
        self.buffer
            .download(bytes.as_slice_mut::<u8>()?)
            .map_err(|error| foreign("reading an array", error))?;
        bytes.reinterpret(self.dtype, self.shape())
    }
}

impl fmt::Debug for XlaArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XlaArray")
            .field("dtype", &self.dtype)
            .field("shape", &self.shape())
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}
