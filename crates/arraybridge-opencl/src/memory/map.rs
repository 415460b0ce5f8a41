//! Arrays whose memory the host looks at, or has for itself.
//!
//! A map for reading keeps a handle on the buffer, and whoever writes a buffer needs the only one:
//! so while the host reads, kernels may read too and none writes. A map for writing is made of an
//! array that is the only one over its buffer, and holds it: no command can be queued until it ends.

use std::sync::Arc;

use arraybridge_core::Error;
use cl3::memory::{CL_MAP_READ, CL_MAP_WRITE};

use super::order::{Command, events};
use crate::ClArray;
use crate::library::foreign;
use crate::place::Stream;

/// An array whose elements the host finds at an address.
pub(crate) struct Mapped {
    array: ClArray,
    stream: Arc<Stream>,
    /// Where the lowest of the array's elements is.
    start: *mut u8,
    writes: bool,
}

// SAFETY: the mapping belongs to no thread, and the pointer is only handed out.
unsafe impl Send for Mapped {}
// SAFETY: see above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Waits for the elements of an array on a device that works in the host's memory, and maps
    /// them: for reading, or for reading and writing if this is the only array over its buffer.
    pub(crate) fn new(array: ClArray, writes: bool) -> Result<Mapped, Error> {
        let memory = array.memory();
        let stream = memory.place().stream();
        let mut waits = Vec::new();
        memory.with_uses(|uses| match writes {
            true => uses.before_writing(&stream, &mut waits),
            // What is known to have failed by now is told below.
            false => _ = uses.before_reading(&stream, &mut waits),
        });
        let span = array.byte_span()?;
        let flags = if writes { CL_MAP_READ | CL_MAP_WRITE } else { CL_MAP_READ };
        let (mem, waits_for) = (memory.mem()?, events(&waits));
        // SAFETY: the commands live until the map, which is waited for, is done. While `array` is
        // held, nobody has the only handle on its memory, so no command writes it; with `writes`,
        // the caller's array is the only one, so none reads it.
        let start = unsafe { stream.queue.map(mem, flags, span.start, span.len(), &waits_for) };
        let start = start.map_err(|error| foreign("mapping an array", error))?;
        let mut mapped = Mapped { array, stream, start, writes };
        // The map is done, so that the command that wrote the elements is over too.
        let written = mapped.array.memory().with_uses(|uses| uses.check());
        if let Err(error) = written {
            // Nobody writes through this map, so the failure stays the last write.
            mapped.writes = false;
            return Err(foreign("mapping an array", error));
        }
        Ok(mapped)
    }

    /// Returns where element `[0, 0, ...]` is.
    pub(crate) fn first(&self) -> *mut u8 {
        let size = self.array.dtype().size() as isize;
        // The layout's span begins this much before (or at) the first element.
        self.start.wrapping_offset(-self.array.layout().span().start * size)
    }

    /// Ends the mapping and returns the array.
    pub(crate) fn into_array(self) -> ClArray {
        self.array.clone()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let memory = self.array.memory();
        let Ok(mem) = memory.mem() else { return };
        // SAFETY: `new` mapped it, and whoever was given the address held this value.
        let Ok(event) = (unsafe { self.stream.queue.unmap(mem, self.start) }) else { return };
        // Commands on other queues wait for the end of the mapping, so it must be on its way.
        let _ = self.stream.queue.flush();
        let command = Command::new(event, &self.stream);
        memory.with_uses(|uses| match self.writes {
            true => uses.writes(command),
            false => uses.reads(command),
        });
    }
}
