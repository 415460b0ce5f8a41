//! The role of having accelerators, for every mock: the choice of device is a thread's.

use std::any::TypeId;
use std::cell::RefCell;
use std::error::Error as StdError;

use arraybridge_core::roles::Accelerator;
use arraybridge_core::{ArrayLibrary, Device, DeviceScope, Error, require_device};

use super::script::{MockFailure, Step, enter_or_fail};
use super::{Character, Mock};

thread_local! {
    static CURRENT: RefCell<Vec<(TypeId, Device)>> = const { RefCell::new(Vec::new()) };
}

fn current<C: Character>() -> Option<Device> {
    let mock = TypeId::of::<C>();
    CURRENT.with_borrow(|all| all.iter().find(|(of, _)| *of == mock).map(|(_, device)| *device))
}

fn set<C: Character>(device: Option<Device>) {
    let mock = TypeId::of::<C>();
    CURRENT.with_borrow_mut(|all| {
        all.retain(|(of, _)| *of != mock);
        all.extend(device.map(|device| (mock, device)));
    });
}

impl<C: Character> Accelerator for Mock<C> {
    fn current_device(&self) -> Result<Device, Error> {
        let first = || {
            self.devices()?.first().copied().ok_or_else(|| Error::LibraryUnavailable {
                library: C::TRAITS.name,
                cause: self.availability().to_string(),
            })
        };
        current::<C>().map_or_else(first, Ok)
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        enter_or_fail::<C>(Step::Scope, 0)?;
        require_device::<Mock<C>>(device)?;
        let before = current::<C>();
        set::<C>(Some(device));
        Ok(DeviceScope::new(move || set::<C>(before)))
    }

    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        enter_or_fail::<C>(Step::StreamScope, 0)?;
        require_device::<Mock<C>>(device)?;
        Ok(DeviceScope::nothing())
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        require_device::<Mock<C>>(device)?;
        set::<C>(Some(device));
        Ok(())
    }

    fn release_cached_memory(&self, _: Option<Device>) -> Result<Option<usize>, Error> {
        enter_or_fail::<C>(Step::Release, 0)?;
        Ok(None)
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            if error.downcast_ref() == Some(&MockFailure::OutOfMemory) {
                return true;
            }
            next = error.source();
        }
        false
    }
}
