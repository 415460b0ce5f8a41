//! The trait that a backend implements, and what it is built of.

mod availability;
mod choice;
mod declaration;
mod erased;
mod handle;
mod native;
mod obstacle;
pub mod roles;
mod scope;

use crate::{DType, Device, DeviceKinds, Error, HostArray, Layout};

pub use availability::Availability;
pub use declaration::Declaration;
pub(crate) use erased::{DynArrayLibrary, Second, no_view};
pub use handle::Library;
pub use native::NativeArray;
pub use obstacle::{Decline, DeclineReason, Obstacle};
pub use scope::DeviceScope;

use crate::ops::{ArrayMath, ArrayOps};
use roles::{
    Accelerator, DeviceMove, DlpackExport, DlpackImport, Duplicate, HostShare, HostVisible,
};

/// An array library: all that a backend's author writes.
///
/// The required part says who the library is, where its arrays can live, and how one is described,
/// read to the host and made of a host array. Everything else is a *role*: a method that returns
/// `None` unless the library does it, so that no library can claim what it does not implement.
/// [`register_library!`](crate::register_library) makes it known.
///
/// Implementations are safe code, and core trusts none of their answers with memory: pointers enter
/// through `unsafe` constructors alone.
pub trait ArrayLibrary: Sized + Send + Sync + 'static {
    /// The library's own array type.
    type Array: Send + 'static;

    /// The one value of the library.
    const INSTANCE: &'static Self;

    /// The canonical name: lower case, the suffix of the crate's name.
    const NAME: &'static str;

    /// Other names that it is found by.
    const ALIASES: &'static [&'static str] = &[];

    /// The kinds of device that it can have arrays on, whatever the machine.
    const KINDS: DeviceKinds;

    /// Tells whether the library's runtime is there and works. May load it.
    fn availability(&self) -> Availability;

    /// Returns the devices that the library has on this machine; without its runtime, none.
    ///
    /// # Errors
    /// [`Error::LibraryUnavailable`] if the runtime is there and fails.
    fn devices(&self) -> Result<Vec<Device>, Error>;

    /// Returns whether the library has this device on this machine.
    ///
    /// # Errors
    /// As [`ArrayLibrary::devices`].
    fn has_device(&self, device: Device) -> Result<bool, Error> {
        Ok(self.devices()?.contains(&device))
    }

    /// Describes an array without reading its elements or copying.
    ///
    /// # Errors
    /// [`Error::Unsupported`] or [`Error::DtypeUnsupported`] for an array that has no such
    /// description (sparse, quantised), and the library's own failures.
    fn describe(&self, array: &Self::Array) -> Result<Description, Error>;

    /// Returns the device that an array lives on.
    ///
    /// # Errors
    /// As [`ArrayLibrary::describe`].
    fn device_of(&self, array: &Self::Array) -> Result<Device, Error> {
        self.describe(array).map(|description| description.device)
    }

    /// Reads an array to the host.
    ///
    /// # Behavior
    /// - The result has the array's dtype and shape.
    /// - The result shares the array's memory only if neither is ever written while it does;
    ///   otherwise it is a copy, made by the library.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the library's own failures.
    fn download(&self, array: &Self::Array) -> Result<HostArray, Error>;

    /// Makes an array on `device` of a host array of any layout.
    ///
    /// # Behavior
    /// - The result has the array's dtype and shape and lives on `device`, or it is an error:
    ///   nothing is narrowed, and nothing is placed elsewhere.
    /// - The result shares the host array's memory only if neither is ever written while it does.
    ///
    /// # Errors
    /// [`Error::DtypeUnsupported`], [`Error::DeviceUnavailable`], [`Error::OutOfMemory`] and the
    /// library's own failures.
    fn upload(&self, array: &HostArray, device: Device) -> Result<Self::Array, Error>;

    /// Returns the role of exporting arrays through DLPack to other libraries in the process.
    fn dlpack_export(&self) -> Option<&dyn DlpackExport<Self>> {
        None
    }

    /// Returns the role of importing arrays through DLPack.
    fn dlpack_import(&self) -> Option<&dyn DlpackImport<Self>> {
        None
    }

    /// Returns the role of exchanging main memory as [`HostArray`]s without a copy.
    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        None
    }

    /// Returns the role of lending main memory to readers under a borrow.
    fn host_visible(&self) -> Option<&dyn HostVisible<Self>> {
        None
    }

    /// Returns the role of moving arrays between the library's own devices.
    fn device_move(&self) -> Option<&dyn DeviceMove<Self>> {
        None
    }

    /// Returns the role of making a second array of one, on its own device.
    fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
        None
    }

    /// Returns the role of having accelerators: scopes, cached memory, out-of-memory errors.
    fn accelerator(&self) -> Option<&dyn Accelerator> {
        None
    }

    /// Returns the role of array operations.
    fn ops(&self) -> Option<&dyn ArrayOps<Self>> {
        None
    }

    /// Returns the role of making arrays of nothing: `linspace`, `ones`.
    fn math(&self) -> Option<&dyn ArrayMath<Self>> {
        None
    }

    /// Returns the environment variables that a child process needs to find the library's runtime
    /// and share a device with this process.
    fn child_environment(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// What an array is: dtype, layout, device, address.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Description {
    /// The element type.
    pub dtype: DType,
    /// Shape and strides.
    pub layout: Layout,
    /// Where the array lives.
    pub device: Device,
    /// The address of element `[0, 0, ...]` in its device's address space, or 0 where the library
    /// has none to tell. Core only compares it.
    pub address: usize,
    /// The name that records give the array's library, where that has arrays of several makers
    /// (`python:torch`); `None` for the library's own.
    pub label: Option<&'static str>,
}

impl Description {
    /// Joins the parts of a description.
    pub fn new(dtype: DType, layout: Layout, device: Device, address: usize) -> Description {
        Description { dtype, layout, device, address, label: None }
    }

    /// Names the maker of the array for records.
    pub fn labelled(self, label: &'static str) -> Description {
        Description { label: Some(label), ..self }
    }

    /// Returns the size of all elements in bytes.
    pub fn nbytes(&self) -> usize {
        self.layout.len().saturating_mul(self.dtype.size())
    }
}

/// Returns an error unless `device` is one of the library's.
///
/// # Errors
/// [`Error::DeviceKindUnsupported`] if the library never has such devices,
/// [`Error::DeviceUnavailable`] with those that are there, and the failure to list them.
pub fn require_device<L: ArrayLibrary>(device: Device) -> Result<(), Error> {
    if !L::KINDS.contains(device.kind()) {
        return Err(Error::DeviceKindUnsupported { library: L::NAME, device, kinds: L::KINDS });
    }
    if L::INSTANCE.has_device(device)? {
        return Ok(());
    }
    Err(Error::DeviceUnavailable { library: L::NAME, device, available: L::INSTANCE.devices()? })
}
