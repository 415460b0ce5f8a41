//! Moves between devices, and what threads and the process choose.

use std::error::Error as StdError;

use arraybridge_core::roles::{Accelerator, DeviceChoice, DeviceMove};
use arraybridge_core::{Device, DeviceScope, Error, causes};

use crate::library::{NAME, foreign};
use crate::{ClArray, OpenCl, OpenClError, device};

impl DeviceMove<OpenCl> for OpenCl {
    fn move_to(&self, array: &ClArray, device: Device) -> Result<ClArray, Error> {
        // Contexts meet on the host; two devices that work in its memory share the array there.
        super::upload(&super::download(array)?, device::known(device)?.place()?)
    }
}

/// The device that the program chose.
fn choice() -> DeviceChoice {
    DeviceChoice::of::<OpenCl>()
}

impl Accelerator for OpenCl {
    fn current_device(&self) -> Result<Device, Error> {
        if let Some(device) = choice().current() {
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
        Ok(choice().scope(device))
    }

    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        let place = device::known(device)?.place()?;
        place.enter_stream().map_err(|error| foreign("making a queue", error))?;
        Ok(DeviceScope::new(move || place.leave_stream()))
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        device::known(device)?;
        choice().activate(device);
        Ok(())
    }

    fn release_cached_memory(&self, device: Option<Device>) -> Result<Option<usize>, Error> {
        let chosen = |known: &&device::KnownDevice| device.is_none_or(|one| one == known.device);
        let places = device::all_if_found().iter().filter(chosen).flat_map(|known| known.places());
        let freed = places.map(|place| place.release_memory());
        Ok(Some(freed.sum()))
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        let own = |cause: &OpenClError| cause.is_out_of_memory();
        causes(error).any(|cause| cause.downcast_ref().is_some_and(own))
    }
}
