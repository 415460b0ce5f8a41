//! The library trait.

use arraybridge_core::roles::{
    Accelerator, DlpackExport, DlpackImport, Duplicate, HostShare, HostVisible,
};
use arraybridge_core::{
    ArrayLibrary, Availability, Description, Device, DeviceKinds, Error, HostArray,
};

use crate::{PyArray, exchange, interpreter};

/// The canonical name.
pub(crate) const NAME: &str = "python";

/// The library `python`: arrays of any Python library, held as the objects that they are.
///
/// # Who may write
/// Python code can hold an object and write its memory at any time. So an array leaves for another
/// library without a copy only where it is proven that nobody else can reach it: a NumPy array
/// whose only reference this is, and whose memory is NumPy's own or came from here. Everything else
/// is copied, attached to the interpreter. Memory that comes in has to be exclusive, or is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PyLibrary;

impl ArrayLibrary for PyLibrary {
    type Array = PyArray;

    const INSTANCE: &'static Self = &PyLibrary;
    const NAME: &'static str = NAME;
    const KINDS: DeviceKinds = DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR);

    fn availability(&self) -> Availability {
        interpreter::availability()
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        exchange::devices()
    }

    fn has_device(&self, device: Device) -> Result<bool, Error> {
        if device.is_host() {
            // Counting accelerators takes longer than most exchanges.
            return Ok(interpreter::require().is_ok());
        }
        Ok(exchange::devices()?.contains(&device))
    }

    fn describe(&self, array: &PyArray) -> Result<Description, Error> {
        exchange::describe(array)
    }

    fn download(&self, array: &PyArray) -> Result<HostArray, Error> {
        exchange::download(array)
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<PyArray, Error> {
        exchange::upload(array, device)
    }

    fn dlpack_export(&self) -> Option<&dyn DlpackExport<Self>> {
        Some(self)
    }

    fn dlpack_import(&self) -> Option<&dyn DlpackImport<Self>> {
        Some(self)
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        Some(self)
    }

    fn host_visible(&self) -> Option<&dyn HostVisible<Self>> {
        Some(self)
    }

    fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
        Some(self)
    }

    fn accelerator(&self) -> Option<&dyn Accelerator> {
        Some(self)
    }
}
