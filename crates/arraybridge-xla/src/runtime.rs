//! The loaded plugins and their devices: once per process, when first needed.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

use arraybridge_core::dlpack::DlpackDevice;
use arraybridge_core::{Availability, Device, Error, HOST};

use crate::library::NAME;
use crate::pjrt::{Api, Client, ClientOption, PjrtDevice};
use crate::plugin::{PLUGIN_VARIABLE, Platform, Plugin, discover};

/// How many CPU devices a CPU client has: the first is the host.
const CPU_DEVICES_VARIABLE: &str = "ARRAYBRIDGE_XLA_CPU_DEVICES";
/// Whether GPU clients take most of a device's memory at once, as they do by default elsewhere.
const PREALLOCATE_VARIABLE: &str = "ARRAYBRIDGE_XLA_PREALLOCATE";

/// DLPack's code of ROCm devices.
const DLPACK_ROCM: u32 = 10;

/// The plugins that were found and the devices of those that could be loaded.
struct Runtime {
    plugins: Vec<PluginReport>,
    devices: Vec<KnownDevice>,
}

/// A plugin that was found, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PluginReport {
    /// What it is for, such as `cpu` or `cuda`: stated by whoever named the plugin, or told by its
    /// file's name.
    pub name: String,
    /// Its shared library.
    pub path: PathBuf,
    /// Why it could not be used, if so.
    pub failure: Option<String>,
}

/// A device of a loaded plugin.
pub(crate) struct KnownDevice {
    pub(crate) device: Device,
    pub(crate) pjrt: PjrtDevice,
    platform: Platform,
    /// The name of its plugin.
    plugin: String,
}

impl KnownDevice {
    /// Returns the device as DLPack names it, if it does.
    pub(crate) fn dlpack(&self) -> Option<DlpackDevice> {
        let number = || self.pjrt.hardware_id().ok();
        match self.platform {
            Platform::Cpu => self.device.is_host().then_some(DlpackDevice::CPU),
            Platform::Gpu if self.plugin == "rocm" => {
                number().map(|device_id| DlpackDevice { device_type: DLPACK_ROCM, device_id })
            }
            Platform::Gpu => number().map(DlpackDevice::cuda),
            Platform::Other => None,
        }
    }

    /// Returns whether the host reads the device's memory by its addresses.
    pub(crate) fn is_host_memory(&self) -> bool {
        self.platform == Platform::Cpu
    }
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

fn loaded() -> &'static Runtime {
    RUNTIME.get_or_init(Runtime::load)
}

/// Returns the plugins that were found, loading them: which one this process runs on, or why none.
pub fn plugins() -> &'static [PluginReport] {
    &loaded().plugins
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
    let runtime = loaded();
    if !runtime.devices.is_empty() {
        return Availability::Available;
    }
    if runtime.plugins.is_empty() {
        return Availability::Absent { remedy: remedy() };
    }
    let told = |plugin: &PluginReport| {
        let failure = plugin.failure.as_deref().unwrap_or("it has no devices");
        format!("{}: {failure}", plugin.path.display())
    };
    let causes: Vec<String> = runtime.plugins.iter().map(told).collect();
    Availability::Broken { cause: causes.join("; ") }
}

/// Why there is no device.
fn unavailable() -> Error {
    let cause = match availability() {
        Availability::Broken { cause } => cause,
        _ => remedy(),
    };
    Error::LibraryUnavailable { library: NAME, cause }
}

/// Returns the devices that there are: none without a plugin.
pub(crate) fn devices() -> Result<Vec<Device>, Error> {
    let runtime = loaded();
    if runtime.devices.is_empty() && !runtime.plugins.is_empty() {
        return Err(unavailable());
    }
    Ok(runtime.names())
}

/// Returns a device of a loaded plugin.
pub(crate) fn device(device: Device) -> Result<&'static KnownDevice, Error> {
    let runtime = loaded();
    if runtime.devices.is_empty() {
        return Err(unavailable());
    }
    let found = runtime.devices.iter().find(|known| known.device == device);
    found.ok_or_else(|| Error::DeviceUnavailable {
        library: NAME,
        device,
        available: runtime.names(),
    })
}

/// Returns the device of a loaded plugin that DLPack names so.
pub(crate) fn named_by_dlpack(device: DlpackDevice) -> Option<&'static KnownDevice> {
    loaded().devices.iter().find(|known| known.dlpack() == Some(device))
}

/// Returns the first device of the client that a device is of.
pub(crate) fn first_of_client(device: &KnownDevice) -> Device {
    let mut devices = loaded().devices.iter();
    let first = devices.find(|known| known.pjrt.client().is(device.pjrt.client()));
    first.map_or(device.device, |known| known.device)
}

impl Runtime {
    fn names(&self) -> Vec<Device> {
        self.devices.iter().map(|known| known.device).collect()
    }

    /// Loads every plugin. One that fails is left out.
    fn load() -> Runtime {
        let mut runtime = Runtime { plugins: Vec::new(), devices: Vec::new() };
        for plugin in discover() {
            let failure = runtime.add(&plugin).err();
            let Plugin { name, path } = plugin;
            runtime.plugins.push(PluginReport { name, path, failure });
        }
        runtime
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
        for pjrt in devices {
            let device = self.next_name(plugin).map_err(|error| error.to_string())?;
            let (platform, plugin) = (plugin.platform(), plugin.name.clone());
            self.devices.push(KnownDevice { device, pjrt, platform, plugin });
        }
        Ok(())
    }

    /// Returns how the next device of a plugin is known: the first CPU device is the host, GPUs are
    /// numbered, all others are named by their plugin and number; plugins of one name count on.
    fn next_name(&self, plugin: &Plugin) -> Result<Device, Error> {
        let of_platform = self.devices.iter().filter(|known| known.platform == plugin.platform());
        match plugin.platform() {
            Platform::Cpu if of_platform.clone().next().is_none() => Ok(HOST),
            Platform::Gpu => Ok(Device::Accelerator(of_platform.count() as u32)),
            _ => {
                let of_plugin = of_platform.filter(|known| known.plugin == plugin.name);
                Device::named(&format!("{}:{}", plugin.name, of_plugin.count()))
            }
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
