//! Moves between devices, and accelerators' settings.

use std::cell::Cell;
use std::error::Error as StdError;
use std::sync::Mutex;
use std::sync::PoisonError;

use arraybridge_core::roles::{Accelerator, DeviceMove};
use arraybridge_core::{Device, DeviceScope, Error};

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

thread_local! {
    /// The device that a scope chose for this thread.
    static SCOPE: Cell<Option<Device>> = const { Cell::new(None) };
}

/// The device that `activate` chose for the process.
static ACTIVE: Mutex<Option<Device>> = Mutex::new(None);

impl Accelerator for Xla {
    fn current_device(&self) -> Result<Device, Error> {
        if let Some(device) = SCOPE.get() {
            return Ok(device);
        }
        if let Some(device) = *ACTIVE.lock().unwrap_or_else(PoisonError::into_inner) {
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
        let previous = SCOPE.replace(Some(device));
        Ok(DeviceScope::new(move || SCOPE.set(previous)))
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        runtime::device(device)?;
        *ACTIVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(device);
        Ok(())
    }

    fn release_cached_memory(&self, _: Option<Device>) -> Result<Option<usize>, Error> {
        // PJRT has no call for it: clients are made without preallocation instead.
        Ok(None)
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            if error.downcast_ref::<PjrtError>().is_some_and(PjrtError::is_out_of_memory) {
                return true;
            }
            next = error.source();
        }
        false
    }
}
