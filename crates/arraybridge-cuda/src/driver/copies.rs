//! Copies, queued on a stream.

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUcontext;

use super::{Bound, entries};
use crate::CudaError;
use crate::error::check;

/// Queues a copy from main memory to a device.
///
/// # Safety
/// Both have that many bytes. The source is neither freed nor written until the copy is done, if it
/// is pinned; other memory is read before this returns. The stream is ordered after all other work
/// that uses the target.
pub(crate) unsafe fn copy_to_device(
    _: &Bound,
    to: u64,
    from: *const u8,
    nbytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (entries, raw) = (entries()?, stream.cu_stream());
    // SAFETY: as the caller says; the stream is alive.
    check(unsafe { (entries.cuMemcpyHtoDAsync_v2)(to, from.cast(), nbytes, raw) })
}

/// Queues a copy from a device to main memory.
///
/// # Safety
/// Both have that many bytes. The target lives until the copy is done and nobody else uses it. The
/// stream is ordered after all work that writes the source.
pub(crate) unsafe fn copy_to_host(
    _: &Bound,
    to: *mut u8,
    from: u64,
    nbytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (entries, raw) = (entries()?, stream.cu_stream());
    // SAFETY: as the caller says; the stream is alive.
    check(unsafe { (entries.cuMemcpyDtoHAsync_v2)(to.cast(), from, nbytes, raw) })
}

/// Queues a copy on a device.
///
/// # Safety
/// Both have that many bytes and do not overlap, and live until the copy is done. The stream is
/// ordered after all other work that uses the target or writes the source.
pub(crate) unsafe fn copy_on_device(
    _: &Bound,
    to: u64,
    from: u64,
    nbytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (entries, raw) = (entries()?, stream.cu_stream());
    // SAFETY: as the caller says; the stream is alive.
    check(unsafe { (entries.cuMemcpyDtoDAsync_v2)(to, from, nbytes, raw) })
}

/// Queues a copy between the memory of two contexts.
///
/// # Safety
/// As [`copy_on_device`]; the memory is of these contexts.
pub(crate) unsafe fn copy_to_peer(
    _: &Bound,
    to: (u64, CUcontext),
    from: (u64, CUcontext),
    nbytes: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let (entries, raw) = (entries()?, stream.cu_stream());
    // SAFETY: as the caller says; the stream is alive.
    check(unsafe { (entries.cuMemcpyPeerAsync)(to.0, to.1, from.0, from.1, nbytes, raw) })
}
