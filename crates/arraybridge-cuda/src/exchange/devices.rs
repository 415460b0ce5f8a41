//! Moves between devices, and accelerators' settings.

use std::error::Error as StdError;
use std::sync::Arc;

use arraybridge_core::roles::{Accelerator, DeviceChoice, DeviceMove};
use arraybridge_core::{Device, DeviceScope, Error, causes};
use cudarc::driver::DriverError;

use super::{download, upload_to};
use crate::context::Context;
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

/// The device that the program chose.
fn choice() -> DeviceChoice {
    DeviceChoice::of::<Cuda>()
}

impl Accelerator for Cuda {
    fn current_device(&self) -> Result<Device, Error> {
        if let Some(device) = choice().current() {
            return Ok(device);
        }
        runtime::devices()?.first().copied().ok_or_else(runtime::no_device)
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        runtime::context(device)?;
        Ok(choice().scope(device))
    }

    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        stream::own_scope(&*runtime::context(device)?).map_err(stream::failed)
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        runtime::context(device)?;
        choice().activate(device);
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
        causes(error).any(|cause| {
            let own = cause.downcast_ref::<CudaError>().copied();
            let driver = || cause.downcast_ref::<DriverError>().copied().map(CudaError::from);
            own.or_else(driver).is_some_and(CudaError::is_out_of_memory)
        })
    }
}
