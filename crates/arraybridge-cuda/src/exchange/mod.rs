//! How arrays get in and out: by copy, through DLPack, between devices, from and to cudarc.

mod devices;
mod dlpack;
mod slice;

use std::sync::Arc;

use arraybridge_core::{DType, Device, Error, HostArray};

use crate::context::Context;
use crate::driver::{Event, Place, copy_to_device, place_of};
use crate::library::foreign;
use crate::memory::{Waits, What};
use crate::ops::Task;
use crate::{CudaArray, CudaError, runtime};

pub(crate) use devices::copy_to_context;
pub use slice::ShapedSlice;

/// Reads an array to the host, and waits for it.
pub(crate) fn download(array: &CudaArray) -> Result<HostArray, Error> {
    let nbytes = array.layout().nbytes(array.dtype())?;
    let mut bytes = HostArray::scratch(DType::U8, &[nbytes])?;
    if nbytes > 0 {
        let task = Task::of(array)?;
        let source = task.contiguous(array)?;
        let staging = &task.context.staging;
        let target = bytes.as_slice_mut::<u8>()?;
        // SAFETY: a row-major array of that many bytes; the stream waits for whoever wrote it.
        let read = unsafe { staging.download(&task.bound, source.address(), target, &task.stream) };
        read.map_err(|error| foreign("reading an array", error))?;
    }
    bytes.reinterpret(array.dtype(), array.shape())
}

/// Makes an array of a host array's elements, which were read when this returns, or are kept until
/// they were.
pub(crate) fn upload(array: &HostArray, device: Device) -> Result<CudaArray, Error> {
    upload_to(array, &runtime::context(device)?)
}

pub(crate) fn upload_to(array: &HostArray, context: &Arc<Context>) -> Result<CudaArray, Error> {
    let task = Task::new(context)?;
    let target = task.make(array.dtype(), array.shape())?;
    if array.is_empty() {
        return Ok(target);
    }
    let source = array.to_contiguous()?;
    let failed = |error| foreign("uploading an array", error);
    let address = source.address() as u64;
    if let Some((Place::Pinned, _)) = place_of(&task.bound, address).map_err(failed)? {
        send_pinned(&task, source, &target).map_err(failed)?;
    } else {
        let bytes = source.as_bytes()?;
        // SAFETY: the new array has as many bytes, and is the stream's alone.
        unsafe { context.staging.upload(&task.bound, target.address(), bytes, &task.stream) }
            .map_err(failed)?;
    }
    Ok(target)
}

/// Queues one copy of pinned memory, which is kept until that is done.
fn send_pinned(task: &Task, source: HostArray, target: &CudaArray) -> Result<(), CudaError> {
    let (pointer, nbytes) = (source.as_ptr(), source.nbytes());
    // SAFETY: both have that many bytes; the source is not written as long as it is shared with the
    // handle that the reaper gets below, or the stream is waited for.
    unsafe { copy_to_device(&task.bound, target.address(), pointer, nbytes, &task.stream) }?;
    match Event::of(&task.stream) {
        Ok(event) => {
            let reaper = &task.context.reaper;
            reaper.post(Waits::Events(vec![event]), What::Drop(Box::new(source)));
        }
        Err(error) => {
            if crate::driver::synchronize_stream(&task.bound, &task.stream).is_err() {
                std::mem::forget(source);
                return Err(error);
            }
        }
    }
    Ok(())
}
