//! The loaded plugins and their devices: once per process, when first needed.

use std::env;
use std::sync::OnceLock;

use arraybridge_core::{Availability, Device, Error, HOST};

use crate::library::NAME;
use crate::pjrt::{Api, Client, ClientOption, PjrtDevice};
use crate::plugin::{PLUGIN_VARIABLE, Platform, Plugin, discover};

/// How many CPU devices a CPU client has: the first is the host.
const CPU_DEVICES_VARIABLE: &str = "ARRAYBRIDGE_XLA_CPU_DEVICES";
/// Whether GPU clients take most of a device's memory at once, as they do by default elsewhere.
const PREALLOCATE_VARIABLE: &str = "ARRAYBRIDGE_XLA_PREALLOCATE";

/// The devices of all plugins that could be loaded.
struct Runtime {
    devices: Vec<KnownDevice>,
}

/// A device of a loaded plugin.
pub(crate) struct KnownDevice {
    pub(crate) device: Device,
    pub(crate) pjrt: PjrtDevice,
    platform: Platform,
}

impl KnownDevice {
    /// Returns whether the host reads the device's memory by its addresses.
    pub(crate) fn is_host_memory(&self) -> bool {
        self.platform == Platform::Cpu
    }
}

/// Why there is no runtime.
enum Unusable {
    Absent,
    Broken(String),
}

static RUNTIME: OnceLock<Result<Runtime, Unusable>> = OnceLock::new();

fn loaded() -> &'static Result<Runtime, Unusable> {
    RUNTIME.get_or_init(Runtime::load)
}

/// Returns what brings a runtime.
pub(crate) fn remedy() -> String {
    format!(
        "no PJRT plugin was found; `cargo xtask setup xla` in a clone of arraybridge brings one, or \
         set {PLUGIN_VARIABLE} to the path of yours"
    )
}

/// Tells whether a plugin is there and works, loading it.
pub(crate) fn availability() -> Availability {
    match loaded() {
        Ok(_) => Availability::Available,
        Err(Unusable::Absent) => Availability::Absent { remedy: remedy() },
        Err(Unusable::Broken(cause)) => Availability::Broken { cause: cause.clone() },
    }
}

/// Returns the devices that there are: none without a plugin.
pub(crate) fn devices() -> Result<Vec<Device>, Error> {
    match loaded() {
        Ok(runtime) => Ok(runtime.names()),
        Err(Unusable::Absent) => Ok(Vec::new()),
        Err(Unusable::Broken(cause)) => {
            Err(Error::LibraryUnavailable { library: NAME, cause: cause.clone() })
        }
    }
}

/// Returns a device of a loaded plugin.
pub(crate) fn device(device: Device) -> Result<&'static KnownDevice, Error> {
    let runtime = loaded().as_ref().map_err(|unusable| Error::LibraryUnavailable {
        library: NAME,
        cause: match unusable {
            Unusable::Absent => remedy(),
            Unusable::Broken(cause) => cause.clone(),
        },
    })?;
    let found = runtime.devices.iter().find(|known| known.device == device);
    found.ok_or_else(|| Error::DeviceUnavailable {
        library: NAME,
        device,
        available: runtime.names(),
    })
}

/// Returns the accelerator that its platform's driver knows by this number.
pub(crate) fn accelerator(hardware_id: i32) -> Option<&'static KnownDevice> {
    let runtime = loaded().as_ref().ok()?;
    let mut known = runtime.devices.iter().filter(|known| known.platform == Platform::Gpu);
    known.find(|known| known.pjrt.hardware_id().is_ok_and(|id| id == hardware_id))
}

impl Runtime {
    fn names(&self) -> Vec<Device> {
        self.devices.iter().map(|known| known.device).collect()
    }

    /// Loads every plugin. One that fails is left out if another works.
    fn load() -> Result<Runtime, Unusable> {
        let plugins = discover();
        if plugins.is_empty() {
            return Err(Unusable::Absent);
        }
        let mut runtime = Runtime { devices: Vec::new() };
        let mut failures = Vec::new();
        for plugin in &plugins {
            if let Err(cause) = runtime.add(plugin) {
                failures.push(format!("{}: {cause}", plugin.path.display()));
            }
        }
        if runtime.devices.is_empty() {
            return Err(Unusable::Broken(failures.join("; ")));
        }
        Ok(runtime)
    }

    fn add(&mut self, plugin: &Plugin) -> Result<(), String> {
        // SAFETY: the file is one that the user named or that a package for this purpose installed;
        // that it is a PJRT plugin is what naming or installing it says.
        let api = unsafe { Api::load(&plugin.path) }.map_err(|error| error.to_string())?;
        let client =
            Client::new(api, &options(plugin.platform())).map_err(|error| error.to_string())?;
        // What a plugin is called decides whether the host reads its memory, so the name must be
        // true.
        let told = client.platform().map_err(|error| error.to_string())?;
        if (plugin.platform() == Platform::Cpu) != told.eq_ignore_ascii_case("cpu") {
            return Err(format!("it is named `{}`, and its platform is `{told}`", plugin.name));
        }
        let devices = client.devices().map_err(|error| error.to_string())?;
        for (index, pjrt) in devices.into_iter().enumerate() {
            let device = self.name(plugin, index).map_err(|error| error.to_string())?;
            self.devices.push(KnownDevice { device, pjrt, platform: plugin.platform() });
        }
        Ok(())
    }

    /// Returns how the index-th device of a plugin is known: the first CPU device is the host, GPUs
    /// are numbered across plugins, all others have names.
    fn name(&self, plugin: &Plugin, index: usize) -> Result<Device, Error> {
        let has_host = self.devices.iter().any(|known| known.device.is_host());
        match plugin.platform() {
            Platform::Cpu if index == 0 && !has_host => Ok(HOST),
            Platform::Gpu => {
                let gpus = self.devices.iter().filter(|known| known.platform == Platform::Gpu);
                Ok(Device::Accelerator(gpus.count() as u32))
            }
            _ => Device::named(&format!("{}:{index}", plugin.name)),
        }
    }
}

/// Returns the options of a client of this platform.
fn options(platform: Platform) -> Vec<ClientOption> {
    let stated = |variable| env::var(variable).ok();
    match platform {
        Platform::Cpu => {
            // Said always: left to themselves, plugins make more than the one device that is asked
            // for here.
            let count = stated(CPU_DEVICES_VARIABLE).and_then(|count| count.parse().ok());
            let count = count.filter(|count| (1..=256).contains(count)).unwrap_or(1);
            vec![ClientOption::Integer("cpu_device_count", count)]
        }
        Platform::Gpu => {
            let preallocate = stated(PREALLOCATE_VARIABLE).is_some_and(|value| value == "true");
            vec![ClientOption::Boolean("preallocate", preallocate)]
        }
        Platform::Other => Vec::new(),
    }
}
