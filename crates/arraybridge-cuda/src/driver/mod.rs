//! The driver: every call of it, under functions that state what they need.

mod bound;
mod copies;
mod event;
mod memory;
mod module;
mod pool;
mod sys;

use std::ffi::c_int;
use std::sync::OnceLock;

use cudarc::driver::CudaStream;

use crate::CudaError;
use crate::error::check;
use sys::EntryPoints;

pub(crate) use bound::Bound;
pub(crate) use copies::{copy_on_device, copy_to_device, copy_to_host, copy_to_peer};
pub(crate) use event::{Event, Foreign, join};
pub(crate) use memory::{
    Place, allocate, allocate_pinned, free, free_async, free_bytes, free_pinned, place_of,
};
pub use module::Grid;
pub(crate) use module::{Kernel, Module};
pub(crate) use pool::Pool;

/// The oldest driver that is used: the first with memory pools and all entry points that are needed.
const OLDEST: c_int = 11_020;

/// Why there is no driver to call.
#[derive(Debug)]
pub(crate) enum Missing {
    /// No library of that name.
    Library,
    /// A library that is older than what is needed.
    TooOld(String),
    /// A driver that finds no GPU.
    NoGpu,
    /// A driver that does not start.
    Broken(CudaError),
}

/// The loaded and initialised driver.
struct Driver {
    entries: EntryPoints,
    devices: u32,
}

static DRIVER: OnceLock<Result<Driver, Missing>> = OnceLock::new();

fn load() -> Result<Driver, Missing> {
    let entries = match EntryPoints::load() {
        None => return Err(Missing::Library),
        Some(Err(lacks)) => return Err(Missing::TooOld(format!("it lacks `{lacks}`"))),
        Some(Ok(entries)) => entries,
    };
    let mut version: c_int = 0;
    // SAFETY: the call writes an integer.
    check(unsafe { (entries.cuDriverGetVersion)(&mut version) }).map_err(Missing::Broken)?;
    if version < OLDEST {
        let (major, minor) = (version / 1000, version % 1000 / 10);
        return Err(Missing::TooOld(format!("it is for CUDA {major}.{minor}")));
    }
    // SAFETY: takes no pointers, and may be called often.
    match check(unsafe { (entries.cuInit)(0) }) {
        Err(error) if error.code() == 100 => return Err(Missing::NoGpu),
        other => other.map_err(Missing::Broken)?,
    }
    let mut count: c_int = 0;
    // SAFETY: the call writes an integer.
    check(unsafe { (entries.cuDeviceGetCount)(&mut count) }).map_err(Missing::Broken)?;
    match u32::try_from(count) {
        Ok(devices) if devices > 0 => Ok(Driver { entries, devices }),
        _ => Err(Missing::NoGpu),
    }
}

/// Loads the driver on first use and returns how many devices it has.
pub(crate) fn device_count() -> Result<u32, &'static Missing> {
    DRIVER.get_or_init(load).as_ref().map(|driver| driver.devices)
}

/// Returns whether the driver was loaded and works, without loading it.
pub(crate) fn is_loaded() -> bool {
    matches!(DRIVER.get(), Some(Ok(_)))
}

/// Returns the entry points. Whoever has a context or a stream of cudarc has loaded the driver.
fn entries() -> Result<&'static EntryPoints, CudaError> {
    match DRIVER.get_or_init(load) {
        Ok(driver) => Ok(&driver.entries),
        Err(Missing::Broken(error)) => Err(*error),
        // CUDA_ERROR_NOT_INITIALIZED
        Err(_) => Err(CudaError::from_code(3)),
    }
}

/// Returns whether one device reads another's memory over the bus.
pub(crate) fn can_access_peer(one: u32, other: u32) -> Result<bool, CudaError> {
    let mut can: c_int = 0;
    let (one, other) = (one as c_int, other as c_int);
    let entries = entries()?;
    // SAFETY: the call writes an integer.
    check(unsafe { (entries.cuDeviceCanAccessPeer)(&mut can, one, other) })?;
    Ok(can != 0)
}

/// Waits for all work of the current context.
pub(crate) fn synchronize(_: &Bound) -> Result<(), CudaError> {
    let entries = entries()?;
    // SAFETY: takes no pointers.
    check(unsafe { (entries.cuCtxSynchronize)() })
}

/// Waits for all work of a stream.
pub(crate) fn synchronize_stream(_: &Bound, stream: &CudaStream) -> Result<(), CudaError> {
    let entries = entries()?;
    // SAFETY: the stream is alive as long as it is borrowed.
    check(unsafe { (entries.cuStreamSynchronize)(stream.cu_stream()) })
}
