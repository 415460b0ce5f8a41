//! What conversions did: records, the observers that see them, and the counters that total them.

mod counters;
mod fan_out;
mod future;
#[cfg(feature = "serde")]
mod json;
#[cfg(feature = "metrics")]
mod metrics_observer;
mod observer;
mod row;
mod table;
#[cfg(feature = "tracing")]
mod tracing_observer;

use crate::{Decline, Device, Mechanism};

pub use counters::ConversionCounters;
pub use fan_out::FanOut;
pub use future::{ObserveFuture, Observed, observe};
#[cfg(feature = "metrics")]
pub use metrics_observer::MetricsObserver;
pub use observer::{ConversionObserver, ObserverGuard, ObserverScope, install};
pub(crate) use observer::{emit, is_observed};
pub use row::{CounterRow, CounterTotals};
#[cfg(feature = "tracing")]
pub use tracing_observer::TracingObserver;

/// What one conversion did.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ConversionRecord<'a> {
    /// The canonical name of the library that had the array, with its maker where the library has
    /// arrays of several (`python:torch`).
    pub source_library: &'static str,
    /// Where the array was.
    pub source_device: Device,
    /// The name of the library that has it now, likewise.
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
