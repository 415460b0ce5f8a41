//! Moves between devices, and accelerators' settings.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::error::Error as StdError;

use arraybridge_core::roles::{Accelerator, DeviceChoice, DeviceMove};
use arraybridge_core::{Device, DeviceScope, Error, HOST};
use tch::Tensor;

use crate::library::foreign;
use crate::torch::{self, Stream, TorchError};
use crate::{Tch, runtime};

impl DeviceMove<Tch> for Tch {
    fn move_to(&self, array: &Tensor, device: Device) -> Result<Tensor, Error> {
        super::move_to(array, device)
    }
}

thread_local! {
    /// How many scopes on CUDA devices are open on this thread, and torch's device before them.
    static ENTERED: Cell<(u32, i32)> = const { Cell::new((0, 0)) };
    /// This thread's own stream of each CUDA device.
    static STREAMS: RefCell<BTreeMap<i32, Stream>> = const { RefCell::new(BTreeMap::new()) };
}

/// The device that the program chose.
fn choice() -> DeviceChoice {
    DeviceChoice::of::<Tch>()
}

impl Accelerator for Tch {
    fn current_device(&self) -> Result<Device, Error> {
        // Torch's own choice where nobody makes one.
        Ok(choice().current().unwrap_or(HOST))
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        runtime::require(device)?;
        let enters = match device {
            Device::Accelerator(index) => Some(index as i32),
            _ => None,
        };
        if let Some(index) = enters {
            enter_device(index).map_err(|error| foreign("choosing a device", error))?;
        }
        let scope = choice().scope(device);
        Ok(DeviceScope::new(move || {
            drop(scope);
            leave_device(enters.is_some());
        }))
    }

    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        let Device::Accelerator(index) = device else { return Ok(DeviceScope::nothing()) };
        runtime::require(device)?;
        enter_stream(index as i32).map_err(|error| foreign("choosing a stream", error))
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        runtime::require(device)?;
        choice().activate(device);
        Ok(())
    }

    fn release_cached_memory(&self, _: Option<Device>) -> Result<Option<usize>, Error> {
        // Torch has one cache for all devices. Without any, asking would load its CUDA part.
        if !runtime::cuda_is_loaded() {
            return Ok(None);
        }
        let count = runtime::cuda_devices() as i32;
        let freed =
            torch::empty_cache(count).map_err(|error| foreign("releasing cached memory", error))?;
        Ok(usize::try_from(freed).ok())
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        torch::is_out_of_memory(error)
    }
}

/// Makes a device this thread's in torch, for functions of torch's that take none.
fn enter_device(index: i32) -> Result<(), TorchError> {
    let (open, before) = ENTERED.get();
    let before = if open == 0 { torch::current_device()? } else { before };
    torch::set_device(index)?;
    ENTERED.set((open + 1, before));
    Ok(())
}

/// Makes the device of the innermost scope that is left this thread's in torch, or the one before
/// all scopes. Scopes end in any order.
fn leave_device(entered: bool) {
    let (open, before) = ENTERED.get();
    if open == 0 {
        return;
    }
    let open = open - u32::from(entered);
    ENTERED.set((open, before));
    let device = match choice().current() {
        Some(Device::Accelerator(index)) if open > 0 => index as i32,
        _ => before,
    };
    // It was this thread's before, so it can be again.
    let _ = torch::set_device(device);
}

/// Makes this thread's own stream of a device the current one, in order with the one before: what
/// that had queued comes first, and what it queues after the scope comes last. So memory that one of
/// them allocates, or that is wrapped, may be used and released on the other.
fn enter_stream(index: i32) -> Result<DeviceScope, TorchError> {
    let (before, _) = Stream::current(index)?;
    let own = own_stream(index)?;
    if own == before {
        return Ok(DeviceScope::nothing());
    }
    own.wait_for(before)?;
    own.set()?;
    Ok(DeviceScope::new(move || {
        if before.wait_for(own).is_err() {
            // The same order by waiting here. If that fails too, the device does no more work.
            let _ = own.finish();
        }
        let _ = before.set();
    }))
}

fn own_stream(index: i32) -> Result<Stream, TorchError> {
    let known = STREAMS.with_borrow(|streams| streams.get(&index).copied());
    match known {
        Some(stream) => Ok(stream),
        None => {
            let stream = Stream::take(index)?;
            STREAMS.with_borrow_mut(|streams| streams.insert(index, stream));
            Ok(stream)
        }
    }
}
