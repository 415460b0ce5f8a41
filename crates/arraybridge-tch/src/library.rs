//! The library trait.

use arraybridge_core::ops::{ArrayMath, ArrayOps};
use arraybridge_core::roles::{
    Accelerator, DeviceMove, DlpackExport, DlpackImport, Duplicate, HostShare, HostVisible,
};
use arraybridge_core::{
    ArrayLibrary, Availability, BoxError, Description, Device, DeviceKinds, Error, HostArray,
};
use tch::Tensor;

use crate::torch::{self, Seen, TorchError};
use crate::{exchange, runtime};

/// The canonical name.
pub(crate) const NAME: &str = "tch";

/// The library `tch`: PyTorch's tensors, by whose names (`torch`, `pytorch`) it is found too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tch;

/// Returns whether libtorch's CUDA part is there and works; the first call loads it.
///
/// Linkers drop that part from programs, so it is loaded from beside the other parts of libtorch when
/// arraybridge first looks for devices. Torch remembers what it found when it was first asked about
/// CUDA, so call this before functions of tch that do, such as `Cuda::is_available`.
///
/// ```
/// if !arraybridge_tch::cuda_availability().is_available() {
///     println!("on the CPU: {}", arraybridge_tch::cuda_availability());
/// }
/// ```
pub fn cuda_availability() -> Availability {
    torch::cuda_availability().clone()
}

/// Wraps a failure of torch's.
pub(crate) fn foreign(operation: &'static str, error: TorchError) -> Error {
    Error::Foreign { library: NAME, operation, source: BoxError::from(error) }
}

impl ArrayLibrary for Tch {
    type Array = Tensor;

    const INSTANCE: &'static Self = &Tch;
    const NAME: &'static str = NAME;
    const ALIASES: &'static [&'static str] = &["torch", "pytorch"];
    const KINDS: DeviceKinds = DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR);

    fn availability(&self) -> Availability {
        // A program that has this linked does not start without libtorch.
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        Ok(runtime::devices())
    }

    fn has_device(&self, device: Device) -> Result<bool, Error> {
        Ok(runtime::has(device))
    }

    fn describe(&self, array: &Tensor) -> Result<Description, Error> {
        let seen = Seen::of(array)?;
        Ok(Description::new(seen.dtype, seen.layout, seen.device, seen.pointer as usize))
    }

    fn device_of(&self, array: &Tensor) -> Result<Device, Error> {
        Seen::device_of(array)
    }

    fn download(&self, array: &Tensor) -> Result<HostArray, Error> {
        exchange::download(array)
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<Tensor, Error> {
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

impl Duplicate<Tch> for Tch {
    fn shares(&self) -> bool {
        false
    }

    fn duplicate(&self, array: &Tensor) -> Result<Tensor, Error> {
        exchange::copy(array)
    }
}
