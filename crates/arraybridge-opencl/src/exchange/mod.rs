//! How arrays get in and out: over shared memory, or by copy.

mod devices;
mod host;

use std::sync::Arc;

use arraybridge_core::{Access, DType, Error, HostArray, Layout, Obstacle};

use crate::ClArray;
use crate::library::failed;
use crate::memory::Memory;
use crate::place::Place;

/// Reads an array to the host: its own memory where the device works in the host's, which neither
/// side writes while both have it, else a copy.
pub(crate) fn download(array: &ClArray) -> Result<HostArray, Error> {
    match host::share(array.clone(), Access::Immutable) {
        Ok(shared) => return Ok(shared),
        Err(Obstacle::Failed(error)) => return Err(error),
        Err(_) => {}
    }
    if array.layout().is_empty() {
        return HostArray::zeros(array.dtype(), array.shape());
    }
    let span = array.byte_span()?;
    let size = array.dtype().size();
    let mut bytes = HostArray::scratch(DType::U8, &[span.len()])?;
    let read = array.memory().read_into(span.start, bytes.as_slice_mut::<u8>()?);
    read.map_err(|error| failed("reading an array", array.device(), span.len(), error))?;
    let elements = bytes.reinterpret(array.dtype(), &[span.len() / size])?;
    let first = array.layout().span().start;
    elements.with_layout(array.layout().clone(), -first)
}

/// Makes an array of a host array: over its memory where the device works in the host's and can use
/// it, else of a copy. Shared memory is written by neither side.
pub(crate) fn upload(array: &HostArray, place: &Arc<Place>) -> Result<ClArray, Error> {
    if host::unfit(array, place).is_none() {
        return host::wrap(array.clone(), place, Access::Immutable);
    }
    if array.is_empty() {
        return ClArray::allocate(place, array.dtype(), array.shape());
    }
    if place.known.facts.unified_memory {
        // A copy in core's own memory, which nobody else has.
        return host::wrap(array.gather()?, place, Access::Exclusive);
    }
    let contiguous = array.to_contiguous()?;
    let bytes = contiguous.as_bytes()?;
    let mut memory = Memory::allocate(place, bytes.len())?;
    let filled = memory.fill_from(bytes);
    filled.map_err(|error| failed("uploading an array", place.device(), bytes.len(), error))?;
    let layout = Layout::row_major(array.shape())?;
    ClArray::new(Arc::new(memory), 0, array.dtype(), layout)
}
