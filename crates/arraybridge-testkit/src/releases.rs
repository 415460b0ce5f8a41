//! Owners that count how often they were released.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Counts how often the owner of some memory was released.
#[derive(Clone, Debug, Default)]
pub struct Releases(Arc<AtomicUsize>);

impl Releases {
    /// Starts at none.
    pub fn new() -> Releases {
        Releases::default()
    }

    /// Returns a value that keeps `inner` and counts when it is dropped.
    pub fn guard<T>(&self, inner: T) -> Counted<T> {
        Counted { _inner: inner, releases: self.clone() }
    }

    /// Returns how often the owner was released until now.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Asserts that the owner was released, and once. A runtime that releases on a thread of its own
    /// is given ten seconds.
    #[track_caller]
    pub fn assert_once(&self, context: &str) {
        let patience = Instant::now() + Duration::from_secs(10);
        while self.count() == 0 && Instant::now() < patience {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.count(), 1, "{context}: releases of the owner");
    }

    /// Asserts that the owner lives.
    #[track_caller]
    pub fn assert_none(&self, context: &str) {
        assert_eq!(self.count(), 0, "{context}: releases of an owner that is in use");
    }
}

/// A value that counts its drop; made by [`Releases::guard`].
#[derive(Debug)]
pub struct Counted<T> {
    _inner: T,
    releases: Releases,
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.releases.0.fetch_add(1, Ordering::SeqCst);
    }
}
