//! A library whose type is not known at compile time.

use std::any::TypeId;
use std::error::Error as StdError;
use std::fmt;

use super::{Availability, Declaration, DeviceScope, DynArrayLibrary};
use crate::{ArrayLibrary, DType, Device, Error};

/// A handle on a library, found by name ([`library`](crate::library)) or by type
/// ([`Library::of`]). `Copy`, and equal to another handle on the same library.
#[derive(Clone, Copy)]
pub struct Library(&'static dyn DynArrayLibrary);

impl Library {
    /// Returns the handle of a library's type.
    pub fn of<L: ArrayLibrary>() -> Library {
        Library(L::INSTANCE)
    }

    pub(crate) fn from_dyn(library: &'static dyn DynArrayLibrary) -> Library {
        Library(library)
    }

    pub(crate) fn inner(self) -> &'static dyn DynArrayLibrary {
        self.0
    }

    /// Returns the canonical name.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns what the library declares about itself.
    pub fn declaration(self) -> Declaration {
        self.0.declaration()
    }

    /// Tells whether the library's runtime is there and works. May load it.
    pub fn availability(self) -> Availability {
        self.0.availability()
    }

    /// Returns the devices that the library has on this machine.
    ///
    /// # Errors
    /// [`Error::LibraryUnavailable`] if the runtime is there and fails.
    pub fn available_devices(self) -> Result<Vec<Device>, Error> {
        self.0.devices()
    }

    /// Returns main memory, if the library has arrays there.
    ///
    /// # Errors
    /// As [`Library::available_devices`].
    pub fn host_devices(self) -> Result<Vec<Device>, Error> {
        self.devices_where(Device::is_host)
    }

    /// Returns the library's numbered accelerators.
    ///
    /// # Errors
    /// As [`Library::available_devices`].
    pub fn accelerator_devices(self) -> Result<Vec<Device>, Error> {
        self.devices_where(|device| matches!(device, Device::Accelerator(_)))
    }

    fn devices_where(self, keep: impl Fn(Device) -> bool) -> Result<Vec<Device>, Error> {
        let mut devices = self.0.devices()?;
        devices.retain(|device| keep(*device));
        Ok(devices)
    }

    /// Returns an error unless the library has this device.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`] with the devices that are there,
    /// [`Error::DeviceKindUnsupported`], [`Error::LibraryUnavailable`].
    pub fn require_device(self, device: Device) -> Result<(), Error> {
        self.0.require_device(device)
    }

    /// Makes new arrays of this thread land on `device` until the guard is dropped.
    ///
    /// # Errors
    /// As [`Library::require_device`], and the library's own failures.
    pub fn device_scope(self, device: Device) -> Result<DeviceScope, Error> {
        self.0.require_device(device)?;
        match self.0.accelerator() {
            Some(role) => role.scope(device),
            None => Ok(DeviceScope::nothing()),
        }
    }

    /// Makes new arrays land on `device` from now on, for the process where the library has such a
    /// setting.
    ///
    /// # Errors
    /// As [`Library::require_device`], and the library's own failures.
    pub fn activate(self, device: Device) -> Result<(), Error> {
        self.0.require_device(device)?;
        match self.0.accelerator() {
            Some(role) => role.activate(device),
            None => Ok(()),
        }
    }

    /// Returns the device on which new arrays land on this thread: the first one where the library
    /// has no such setting.
    ///
    /// # Errors
    /// [`Error::LibraryUnavailable`] if the library has no device here, and its own failures.
    pub fn current_device(self) -> Result<Device, Error> {
        if let Some(role) = self.0.accelerator() {
            return role.current_device();
        }
        let first = self.0.devices()?.first().copied();
        first.ok_or_else(|| Error::LibraryUnavailable {
            library: self.name(),
            cause: "it has no device on this machine".into(),
        })
    }

    /// Gives memory that the library keeps for reuse back to the system, on one device or on all,
    /// and returns the bytes freed where the library tells. Loads no runtime.
    ///
    /// # Errors
    /// The library's own failures.
    pub fn release_cached_memory(self, device: Option<Device>) -> Result<Option<usize>, Error> {
        self.0.accelerator().map_or(Ok(None), |role| role.release_cached_memory(device))
    }

    /// Returns whether an error, or one that caused it, means that memory ran out: core's own
    /// [`Error::OutOfMemory`] or what this library recognises. Loads no runtime.
    pub fn is_out_of_memory(self, error: &(dyn StdError + 'static)) -> bool {
        crate::error::is_own_out_of_memory(error)
            || self.0.accelerator().is_some_and(|role| role.is_out_of_memory(error))
    }

    /// Returns the dtype that the library gives to floats that nobody chose, if it makes arrays of
    /// nothing.
    pub fn default_float(self) -> Option<DType> {
        self.0.default_float()
    }

    /// Returns the environment variables that a child process needs to find the library's runtime
    /// and share a device with this process.
    pub fn child_environment(self) -> Vec<(String, String)> {
        self.0.child_environment()
    }

    /// Returns whether `L` is this library.
    pub fn is<L: ArrayLibrary>(self) -> bool {
        self.0.library_type() == TypeId::of::<L>()
    }
}

impl PartialEq for Library {
    fn eq(&self, other: &Library) -> bool {
        // Never by address: values of different unit structs may share one.
        self.0.library_type() == other.0.library_type()
    }
}

impl Eq for Library {}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({})", self.name())
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
