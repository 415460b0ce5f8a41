//! Where an array lives: main memory, a library's n-th accelerator, or a device known by name.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use crate::Error;

/// Main memory, the device that every program has.
pub const HOST: Device = Device::Host;

/// A place where an array can live.
///
/// Accelerators are numbered as their library numbers them: index 0 of two libraries need not be
/// the same hardware. A device that a library reports without numbering it (OpenCL on a CPU, XLA's
/// second CPU device) is known by name.
///
/// Devices are `Copy`, ordered (host, accelerators by index, named by name) and have a label that
/// parses back:
///
/// ```
/// use arraybridge_core::{Device, HOST};
///
/// let gpu: Device = "accelerator:1".parse()?;
/// assert_eq!(gpu, Device::Accelerator(1));
/// assert_eq!(HOST.to_string(), "host");
/// assert!(HOST < gpu && gpu < Device::named("pocl")?);
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Device {
    /// Main memory, label `host`.
    Host,
    /// The library's accelerator of this index, label `accelerator:N`.
    Accelerator(u32),
    /// A device that its library names, label `device:NAME`.
    Named(DeviceName),
}

/// The interned name of a [`Device::Named`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceName(&'static str);

impl DeviceName {
    /// Returns the name as text.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// The longest device name in bytes: names live as long as the process, so they are kept short.
const LONGEST_NAME: usize = 128;

/// The most device names: more are not devices, but input that would fill the memory.
const MOST_NAMES: usize = 1 << 14;

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Device {
    /// Returns the device of this name, keeping one copy of the name for the life of the process.
    ///
    /// # Errors
    /// [`Error::InvalidLabel`] for a name that is empty, longer than 128 bytes, or has control
    /// characters or white space at an end, and for a new name after 16384 others.
    pub fn named(name: &str) -> Result<Device, Error> {
        let unfit = name.is_empty()
            || name.len() > LONGEST_NAME
            || name.trim() != name
            || name.chars().any(char::is_control);
        if unfit {
            return Err(Error::InvalidLabel {
                what: "device name",
                text: name.chars().take(LONGEST_NAME).collect(),
                expected: "1 to 128 bytes without control characters or surrounding white space",
            });
        }
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Ok(Device::Named(DeviceName(known)));
        }
        if names.len() >= MOST_NAMES {
            return Err(Error::InvalidLabel {
                what: "device name",
                text: name.into(),
                expected: "one of the 16384 names that this process has met before",
            });
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.insert(kept);
        Ok(Device::Named(DeviceName(kept)))
    }

    /// Returns which kind of device this is.
    pub fn kind(self) -> DeviceKind {
        match self {
            Device::Host => DeviceKind::Host,
            Device::Accelerator(_) => DeviceKind::Accelerator,
            Device::Named(_) => DeviceKind::Named,
        }
    }

    /// Returns whether this is main memory.
    pub fn is_host(self) -> bool {
        self == Device::Host
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Host => f.pad("host"),
            Device::Accelerator(index) => f.pad(&format!("accelerator:{index}")),
            Device::Named(name) => f.pad(&format!("device:{}", name.0)),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Device, Error> {
        if text == "host" {
            return Ok(Device::Host);
        }
        if let Some(name) = text.strip_prefix("device:") {
            return Device::named(name);
        }
        // `u32::from_str` takes a leading plus, which no label has.
        text.strip_prefix("accelerator:")
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .map(Device::Accelerator)
            .ok_or_else(|| Error::InvalidLabel {
                what: "device",
                text: text.chars().take(LONGEST_NAME).collect(),
                expected: "`host`, `accelerator:N` or `device:NAME`",
            })
    }
}

/// The kind of a [`Device`], which is what declarations and plans speak of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum DeviceKind {
    /// Main memory.
    Host,
    /// A numbered accelerator.
    Accelerator,
    /// A device known by name.
    Named,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DeviceKind::Host => "host",
            DeviceKind::Accelerator => "accelerator",
            DeviceKind::Named => "named device",
        })
    }
}

/// A set of [`DeviceKind`]s, built in constants:
///
/// ```
/// use arraybridge_core::{DeviceKind, DeviceKinds};
///
/// const KINDS: DeviceKinds = DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR);
/// assert!(KINDS.contains(DeviceKind::Host) && !KINDS.contains(DeviceKind::Named));
/// assert_eq!(KINDS.to_string(), "host, accelerator");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DeviceKinds(u8);

impl DeviceKinds {
    /// No device at all.
    pub const NONE: DeviceKinds = DeviceKinds(0);
    /// Main memory alone.
    pub const HOST: DeviceKinds = DeviceKinds(1);
    /// Numbered accelerators alone.
    pub const ACCELERATOR: DeviceKinds = DeviceKinds(2);
    /// Named devices alone.
    pub const NAMED: DeviceKinds = DeviceKinds(4);
    /// Every kind.
    pub const ALL: DeviceKinds = DeviceKinds(7);

    /// Returns the union of two sets.
    pub const fn and(self, other: DeviceKinds) -> DeviceKinds {
        DeviceKinds(self.0 | other.0)
    }

    /// Returns whether `kind` is in the set.
    pub const fn contains(self, kind: DeviceKind) -> bool {
        let bit = match kind {
            DeviceKind::Host => 1,
            DeviceKind::Accelerator => 2,
            DeviceKind::Named => 4,
        };
        self.0 & bit != 0
    }

    /// Returns the kinds of the set in order.
    pub fn iter(self) -> impl Iterator<Item = DeviceKind> {
        [DeviceKind::Host, DeviceKind::Accelerator, DeviceKind::Named]
            .into_iter()
            .filter(move |kind| self.contains(*kind))
    }
}

impl fmt::Display for DeviceKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == DeviceKinds::NONE {
            return f.pad("none");
        }
        let names: Vec<String> = self.iter().map(|kind| kind.to_string()).collect();
        f.pad(&names.join(", "))
    }
}

impl fmt::Debug for DeviceKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
