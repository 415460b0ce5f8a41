//! What conversions recorded, kept for assertions.

use std::sync::{Arc, Mutex, PoisonError};

use arraybridge_core::{ConversionObserver, ConversionRecord, Decline, Device, Mechanism, install};

/// A conversion's record, owned.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The library that had the array.
    pub source_library: &'static str,
    /// Where it was.
    pub source_device: Device,
    /// The library that has it now.
    pub target_library: &'static str,
    /// Where it is now.
    pub target_device: Device,
    /// What carried it.
    pub mechanism: Mechanism,
    /// Whether elements were copied.
    pub copied: bool,
    /// The size of the result in bytes.
    pub nbytes: usize,
    /// What declined before.
    pub declined: Vec<(Mechanism, Decline)>,
}

#[derive(Default)]
struct Recorder(Mutex<Vec<Seen>>);

impl ConversionObserver for Recorder {
    fn record(&self, record: &ConversionRecord<'_>) {
        let seen = Seen {
            source_library: record.source_library,
            source_device: record.source_device,
            target_library: record.target_library,
            target_device: record.target_device,
            mechanism: record.mechanism,
            copied: record.copied,
            nbytes: record.nbytes,
            declined: record.declined.to_vec(),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    }
}

/// Runs a closure and returns its result with the records of the conversions in it.
pub fn watch<R>(body: impl FnOnce() -> R) -> (R, Vec<Seen>) {
    let recorder = Arc::new(Recorder::default());
    let observer: Arc<dyn ConversionObserver> = Arc::<Recorder>::clone(&recorder);
    let guard = install(observer);
    let result = body();
    drop(guard);
    let seen = std::mem::take(&mut *recorder.0.lock().unwrap_or_else(PoisonError::into_inner));
    (result, seen)
}
