//! How tensors get in and out: by copy, over shared memory, through DLPack.

mod devices;
mod dlpack;
mod host;
mod streams;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge_core::{
    Access, DType, Decline, DeclineReason, Device, Error, HOST, HostArray, Layout, Owner,
};
use tch::Tensor;

use crate::library::{NAME, foreign};
use crate::torch::{self, Memory, Seen, TorchError};
use crate::{dtype, runtime};

/// Reads a tensor to the host: always a copy, because torch may write the tensor afterwards.
pub(crate) fn download(tensor: &Tensor) -> Result<HostArray, Error> {
    let seen = Seen::of(tensor)?;
    if seen.device.is_host() && !seen.is_lazy && !seen.layout.is_empty() {
        return gather(&seen);
    }
    let nbytes = seen.layout.nbytes(seen.dtype)?;
    let mut bytes = HostArray::scratch(DType::U8, &[nbytes])?;
    torch::read(tensor, bytes.as_slice_mut()?)
        .map_err(|error| failed("reading a tensor", HOST, Some(nbytes), error))?;
    bytes.reinterpret(seen.dtype, seen.layout.shape())
}

/// Copies the elements of a tensor in main memory with core's own copies, which are faster than
/// torch's.
fn gather(seen: &Seen) -> Result<HostArray, Error> {
    let (data, layout) = (seen.pointer.cast(), seen.layout.clone());
    let (cpu, access) = (DlpackDevice::CPU, Access::SharedMutable);
    // SAFETY: the caller borrows the tensor, whose storage keeps its elements until after the copy.
    // Writing them meanwhile, through another handle on another thread, takes a race in torch's own
    // calls.
    let payload =
        unsafe { DlpackPayload::new(Owner::new(()), data, 0, seen.dtype, layout, cpu, access) }?;
    HostArray::from_dlpack(payload)
}

/// Makes a tensor of a host array: always of a copy, because torch may write it.
pub(crate) fn upload(array: &HostArray, device: Device) -> Result<Tensor, Error> {
    dtype::scalar_type(array.dtype(), "a tensor")?;
    runtime::require(device)?;
    if device.is_host() {
        return own(array.gather()?);
    }
    // Torch copies, and has read it when the call returns.
    let source = own_or_shared(array)?;
    move_to(&source, device)
}

/// Makes a tensor over a new array of core's.
fn own(array: HostArray) -> Result<Tensor, Error> {
    let (dtype, layout) = (array.dtype(), array.layout().clone());
    let pointer = array.as_ptr().cast_mut();
    let memory = Memory { pointer, dtype, layout: &layout, device: HOST };
    // SAFETY: the caller made the array, of aligned memory that nobody else reaches, and gives its
    // only owner along.
    unsafe { torch::wrap(memory, array.into_owner()) }
}

/// Makes a tensor to read a host array by, which must not leave this module.
fn own_or_shared(array: &HostArray) -> Result<Tensor, Error> {
    let source = array.to_contiguous()?;
    let (dtype, layout) = (source.dtype(), source.layout().clone());
    let pointer = source.as_ptr().cast_mut();
    let memory = Memory { pointer, dtype, layout: &layout, device: HOST };
    // SAFETY: the owner goes along. Others may read the memory meanwhile; so does torch, which is
    // given this tensor to copy from and nothing else.
    unsafe { torch::wrap(memory, source.into_owner()) }
}

/// Copies a tensor on its device, into memory that nobody else reaches.
pub(crate) fn copy(tensor: &Tensor) -> Result<Tensor, Error> {
    let seen = Seen::of(tensor)?;
    let nbytes = seen.layout.nbytes(seen.dtype)?;
    torch::copy(tensor)
        .map_err(|error| failed("copying a tensor", seen.device, Some(nbytes), error))
}

/// Copies a tensor to a device.
fn move_to(tensor: &Tensor, device: Device) -> Result<Tensor, Error> {
    let seen = Seen::of(tensor)?;
    let nbytes = seen.layout.nbytes(seen.dtype)?;
    torch::move_to(tensor, device)?
        .map_err(|error| failed("moving a tensor", device, Some(nbytes), error))
}

/// Returns why memory cannot be wrapped without a copy, if it cannot.
fn unfit(dtype: DType, layout: &Layout, address: usize, access: Access) -> Option<Decline> {
    let decline = |reason, note| Some(Decline::new(reason).note(note));
    if !dtype::is_known(dtype) {
        return decline(DeclineReason::Dtype, "torch does not have it");
    }
    match access {
        Access::Exclusive => {}
        Access::Immutable => {
            return decline(DeclineReason::ReadOnly, "others read the memory, and torch writes");
        }
        _ => return decline(DeclineReason::Shared, "others may write the memory"),
    }
    if layout.is_empty() {
        return decline(DeclineReason::Layout, "there are no elements to share");
    }
    if !address.is_multiple_of(dtype.align()) {
        return decline(DeclineReason::Alignment, "an element's address is not aligned");
    }
    layout
        .span()
        .start
        .is_negative()
        .then(|| Decline::new(DeclineReason::Layout).note("torch has no negative strides"))
}

/// Wraps a failure of torch's, and names running out of memory.
pub(crate) fn failed(
    operation: &'static str,
    device: Device,
    requested: Option<usize>,
    error: TorchError,
) -> Error {
    if error.is_out_of_memory() {
        return Error::OutOfMemory { library: NAME, device, requested, available: None };
    }
    foreign(operation, error)
}
