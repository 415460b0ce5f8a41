//! The devices of all drivers: found once per process, when first needed.

mod facts;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arraybridge_core::{Availability, Device, Error};

use crate::cl::{self, DeviceId, OpenClError};
use crate::library::{NAME, foreign};
use crate::memory::Budget;
use crate::place::Place;
use crate::reaper::Reaper;

pub use facts::{DeviceFacts, Hardware};

/// The most bytes of a device's name that become part of its label.
const LONGEST_NAME: usize = 100;

/// A device, with what exists once for it.
pub(crate) struct KnownDevice {
    pub(crate) device: Device,
    pub(crate) id: DeviceId,
    pub(crate) facts: DeviceFacts,
    pub(crate) budget: Budget,
    reaper: OnceLock<Option<Reaper>>,
    place: OnceLock<Result<Arc<Place>, OpenClError>>,
    /// The contexts of callers, as long as they are there.
    joined: Mutex<Vec<Weak<Place>>>,
}

impl KnownDevice {
    /// Returns the library's own context and queue on the device, made when first needed.
    pub(crate) fn place(&'static self) -> Result<&'static Arc<Place>, Error> {
        let place = self.place.get_or_init(|| Place::new(self).map(Arc::new));
        place.as_ref().map_err(|error| foreign("making a context", error.clone()))
    }

    /// Notes a caller's context on the device.
    pub(crate) fn join(&self, place: &Arc<Place>) {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        joined.retain(|place| place.strong_count() > 0);
        joined.push(Arc::downgrade(place));
    }

    /// Returns the contexts that there are: the library's own if it was made already, and callers'.
    pub(crate) fn places(&self) -> Vec<Arc<Place>> {
        let own = self.place.get().and_then(|place| place.as_ref().ok()).cloned();
        let joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        own.into_iter().chain(joined.iter().filter_map(Weak::upgrade)).collect()
    }

    /// Returns the thread that drops what arrays on this device kept alive; `None` if the system
    /// has no more threads.
    pub(crate) fn reaper(&self) -> Option<&Reaper> {
        self.reaper.get_or_init(Reaper::spawn).as_ref()
    }
}

/// The devices, and why others could not be used.
struct Runtime {
    devices: Vec<KnownDevice>,
    failures: Vec<String>,
    found_driver: bool,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

fn runtime() -> &'static Runtime {
    RUNTIME.get_or_init(Runtime::find)
}

const REMEDY: &str = "install the driver of your device; for CPUs there is PoCL (Debian: `sudo \
                      apt-get install ocl-icd-libopencl1 pocl-opencl-icd`)";

/// Tells whether there is a device, looking for one.
pub(crate) fn availability() -> Availability {
    let runtime = runtime();
    if !runtime.devices.is_empty() {
        return Availability::Available;
    }
    if !runtime.failures.is_empty() {
        return Availability::Broken { cause: runtime.failures.join("; ") };
    }
    let missing = if runtime.found_driver {
        "OpenCL's driver has no devices; PoCL has none where it cannot write its cache \
         (POCL_CACHE_DIR), otherwise"
    } else {
        "there is no OpenCL driver;"
    };
    Availability::Absent { remedy: format!("{missing} {REMEDY}") }
}

/// Returns the devices that there are: none without a driver.
pub(crate) fn devices() -> Vec<Device> {
    runtime().devices.iter().map(|known| known.device).collect()
}

/// Returns every device with what exists once for it.
pub(crate) fn all() -> &'static [KnownDevice] {
    &runtime().devices
}

/// Returns every device if they were looked for already.
pub(crate) fn all_if_found() -> &'static [KnownDevice] {
    RUNTIME.get().map_or(&[], |runtime| &runtime.devices)
}

/// Returns a device.
pub(crate) fn known(device: Device) -> Result<&'static KnownDevice, Error> {
    let found = all().iter().find(|known| known.device == device);
    found.ok_or_else(|| match availability() {
        Availability::Available => {
            Error::DeviceUnavailable { library: NAME, device, available: devices() }
        }
        Availability::Absent { remedy } => {
            Error::LibraryUnavailable { library: NAME, cause: remedy }
        }
        Availability::Broken { cause } => Error::LibraryUnavailable { library: NAME, cause },
        _ => Error::LibraryUnavailable { library: NAME, cause: REMEDY.into() },
    })
}

/// Returns what a device says about itself.
///
/// # Errors
/// [`Error::DeviceUnavailable`] with the devices that there are, [`Error::LibraryUnavailable`]
/// without any.
pub fn device_facts(device: Device) -> Result<DeviceFacts, Error> {
    known(device).map(|known| known.facts.clone())
}

impl Runtime {
    /// Looks at each platform apart, so that one that fails hides no other's devices.
    fn find() -> Runtime {
        let mut runtime =
            Runtime { devices: Vec::new(), failures: Vec::new(), found_driver: false };
        if !cl::is_loaded() {
            return runtime;
        }
        // Without a driver this is an error too, which means the same as an empty list.
        let platforms = cl::platforms().unwrap_or_default();
        runtime.found_driver = !platforms.is_empty();
        // Loaders list drivers in the order of a folder's files, which is none: by name it is.
        let mut named = Vec::new();
        for platform in platforms {
            match platform.name() {
                Ok(name) => named.push((name, platform)),
                Err(error) => runtime.failures.push(format!("a driver without a name: {error}")),
            }
        }
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (name, platform) in named {
            if let Some(lack) = facts::lack(&name) {
                runtime.failures.push(format!("{name}: {lack}"));
                continue;
            }
            match platform.devices() {
                Ok(devices) => devices.into_iter().for_each(|device| runtime.add(&name, device)),
                Err(error) => runtime.failures.push(format!("{name}: {error}")),
            }
        }
        runtime
    }

    fn add(&mut self, platform: &str, id: DeviceId) {
        let facts = match DeviceFacts::ask(id, platform) {
            Ok(Ok(facts)) => facts,
            Ok(Err(reason)) => return self.failures.push(format!("{platform}: {reason}")),
            Err(error) => return self.failures.push(format!("{platform}: {error}")),
        };
        let device = match self.name(&facts) {
            Ok(device) => device,
            Err(error) => return self.failures.push(format!("{platform}: {error}")),
        };
        let budget = Budget::new(facts.memory);
        let (reaper, place, joined) = (OnceLock::new(), OnceLock::new(), Mutex::default());
        self.devices.push(KnownDevice { device, id, facts, budget, reaper, place, joined });
    }

    /// Returns how a device is known: GPUs and other accelerators by number, CPUs by name.
    fn name(&self, facts: &DeviceFacts) -> Result<Device, Error> {
        if facts.hardware != Hardware::Cpu {
            let numbered = |known: &&KnownDevice| matches!(known.device, Device::Accelerator(_));
            return Ok(Device::Accelerator(self.devices.iter().filter(numbered).count() as u32));
        }
        let clean: String = facts.name.chars().filter(|c| !c.is_control()).collect();
        let mut name = String::new();
        for c in clean.trim().chars() {
            if name.len() + c.len_utf8() > LONGEST_NAME {
                break;
            }
            name.push(c);
        }
        let name = if name.trim().is_empty() { "cpu" } else { name.trim() };
        let mut device = Device::named(name)?;
        let mut copy = 2;
        while self.devices.iter().any(|known| known.device == device) {
            device = Device::named(&format!("{name} #{copy}"))?;
            copy += 1;
        }
        Ok(device)
    }
}
