//! The library trait.

use arraybridge_core::ops::{ArrayMath, ArrayOps};
use arraybridge_core::roles::{Accelerator, DeviceMove, DlpackExport, DlpackImport, Duplicate};
use arraybridge_core::{
    ArrayLibrary, Availability, Description, Device, DeviceKinds, Error, HostArray,
};

use crate::{CudaArray, CudaError, exchange, runtime};

/// The canonical name.
pub(crate) const NAME: &str = "cuda";

/// The library `cuda`: arrays in the memory of NVIDIA's GPUs, through nothing but their driver. It is
/// found as `cupy` too, in whose place it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cuda;

/// Wraps a failure of the driver.
pub(crate) fn foreign(operation: &'static str, error: CudaError) -> Error {
    Error::foreign(NAME, operation, error)
}

impl ArrayLibrary for Cuda {
    type Array = CudaArray;

    const INSTANCE: &'static Self = &Cuda;
    const NAME: &'static str = NAME;
    const ALIASES: &'static [&'static str] = &["cupy"];
    const KINDS: DeviceKinds = DeviceKinds::ACCELERATOR;

    fn availability(&self) -> Availability {
        runtime::availability()
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        runtime::devices()
    }

    fn describe(&self, array: &CudaArray) -> Result<Description, Error> {
        let (layout, address) = (array.layout().clone(), array.address() as usize);
        Ok(Description::new(array.dtype(), layout, array.device(), address))
    }

    fn device_of(&self, array: &CudaArray) -> Result<Device, Error> {
        Ok(array.device())
    }

    fn download(&self, array: &CudaArray) -> Result<HostArray, Error> {
        exchange::download(array)
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<CudaArray, Error> {
        exchange::upload(array, device)
    }

    fn dlpack_export(&self) -> Option<&dyn DlpackExport<Self>> {
        Some(self)
    }

    fn dlpack_import(&self) -> Option<&dyn DlpackImport<Self>> {
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

impl Duplicate<Cuda> for Cuda {
    fn shares(&self) -> bool {
        true
    }

    fn duplicate(&self, array: &CudaArray) -> Result<CudaArray, Error> {
        Ok(array.clone())
    }
}
