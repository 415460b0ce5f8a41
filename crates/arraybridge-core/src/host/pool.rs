//! The pool of large buffers.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::pages::Pages;

/// The bytes that the pool keeps at most, unless [`set_limit`] says otherwise: 512 MiB.
const DEFAULT_LIMIT: usize = 512 << 20;

/// What buffers' sizes are rounded up to, at least: the largest page of systems that have small ones.
const GRAIN: usize = 64 << 10;

struct Pool {
    /// Unused pages, those given back last at the end.
    kept: VecDeque<Pages>,
    nbytes: usize,
    limit: usize,
}

static POOL: Mutex<Pool> =
    Mutex::new(Pool { kept: VecDeque::new(), nbytes: 0, limit: DEFAULT_LIMIT });

fn pool() -> MutexGuard<'static, Pool> {
    // Nothing below panics with the lock held half way through a change.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns at least `nbytes` initialised bytes, and whether they are fresh, that is, all zero;
/// `None` if there is no memory for them.
pub(super) fn take(nbytes: usize) -> Option<(Pages, bool)> {
    let size = size_class(nbytes)?;
    let kept = {
        let mut pool = pool();
        // The last one given back is the likeliest to be in cache still.
        let place = pool.kept.iter().rposition(|pages| pages.nbytes() == size);
        let pages = place.and_then(|place| pool.kept.remove(place));
        pool.nbytes -= pages.as_ref().map_or(0, Pages::nbytes);
        pages
    };
    if let Some(pages) = kept {
        return Some((pages, false));
    }
    let fresh = Pages::zeroed(size).or_else(|| {
        // Memory may be short because of what is kept here.
        (release_cached() > 0).then(|| Pages::zeroed(size)).flatten()
    })?;
    Some((fresh, true))
}

/// Keeps pages for the next one who needs as many, if the limit allows it.
pub(super) fn give_back(pages: Option<Pages>) {
    let Some(pages) = pages else { return };
    let mut pool = pool();
    let mut surplus = Vec::new();
    if pages.nbytes() > pool.limit {
        surplus.push(pages);
    } else {
        pool.nbytes += pages.nbytes();
        pool.kept.push_back(pages);
        pool.trim(&mut surplus);
    }
    // Unmapping takes long: not under the lock.
    drop(pool);
    drop(surplus);
}

impl Pool {
    /// Takes out the oldest pages until the limit is met.
    fn trim(&mut self, surplus: &mut Vec<Pages>) {
        while self.nbytes > self.limit {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.nbytes -= oldest.nbytes();
            surplus.push(oldest);
        }
    }
}

/// Rounds a size up, so that buffers of about the same size can replace each other: to an eighth of
/// the power of two below it. Of what is added, whole pages stay untouched and take no memory.
fn size_class(nbytes: usize) -> Option<usize> {
    let step = (1usize << nbytes.max(1).ilog2()) / 8;
    nbytes.checked_next_multiple_of(step.max(GRAIN))
}

/// Returns the bytes of memory that the pool keeps for reuse. Memory of live arrays does not count.
pub fn cached_bytes() -> usize {
    pool().nbytes
}

/// Returns the memory that the pool keeps to the system, and how many bytes it was.
pub fn release_cached() -> usize {
    let kept = {
        let mut pool = pool();
        pool.nbytes = 0;
        std::mem::take(&mut pool.kept)
    };
    kept.iter().map(Pages::nbytes).sum()
}

/// Returns the bytes that the pool keeps at most.
pub fn limit() -> usize {
    pool().limit
}

/// Sets the bytes that the pool keeps at most (0: it keeps nothing), and returns what it keeps
/// beyond them to the system, the longest unused first.
pub fn set_limit(nbytes: usize) {
    let mut pool = pool();
    pool.limit = nbytes;
    let mut surplus = Vec::new();
    pool.trim(&mut surplus);
    drop(pool);
    drop(surplus);
}
