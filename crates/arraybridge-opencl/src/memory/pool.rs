//! Buffers in a device's own memory that are kept for reuse: allocating is slow on many drivers.

use std::sync::{Mutex, PoisonError};

use super::budget::Charge;
use super::order::Uses;
use crate::cl::Mem;

/// The most bytes that are kept.
const LIMIT: usize = 256 << 20;

/// A buffer that nobody holds, with the commands that may still run on it.
pub(crate) struct Cached {
    pub(crate) mem: Mem,
    pub(crate) uses: Uses,
    pub(crate) charge: Charge,
}

/// The buffers that are kept, the oldest first.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<Cached>>);

impl Pool {
    fn cached(&self) -> std::sync::MutexGuard<'_, Vec<Cached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a kept buffer of at least this size and at most double.
    pub(crate) fn take(&self, nbytes: usize) -> Option<Cached> {
        let mut cached = self.cached();
        let fits = |size: usize| size >= nbytes && size / 2 <= nbytes;
        let sizes = cached.iter().enumerate().map(|(place, kept)| (kept.charge.nbytes(), place));
        let (_, place) = sizes.filter(|(size, _)| fits(*size)).min()?;
        Some(cached.remove(place))
    }

    /// Keeps a buffer; the oldest are let go of for it.
    pub(crate) fn give_back(&self, buffer: Cached) {
        if buffer.charge.nbytes() > LIMIT {
            return;
        }
        let mut cached = self.cached();
        cached.push(buffer);
        let mut total: usize = cached.iter().map(|kept| kept.charge.nbytes()).sum();
        let mut gone = Vec::new();
        while total > LIMIT {
            let oldest = cached.remove(0);
            total -= oldest.charge.nbytes();
            gone.push(oldest);
        }
        drop(cached);
    }

    /// Returns the bytes that are kept.
    pub(crate) fn nbytes(&self) -> usize {
        self.cached().iter().map(|kept| kept.charge.nbytes()).sum()
    }

    /// Lets go of everything and returns how many bytes that was.
    pub(crate) fn clear(&self) -> usize {
        let gone = std::mem::take(&mut *self.cached());
        gone.iter().map(|kept| kept.charge.nbytes()).sum()
    }
}
