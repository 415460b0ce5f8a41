//! The memory of arrays.
//!
//! Where a device works in the host's memory, every buffer lies over memory of the host: core's own
//! for arrays that are made here, anybody's for arrays that come in. Its address is known and stays,
//! pages are warm, running out of it is an error before the driver sees it, and the host reads it
//! through a map that copies nothing. Elsewhere buffers are the device's.

mod budget;
mod map;
mod order;
mod pool;
mod staging;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use arraybridge_core::{Access, DType, Error, HostArray};
use cl3::memory::{CL_MEM_READ_ONLY, CL_MEM_READ_WRITE};

use crate::cl::{Mem, OpenClError};
use crate::library::{NAME, failed, foreign};
use crate::place::{Place, Stream};
use crate::reaper;

pub(crate) use budget::Budget;
pub use budget::{MemoryUse, memory_use, set_memory_budget};
pub(crate) use map::Mapped;
pub(crate) use order::{Command, Uses, events};
pub(crate) use pool::Pool;
pub(crate) use staging::StagingPool;

use budget::Charge;
use pool::Cached;

/// How long an allocation that does not fit waits for others' memory to be let go of.
const PATIENCE: Duration = Duration::from_millis(100);

/// A buffer, and what was queued on it.
///
/// # Invariants
/// - The buffer is written by commands only while its access is exclusive and the one who queues
///   them has the only handle on this value; what is queued is in `uses`, so that the order of
///   commands on all queues is that of the calls.
/// - An array over the buffer stays within it.
pub(crate) struct Memory {
    /// `None` only while dropped.
    mem: Option<Mem>,
    uses: Mutex<Uses>,
    access: Access,
    nbytes: usize,
    kind: Kind,
    place: Arc<Place>,
}

enum Kind {
    /// Over memory of the host that begins at this address.
    Host(usize),
    /// In the device's memory, of the library's own allocation. `None` only while dropped.
    Device(Option<Charge>),
    /// A caller's buffer.
    Foreign,
}

impl Memory {
    /// Allocates a buffer. Its bytes are of any value.
    pub(crate) fn allocate(place: &Arc<Place>, nbytes: usize) -> Result<Memory, Error> {
        // OpenCL has no empty buffers.
        let nbytes = nbytes.max(1);
        match Memory::try_allocate(place, nbytes) {
            Err(error) if error.is_out_of_memory() => {}
            other => return other,
        }
        // What is kept for reuse, or only by queued work, may be enough. Drivers let go of a buffer
        // on threads of their own, a moment after the last command on it is over.
        let deadline = Instant::now() + PATIENCE;
        place.release_memory();
        loop {
            match Memory::try_allocate(place, nbytes) {
                Err(error) if error.is_out_of_memory() && Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(error) if error.is_out_of_memory() => return Err(out_of_memory(place, nbytes)),
                other => return other,
            }
        }
    }

    fn try_allocate(place: &Arc<Place>, nbytes: usize) -> Result<Memory, Error> {
        let unified = place.known.facts.unified_memory;
        if !unified && let Some(Cached { mem, uses, charge }) = place.pool.take(nbytes) {
            let kind = Kind::Device(Some(charge));
            return Ok(Memory::new(place, mem, uses, nbytes, Access::Exclusive, kind));
        }
        if nbytes > place.known.facts.largest_buffer {
            return Err(out_of_memory(place, nbytes));
        }
        let charge = Budget::charge(place.known, nbytes);
        let charge = charge.ok_or_else(|| out_of_memory(place, nbytes))?;
        if unified {
            let host = HostArray::scratch(DType::U8, &[nbytes])?;
            return Memory::over(place, host, nbytes, Access::Exclusive, Some(charge));
        }
        let mem = Mem::allocate(&place.context, CL_MEM_READ_WRITE, nbytes)
            .map_err(|error| failed("allocating a buffer", place.device(), nbytes, error))?;
        let kind = Kind::Device(Some(charge));
        Ok(Memory::new(place, mem, Uses::default(), nbytes, Access::Exclusive, kind))
    }

    /// Makes a buffer over the `nbytes` bytes of a host array from its lowest address on. The array
    /// is kept until the runtime has let go of the buffer.
    ///
    /// `access` is how the array's maker found its memory to be reachable: with exclusive access
    /// nobody reads or writes it but through the result.
    pub(crate) fn over_host(
        place: &Arc<Place>,
        host: HostArray,
        nbytes: usize,
        access: Access,
    ) -> Result<Memory, Error> {
        Memory::over(place, host, nbytes, access, None)
    }

    fn over(
        place: &Arc<Place>,
        host: HostArray,
        nbytes: usize,
        access: Access,
        charge: Option<Charge>,
    ) -> Result<Memory, Error> {
        let reaper = place.known.reaper().ok_or_else(|| Error::Unsupported {
            library: NAME,
            operation: "an array while the system has no more threads",
            remedy: "end some",
        })?;
        let low = host.layout().byte_span(host.dtype())?.start;
        let pointer = host.as_ptr().cast_mut().wrapping_offset(low);
        let flags = if access == Access::Exclusive { CL_MEM_READ_WRITE } else { CL_MEM_READ_ONLY };
        let kept = Box::new((host, charge));
        // SAFETY: the host array keeps the memory valid and goes into `kept`. With exclusive access
        // nobody else reaches it, else nobody writes it: commands do not either (`Memory`'s
        // invariants).
        let made =
            unsafe { reaper::over(reaper, &place.context, flags, nbytes, pointer.cast(), kept) };
        let mem = made.map_err(|error| failed("wrapping memory", place.device(), nbytes, error))?;
        let kind = Kind::Host(pointer as usize);
        Ok(Memory::new(place, mem, Uses::default(), nbytes, access, kind))
    }

    /// Wraps a caller's buffer.
    ///
    /// # Safety
    /// Nobody else reaches the buffer's memory as long as this value lives, or nobody writes it, as
    /// `access` says; what was queued on it has run, or was put on the place's own in-order queue.
    pub(crate) unsafe fn foreign(
        place: &Arc<Place>,
        mem: Mem,
        access: Access,
    ) -> Result<Memory, Error> {
        let nbytes =
            mem.nbytes().map_err(|error| foreign("asking a buffer for its size", error))?;
        Ok(Memory::new(place, mem, Uses::default(), nbytes, access, Kind::Foreign))
    }

    fn new(
        place: &Arc<Place>,
        mem: Mem,
        uses: Uses,
        nbytes: usize,
        access: Access,
        kind: Kind,
    ) -> Memory {
        let (mem, uses, place) = (Some(mem), Mutex::new(uses), Arc::clone(place));
        Memory { mem, uses, access, nbytes, kind, place }
    }

    pub(crate) fn place(&self) -> &Arc<Place> {
        &self.place
    }

    pub(crate) fn access(&self) -> Access {
        self.access
    }

    pub(crate) fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Returns the address of the first byte in the host's memory, if that is where the buffer is.
    pub(crate) fn host_address(&self) -> Option<usize> {
        match self.kind {
            Kind::Host(address) => Some(address),
            _ => None,
        }
    }

    /// Returns the buffer.
    pub(crate) fn mem(&self) -> Result<&Mem, Error> {
        self.mem.as_ref().ok_or_else(|| Error::already_taken("using a buffer"))
    }

    /// Looks at, or adds to, what was queued on the buffer.
    pub(crate) fn with_uses<R>(&self, body: impl FnOnce(&mut Uses) -> R) -> R {
        body(&mut self.uses.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until what the buffer is to hold is there.
    pub(crate) fn wait(&self) -> Result<(), OpenClError> {
        match self.with_uses(|uses| uses.written()) {
            Some(command) => command.event.wait(),
            None => Ok(()),
        }
    }

    /// Returns the commands that one which reads the buffer has to wait for.
    pub(crate) fn before_reading(
        &self,
        stream: &Arc<Stream>,
    ) -> Result<Vec<Arc<Command>>, OpenClError> {
        let mut waits = Vec::new();
        self.with_uses(|uses| uses.before_reading(stream, &mut waits))?;
        Ok(waits)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(mem) = self.mem.take() else { return };
        match &mut self.kind {
            Kind::Device(charge) => {
                let uses =
                    std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
                if let Some(charge) = charge.take() {
                    self.place.pool.give_back(Cached { mem, uses, charge });
                }
            }
            Kind::Host(_) | Kind::Foreign => reaper::release(mem),
        }
    }
}

fn out_of_memory(place: &Place, nbytes: usize) -> Error {
    let free = place.known.budget.left().min(place.known.facts.largest_buffer);
    Error::OutOfMemory {
        library: NAME,
        device: place.device(),
        requested: Some(nbytes),
        available: Some(free),
    }
}
