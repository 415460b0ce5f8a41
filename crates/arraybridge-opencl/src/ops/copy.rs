//! Copies between layouts on the device.

use std::sync::Arc;

use arraybridge_core::{AxisSlice, DType, Error, Layout};

use super::task::{COPY, Task};
use super::walk::Walk;
use crate::ClArray;
use crate::library::{failed, foreign};
use crate::memory::{Command, Memory, events};
use crate::place::Place;

/// The type of the units that elements are copied in, and how many make one: what is stored need not
/// lie at multiples of an element's size, but of its alignment.
fn units(dtype: DType) -> (&'static str, usize) {
    let unit = match dtype.align() {
        1 => "uchar",
        2 => "ushort",
        4 => "uint",
        _ => "ulong",
    };
    (unit, dtype.size() / dtype.align())
}

/// Queues a copy of an array, repeated to `shape`, into part of a memory.
///
/// # Safety
/// `layout`, of this shape, from element `first` on lies within the memory, and nobody but the caller
/// has a handle on that; no two of its elements overlap.
unsafe fn copy_to(
    source: &ClArray,
    target: &Memory,
    first: usize,
    layout: &Layout,
) -> Result<(), Error> {
    if layout.is_empty() {
        return Ok(());
    }
    let from = source.layout().broadcast_to(layout.shape())?;
    let place = source.place();
    let size = source.dtype().size();
    if from.is_row_major() && layout.is_row_major() {
        let span = (source.offset() * size, first * size, layout.len() * size);
        return copy_bytes(source.memory(), target, place, span);
    }
    let [source_walk, target_walk] =
        Walk::together(layout.shape(), [from.strides(), layout.strides()])?;
    let (unit, count) = units(source.dtype());
    let options = [&*format!("UNIT={unit}"), &*format!("UNITS={count}")];
    let task = Task::new(place, &COPY, "copy", &options)?
        .read(source)
        .value(source_walk)
        .write(target)
        .value(first as u64)
        .value(target_walk)
        .value(layout.len() as u64);
    // SAFETY: the walks are those of layouts within the two memories; the caller vouches for the
    // target.
    unsafe { task.run_over(layout.len()) }
}

/// Queues a copy of bytes: from where, to where, how many.
fn copy_bytes(
    source: &Memory,
    target: &Memory,
    place: &Place,
    (from, to, nbytes): (usize, usize, usize),
) -> Result<(), Error> {
    let stream = place.stream();
    let mut waits = Vec::new();
    let waiting = source.with_uses(|uses| uses.before_reading(&stream, &mut waits));
    waiting.map_err(|error| failed("copying", place.device(), nbytes, error))?;
    target.with_uses(|uses| uses.before_writing(&stream, &mut waits));
    let (source_mem, target_mem) = (source.mem()?, target.mem()?);
    let list = events(&waits);
    // SAFETY: `waits` is what earlier commands on the buffers left, and lives until the call is done.
    let queued = unsafe { stream.queue.copy((source_mem, from), (target_mem, to), nbytes, &list) };
    let refuse = |error| failed("copying", place.device(), nbytes, error);
    let command = Command::new(queued.map_err(refuse)?, &stream);
    // Noted before the flush: the copy is queued, whatever becomes of that.
    source.with_uses(|uses| uses.reads(Arc::clone(&command)));
    target.with_uses(|uses| uses.writes(command));
    stream.queue.flush().map_err(refuse)
}

/// Copies the elements into a new row-major array on the device.
pub(crate) fn gather(array: &ClArray) -> Result<ClArray, Error> {
    let target = ClArray::allocate(array.place(), array.dtype(), array.shape())?;
    // SAFETY: the target was made for this layout, and nobody else has it.
    unsafe { copy_to(array, target.memory(), 0, target.layout()) }?;
    Ok(target)
}

/// Joins arrays of one shape, dtype and context on a new leading axis.
pub(super) fn stack(arrays: &[&ClArray]) -> Result<ClArray, Error> {
    let first = arrays[0];
    let mut shape = vec![arrays.len()];
    shape.extend_from_slice(first.shape());
    let target = ClArray::allocate(first.place(), first.dtype(), &shape)?;
    for (index, array) in arrays.iter().enumerate() {
        let (layout, offset) = target.layout().index_axis(0, index)?;
        // SAFETY: the target was made for all of these parts, and nobody else has it.
        unsafe { copy_to(array, target.memory(), offset.unsigned_abs(), &layout) }?;
    }
    Ok(target)
}

/// Replaces the part of an array that a slice of its first axis selects. On an error the array is
/// left in its slot.
pub(super) fn assign(
    data: &mut Option<ClArray>,
    index: AxisSlice,
    values: &ClArray,
) -> Result<ClArray, Error> {
    let array = data.as_mut().ok_or_else(|| Error::already_taken("assign"))?;
    // Written in place if nobody else has the memory, else on a copy.
    let in_place = array.is_exclusive();
    // What stays of the elements must be there; a copy checks that itself.
    let whole = array.memory().with_uses(|uses| uses.check());
    whole.map_err(|error| foreign("assigning to an array", error))?;
    let target = if in_place { None } else { Some(gather(array)?) };
    let written = target.as_ref().unwrap_or(array);
    let (layout, offset) = written.layout().slice(&[index])?;
    let first = written.relaid(layout.clone(), offset)?.offset();
    // SAFETY: the part lies within the array, which is exclusive or new, and whose elements do not
    // overlap. (`values` are another array's, or this would not be exclusive.)
    unsafe { copy_to(values, written.memory(), first, &layout) }?;
    let taken = data.take();
    target.or(taken).ok_or_else(|| Error::already_taken("assign"))
}

/// Makes an array of one repeated element.
pub(super) fn filled(
    place: &Arc<Place>,
    dtype: DType,
    shape: &[usize],
    element: &[u8],
) -> Result<ClArray, Error> {
    let target = ClArray::allocate(place, dtype, shape)?;
    let nbytes = target.layout().nbytes(dtype)?;
    if nbytes == 0 {
        return Ok(target);
    }
    let memory = target.memory();
    let stream = place.stream();
    let mut waits = Vec::new();
    memory.with_uses(|uses| uses.before_writing(&stream, &mut waits));
    let (mem, list) = (memory.mem()?, events(&waits));
    // SAFETY: `waits` is what earlier commands on the buffer left, and lives until the call is done.
    let queued = unsafe { stream.queue.fill(mem, element, nbytes, &list) };
    let refuse = |error| failed("filling an array", place.device(), nbytes, error);
    let event = queued.map_err(refuse)?;
    memory.with_uses(|uses| uses.writes(Command::new(event, &stream)));
    stream.queue.flush().map_err(refuse)?;
    Ok(target)
}
