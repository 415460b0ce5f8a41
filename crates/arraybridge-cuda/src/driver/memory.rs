//! Allocating, freeing, and asking where memory is.

use std::ffi::c_void;

use cudarc::driver::CudaStream;

use super::{Bound, entries};
use crate::CudaError;
use crate::error::check;

/// Returns the free bytes of the current context's device.
pub(crate) fn free_bytes(_: &Bound) -> Result<usize, CudaError> {
    let (mut free, mut total) = (0, 0);
    let entries = entries()?;
    // SAFETY: the call writes two sizes.
    check(unsafe { (entries.cuMemGetInfo_v2)(&mut free, &mut total) })?;
    Ok(free)
}

/// Allocates memory of the current context's device.
pub(crate) fn allocate(_: &Bound, nbytes: usize) -> Result<u64, CudaError> {
    let mut address = 0;
    let entries = entries()?;
    // SAFETY: the call writes an address.
    check(unsafe { (entries.cuMemAlloc_v2)(&mut address, nbytes) })?;
    Ok(address)
}

/// Frees memory of [`allocate`].
///
/// # Safety
/// It is freed once, and no queued work uses it.
pub(crate) unsafe fn free(_: &Bound, address: u64) -> Result<(), CudaError> {
    let entries = entries()?;
    // SAFETY: as the caller says.
    check(unsafe { (entries.cuMemFree_v2)(address) })
}

/// Frees memory of a pool once the work that a stream has queued is done.
///
/// # Safety
/// It is freed once; the stream waits for all work of other streams that uses it.
pub(crate) unsafe fn free_async(
    _: &Bound,
    address: u64,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    let entries = entries()?;
    // SAFETY: as the caller says; the stream is alive.
    check(unsafe { (entries.cuMemFreeAsync)(address, stream.cu_stream()) })
}

/// Allocates main memory that devices copy from and to by themselves, in every context.
pub(crate) fn allocate_pinned(_: &Bound, nbytes: usize) -> Result<*mut u8, CudaError> {
    const PORTABLE: u32 = 1;
    let mut pointer: *mut c_void = std::ptr::null_mut();
    let entries = entries()?;
    // SAFETY: the call writes a pointer.
    check(unsafe { (entries.cuMemHostAlloc)(&mut pointer, nbytes, PORTABLE) })?;
    Ok(pointer.cast())
}

/// Frees memory of [`allocate_pinned`].
///
/// # Safety
/// It is freed once, and nothing uses it, queued copies included.
pub(crate) unsafe fn free_pinned(_: &Bound, pointer: *mut u8) -> Result<(), CudaError> {
    let entries = entries()?;
    // SAFETY: as the caller says.
    check(unsafe { (entries.cuMemFreeHost)(pointer.cast()) })
}

/// Where memory is, as the driver knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Memory of a device.
    Device,
    /// Memory that the driver moves between main memory and devices.
    Managed,
    /// Main memory that is pinned.
    Pinned,
}

/// Asks the driver where memory is, and of which device; `None` for what it did not allocate.
pub(crate) fn place_of(_: &Bound, address: u64) -> Result<Option<(Place, u32)>, CudaError> {
    const MEMORY_TYPE: u32 = 2;
    const IS_MANAGED: u32 = 8;
    const DEVICE_ORDINAL: u32 = 9;
    let entries = entries()?;
    let ask = |attribute: u32| {
        let mut value: u32 = 0;
        let target = (&raw mut value).cast::<c_void>();
        // SAFETY: these attributes are numbers of at most 32 bits; the driver looks the address up
        // and does not read it.
        let code = unsafe { (entries.cuPointerGetAttribute)(target, attribute, address) };
        check(code).map(|()| value)
    };
    let kind = match ask(MEMORY_TYPE) {
        // CUDA_ERROR_INVALID_VALUE: not an address that the driver knows.
        Err(error) if error.code() == 1 => return Ok(None),
        other => other?,
    };
    let device = ask(DEVICE_ORDINAL)?;
    let place = if ask(IS_MANAGED)? != 0 {
        Place::Managed
    } else if kind == 1 {
        Place::Pinned
    } else {
        Place::Device
    };
    Ok(Some((place, device)))
}
