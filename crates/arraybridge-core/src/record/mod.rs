//! What conversions did: records, and the observers that see them.

mod observer;

use crate::{Decline, Device, Mechanism};

pub use observer::{ConversionObserver, ObserverGuard, ObserverScope, install};
pub(crate) use observer::{emit, is_observed};

/// What one conversion did.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ConversionRecord<'a> {
    /// The canonical name of the library that had the array.
    pub source_library: &'static str,
    /// Where the array was.
    pub source_device: Device,
    /// The canonical name of the library that has it now.
    pub target_library: &'static str,
    /// Where it is now.
    pub target_device: Device,
    /// What carried it.
    pub mechanism: Mechanism,
    /// Whether elements were copied: the addresses before and after were compared.
    pub copied: bool,
    /// The size of the result in bytes.
    pub nbytes: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The mechanisms that declined before, each with its reason.
    pub declined: &'a [(Mechanism, Decline)],
}
