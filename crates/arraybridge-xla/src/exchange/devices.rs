//! Moves between devices, and accelerators' settings.

use std::error::Error as StdError;

use arraybridge_core::roles::{Accelerator, DeviceChoice, DeviceMove};
use arraybridge_core::{Device, DeviceScope, Error, causes};

use super::failed;
use crate::library::NAME;
use crate::{PjrtError, Xla, XlaArray, runtime};

impl DeviceMove<Xla> for Xla {
    fn move_to(&self, array: &XlaArray, device: Device) -> Result<XlaArray, Error> {
        let (from, to) = (array.known_device()?, runtime::device(device)?);
        let nbytes = array.layout().nbytes(array.dtype())?;
        if from.pjrt.client().is(to.pjrt.client()) {
            let copy = array.buffer().copy_to(&to.pjrt);
            let copy = copy.map_err(|error| failed("moving an array", device, nbytes, error))?;
            return XlaArray::new(copy, device);
        }
        // Clients of different plugins meet on the host only.
        super::upload(&super::download(array)?, device)
    }
}

/// The device that the program chose.
fn choice() -> DeviceChoice {
    DeviceChoice::of::<Xla>()
}

impl Accelerator for Xla {
    fn current_device(&self) -> Result<Device, Error> {
        if let Some(device) = choice().current() {
            return Ok(device);
        }
        let devices = runtime::devices()?;
        devices
            .first()
            .copied()
            .ok_or_else(|| Error::LibraryUnavailable { library: NAME, cause: runtime::remedy() })
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        runtime::device(device)?;
        Ok(choice().scope(device))
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        runtime::device(device)?;
        choice().activate(device);
        Ok(())
    }

    fn release_cached_memory(&self, _: Option<Device>) -> Result<Option<usize>, Error> {
        // PJRT has no call for it: clients are made without preallocation instead.
        Ok(None)
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        let own = |cause: &PjrtError| cause.is_out_of_memory();
        causes(error).any(|cause| cause.downcast_ref().is_some_and(own))
    }
}
