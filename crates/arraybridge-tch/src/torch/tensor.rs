//! Tensors over memory, and copies of tensors.

use std::ffi::c_int;

use arraybridge_core::{DType, Device, Error, Layout, Owner};
use smallvec::SmallVec;
use tch::Tensor;
use torch_sys::C_tensor;

use super::error::{TorchError, call};
use super::kept::Kept;
use super::sys;
use crate::dtype;

/// Memory to make a tensor over.
#[derive(Debug)]
pub(crate) struct Memory<'a> {
    /// Element `[0, 0, ...]`.
    pub(crate) pointer: *mut u8,
    pub(crate) dtype: DType,
    /// Without negative strides.
    pub(crate) layout: &'a Layout,
    pub(crate) device: Device,
}

/// Makes a tensor over memory that `owner` keeps alive, which is dropped once, when torch lets go of
/// the memory, or on a failure.
///
/// # Errors
/// [`Error::DtypeUnsupported`], [`Error::DeviceUnavailable`], [`Error::LayoutUnsupported`] for
/// negative strides, [`Error::SizeOverflow`]; torch's own failures.
///
/// # Safety
/// Until `owner` is dropped, every element of the layout is initialised memory of the device that
/// nothing else reaches, aligned for the dtype.
pub(crate) unsafe fn wrap(memory: Memory<'_>, owner: Owner) -> Result<Tensor, Error> {
    let Memory { pointer, dtype, layout, device } = memory;
    let scalar_type = dtype::scalar_type(dtype, "a tensor")?;
    let (device_type, device_index) = code_of(device)?;
    // Torch aborts on layouts that it does not have.
    if layout.strides().iter().any(|&stride| stride < 0) {
        return Err(Error::LayoutUnsupported {
            operation: "a tensor",
            message: format!("{layout:?} has negative strides, torch has none"),
        });
    }
    layout.nbytes(dtype)?;
    // Without negative strides the span begins at element 0.
    let span = layout.byte_span(dtype)?;
    let (pointer, nbytes) =
        if layout.is_empty() { (std::ptr::null_mut(), 0) } else { (pointer, span.end as usize) };
    let (sizes, strides) = (layout.shape(), layout.strides());
    let cuda = match device {
        Device::Accelerator(index) => Some(index),
        _ => None,
    };
    let bools = (dtype == DType::Bool).then_some(nbytes);
    let kept = Box::into_raw(Kept::new(owner, cuda, bools));
    // SAFETY: the memory is as the caller says, the layout is one that torch has; the shim takes the
    // box over, also on a failure.
    made(|out, message| unsafe {
        sys::abt_wrap(
            pointer.cast(),
            nbytes,
            sizes.as_ptr(),
            strides.as_ptr(),
            sizes.len(),
            scalar_type,
            device_type,
            device_index,
            kept.cast(),
            out,
            message,
        )
    })
    .map_err(|error| crate::library::foreign("wrapping memory", error))
}

/// Copies a tensor, without its autograd graph, on its device, lazy operations done.
pub(crate) fn copy(tensor: &Tensor) -> Result<Tensor, TorchError> {
    // SAFETY: the handle is a live tensor's, which the call only reads.
    made(|out, message| unsafe { sys::abt_copy(tensor.as_ptr(), out, message) })
}

/// Copies a tensor, as [`copy`], to a device that is there.
pub(crate) fn move_to(
    tensor: &Tensor,
    device: Device,
) -> Result<Result<Tensor, TorchError>, Error> {
    let (device_type, device_index) = code_of(device)?;
    // SAFETY: the handle is a live tensor's, which the call only reads.
    Ok(made(|out, message| unsafe {
        sys::abt_move(tensor.as_ptr(), device_type, device_index, out, message)
    }))
}

/// Casts a tensor by torch's own rules into a new one, on its device.
pub(crate) fn cast(tensor: &Tensor, scalar_type: c_int) -> Result<Tensor, TorchError> {
    // SAFETY: the handle is a live tensor's, which the call only reads.
    made(|out, message| unsafe { sys::abt_cast(tensor.as_ptr(), scalar_type, out, message) })
}

/// Reads the bytes of the elements as another element type of the same size: a view.
pub(crate) fn reinterpret(tensor: &Tensor, scalar_type: c_int) -> Result<Tensor, TorchError> {
    // SAFETY: the handle is a live tensor's, which the call only reads.
    made(|out, message| unsafe { sys::abt_reinterpret(tensor.as_ptr(), scalar_type, out, message) })
}

/// Copies the elements, in row-major order, to main memory.
pub(crate) fn read(tensor: &Tensor, bytes: &mut [u8]) -> Result<(), TorchError> {
    let (pointer, length) = (bytes.as_mut_ptr().cast(), bytes.len());
    // SAFETY: the handle is a live tensor's; the shim writes into as many bytes as it is told that
    // there are, or fails.
    call((), |(), message| unsafe { sys::abt_read(tensor.as_ptr(), pointer, length, message) })
}

/// Makes a tensor of ones on a device that is there.
pub(crate) fn ones(
    shape: &[usize],
    scalar_type: c_int,
    device: Device,
) -> Result<Result<Tensor, TorchError>, Error> {
    let (device_type, device_index) = code_of(device)?;
    let sizes: SmallVec<[i64; 6]> = shape.iter().map(|&length| length as i64).collect();
    // SAFETY: the call reads that many sizes.
    Ok(made(|out, message| unsafe {
        let (sizes, rank) = (sizes.as_ptr(), sizes.len());
        sys::abt_ones(sizes, rank, scalar_type, device_type, device_index, out, message)
    }))
}

/// Returns torch's codes of a device that is there: it would take an index that is not.
fn code_of(device: Device) -> Result<(i32, i32), Error> {
    crate::runtime::require(device)?;
    Ok(match device {
        Device::Accelerator(index) => (sys::CUDA, index as i32),
        _ => (sys::CPU, -1),
    })
}

/// Takes over the tensor that a call of the shim made.
fn made(
    function: impl FnOnce(&mut *mut C_tensor, *mut *mut std::ffi::c_char) -> c_int,
) -> Result<Tensor, TorchError> {
    let handle = call(std::ptr::null_mut(), function)?;
    // SAFETY: on success the shim filled in a handle made by `new`, as torch-sys's are, that nobody
    // else has.
    Ok(unsafe { Tensor::from_ptr(handle) })
}
