//! The library trait.

use arraybridge_core::ops::{ArrayMath, ArrayOps};
use arraybridge_core::roles::{
    Accelerator, DeviceMove, DlpackExport, DlpackImport, Duplicate, HostShare, HostVisible,
};
use arraybridge_core::{
    ArrayLibrary, Availability, BoxError, Description, Device, DeviceKinds, Error, HostArray,
};

use crate::pjrt::PjrtError;
use crate::{XlaArray, exchange, runtime};

/// The canonical name.
pub(crate) const NAME: &str = "xla";

/// The library `xla`: arrays in the device buffers of a PJRT plugin, the runtime under JAX and
/// TensorFlow, by whose names it is found too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Xla;

/// Wraps a plugin's failure.
pub(crate) fn foreign(operation: &'static str, error: PjrtError) -> Error {
    Error::Foreign { library: NAME, operation, source: BoxError::from(error) }
}

impl ArrayLibrary for Xla {
    type Array = XlaArray;

    const INSTANCE: &'static Self = &Xla;
    const NAME: &'static str = NAME;
    const ALIASES: &'static [&'static str] = &["jax", "tensorflow"];
    const KINDS: DeviceKinds = DeviceKinds::ALL;

    fn availability(&self) -> Availability {
        runtime::availability()
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        runtime::devices()
    }

    fn describe(&self, array: &XlaArray) -> Result<Description, Error> {
        let address = if array.layout().is_empty() {
            0
        } else {
            array.buffer().address().map_err(|error| foreign("describing an array", error))?
        };
        Ok(Description::new(array.dtype(), array.layout().clone(), array.device(), address))
    }

    fn device_of(&self, array: &XlaArray) -> Result<Device, Error> {
        Ok(array.device())
    }

    fn download(&self, array: &XlaArray) -> Result<HostArray, Error> {
        exchange::download(array)
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<XlaArray, Error> {
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

    fn child_environment(&self) -> Vec<(String, String)> {
        // What JAX in a child process reads; the caller's own value wins.
        vec![("XLA_PYTHON_CLIENT_PREALLOCATE".into(), "false".into())]
    }
}

impl Duplicate<Xla> for Xla {
    fn shares(&self) -> bool {
        true
    }

    fn duplicate(&self, array: &XlaArray) -> Result<XlaArray, Error> {
        Ok(array.clone())
    }
}
