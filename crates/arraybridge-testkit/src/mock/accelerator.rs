//! The role of having accelerators, for every mock.

use std::error::Error as StdError;

use arraybridge_core::roles::{Accelerator, DeviceChoice};
use arraybridge_core::{ArrayLibrary, Device, DeviceScope, Error, causes, require_device};

use super::script::{MockFailure, Step, enter_or_fail};
use super::{Character, Mock};

impl<C: Character> Accelerator for Mock<C> {
    fn current_device(&self) -> Result<Device, Error> {
        let first = || {
            self.devices()?.first().copied().ok_or_else(|| Error::LibraryUnavailable {
                library: C::TRAITS.name,
                cause: self.availability().to_string(),
            })
        };
        DeviceChoice::of::<Mock<C>>().current().map_or_else(first, Ok)
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        enter_or_fail::<C>(Step::Scope, 0)?;
        require_device::<Mock<C>>(device)?;
        Ok(DeviceChoice::of::<Mock<C>>().scope(device))
    }

    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        enter_or_fail::<C>(Step::StreamScope, 0)?;
        require_device::<Mock<C>>(device)?;
        Ok(DeviceScope::nothing())
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        require_device::<Mock<C>>(device)?;
        DeviceChoice::of::<Mock<C>>().activate(device);
        Ok(())
    }

    fn release_cached_memory(&self, _: Option<Device>) -> Result<Option<usize>, Error> {
        enter_or_fail::<C>(Step::Release, 0)?;
        Ok(None)
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        causes(error).any(|cause| cause.downcast_ref() == Some(&MockFailure::OutOfMemory))
    }
}
