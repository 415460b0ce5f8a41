//! DLPack, for other libraries in the process and for payloads from outside.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream, StreamHandle};
use arraybridge_core::roles::{DlpackExport, DlpackImport};
use arraybridge_core::{
    Access, CopyPolicy, Decline, DeclineReason, DeviceKinds, Error, Obstacle, Owner,
};
use cudarc::driver::CudaStream;

use crate::context::Context;
use crate::driver::{Foreign, Place, place_of};
use crate::library::foreign;
use crate::memory::{Keeper, Memory};
use crate::ops::Task;
use crate::{Cuda, CudaArray, CudaError, runtime, stream};

/// DLPack's codes of device memory, pinned and managed memory.
const CUDA: u32 = 2;
const CUDA_HOST: u32 = 3;
const CUDA_MANAGED: u32 = 13;

fn declined(reason: DeclineReason, note: &'static str) -> Obstacle {
    Decline::new(reason).note(note).into()
}

fn failed(error: CudaError) -> Obstacle {
    foreign("exchanging an array", error).into()
}

fn no_such_device() -> Obstacle {
    declined(DeclineReason::Device, "CUDA does not have the device of the memory")
}

/// Returns the context in which memory of a device is used here. Pinned memory is used where this
/// thread works.
fn context_of(device: DlpackDevice) -> Result<Arc<Context>, Obstacle> {
    use arraybridge_core::roles::Accelerator;

    match device.device_type {
        CUDA | CUDA_MANAGED => runtime::of_ordinal(device.device_id)?.ok_or_else(no_such_device),
        CUDA_HOST => Ok(runtime::context(Cuda.current_device()?)?),
        _ => Err(no_such_device()),
    }
}

/// Names a stream as DLPack does.
fn name_of(stream: &CudaStream) -> DlpackStream {
    let handle = stream.cu_stream() as usize;
    match (handle, NonZeroUsize::new(handle)) {
        (0 | 1, _) | (_, None) => DlpackStream::LegacyDefault,
        (2, _) => DlpackStream::PerThreadDefault,
        // SAFETY: the stream is this thread's current one, which a scope or the context keeps.
        (_, Some(handle)) => DlpackStream::Handle(unsafe { StreamHandle::new(handle) }),
    }
}

/// Makes a consumer's stream wait for an array's last write; without one, waits for it here.
fn make_ready(array: &CudaArray, stream: Option<DlpackStream>) -> Result<(), CudaError> {
    let stream = match stream {
        Some(DlpackStream::NoSynchronisation) => return Ok(()),
        Some(DlpackStream::LegacyDefault) => Foreign::LegacyDefault,
        Some(DlpackStream::PerThreadDefault) => Foreign::PerThreadDefault,
        Some(DlpackStream::Handle(handle)) => Foreign::Handle(handle),
        _ => return array.memory().after_write()?.wait(),
    };
    array.memory().after_write()?.delay_foreign(stream)
}

impl DlpackExport<Cuda> for Cuda {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::ACCELERATOR
    }

    fn device(&self, array: &CudaArray) -> Result<DlpackDevice, Obstacle> {
        let ordinal = array.context().ordinal() as i32;
        Ok(match array.memory().place {
            Place::Device => DlpackDevice::cuda(ordinal),
            Place::Managed => DlpackDevice::cuda_managed(ordinal),
            Place::Pinned => DlpackDevice::CUDA_HOST,
        })
    }

    fn export(
        &self,
        slot: &mut Option<CudaArray>,
        policy: CopyPolicy,
        stream: Option<DlpackStream>,
    ) -> Result<DlpackPayload, Obstacle> {
        let array = slot.as_mut().ok_or_else(|| Error::already_taken("exchanging an array"))?;
        if array.layout().is_empty() {
            return Err(declined(DeclineReason::Layout, "there are no elements to share"));
        }
        let exclusive = array.exclusive().is_some();
        // Without a copy, shared memory goes to who never writes it; else it is copied once, here.
        let copied = !exclusive && policy == CopyPolicy::Allow;
        let array = if copied { Task::of(array)?.gather(array)? } else { array.clone() };
        let device = self.device(&array)?;
        // What the host reads without a stream must be there.
        let stream = if device.is_host_readable() { None } else { stream };
        make_ready(&array, stream).map_err(failed)?;
        array.memory().mark_exported();
        let access = if exclusive || copied { Access::Exclusive } else { Access::Immutable };
        let (dtype, layout) = (array.dtype(), array.layout().clone());
        let data = std::ptr::without_provenance_mut(array.address() as usize);
        slot.take();
        // SAFETY: the owner holds the array, whose memory has these elements on this device once
        // `stream` gets there. Nothing else reaches the memory if it is exclusive (the slot's handle
        // is gone); otherwise it is not written as long as the owner shares it.
        let payload = unsafe {
            DlpackPayload::new(Owner::new(array), data, 0, dtype, layout, device, access)
        }?;
        Ok(if copied { payload.mark_copied() } else { payload })
    }
}

impl DlpackImport<Cuda> for Cuda {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::ACCELERATOR
    }

    fn stream(&self, device: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle> {
        let context = context_of(device)?;
        Ok(Some(name_of(&stream::current(&context))))
    }

    fn import(&self, payload: DlpackPayload) -> Result<CudaArray, Obstacle> {
        if payload.layout().is_empty() {
            return Err(declined(DeclineReason::Layout, "there are no elements to share"));
        }
        if payload.access() == Access::SharedMutable {
            return Err(declined(DeclineReason::Shared, "others may write the memory"));
        }
        wrap(payload)
    }
}

/// Makes an array over a payload's memory, after asking the driver where that is.
fn wrap(payload: DlpackPayload) -> Result<CudaArray, Obstacle> {
    let context = context_of(payload.device())?;
    let (address, dtype) = (payload.address() as u64, payload.dtype());
    let beyond = address % dtype.align() as u64;
    if beyond != 0 {
        let note = "kernels want an element's natural alignment; the remainder is";
        return Err(Decline::new(DeclineReason::Alignment).note(note).value(beyond as i64).into());
    }
    let stated = match payload.device().device_type {
        CUDA => Place::Device,
        CUDA_MANAGED => Place::Managed,
        _ => Place::Pinned,
    };
    let task = Task::new(&context)?;
    match place_of(&task.bound, address).map_err(failed)? {
        Some((place, _)) if place != stated => {
            return Err(declined(
                DeclineReason::Device,
                "the driver knows the memory as another kind",
            ));
        }
        Some((Place::Device, there)) if there != context.ordinal() => {
            let note = "the driver knows the memory as another device's";
            return Err(declined(DeclineReason::Device, note));
        }
        Some(_) => {}
        None => return Err(declined(DeclineReason::Device, "the driver does not know the memory")),
    }
    let (layout, access) = (payload.layout().clone(), payload.access());
    let nbytes = layout.byte_span(dtype)?.len();
    let keeper = Keeper::other(payload.into_owner());
    // The producer made the elements ready on the stream that was named, this one.
    let mut memory = Memory::new(&context, address, nbytes, keeper, &task.stream);
    memory.place = stated;
    memory.access = access;
    Ok(CudaArray::new(memory, address, dtype, layout))
}

impl CudaArray {
    /// Makes an array of a payload on CUDA (also pinned and managed memory): over its memory, or a
    /// copy where others may write that.
    ///
    /// The driver is asked where the memory is; what the payload says is not believed. The payload's
    /// producer has made the elements ready on [`current_stream`](crate::current_stream) of the
    /// device, whose handle goes into `__dlpack__(stream=...)`.
    ///
    /// # Errors
    /// [`Error::InvalidPayload`] for memory that is not where it is said to be, under-aligned or of
    /// another kind of device; [`Error::OutOfMemory`] of the copy. The payload is released then.
    pub fn from_dlpack(payload: DlpackPayload) -> Result<CudaArray, Error> {
        if payload.layout().is_empty() {
            let task = Task::new(&context_of(payload.device()).map_err(refused)?)?;
            return task.make(payload.dtype(), payload.layout().shape());
        }
        let shared = payload.access() == Access::SharedMutable;
        let array = wrap(payload).map_err(refused)?;
        if !shared {
            return Ok(array);
        }
        let copy = Task::of(&array)?.gather(&array)?;
        // Whoever else writes the memory may do so again once it is let go of.
        copy.wait()?;
        Ok(copy)
    }
}

fn refused(obstacle: Obstacle) -> Error {
    match obstacle {
        Obstacle::Failed(error) => error,
        Obstacle::Declined(decline) => {
            Error::InvalidPayload { field: "data", message: decline.to_string() }
        }
        _ => Error::InvalidPayload { field: "data", message: "it cannot be used here".into() },
    }
}
