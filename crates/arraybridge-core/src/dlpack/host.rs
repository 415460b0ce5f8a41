//! Host arrays as DLPack payloads, and back.

use super::{DlpackDevice, DlpackPayload};
use crate::{Access, DType, Error, HostArray};

impl HostArray {
    /// Turns the array into a DLPack payload over the same memory, with the access that
    /// [`HostArray::claim`] finds.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`].
    pub fn into_dlpack(mut self) -> Result<DlpackPayload, Error> {
        let access = self.claim();
        let (dtype, layout) = (self.dtype(), self.layout().clone());
        let data = self.as_ptr().cast_mut().cast();
        // SAFETY: a host array's invariants are those that a payload needs, and `claim` found the
        // access; the owner moves into the payload.
        unsafe {
            DlpackPayload::new(self.into_owner(), data, 0, dtype, layout, DlpackDevice::CPU, access)
        }
    }

    /// Makes an array of a payload in memory that the host can read: without a copy, but one where
    /// others may write it ([`Access::SharedMutable`]).
    ///
    /// The payload's producer must have finished writing, and nobody may write during the copy:
    /// whoever made the payload vouched for it.
    ///
    /// # Errors
    /// [`Error::InvalidPayload`] for a device that the host cannot read or bytes of a bool array
    /// other than 0 and 1; [`Error::OutOfMemory`] of the copy. The payload is released then.
    pub fn from_dlpack(payload: DlpackPayload) -> Result<HostArray, Error> {
        if !payload.device.is_host_readable() {
            return Err(Error::InvalidPayload {
                field: "device",
                message: format!("{} is not memory that the host can read", payload.device),
            });
        }
        let shared = payload.access == Access::SharedMutable;
        let access = if shared { Access::Immutable } else { payload.access };
        // Where others may write, the bytes of the copy are checked: those here may change after.
        let bools = shared && payload.dtype == DType::Bool;
        let dtype = if bools { DType::U8 } else { payload.dtype };
        let pointer = payload.data.cast::<u8>().wrapping_add(payload.byte_offset as usize);
        // SAFETY: the payload's constructor demanded valid memory with this access; the offset was
        // checked to stay in the address space. Where others may write, the array below lives only
        // for the copy, during which they do not (the constructor demanded that as well). Bytes of
        // bool are valid as u8.
        let array =
            unsafe { HostArray::from_raw(payload.owner, pointer, dtype, payload.layout, access) }?;
        match (shared, bools) {
            (false, _) => Ok(array),
            (true, false) => array.gather(),
            (true, true) => array.gather()?.reinterpret(DType::Bool, array.shape()),
        }
    }
}
