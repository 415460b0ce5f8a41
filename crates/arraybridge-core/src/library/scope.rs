//! A block in which a library works on one device.

use std::fmt;
use std::marker::PhantomData;

/// Restores a library's previous device (or stream) on this thread when dropped.
#[must_use = "the previous device comes back as soon as this is dropped"]
pub struct DeviceScope {
    restore: Option<Box<dyn FnOnce()>>,
    /// The choice belongs to a thread, so the guard stays on it.
    _thread: PhantomData<*const ()>,
}

impl DeviceScope {
    /// Makes a guard that runs `restore` once when it is dropped.
    pub fn new(restore: impl FnOnce() + 'static) -> DeviceScope {
        DeviceScope { restore: Some(Box::new(restore)), _thread: PhantomData }
    }

    /// Makes a guard that has nothing to restore.
    pub fn nothing() -> DeviceScope {
        DeviceScope { restore: None, _thread: PhantomData }
    }
}

impl Drop for DeviceScope {
    fn drop(&mut self) {
        if let Some(restore) = self.restore.take() {
            restore();
        }
    }
}

impl fmt::Debug for DeviceScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceScope").finish_non_exhaustive()
    }
}
