//! Copies between the host and a device's own memory, through memory that the driver has pinned.
//!
//! A large array goes in parts through two halves of the pinned memory: while the device copies one,
//! the host fills (or empties) the other.

use std::sync::{Arc, Mutex, PoisonError};

use cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE};

use super::Memory;
use super::order::{Uses, events};
use crate::cl::{Event, Mem, OpenClError};
use crate::place::{Place, Stream};

/// What goes through one half at once, in bytes.
const PART: usize = 4 << 20;
/// Up to this many bytes are copied directly.
const SMALL: usize = 256 << 10;

/// Two halves of pinned memory.
struct Staging {
    mem: Mem,
    stream: Arc<Stream>,
    start: *mut u8,
}

// SAFETY: the mapping belongs to no thread; the pointer is used by whoever holds the value.
unsafe impl Send for Staging {}

/// Pinned memory that is kept for the next copy.
#[derive(Default)]
pub(crate) struct StagingPool(Mutex<Option<Staging>>);

impl StagingPool {
    fn take(&self, place: &Place, stream: &Arc<Stream>) -> Result<Staging, OpenClError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.map_or_else(|| Staging::new(place, stream), Ok)
    }

    fn give_back(&self, staging: Staging) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(staging);
    }

    /// Lets go of the pinned memory and returns its size.
    pub(crate) fn clear(&self) -> usize {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.map_or(0, |_| 2 * PART)
    }
}

impl Staging {
    fn new(place: &Place, stream: &Arc<Stream>) -> Result<Staging, OpenClError> {
        let flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
        let mem = Mem::allocate(&place.context, flags, 2 * PART)?;
        let how = CL_MAP_READ | CL_MAP_WRITE;
        // SAFETY: nothing waits; no command ever uses the buffer but through its address.
        let start = unsafe { stream.queue.map(&mem, how, 0, 2 * PART, &[]) }?;
        Ok(Staging { mem, stream: Arc::clone(stream), start })
    }

    fn half(&self, part: usize) -> *mut u8 {
        self.start.wrapping_add((part % 2) * PART)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it; the address was used under `&self`, and copies were waited for.
        let _ = unsafe { self.stream.queue.unmap(&self.mem, self.start) };
        let _ = self.stream.queue.flush();
    }
}

/// Waits for every event, whatever becomes of one; the first failure is the error.
fn wait_all(events: impl IntoIterator<Item = Event>) -> Result<(), OpenClError> {
    let mut result = Ok(());
    for event in events {
        result = result.and(event.wait());
    }
    result
}

impl Memory {
    /// Fills the buffer, which nobody else has yet, from its start.
    pub(crate) fn fill_from(&mut self, bytes: &[u8]) -> Result<(), OpenClError> {
        let place = Arc::clone(&self.place);
        let stream = place.stream();
        let mut before = Vec::new();
        // A reused buffer may still be read by what was queued before.
        self.with_uses(|uses| uses.before_writing(&stream, &mut before));
        let Some(mem) = &self.mem else { return Ok(()) };
        let waits = events(&before);
        if bytes.len() <= SMALL {
            // SAFETY: the bytes are borrowed until the copy, which is waited for, is done.
            let event = unsafe { stream.queue.write(mem, 0, bytes.as_ptr(), bytes.len(), &waits) }?;
            event.wait()?;
        } else {
            let staging = place.staging.take(&place, &stream)?;
            let copied = upload(&staging, &stream, mem, bytes, &waits);
            place.staging.give_back(staging);
            copied?;
        }
        // All that was queued before is over, and its failures are none of the new elements'.
        self.with_uses(|uses| *uses = Uses::default());
        Ok(())
    }

    /// Reads bytes of the buffer from `offset` on.
    pub(crate) fn read_into(&self, offset: usize, bytes: &mut [u8]) -> Result<(), OpenClError> {
        let stream = self.place.stream();
        let before = self.before_reading(&stream)?;
        let Some(mem) = &self.mem else { return Ok(()) };
        let waits = events(&before);
        if bytes.len() <= SMALL {
            let (target, nbytes) = (bytes.as_mut_ptr(), bytes.len());
            // SAFETY: the bytes are borrowed until the copy, which is waited for, is done.
            let event = unsafe { stream.queue.read(mem, offset, target, nbytes, &waits) }?;
            event.wait()?;
        } else {
            let staging = self.place.staging.take(&self.place, &stream)?;
            let copied = download(&staging, &stream, mem, offset, bytes, &waits);
            self.place.staging.give_back(staging);
            copied?;
        }
        // The bytes were read after the command that wrote them, which is over.
        self.with_uses(|uses| uses.check())
    }
}

fn upload(
    staging: &Staging,
    stream: &Arc<Stream>,
    mem: &Mem,
    bytes: &[u8],
    waits: &[*mut std::ffi::c_void],
) -> Result<(), OpenClError> {
    let mut under_way: [Option<Event>; 2] = [None, None];
    let mut result = Ok(());
    for (part, chunk) in bytes.chunks(PART).enumerate() {
        let half = staging.half(part);
        result = under_way[part % 2].take().map_or(Ok(()), |event| event.wait());
        if result.is_err() {
            break;
        }
        // SAFETY: the half is as long as a chunk at most, and the copy from it is over.
        unsafe { half.copy_from_nonoverlapping(chunk.as_ptr(), chunk.len()) };
        // SAFETY: the half is not written before this copy is over.
        match unsafe { stream.queue.write(mem, part * PART, half, chunk.len(), waits) } {
            Ok(event) => under_way[part % 2] = Some(event),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
        if let Err(error) = stream.queue.flush() {
            result = Err(error);
            break;
        }
    }
    result.and(wait_all(under_way.into_iter().flatten()))
}

fn download(
    staging: &Staging,
    stream: &Arc<Stream>,
    mem: &Mem,
    offset: usize,
    bytes: &mut [u8],
    waits: &[*mut std::ffi::c_void],
) -> Result<(), OpenClError> {
    let total = bytes.len();
    let start = |part: usize| {
        let (half, nbytes) = (staging.half(part), PART.min(total - part * PART));
        // SAFETY: the half is as long as a part at most, and is not read before this copy is over.
        let copy = unsafe { stream.queue.read(mem, offset + part * PART, half, nbytes, waits) };
        let event = copy?;
        // The half is not to be used again before the copy is over, whatever becomes of the flush.
        stream.queue.flush().inspect_err(|_| _ = event.wait())?;
        Ok::<_, OpenClError>(event)
    };
    let mut under_way: [Option<Event>; 2] = [Some(start(0)?), None];
    let mut result = Ok(());
    for (part, chunk) in bytes.chunks_mut(PART).enumerate() {
        if (part + 1) * PART < total {
            // The other half was emptied in the round before.
            match start(part + 1) {
                Ok(event) => under_way[(part + 1) % 2] = Some(event),
                Err(error) => result = Err(error),
            }
        }
        let arrived = under_way[part % 2].take().map_or(Ok(()), |event| event.wait());
        result = result.and(arrived);
        if result.is_err() {
            break;
        }
        // SAFETY: the copy into the half, which is as long as a chunk at least, is over.
        unsafe { chunk.as_mut_ptr().copy_from_nonoverlapping(staging.half(part), chunk.len()) };
    }
    result.and(wait_all(under_way.into_iter().flatten()))
}
