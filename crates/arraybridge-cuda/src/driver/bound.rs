//! A context that is current on a thread.

use std::marker::PhantomData;

use cudarc::driver::CudaContext;
use cudarc::driver::sys::CUcontext;

use super::entries;
use crate::CudaError;
use crate::error::check;
use crate::faults::report;

/// Keeps a context current on this thread; the previous one comes back when it is dropped.
///
/// Calls that work in the current context take one, so that none is made in another.
#[must_use]
pub(crate) struct Bound {
    previous: Option<CUcontext>,
    _thread: PhantomData<*const ()>,
}

impl Bound {
    /// Makes a context current.
    pub(crate) fn to(context: &CudaContext) -> Result<Bound, CudaError> {
        let entries = entries()?;
        let mut current: CUcontext = std::ptr::null_mut();
        // SAFETY: the call writes a handle.
        check(unsafe { (entries.cuCtxGetCurrent)(&mut current) })?;
        let previous = (current != context.cu_ctx()).then_some(current);
        if previous.is_some() {
            // SAFETY: the context is alive: it is borrowed, and whoever binds it holds it longer.
            check(unsafe { (entries.cuCtxSetCurrent)(context.cu_ctx()) })?;
        }
        Ok(Bound { previous, _thread: PhantomData })
    }

    /// Remembers this thread's context while calls of cudarc make others current.
    pub(crate) fn preserve() -> Result<Bound, CudaError> {
        let entries = entries()?;
        let mut current: CUcontext = std::ptr::null_mut();
        // SAFETY: the call writes a handle.
        check(unsafe { (entries.cuCtxGetCurrent)(&mut current) })?;
        Ok(Bound { previous: Some(current), _thread: PhantomData })
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let Some(previous) = self.previous else { return };
        let restored = entries().and_then(|entries| {
            // SAFETY: it was this thread's context before, or none.
            check(unsafe { (entries.cuCtxSetCurrent)(previous) })
        });
        if let Err(error) = restored {
            report("a thread's previous context did not come back", error);
        }
    }
}
