//! Recognising that memory ran out, and trying again after releasing what is cached.

use std::error::Error as StdError;

use crate::registry::libraries;
use crate::{Device, Library};

/// Returns whether an error, or one that caused it, means that memory ran out: core's own
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) or what a registered library recognises.
///
/// Loads no runtime.
///
/// ```
/// use arraybridge_core::{Error, HOST, is_out_of_memory};
///
/// let error = Error::OutOfMemory { library: "host", device: HOST, requested: None, available: None };
/// assert!(is_out_of_memory(&error));
/// assert!(!is_out_of_memory(&std::io::Error::other("disk full")));
/// ```
pub fn is_out_of_memory(error: &(dyn StdError + 'static)) -> bool {
    crate::error::is_own_out_of_memory(error)
        || libraries().into_iter().any(|library| library.is_out_of_memory(error))
}

/// Runs a closure; where it fails because `library` ran out of memory, releases the memory that the
/// library caches on `device` (on all for `None`) and runs it again, at most `retries` times.
///
/// ```
/// use arraybridge_core::{AnyArray, Device, Error, Library, run_with_oom_recovery};
///
/// fn project(library: Library, volume: &AnyArray, gpu: Device) -> Result<AnyArray, Error> {
///     run_with_oom_recovery(library, 2, Some(gpu), || volume.to(library, gpu)?.max(0))
/// }
/// ```
///
/// # Errors
/// The closure's: any that is not about memory at once, else the last one. That the release itself
/// fails is no error: the next attempt shows whether it helped.
pub fn run_with_oom_recovery<T, E: StdError + 'static>(
    library: Library,
    retries: usize,
    device: Option<Device>,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut left = retries;
    loop {
        match attempt() {
            Err(error) if left > 0 && library.is_out_of_memory(&error) => {
                left -= 1;
                drop(error);
                let _ = library.release_cached_memory(device);
            }
            result => return result,
        }
    }
}
