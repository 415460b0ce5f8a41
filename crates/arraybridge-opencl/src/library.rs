//! The library trait.

use arraybridge_core::ops::{ArrayMath, ArrayOps};
use arraybridge_core::roles::{Accelerator, DeviceMove, Duplicate, HostShare, HostVisible};
use arraybridge_core::{
    ArrayLibrary, Availability, BoxError, Description, Device, DeviceKinds, Error, HostArray,
};

use crate::cl::OpenClError;
use crate::{ClArray, device, exchange};

/// The canonical name.
pub(crate) const NAME: &str = "opencl";

/// The library `opencl`: arrays in buffers of any OpenCL device. Python's library of OpenCL arrays,
/// pyclesperanto, names it too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenCl;

/// Wraps a failure of OpenCL.
pub(crate) fn foreign(operation: &'static str, error: OpenClError) -> Error {
    Error::Foreign { library: NAME, operation, source: BoxError::from(error) }
}

/// Wraps a failure of OpenCL, and names running out of memory.
pub(crate) fn failed(
    operation: &'static str,
    device: Device,
    nbytes: usize,
    error: OpenClError,
) -> Error {
    if error.is_out_of_memory() {
        let requested = Some(nbytes);
        return Error::OutOfMemory { library: NAME, device, requested, available: None };
    }
    foreign(operation, error)
}

impl ArrayLibrary for OpenCl {
    type Array = ClArray;

    const INSTANCE: &'static Self = &OpenCl;
    const NAME: &'static str = NAME;
    const ALIASES: &'static [&'static str] = &["pyclesperanto"];
    const KINDS: DeviceKinds = DeviceKinds::ACCELERATOR.and(DeviceKinds::NAMED);

    fn availability(&self) -> Availability {
        device::availability()
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        Ok(device::devices())
    }

    fn describe(&self, array: &ClArray) -> Result<Description, Error> {
        let address = array.host_address().unwrap_or(0);
        Ok(Description::new(array.dtype(), array.layout().clone(), array.device(), address))
    }

    fn device_of(&self, array: &ClArray) -> Result<Device, Error> {
        Ok(array.device())
    }

    fn download(&self, array: &ClArray) -> Result<HostArray, Error> {
        exchange::download(array)
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<ClArray, Error> {
        exchange::upload(array, device::known(device)?.place()?)
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        Some(self)
    }

    fn host_visible(&self) -> Option<&dyn HostVisible<Self>> {
        Some(self)
    }

    fn device_move(&self) -> Option<&dyn DeviceMove<Self>> {
        Some(self)
    }

    fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
        Some(self)
    }

    fn accelerator(&self) -> Option<&dyn Accelerator> {
        Some(self)
    }

    fn ops(&self) -> Option<&dyn ArrayOps<Self>> {
        Some(self)
    }

    fn math(&self) -> Option<&dyn ArrayMath<Self>> {
        Some(self)
    }
}

impl Duplicate<OpenCl> for OpenCl {
    fn shares(&self) -> bool {
        true
    }

    fn duplicate(&self, array: &ClArray) -> Result<ClArray, Error> {
        Ok(array.clone())
    }
}
