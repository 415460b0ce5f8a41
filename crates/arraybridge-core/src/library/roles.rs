//! The roles: what a library may do besides the required part.
//!
//! Methods that consume an array take a slot, `&mut Option<Array>`: the array is taken on success
//! and left in place otherwise, so nothing is lost and nothing is boxed.

use std::error::Error as StdError;

pub use super::choice::DeviceChoice;
use super::{ArrayLibrary, DeviceScope, Obstacle};
use crate::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use crate::{Access, CopyPolicy, Device, DeviceKinds, Error, HostArray, HostView, Owner};

/// Exporting arrays through DLPack to another library in the process.
pub trait DlpackExport<L: ArrayLibrary>: Send + Sync {
    /// Returns the kinds of device that it exports from. Plain data: loads no runtime.
    fn kinds(&self) -> DeviceKinds;

    /// Returns the DLPack device of an array, which the consumer is asked about first.
    ///
    /// # Errors
    /// Declines for an array that has none.
    fn device(&self, array: &L::Array) -> Result<DlpackDevice, Obstacle>;

    /// Turns an array into a payload over the same memory.
    ///
    /// # Behavior
    /// - The payload's owner holds the array ([`Owner::new`]`(array)`), and is the only handle.
    /// - The payload's access is claimed, not assumed. An array that others can reach is copied
    ///   once, by the library on its device, and the payload marked as copied; with
    ///   [`CopyPolicy::Never`] it declines instead.
    /// - The data is ready for work that the consumer queues on `stream`; nothing waits for a whole
    ///   device.
    ///
    /// # Errors
    /// Declines for dtype, layout or sharing; fails for everything else. The array is left in its
    /// slot.
    fn export(
        &self,
        slot: &mut Option<L::Array>,
        policy: CopyPolicy,
        stream: Option<DlpackStream>,
    ) -> Result<DlpackPayload, Obstacle>;

    /// Takes the array back from a payload that nobody could import.
    ///
    /// # Errors
    /// The owner comes back if it does not hold the array itself or still has other holders.
    fn reclaim(&self, owner: Owner) -> Result<L::Array, Owner> {
        owner.into_inner()
    }
}

/// Importing arrays through DLPack from another library in the process.
pub trait DlpackImport<L: ArrayLibrary>: Send + Sync {
    /// Returns the kinds of device that it imports on. Plain data: loads no runtime.
    fn kinds(&self) -> DeviceKinds;

    /// Returns the stream on which this thread will use memory of `device`; `None` if it cannot name
    /// one, so that the producer finishes its own work first.
    ///
    /// # Errors
    /// Declines if the library does not have that device.
    fn stream(&self, device: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle>;

    /// Makes an array of a payload, where it is.
    ///
    /// # Behavior
    /// - A library that may write its arrays takes [`Access::Exclusive`] payloads only.
    /// - Everything that the native call would abort on is checked first.
    /// - The owner is released once, after the last use, on the stream that was named.
    ///
    /// # Errors
    /// Declines for dtype, layout, alignment, read-only memory or version; fails for everything
    /// else. The payload may be dropped: core holds what it needs to give the array back.
    fn import(&self, payload: DlpackPayload) -> Result<L::Array, Obstacle>;
}

/// Main memory that one library offers another.
#[derive(Debug)]
pub struct HostOffer {
    array: HostArray,
    access: Access,
}

impl HostOffer {
    pub(crate) fn new(array: HostArray, access: Access) -> HostOffer {
        HostOffer { array, access }
    }

    /// Returns the array.
    pub fn array(&self) -> &HostArray {
        &self.array
    }

    /// Returns who else may reach the memory, found when it was lent. This, and not
    /// [`HostArray::claim`], is what a consumer goes by: during the conversion core holds a second
    /// handle, with which it gives the array back if the conversion fails.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns the array itself.
    pub fn into_array(self) -> HostArray {
        self.array
    }
}

/// Exchanging main memory without a copy.
pub trait HostShare<L: ArrayLibrary>: Send + Sync {
    /// Returns the kinds of device whose arrays are memory that the host reads and writes. Plain
    /// data: loads no runtime.
    fn kinds(&self) -> DeviceKinds;

    /// Turns an array into a host array over the same memory.
    ///
    /// # Behavior
    /// - The result's access is [`Access::Exclusive`] only if the claim proved it, down to the
    ///   bytes; an array that others may write declines with
    ///   [`DeclineReason::Shared`](super::DeclineReason::Shared).
    ///
    /// # Errors
    /// Declines for dtype, layout, device or sharing; fails for everything else. The array is left
    /// in its slot.
    fn lend(&self, slot: &mut Option<L::Array>) -> Result<HostArray, Obstacle>;

    /// Makes an array on `device` over memory that is offered, without a copy.
    ///
    /// # Behavior
    /// - A library that may write its arrays takes [`Access::Exclusive`] offers only.
    /// - The owner is released once, after the last use, from any thread.
    ///
    /// # Errors
    /// Declines for dtype, layout, alignment or read-only memory; fails for everything else. The
    /// offer may be dropped: core holds what it needs to give the array back.
    fn adopt(&self, offer: HostOffer, device: Device) -> Result<L::Array, Obstacle>;

    /// Takes the array back from memory that nobody adopted.
    ///
    /// # Errors
    /// The memory comes back if its owner does not hold the array itself or has other holders.
    fn reclaim(&self, array: HostArray) -> Result<L::Array, Owner> {
        array.into_owner().into_inner()
    }
}

/// Lending main memory to readers under a borrow.
///
/// There are two methods because `&Array` suffices only where no safe call on `&Array` can make a
/// writer.
pub trait HostVisible<L: ArrayLibrary>: Send + Sync {
    /// Views an array that is never written while it is borrowed.
    ///
    /// # Errors
    /// [`Error::Shared`] where a shared borrow does not keep others from writing (use the exclusive
    /// view); [`Error::Unsupported`] for memory that the host cannot read.
    fn view<'a>(&self, array: &'a L::Array) -> Result<HostView<'a>, Error>;

    /// Views an array that is borrowed exclusively.
    ///
    /// # Errors
    /// [`Error::Shared`] if others hold the same memory; [`Error::Unsupported`] as above.
    fn view_exclusive<'a>(&self, array: &'a mut L::Array) -> Result<HostView<'a>, Error> {
        self.view(array)
    }
}

/// Moving arrays between the library's own devices.
pub trait DeviceMove<L: ArrayLibrary>: Send + Sync {
    /// Returns the array on another device; the given one stays where it is.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`], [`Error::OutOfMemory`] and the library's own failures.
    fn move_to(&self, array: &L::Array, device: Device) -> Result<L::Array, Error>;
}

/// Making a second array of one, on its own device.
pub trait Duplicate<L: ArrayLibrary>: Send + Sync {
    /// Returns whether a duplicate shares the memory, because the library never writes memory that
    /// has two handles (immutable or copy-on-write arrays).
    fn shares(&self) -> bool;

    /// Returns a second array: a handle on the same memory if [`Duplicate::shares`], else a copy
    /// that nothing else reaches.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the library's own failures.
    fn duplicate(&self, array: &L::Array) -> Result<L::Array, Error>;
}

/// Having accelerators.
///
/// A library without a device setting of its own keeps the choice in a [`DeviceChoice`].
pub trait Accelerator: Send + Sync {
    /// Returns the device on which new arrays land on this thread.
    ///
    /// # Errors
    /// [`Error::LibraryUnavailable`] and the library's own failures.
    fn current_device(&self) -> Result<Device, Error>;

    /// Makes new arrays of this thread land on `device` until the guard is dropped.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`] and the library's own failures.
    fn scope(&self, device: Device) -> Result<DeviceScope, Error>;

    /// Makes this thread's work on `device` run on the thread's own stream, made on first use,
    /// until the guard is dropped.
    ///
    /// # Errors
    /// As [`Accelerator::scope`].
    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        let _ = device;
        Ok(DeviceScope::nothing())
    }

    /// Makes new arrays land on `device` from now on, for the process where the library has such a
    /// setting.
    ///
    /// # Errors
    /// As [`Accelerator::scope`].
    fn activate(&self, device: Device) -> Result<(), Error>;

    /// Gives memory that the library keeps for reuse back to the system, on one device or on all,
    /// and returns the bytes freed where the library tells. Loads no runtime.
    ///
    /// # Errors
    /// The library's own failures.
    fn release_cached_memory(&self, device: Option<Device>) -> Result<Option<usize>, Error>;

    /// Returns whether an error (one of the library's own, or one that wraps it) means that memory
    /// ran out. Loads no runtime.
    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool;
}
