//! A context with what belongs to it: a stream, a pool, staging, a releasing thread, kernels.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arraybridge_core::{Device, Error};
use cudarc::driver::{CudaContext, CudaStream};

use crate::CudaError;
use crate::driver::{self, Bound, Pool};
use crate::library::foreign;
use crate::memory::{Reaper, Staging, Waits, What};
use crate::ops::Kernels;

/// A CUDA context, with what arrays in it share.
pub(crate) struct Context {
    ordinal: u32,
    pub(crate) cuda: Arc<CudaContext>,
    /// Where work runs unless a scope says otherwise.
    pub(crate) main: Arc<CudaStream>,
    /// `None` on devices without pools.
    pub(crate) pool: Option<Pool>,
    pub(crate) staging: Staging,
    pub(crate) reaper: Reaper,
    pub(crate) kernels: Kernels,
}

impl Context {
    /// Makes what belongs to a context.
    pub(crate) fn open(cuda: Arc<CudaContext>) -> Result<Context, CudaError> {
        let bound = Bound::to(&cuda)?;
        let ordinal = cuda.ordinal() as u32;
        let pool = if cuda.has_async_alloc() { Some(Pool::new(&bound, ordinal)?) } else { None };
        Ok(Context {
            ordinal,
            main: cuda.new_stream()?,
            pool,
            staging: Staging::new(&cuda),
            reaper: Reaper::new(&cuda),
            kernels: Kernels::new(),
            cuda,
        })
    }

    /// Makes the context current on this thread.
    pub(crate) fn bind(&self) -> Result<Bound, CudaError> {
        Bound::to(&self.cuda)
    }

    /// Returns the device, as the library numbers it.
    pub(crate) fn device(&self) -> Device {
        Device::Accelerator(self.ordinal)
    }

    pub(crate) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Returns whether this is the same context as another.
    pub(crate) fn is(&self, other: &Context) -> bool {
        self.cuda.cu_ctx() == other.cuda.cu_ctx()
    }

    /// Waits for all work, and gives back what is kept for reuse. Returns the bytes of device memory
    /// that came free.
    pub(crate) fn release_cached(&self) -> Result<usize, Error> {
        self.try_release_cached().map_err(|error| foreign("releasing cached memory", error))
    }

    pub(crate) fn try_release_cached(&self) -> Result<usize, CudaError> {
        let bound = self.bind()?;
        driver::synchronize(&bound)?;
        self.reaper.drain();
        self.staging.clear();
        // Memory that the reaper freed is the pool's only once that work is done, too.
        driver::synchronize(&bound)?;
        let Some(pool) = &self.pool else { return Ok(0) };
        let before = pool.reserved()?;
        pool.trim()?;
        Ok(before.saturating_sub(pool.reserved()?) as usize)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(module) = self.kernels.take() {
            // Kernels may still be queued.
            self.reaper.post(Waits::Everything, What::Drop(Box::new(module)));
        }
    }
}

/// Locks a mutex whose data is whole also after a panic of another holder.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
