//! How an array gets from one library to another: five mechanisms, tried in order.

mod carry;
mod device_move;
mod dlpack;
mod host_copy;
mod in_place;
mod plan;
mod shared_host;
mod to_host;

use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use crate::library::DynArrayLibrary;
use crate::{Declaration, Device, Error, HostArray, Obstacle, Owner};

pub(crate) use carry::{Outcome, carry, carry_by_reference};
pub use plan::{Plan, plan};
pub(crate) use to_host::{from_host, to_host};

/// What carries an array from a library and device to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Mechanism {
    /// Same library, same device: the array itself (or, by reference, its duplicate).
    StaysInPlace,
    /// The library moves it between its own devices.
    DeviceMove,
    /// The DLPack C ABI, without a copy.
    Dlpack,
    /// Main memory that both libraries use, without a copy.
    SharedHostBuffer,
    /// One copy through main memory.
    HostCopy,
}

impl Mechanism {
    /// Returns the name as records and tables show it.
    pub fn label(self) -> &'static str {
        match self {
            Mechanism::StaysInPlace => "stays in place",
            Mechanism::DeviceMove => "device move",
            Mechanism::Dlpack => "dlpack",
            Mechanism::SharedHostBuffer => "shared host buffer",
            Mechanism::HostCopy => "host copy",
        }
    }

    /// Returns whether the mechanism copies every element by its nature.
    pub fn copies(self) -> bool {
        matches!(self, Mechanism::DeviceMove | Mechanism::HostCopy)
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

impl FromStr for Mechanism {
    type Err = Error;

    fn from_str(text: &str) -> Result<Mechanism, Error> {
        let mut all = ROUTES.iter().map(|route| route.mechanism);
        all.find(|mechanism| mechanism.label() == text).ok_or_else(|| Error::InvalidLabel {
            what: "mechanism",
            text: text.chars().take(64).collect(),
            expected: "`stays in place`, `device move`, `dlpack`, `shared host buffer` or `host copy`",
        })
    }
}

/// What may happen where memory cannot be shared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum CopyPolicy {
    /// Copy where sharing is not sound.
    #[default]
    Allow,
    /// Refuse rather than copy.
    Never,
}

/// One mechanism: when it applies, by declaration alone, and what it does.
pub(crate) struct Route {
    pub(crate) mechanism: Mechanism,
    pub(crate) applies: fn(&Journey) -> bool,
    carry: Carry,
}

/// What a mechanism does with the array in the first slot to fill the second.
enum Carry {
    /// Nothing: the array stays.
    Nothing,
    /// Reads the array, which stays as it is.
    Reading(fn(&Passage, &dyn Any, &mut dyn Any) -> Result<Carried, Obstacle>),
    /// Takes the array out of its slot, and puts it back on an obstacle.
    Taking(fn(&Passage, &mut dyn Any, &mut dyn Any) -> Result<Carried, Obstacle>),
}

/// Every mechanism, in the order in which they are tried. "Host copy" always applies and is last.
pub(crate) static ROUTES: [Route; 5] =
    [in_place::ROUTE, device_move::ROUTE, dlpack::ROUTE, shared_host::ROUTE, host_copy::ROUTE];

/// From where to where, by declaration: what plans know.
pub(crate) struct Journey {
    /// Whether source and target are one library: known by type in a conversion, by name in a plan.
    pub(crate) same_library: bool,
    pub(crate) source: Declaration,
    pub(crate) from: Device,
    pub(crate) target: Declaration,
    pub(crate) to: Device,
}

impl Journey {
    /// Returns the routes that apply, in order.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &'static Route> {
        ROUTES.iter().filter(|route| (route.applies)(self))
    }
}

/// What a route needs besides the two slots.
struct Passage {
    source: &'static dyn DynArrayLibrary,
    target: &'static dyn DynArrayLibrary,
    to: Device,
    policy: CopyPolicy,
    /// When the conversion began, if somebody observes it.
    started: Option<Instant>,
}

/// What a route did.
struct Carried {
    /// Whether some step copied on purpose. That nothing else did is checked by address afterwards.
    copied: bool,
    /// How the array gets back to its slot if that check fails.
    keep: Keep,
}

/// A second handle on the memory of an array that was taken, held until the whole route has
/// succeeded.
enum Keep {
    /// The array was only read and is still in its slot.
    InSlot,
    Lent(HostArray),
    Exported(Owner),
}

impl Keep {
    /// Returns the array to its slot, once the target has let go of it.
    fn give_back(
        self,
        passage: &Passage,
        source: &mut dyn Any,
        out: &mut dyn Any,
    ) -> Result<(), Error> {
        passage.target.clear(out)?;
        match self {
            Keep::InSlot => {}
            Keep::Lent(array) => passage.source.reclaim_lent(array, source),
            Keep::Exported(owner) => passage.source.reclaim_export(owner, source),
        }
        Ok(())
    }
}
