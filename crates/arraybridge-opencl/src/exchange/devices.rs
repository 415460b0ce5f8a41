//! Moves between devices, and what threads and the process choose.

use std::cell::Cell;
use std::error::Error as StdError;
use std::sync::{Mutex, PoisonError};

use arraybridge_core::roles::{Accelerator, DeviceMove};
use arraybridge_core::{Device, DeviceScope, Error};

use crate::library::{NAME, foreign};
use crate::{ClArray, OpenCl, OpenClError, device};

impl DeviceMove<OpenCl> for OpenCl {
    fn move_to(&self, array: &ClArray, device: Device) -> Result<ClArray, Error> {
        // Contexts meet on the host; two devices that work in its memory share the array there.
        super::upload(&super::download(array)?, device::known(device)?.place()?)
    }
}

thread_local! {
    /// The device that a scope chose for this thread.
    static SCOPE: Cell<Option<Device>> = const { Cell::new(None) };
}

/// The device that `activate` chose for the process.
static ACTIVE: Mutex<Option<Device>> = Mutex::new(None);

impl Accelerator for OpenCl {
    fn current_device(&self) -> Result<Device, Error> {
        if let Some(device) = SCOPE.get() {
            return Ok(device);
        }
        if let Some(device) = *ACTIVE.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(device);
        }
        // Accelerators first: whoever has one means it.
        let all = device::devices();
        let numbered = all.iter().find(|device| matches!(device, Device::Accelerator(_)));
        numbered.or(all.first()).copied().ok_or_else(|| Error::LibraryUnavailable {
            library: NAME,
            cause: device::availability().to_string(),
        })
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        device::known(device)?;
        let previous = SCOPE.replace(Some(device));
        Ok(DeviceScope::new(move || SCOPE.set(previous)))
    }

    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        let place = device::known(device)?.place()?;
        place.enter_stream().map_err(|error| foreign("making a queue", error))?;
        Ok(DeviceScope::new(move || place.leave_stream()))
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        device::known(device)?;
        *ACTIVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(device);
        Ok(())
    }

    fn release_cached_memory(&self, device: Option<Device>) -> Result<Option<usize>, Error> {
        let chosen = |known: &&device::KnownDevice| device.is_none_or(|one| one == known.device);
        let places = device::all_if_found().iter().filter(chosen).flat_map(|known| known.places());
        let freed = places.map(|place| place.release_memory());
        Ok(Some(freed.sum()))
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            if error.downcast_ref::<OpenClError>().is_some_and(OpenClError::is_out_of_memory) {
                return true;
            }
            next = error.source();
        }
        false
    }
}
