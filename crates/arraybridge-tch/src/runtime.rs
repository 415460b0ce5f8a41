//! Which devices there are.

use std::sync::OnceLock;

use arraybridge_core::{Device, Error, HOST, require_device};

use crate::{Tch, torch};

static COUNT: OnceLock<u32> = OnceLock::new();

/// Returns whether torch's CUDA part was looked for before, and has devices.
pub(crate) fn cuda_is_loaded() -> bool {
    COUNT.get().is_some_and(|count| *count > 0)
}

/// Returns how many CUDA devices torch has, 0 without its CUDA part.
pub(crate) fn cuda_devices() -> u32 {
    *COUNT.get_or_init(|| {
        if torch::cuda_availability().is_available() {
            u32::try_from(torch::device_count()).unwrap_or(0)
        } else {
            0
        }
    })
}

/// Returns whether torch has a device.
pub(crate) fn has(device: Device) -> bool {
    match device {
        Device::Host => true,
        Device::Accelerator(index) => index < cuda_devices(),
        _ => false,
    }
}

/// Returns an error unless torch has a device.
pub(crate) fn require(device: Device) -> Result<(), Error> {
    if has(device) { Ok(()) } else { require_device::<Tch>(device) }
}

/// Returns all devices.
pub(crate) fn devices() -> Vec<Device> {
    let mut devices = vec![HOST];
    devices.extend((0..cuda_devices()).map(Device::Accelerator));
    devices
}
