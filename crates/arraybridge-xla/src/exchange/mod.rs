//! How arrays get in and out: by copy, over shared memory, through DLPack.

mod devices;
mod dlpack;
mod host;

use std::any::Any;
use std::ffi::c_void;

use arraybridge_core::{DType, Decline, DeclineReason, Device, Error, HostArray, Layout, Obstacle};

use crate::library::{NAME, foreign};
use crate::runtime::{self, KnownDevice};
use crate::{XlaArray, dtype};

/// What XLA's CPU wants of addresses, in bytes. Core's own buffers have it; the memory of a large
/// `Vec` never does (its allocator puts a header before it).
const ALIGNMENT: usize = 64;

/// Reads an array to the host: its own memory where the host can read that, else a copy.
pub(crate) fn download(array: &XlaArray) -> Result<HostArray, Error> {
    match host::share(array) {
        Ok(shared) => Ok(shared),
        Err(Obstacle::Failed(error)) => Err(error),
        Err(_) => array.download(),
    }
}

/// Makes an array of a host array: over its memory where that is aligned, else of a copy. Either
/// way nobody writes it: XLA never does, and a host array is not written while it is shared.
pub(crate) fn upload(array: &HostArray, device: Device) -> Result<XlaArray, Error> {
    let known = runtime::device(device)?;
    let element = dtype::element(array.dtype(), "an array")?;
    let contiguous = array.to_contiguous()?;
    if known.is_host_memory() && unfit(contiguous.layout(), contiguous.address()).is_none() {
        return wrap(contiguous, known);
    }
    let buffer = known
        .pjrt
        .upload(contiguous.as_bytes()?, element, contiguous.shape())
        .map_err(|error| failed("uploading an array", device, array.nbytes(), error))?;
    XlaArray::new(buffer, device)
}

/// Makes an array over a host array's memory, which it keeps from being written.
fn wrap(array: HostArray, known: &KnownDevice) -> Result<XlaArray, Error> {
    let (shape, dtype) = (array.shape().to_vec(), array.dtype());
    let pointer = array.as_ptr().cast_mut().cast();
    // SAFETY: the host array goes along, so that its memory lives and is not written until the
    // runtime drops it; a host array's elements are initialised and readable from any thread.
    unsafe { view(pointer, dtype, &shape, Box::new(array), known) }
}

/// Makes an array over row-major memory of a device.
///
/// # Safety
/// Until `kept` is dropped the memory holds these elements, on this device, and nobody writes them.
unsafe fn view(
    pointer: *mut c_void,
    dtype: DType,
    shape: &[usize],
    kept: Box<dyn Any + Send>,
    known: &KnownDevice,
) -> Result<XlaArray, Error> {
    let element = dtype::element(dtype, "an array")?;
    // SAFETY: as the caller says.
    let buffer = unsafe { known.pjrt.view(pointer, element, shape, kept) }
        .map_err(|error| foreign("wrapping memory", error))?;
    XlaArray::new(buffer, known.device)
}

/// Returns why memory cannot be wrapped without a copy, if it cannot.
fn unfit(layout: &Layout, address: usize) -> Option<Decline> {
    if layout.is_empty() {
        return Some(Decline::new(DeclineReason::Layout).note("there are no elements to share"));
    }
    if !layout.is_row_major() {
        return Some(Decline::new(DeclineReason::Layout).note("XLA wraps row-major memory only"));
    }
    let beyond = address % ALIGNMENT;
    (beyond != 0).then(|| {
        let note = "XLA wraps addresses that are multiples of 64 bytes; the remainder is";
        Decline::new(DeclineReason::Alignment).note(note).value(beyond as i64)
    })
}

/// Wraps a plugin's failure, and names running out of memory.
pub(crate) fn failed(
    operation: &'static str,
    device: Device,
    nbytes: usize,
    error: crate::PjrtError,
) -> Error {
    if error.is_out_of_memory() {
        let requested = Some(nbytes);
        return Error::OutOfMemory { library: NAME, device, requested, available: None };
    }
    foreign(operation, error)
}

/// An array whose memory somebody outside of XLA reads by its address.
struct Held(XlaArray);

impl Held {
    /// Waits for the elements and returns their address.
    fn hold(array: XlaArray) -> Result<(Held, *mut c_void), Error> {
        let pointer = array.buffer().hold().map_err(|error| foreign("sharing an array", error))?;
        Ok((Held(array), pointer))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.buffer().release();
    }
}
