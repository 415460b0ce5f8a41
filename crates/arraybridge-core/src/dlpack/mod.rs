//! Exchange through the DLPack 1.x C ABI.

mod device;
mod foreign;
mod host;

use std::ffi::c_void;
use std::fmt;

use crate::{Access, DType, Error, Layout, Owner};

pub use device::{DlpackDevice, DlpackStream, StreamHandle};

/// An array in DLPack's terms, on its way from one library to another.
///
/// Besides what the C structure carries there is the [`Access`], which its flags cannot say: inside
/// the process it travels with the payload. The memory is released once, when the payload (or the
/// array that was made of it) is dropped.
pub struct DlpackPayload {
    owner: Owner,
    data: *mut c_void,
    byte_offset: u64,
    dtype: DType,
    layout: Layout,
    device: DlpackDevice,
    access: Access,
    copied: bool,
}

// SAFETY: the payload's constructors demand memory that may be used and released on any thread; the
// pointer is not dereferenced by the payload.
unsafe impl Send for DlpackPayload {}

impl DlpackPayload {
    /// Describes memory that `owner` keeps alive.
    ///
    /// `data` is the pointer (or opaque handle) of the device's own kind, and the first element
    /// lies `byte_offset` bytes behind it: handles are not offset themselves. Exclusive access to a
    /// layout whose elements may overlap is lowered to [`Access::Immutable`].
    ///
    /// # Errors
    /// [`Error::InvalidPayload`] for null data of an array with elements, [`Error::SizeOverflow`].
    /// The owner is dropped then.
    ///
    /// # Safety
    /// Until the last handle on `owner` is dropped, the elements of `layout` are valid memory of
    /// `device`, initialised once work that the producer queued has run, and reachable as `access`
    /// says: [`Access::Exclusive`] only if nothing else reaches them. On a device that the host can
    /// read ([`DlpackDevice::is_host_readable`]) that work has run already; with
    /// [`Access::SharedMutable`], nobody writes them while [`HostArray::from_dlpack`] copies them.
    ///
    /// [`HostArray::from_dlpack`]: crate::HostArray::from_dlpack
    pub unsafe fn new(
        owner: Owner,
        data: *mut c_void,
        byte_offset: u64,
        dtype: DType,
        layout: Layout,
        device: DlpackDevice,
        access: Access,
    ) -> Result<DlpackPayload, Error> {
        layout.nbytes(dtype)?;
        layout.byte_span(dtype)?;
        if data.is_null() && !layout.is_empty() {
            return Err(Error::InvalidPayload {
                field: "data",
                message: format!("the pointer is null for {} elements", layout.len()),
            });
        }
        let access = match access {
            // Writing one element would write another.
            Access::Exclusive if layout.may_overlap() => Access::Immutable,
            access => access,
        };
        Ok(DlpackPayload { owner, data, byte_offset, dtype, layout, device, access, copied: false })
    }

    /// Notes that the producer copied the elements for this payload (DLPack's flag `IS_COPIED`).
    pub fn mark_copied(mut self) -> DlpackPayload {
        self.copied = true;
        self
    }

    /// Returns the pointer or handle, without the byte offset.
    pub fn data(&self) -> *mut c_void {
        self.data
    }

    /// Returns the bytes between [`DlpackPayload::data`] and the first element.
    pub fn byte_offset(&self) -> u64 {
        self.byte_offset
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the layout, whose strides are always written out.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the device in DLPack's terms.
    pub fn device(&self) -> DlpackDevice {
        self.device
    }

    /// Returns who else may reach the memory. A consumer takes this for granted and does not ask
    /// the owner: during a conversion core holds a second handle on it.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns whether the producer copied the elements for this payload.
    pub fn is_copied(&self) -> bool {
        self.copied
    }

    /// Returns the address of the first element (the sum of data and offset, wrapping).
    pub fn address(&self) -> usize {
        (self.data as usize).wrapping_add(self.byte_offset as usize)
    }

    /// Returns the owner alone, for a consumer that has taken the description.
    pub fn into_owner(self) -> Owner {
        self.owner
    }

    /// A second handle, with which core gives the array back if the conversion fails.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }
}

impl fmt::Debug for DlpackPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DlpackPayload")
            .field("dtype", &self.dtype)
            .field("layout", &self.layout)
            .field("device", &self.device)
            .field("access", &self.access)
            .field("copied", &self.copied)
            .finish_non_exhaustive()
    }
}
