//! Giving cached memory back, over all libraries.

use std::fmt;

use crate::registry::libraries;
use crate::{Device, DeviceKind, Error, host, host_pool};

/// What one library (or core's own pool) gave back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Released {
    /// The library's canonical name; `host` for the pool of core's own arrays ([`host_pool`]).
    pub library: &'static str,
    /// The bytes that it gave back; `None` where the library does not tell, or is not loaded.
    pub freed: Option<usize>,
}

/// What [`release_cached_memory_all`] did: core's own pool first, then library by library in order
/// of their names.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReleaseReport {
    /// The libraries that were asked and did not fail.
    pub released: Vec<Released>,
    /// The libraries that failed, each with its error.
    pub failed: Vec<(&'static str, Error)>,
}

impl ReleaseReport {
    /// Returns the bytes given back, as far as the libraries tell.
    pub fn freed(&self) -> usize {
        self.released.iter().filter_map(|released| released.freed).sum()
    }
}

impl fmt::Display for ReleaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let released = self.released.iter().map(|released| match released.freed {
            Some(bytes) => format!("{}: {bytes} bytes", released.library),
            None => format!("{}: asked", released.library),
        });
        let failed =
            self.failed.iter().map(|(library, error)| format!("{library}: failed: {error}"));
        let lines: Vec<String> = released.chain(failed).collect();
        if lines.is_empty() {
            f.write_str("nothing to release")
        } else {
            f.write_str(&lines.join("; "))
        }
    }
}

/// Gives the memory that core's pool and registered libraries keep for reuse back to the system, on
/// one device or on all, and reports what each did. A library that fails does not stop the others.
///
/// With `None` all are asked. With main memory only core's pool ([`host_pool::release_cached`]) is:
/// libraries cache memory of their devices. With another device, those libraries are that may have
/// one of its kind. Loads no runtime; libraries without accelerators are never asked.
///
/// ```
/// let report = arraybridge_core::release_cached_memory_all(None);
/// println!("{report}");
/// assert!(report.failed.is_empty());
/// ```
pub fn release_cached_memory_all(device: Option<Device>) -> ReleaseReport {
    let mut report = ReleaseReport { released: Vec::new(), failed: Vec::new() };
    if device.is_none_or(Device::is_host) {
        let freed = Some(host_pool::release_cached());
        report.released.push(Released { library: host::LIBRARY, freed });
    }
    let concerns = |kind: DeviceKind, library: crate::Library| {
        kind != DeviceKind::Host && library.declaration().devices.contains(kind)
    };
    for library in libraries() {
        let asked = library.inner().accelerator().is_some()
            && device.is_none_or(|device| concerns(device.kind(), library));
        if !asked {
            continue;
        }
        match library.release_cached_memory(device) {
            Ok(freed) => report.released.push(Released { library: library.name(), freed }),
            Err(error) => report.failed.push((library.name(), error)),
        }
    }
    report
}
