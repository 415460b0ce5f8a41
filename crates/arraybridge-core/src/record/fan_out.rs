//! Several observers as one.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::{ConversionObserver, ConversionRecord};

/// Hands every record to several observers, in order.
///
/// ```
/// use std::sync::Arc;
///
/// use arraybridge_core::{ConversionCounters, FanOut, ObserverScope, install};
///
/// let counters = ConversionCounters::new();
/// let both: FanOut =
///     FanOut::new().with(Arc::new(ObserverScope::current())).with(Arc::new(counters.clone()));
/// let _watch = install(Arc::new(both));
/// ```
#[derive(Clone, Default)]
pub struct FanOut(Vec<Arc<dyn ConversionObserver>>);

impl FanOut {
    /// Returns an observer that hands records to nobody yet.
    pub fn new() -> FanOut {
        FanOut::default()
    }

    /// Adds an observer.
    #[must_use]
    pub fn with(mut self, observer: Arc<dyn ConversionObserver>) -> FanOut {
        self.0.push(observer);
        self
    }
}

impl ConversionObserver for FanOut {
    fn record(&self, record: &ConversionRecord<'_>) {
        let mut panicked = None;
        for observer in &self.0 {
            // One observer's panic keeps the record from no other.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observer.record(record))) {
                panicked.get_or_insert(panic);
            }
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }
}

impl fmt::Debug for FanOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanOut").field("observers", &self.0.len()).finish()
    }
}
