//! What goes wrong where nobody can be told: in `Drop` and on the releasing threads.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Returns how often releasing something failed in this process: memory that was left to the driver
/// because it could not be proven to be unused, or could not be freed.
///
/// Each is also written to the log (crate `log`, level error).
///
/// ```
/// assert_eq!(arraybridge_cuda::failed_releases(), 0);
/// ```
pub fn failed_releases() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// Notes a failure that nobody can be told.
pub(crate) fn report(what: &str, error: impl fmt::Display) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    log::error!("arraybridge-cuda: {what}: {error}");
}
