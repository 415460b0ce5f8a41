//! Pinned memory through which copies to and from other main memory go, part by part.

use std::sync::{Arc, Mutex};

use cudarc::driver::{CudaContext, CudaStream};

use crate::CudaError;
use crate::context::lock;
use crate::driver::{
    Bound, Event, allocate_pinned, copy_to_device, copy_to_host, free_pinned, synchronize_stream,
};
use crate::faults::report;

/// The size of a part in bytes: long enough for the bus's full speed, short enough that filling one
/// overlaps with sending the one before.
const PART: usize = 4 << 20;
/// How many parts are kept for reuse.
const KEPT: usize = 8;

/// The parts that are kept.
pub(crate) struct Staging {
    context: Arc<CudaContext>,
    kept: Mutex<Vec<Part>>,
}

/// A piece of pinned memory, and the copy that may still use it.
struct Part {
    context: Arc<CudaContext>,
    pointer: *mut u8,
    busy: Option<Event>,
}

// SAFETY: the part owns its memory; nothing about it belongs to a thread.
unsafe impl Send for Part {}

impl Part {
    fn new(bound: &Bound, context: &Arc<CudaContext>) -> Result<Part, CudaError> {
        let pointer = allocate_pinned(bound, PART)?;
        Ok(Part { context: Arc::clone(context), pointer, busy: None })
    }

    /// Waits until nothing uses the part.
    fn settle(&mut self) -> Result<(), CudaError> {
        if let Some(event) = &self.busy {
            event.wait()?;
            self.busy = None;
        }
        Ok(())
    }

    /// Notes that a stream has queued a copy. Where that fails the copy is waited for, and where that
    /// fails too the part is left to the driver: what became of the copy is not known.
    fn mark(mut self, bound: &Bound, stream: &CudaStream) -> Result<Part, CudaError> {
        match Event::of(stream) {
            Ok(event) => self.busy = Some(event),
            Err(_) => {
                if let Err(error) = synchronize_stream(bound, stream) {
                    std::mem::forget(self);
                    return Err(error);
                }
            }
        }
        Ok(self)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let freed = self.settle().and_then(|()| Bound::to(&self.context)).and_then(|bound| {
            // SAFETY: the part's own memory, which nothing uses after `settle`.
            unsafe { free_pinned(&bound, self.pointer) }
        });
        if let Err(error) = freed {
            report("pinned memory was not freed", error);
        }
    }
}

impl Staging {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Staging {
        Staging { context: Arc::clone(context), kept: Mutex::default() }
    }

    /// Frees the parts that are kept.
    pub(crate) fn clear(&self) {
        let parts = std::mem::take(&mut *lock(&self.kept));
        drop(parts);
    }

    fn take(&self, bound: &Bound) -> Result<Part, CudaError> {
        let mut part = {
            let mut kept = lock(&self.kept);
            let is_idle =
                |part: &Part| part.busy.as_ref().is_none_or(|event| event.is_done() == Ok(true));
            match kept.iter().position(is_idle) {
                Some(place) => Some(kept.swap_remove(place)),
                None if kept.len() >= KEPT => Some(kept.remove(0)),
                None => None,
            }
        };
        match &mut part {
            Some(part) => part.settle()?,
            None => part = Some(Part::new(bound, &self.context)?),
        }
        // Filled above where there was none.
        part.ok_or(CudaError::from_code(2))
    }

    fn give(&self, part: Part) {
        let mut kept = lock(&self.kept);
        if kept.len() < KEPT {
            kept.push(part);
        }
    }

    /// Queues copies of bytes to a device. They were read when this returns.
    ///
    /// # Safety
    /// The target has as many bytes, and the stream is ordered after all other work on it.
    pub(crate) unsafe fn upload(
        &self,
        bound: &Bound,
        to: u64,
        bytes: &[u8],
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        let mut ring: [Option<Part>; 2] = [None, None];
        for (place, bytes) in bytes.chunks(PART).enumerate() {
            let to = to + (place * PART) as u64;
            let mut part = match ring[place % 2].take().map_or_else(|| self.take(bound), Ok) {
                Ok(part) => part,
                Err(_) => {
                    // Without pinned memory the driver stages by itself.
                    // SAFETY: as the caller says; memory that is not pinned is read at once.
                    unsafe { copy_to_device(bound, to, bytes.as_ptr(), bytes.len(), stream) }?;
                    // Bytes that happen to be pinned are not.
                    synchronize_stream(bound, stream)?;
                    continue;
                }
            };
            part.settle()?;
            // SAFETY: a part is at least as long as the chunk, and nothing uses it now.
            unsafe { bytes.as_ptr().copy_to_nonoverlapping(part.pointer, bytes.len()) };
            // SAFETY: as the caller says; the part is kept until the copy is done.
            unsafe { copy_to_device(bound, to, part.pointer, bytes.len(), stream) }?;
            ring[place % 2] = Some(part.mark(bound, stream)?);
        }
        ring.into_iter().flatten().for_each(|part| self.give(part));
        Ok(())
    }

    /// Copies memory of a device, and waits for it.
    ///
    /// # Safety
    /// The source has as many bytes, and the stream is ordered after all work that writes it.
    pub(crate) unsafe fn download(
        &self,
        bound: &Bound,
        from: u64,
        target: &mut [u8],
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        let mut before: Option<(Part, &mut [u8])> = None;
        for (place, target) in target.chunks_mut(PART).enumerate() {
            let from = from + (place * PART) as u64;
            let part = match self.take(bound) {
                Ok(part) => {
                    // SAFETY: as the caller says; the part is as long, and kept until it is read.
                    unsafe { copy_to_host(bound, part.pointer, from, target.len(), stream) }?;
                    Some((part.mark(bound, stream)?, target))
                }
                Err(_) => {
                    // SAFETY: as the caller says; the target is borrowed until the copy is done.
                    unsafe {
                        copy_to_host(bound, target.as_mut_ptr(), from, target.len(), stream)
                    }?;
                    synchronize_stream(bound, stream)?;
                    None
                }
            };
            if let Some(before) = std::mem::replace(&mut before, part) {
                self.receive(before)?;
            }
        }
        before.map_or(Ok(()), |before| self.receive(before))
    }

    fn receive(&self, (mut part, target): (Part, &mut [u8])) -> Result<(), CudaError> {
        part.settle()?;
        // SAFETY: the device has written that many bytes of the part, which nothing uses now.
        unsafe { part.pointer.copy_to_nonoverlapping(target.as_mut_ptr(), target.len()) };
        self.give(part);
        Ok(())
    }
}
