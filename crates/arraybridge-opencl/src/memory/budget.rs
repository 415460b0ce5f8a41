//! How much memory the library's own arrays may take on a device.
//!
//! Drivers allocate lazily, and some abort the process when memory runs out later. So the bytes of
//! all buffers are counted, and what would exceed the budget is refused before.

use std::sync::atomic::{AtomicUsize, Ordering};

use arraybridge_core::{Device, Error};

use crate::device::{self, KnownDevice};

/// The bytes that buffers take and may take on a device.
pub(crate) struct Budget {
    used: AtomicUsize,
    limit: AtomicUsize,
    /// The device's whole memory.
    memory: usize,
}

impl Budget {
    pub(crate) fn new(memory: usize) -> Budget {
        Budget { used: AtomicUsize::new(0), limit: AtomicUsize::new(memory), memory }
    }

    /// Returns the bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.limit.load(Ordering::Relaxed).saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Takes bytes, given back when the charge is dropped; `None` if so many are not left.
    pub(crate) fn charge(known: &'static KnownDevice, nbytes: usize) -> Option<Charge> {
        let budget = &known.budget;
        let limit = budget.limit.load(Ordering::Relaxed);
        let fits = |used: usize| used.checked_add(nbytes).filter(|used| *used <= limit);
        let taken = budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        taken.ok().map(|_| Charge { known, nbytes })
    }
}

/// Bytes taken from a device's budget.
pub(crate) struct Charge {
    known: &'static KnownDevice,
    nbytes: usize,
}

impl Charge {
    pub(crate) fn nbytes(&self) -> usize {
        self.nbytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.known.budget.used.fetch_sub(self.nbytes, Ordering::Relaxed);
    }
}

/// How much memory the library's own buffers take on a device, in bytes. Memory of others that
/// arrays wrap does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemoryUse {
    /// What buffers take, kept ones included.
    pub used: usize,
    /// Of those, what is kept for reuse.
    pub cached: usize,
    /// What they may take.
    pub budget: usize,
}

/// Returns how much memory the library's own buffers take on a device.
///
/// # Errors
/// [`Error::DeviceUnavailable`], [`Error::LibraryUnavailable`].
pub fn memory_use(device: Device) -> Result<MemoryUse, Error> {
    let known = device::known(device)?;
    let cached = known.places().iter().map(|place| place.pool.nbytes()).sum();
    Ok(MemoryUse {
        used: known.budget.used.load(Ordering::Relaxed),
        cached,
        budget: known.budget.limit.load(Ordering::Relaxed),
    })
}

/// Sets how much memory the library's own buffers may take on a device from now on; `None` is all
/// of the device's, as at the start.
///
/// # Errors
/// [`Error::DeviceUnavailable`], [`Error::LibraryUnavailable`].
pub fn set_memory_budget(device: Device, nbytes: Option<usize>) -> Result<(), Error> {
    let known = device::known(device)?;
    let limit = nbytes.unwrap_or(known.budget.memory);
    known.budget.limit.store(limit, Ordering::Relaxed);
    Ok(())
}
