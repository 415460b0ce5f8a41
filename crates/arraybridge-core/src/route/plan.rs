//! What a conversion would do, from declarations alone.

use std::fmt;

use super::{Journey, Mechanism, ROUTES};
use crate::registry::declaration;
use crate::{Declaration, Device, Error};

/// What a conversion would do, by the declarations of both libraries: no hardware is asked, and
/// neither library need be compiled in.
///
/// The mechanism that an array takes may be a later one of [`Plan::fallbacks`], where the planned
/// one declines it for its dtype, layout, alignment or sharing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    source: &'static str,
    from: Device,
    target: &'static str,
    to: Device,
    mechanism: Mechanism,
    then_moves: bool,
    /// Bit `k` says that `ROUTES[k]` applies.
    applicable: u8,
}

impl Plan {
    /// Plans a conversion between two declared libraries.
    ///
    /// # Errors
    /// [`Error::DeviceKindUnsupported`] for a device that a library never has.
    pub fn between(
        source: Declaration,
        from: Device,
        target: Declaration,
        to: Device,
    ) -> Result<Plan, Error> {
        for (library, device) in [(source, from), (target, to)] {
            if !library.has(device) {
                return Err(Error::DeviceKindUnsupported {
                    library: library.name,
                    device,
                    kinds: library.devices,
                });
            }
        }
        let same_library = source.name == target.name;
        let journey = Journey { same_library, source, from, target, to };
        let mut applicable = 0u8;
        for (bit, route) in ROUTES.iter().enumerate() {
            if (route.applies)(&journey) {
                applicable |= 1 << bit;
            }
        }
        let mechanism = ROUTES[applicable.trailing_zeros() as usize].mechanism;
        let then_moves = mechanism == Mechanism::Dlpack && from.kind() != to.kind();
        let (source, target) = (source.name, target.name);
        Ok(Plan { source, from, target, to, mechanism, then_moves, applicable })
    }

    /// Returns the mechanism that is tried first.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// Returns whether the library then moves the array between its devices.
    pub fn then_moves(&self) -> bool {
        self.then_moves
    }

    /// Returns whether every element is copied, if the planned mechanism carries the array.
    pub fn copies(&self) -> bool {
        self.mechanism.copies() || self.then_moves
    }

    /// Returns the mechanisms that are tried, in order, where the earlier ones decline.
    pub fn fallbacks(&self) -> impl Iterator<Item = Mechanism> {
        let (planned, applicable) = (self.mechanism, self.applicable);
        ROUTES
            .iter()
            .enumerate()
            .filter(move |(bit, _)| applicable & (1 << bit) != 0)
            .map(|(_, route)| route.mechanism)
            .filter(move |mechanism| *mechanism > planned)
    }

    /// Returns the canonical name of the library that has the array.
    pub fn source_library(&self) -> &'static str {
        self.source
    }

    /// Returns the device that the array is on.
    pub fn source_device(&self) -> Device {
        self.from
    }

    /// Returns the canonical name of the library that is to have the array.
    pub fn target_library(&self) -> &'static str {
        self.target
    }

    /// Returns the device that the array is to be on.
    pub fn target_device(&self) -> Device {
        self.to
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} on {} -> {} on {}: {}",
            self.source, self.from, self.target, self.to, self.mechanism
        )?;
        if self.then_moves { f.write_str(", then device move") } else { Ok(()) }
    }
}

/// Plans a conversion between two libraries by name; neither need be compiled in.
///
/// ```no_run
/// use arraybridge_core::{Device, Mechanism, plan};
///
/// let gpu = Device::Accelerator(0);
/// assert_eq!(plan("torch", gpu, "cupy", gpu)?.mechanism(), Mechanism::Dlpack);
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::LibraryNotRegistered`] for a name that is neither registered nor declared,
/// [`Error::DeviceKindUnsupported`] for a device that a library never has.
pub fn plan(source: &str, from: Device, target: &str, to: Device) -> Result<Plan, Error> {
    Plan::between(declaration(source)?, from, declaration(target)?, to)
}
