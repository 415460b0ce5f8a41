//! Records as events of the crate `tracing`.

use std::fmt;

use tracing::field::display;

use super::{ConversionObserver, ConversionRecord};
use crate::{Decline, Mechanism};

/// An observer that emits an event per conversion, with the record's fields by their names, at
/// level `DEBUG` under the target `arraybridge`.
///
/// The field `declined` is there only if a mechanism declined.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct TracingObserver;

impl TracingObserver {
    /// Returns the observer.
    pub fn new() -> TracingObserver {
        TracingObserver
    }
}

impl ConversionObserver for TracingObserver {
    fn record(&self, record: &ConversionRecord<'_>) {
        let declined = (!record.declined.is_empty()).then(|| display(Declined(record.declined)));
        tracing::debug!(
            target: "arraybridge",
            source_library = record.source_library,
            source_device = %record.source_device,
            target_library = record.target_library,
            target_device = %record.target_device,
            mechanism = record.mechanism.label(),
            copied = record.copied,
            nbytes = record.nbytes as u64,
            seconds = record.seconds,
            declined,
            "conversion"
        );
    }
}

/// Text that is made only where a subscriber writes it.
struct Declined<'a>(&'a [(Mechanism, Decline)]);

impl fmt::Display for Declined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (mechanism, decline)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{mechanism}: {decline}")?;
        }
        Ok(())
    }
}
