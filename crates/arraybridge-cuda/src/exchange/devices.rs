//! Moves between devices, and accelerators' settings.

use std::cell::Cell;
use std::error::Error as StdError;
use std::sync::{Arc, Mutex};

use arraybridge_core::roles::{Accelerator, DeviceMove};
use arraybridge_core::{Device, DeviceScope, Error};
use cudarc::driver::DriverError;

use super::{download, upload_to};
use crate::context::{Context, lock};
use crate::driver::{can_access_peer, copy_to_peer};
use crate::library::foreign;
use crate::ops::Task;
use crate::{Cuda, CudaArray, CudaError, runtime, stream};

/// Copies an array into another context: by the bus where devices reach each other or are the same,
/// else through main memory.
pub(crate) fn copy_to_context(
    array: &CudaArray,
    context: &Arc<Context>,
) -> Result<CudaArray, Error> {
    let failed = |error| foreign("moving an array", error);
    let (from, to) = (array.context().ordinal(), context.ordinal());
    if from != to && !can_access_peer(to, from).map_err(failed)? {
        return upload_to(&download(array)?, context);
    }
    let source = Task::of(array)?.contiguous(array)?;
    let task = Task::new(context)?;
    let target = task.make(array.dtype(), array.shape())?;
    let nbytes = array.layout().nbytes(array.dtype())?;
    if nbytes > 0 {
        source.memory().read_on(&task.stream).map_err(failed)?;
        let here = (target.address(), context.cuda.cu_ctx());
        let there = (source.address(), source.context().cuda.cu_ctx());
        // SAFETY: both are row-major arrays of that many bytes; the stream waits for whoever wrote
        // the source, and the target is its own.
        unsafe { copy_to_peer(&task.bound, here, there, nbytes, &task.stream) }.map_err(failed)?;
    }
    Ok(target)
}

impl DeviceMove<Cuda> for Cuda {
    fn move_to(&self, array: &CudaArray, device: Device) -> Result<CudaArray, Error> {
        let context = runtime::context(device)?;
        if context.device() == array.device() {
            return Ok(array.clone());
        }
        copy_to_context(array, &context)
    }
}

thread_local! {
    /// The device that a scope chose for this thread.
    static SCOPE: Cell<Option<Device>> = const { Cell::new(None) };
}

/// The device that `activate` chose for the process.
static ACTIVE: Mutex<Option<Device>> = Mutex::new(None);

impl Accelerator for Cuda {
    fn current_device(&self) -> Result<Device, Error> {
        if let Some(device) = SCOPE.get() {
            return Ok(device);
        }
        if let Some(device) = *lock(&ACTIVE) {
            return Ok(device);
        }
        runtime::devices()?.first().copied().ok_or_else(runtime::no_device)
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        runtime::context(device)?;
        let previous = SCOPE.replace(Some(device));
        Ok(DeviceScope::new(move || SCOPE.set(previous)))
    }

    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        stream::own_scope(&*runtime::context(device)?).map_err(stream::failed)
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        runtime::context(device)?;
        *lock(&ACTIVE) = Some(device);
        Ok(())
    }

    fn release_cached_memory(&self, device: Option<Device>) -> Result<Option<usize>, Error> {
        let mut freed = 0;
        for context in runtime::opened(device) {
            freed += context.release_cached()?;
        }
        Ok(Some(freed))
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            let own = error.downcast_ref::<CudaError>().copied();
            let driver = || error.downcast_ref::<DriverError>().copied().map(CudaError::from);
            if own.or_else(driver).is_some_and(CudaError::is_out_of_memory) {
                return true;
            }
            next = error.source();
        }
        false
    }
}
