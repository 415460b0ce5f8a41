//! Where a function's call runs, and its retries where memory runs out.

use std::any::Any;

use super::arguments::Devices;
use crate::{
    ArrayLibrary, Device, DeviceKind, Error, FunctionArguments, Library, run_with_oom_recovery,
};

/// How often a call is tried again after the library ran out of memory.
const RETRIES: usize = 2;

/// Returns the accelerator (or named device) that a call of a function of library `L` runs on, or
/// `None` for a call that has nothing to do with one.
///
/// # Errors
/// [`Error::FunctionUsage`] naming the devices, if arrays of `L` are on several.
pub(super) fn device_of_call<L: ArrayLibrary>(
    function: &str,
    input: &dyn Any,
    arguments: &impl FunctionArguments,
) -> Result<Option<Device>, Error> {
    let mut devices = Devices::default();
    devices.look::<L>(input);
    arguments.visit(&mut |value| devices.look::<L>(value));
    match devices.finish()?.as_slice() {
        [] if L::KINDS.contains(DeviceKind::Host) => Ok(None),
        // All of the library's arrays are elsewhere than in main memory, and so is its work.
        [] if L::INSTANCE.devices()?.is_empty() => Ok(None),
        [] => L::INSTANCE.accelerator().map(|role| role.current_device()).transpose(),
        [device] => Ok(Some(*device).filter(|device| !device.is_host())),
        several => {
            let places: Vec<String> = several.iter().map(|place| format!("`{place}`")).collect();
            Err(Error::FunctionUsage {
                function: function.to_owned(),
                plane: None,
                message: format!(
                    "its {} arrays are on {}; move them to one device first",
                    L::NAME,
                    places.join(" and ")
                ),
            })
        }
    }
}

/// Runs a call: as it is in main memory, else in the device's scope, on this thread's stream for
/// it, and again after an out-of-memory error if `recovers`.
pub(super) fn run_on<L: ArrayLibrary, T>(
    device: Option<Device>,
    recovers: bool,
    mut call: impl FnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let Some((device, role)) = device.zip(L::INSTANCE.accelerator()) else {
        return call();
    };
    let mut scoped = || {
        let _device = role.scope(device)?;
        let _stream = role.stream_scope(device)?;
        call()
    };
    // The cache is released outside of the scope, which an attempt that failed has left.
    let retries = if recovers { RETRIES } else { 0 };
    run_with_oom_recovery(Library::of::<L>(), retries, Some(device), &mut scoped)
}
