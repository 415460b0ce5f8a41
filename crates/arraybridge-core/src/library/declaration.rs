//! What a library declares about itself: the data that routes and plans read.

use super::ArrayLibrary;
use crate::{Device, DeviceKinds};

/// What a library can do on which kinds of device, as plain data.
///
/// A library's declaration is derived from its roles ([`Declaration::of`]), so it cannot claim what
/// is not implemented. Declarations of libraries that are not compiled in are written down, and
/// each backend's test proves that its own is equal.
///
/// ```
/// use arraybridge_core::{Declaration, DeviceKinds};
///
/// const PLANNED: Declaration =
///     Declaration::new("planned", DeviceKinds::HOST).with_host_share(DeviceKinds::HOST);
/// assert!(PLANNED.is_named("planned"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Declaration {
    /// The canonical name.
    pub name: &'static str,
    /// Other names that it is found by.
    pub aliases: &'static [&'static str],
    /// Where it has arrays.
    pub devices: DeviceKinds,
    /// Where it exports arrays from through DLPack.
    pub dlpack_export: DeviceKinds,
    /// Where it imports arrays on through DLPack.
    pub dlpack_import: DeviceKinds,
    /// Where it exchanges main memory without a copy.
    pub host_share: DeviceKinds,
    /// Whether it moves arrays between its own devices.
    pub device_move: bool,
}

impl Declaration {
    /// Writes down a library that has arrays on these kinds of device, and does nothing more.
    pub const fn new(name: &'static str, devices: DeviceKinds) -> Declaration {
        const NONE: DeviceKinds = DeviceKinds::NONE;
        Declaration {
            name,
            aliases: &[],
            devices,
            dlpack_export: NONE,
            dlpack_import: NONE,
            host_share: NONE,
            device_move: false,
        }
    }

    /// Adds the other names.
    pub const fn with_aliases(self, aliases: &'static [&'static str]) -> Declaration {
        Declaration { aliases, ..self }
    }

    /// Adds exchange through DLPack, out and in, on these kinds of device.
    pub const fn with_dlpack(self, kinds: DeviceKinds) -> Declaration {
        Declaration { dlpack_export: kinds, dlpack_import: kinds, ..self }
    }

    /// Adds exchange of main memory on these kinds of device.
    pub const fn with_host_share(self, kinds: DeviceKinds) -> Declaration {
        Declaration { host_share: kinds, ..self }
    }

    /// Adds moves between the library's own devices.
    pub const fn with_device_move(self) -> Declaration {
        Declaration { device_move: true, ..self }
    }

    /// Derives the declaration of a library from its roles.
    pub fn of<L: ArrayLibrary>() -> Declaration {
        let library = L::INSTANCE;
        Declaration {
            name: L::NAME,
            aliases: L::ALIASES,
            devices: L::KINDS,
            dlpack_export: library.dlpack_export().map_or(DeviceKinds::NONE, |role| role.kinds()),
            dlpack_import: library.dlpack_import().map_or(DeviceKinds::NONE, |role| role.kinds()),
            host_share: library.host_share().map_or(DeviceKinds::NONE, |role| role.kinds()),
            device_move: library.device_move().is_some(),
        }
    }

    /// Returns whether `name` is the library's name or one of its aliases.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Returns whether the library can have arrays on such a device.
    pub fn has(&self, device: Device) -> bool {
        self.devices.contains(device.kind())
    }
}
