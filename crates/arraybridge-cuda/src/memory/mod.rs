//! Device memory: who keeps it, which streams use it, and when it may be let go.

mod allocate;
mod pinned;
mod reaper;
mod staging;

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arraybridge_core::Access;
use cudarc::driver::CudaStream;

use crate::CudaError;
use crate::context::{Context, lock};
use crate::driver::{self, Event, Place, join};
use crate::faults::report;

pub(crate) use allocate::allocate;
pub use pinned::pinned;
pub(crate) use reaper::{Reaper, Waits, What};
pub(crate) use staging::Staging;

/// Who keeps memory.
pub(crate) enum Keeper {
    /// An array without elements has none.
    Nothing,
    /// The context's pool: freed in a stream's order.
    Pool,
    /// The driver: freed at once, so nobody may use it any more.
    Driver,
    /// Somebody else: told when nobody uses it any more. Only ever moved out, so the lock is never
    /// taken; it lets threads share the memory.
    Other(Mutex<Box<dyn Any + Send>>),
}

impl Keeper {
    /// Keeps memory by a value.
    pub(crate) fn other<T: Any + Send>(value: T) -> Keeper {
        Keeper::Other(Mutex::new(Box::new(value)))
    }
}

/// A run of memory that a device reaches.
///
/// It is let go of once the work that streams have queued on it is done; nobody's own thread waits for
/// that. What is written and read where is noted per stream: an event that is recorded on a stream
/// later covers all that it queued before.
pub(crate) struct Memory {
    pub(crate) context: Arc<Context>,
    pub(crate) address: u64,
    pub(crate) nbytes: usize,
    pub(crate) place: Place,
    /// [`Access::Exclusive`] if nobody but the arrays over this memory reaches it.
    pub(crate) access: Access,
    keeper: Keeper,
    uses: Mutex<Uses>,
    /// Whether somebody outside may use it on streams that are not known here.
    exported: AtomicBool,
}

/// The streams with work on the memory.
struct Uses {
    written: Arc<CudaStream>,
    /// Others than `written`.
    read: Vec<Arc<CudaStream>>,
}

impl Memory {
    /// Describes memory whose contents are ready for work that `stream` queues from now on.
    pub(crate) fn new(
        context: &Arc<Context>,
        address: u64,
        nbytes: usize,
        keeper: Keeper,
        stream: &Arc<CudaStream>,
    ) -> Memory {
        Memory {
            context: Arc::clone(context),
            address,
            nbytes,
            place: Place::Device,
            access: Access::Exclusive,
            keeper,
            uses: Mutex::new(Uses { written: Arc::clone(stream), read: Vec::new() }),
            exported: AtomicBool::new(false),
        }
    }

    /// Returns the stream that wrote it last.
    pub(crate) fn written(&self) -> Arc<CudaStream> {
        Arc::clone(&lock(&self.uses).written)
    }

    /// Makes a stream wait for the last write, so that it may read.
    pub(crate) fn read_on(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        let mut uses = lock(&self.uses);
        if uses.written == *stream {
            return Ok(());
        }
        join(stream, &uses.written)?;
        if !uses.read.contains(stream) {
            uses.read.push(Arc::clone(stream));
        }
        Ok(())
    }

    /// Makes a stream wait for all uses, so that it may write.
    pub(crate) fn write_on(&mut self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        let uses = own(&mut self.uses);
        join(stream, &uses.written)?;
        for reader in &uses.read {
            join(stream, reader)?;
        }
        *uses = Uses { written: Arc::clone(stream), read: Vec::new() };
        Ok(())
    }

    /// Returns an event after the last write.
    pub(crate) fn after_write(&self) -> Result<Event, CudaError> {
        Event::of(&self.written())
    }

    /// Notes that somebody outside is given the memory.
    pub(crate) fn mark_exported(&self) {
        self.exported.store(true, Ordering::Release);
    }

    /// Takes the keeper out, if it is somebody else of this type; nothing is freed then. The stream is
    /// ordered after all uses.
    pub(crate) fn take_keeper<T: Any + Send>(
        &mut self,
        stream: &Arc<CudaStream>,
    ) -> Result<Option<T>, CudaError> {
        let Keeper::Other(other) = &mut self.keeper else { return Ok(None) };
        if !own(other).is::<T>() {
            return Ok(None);
        }
        self.write_on(stream)?;
        match std::mem::replace(&mut self.keeper, Keeper::Nothing) {
            Keeper::Other(other) => Ok(inner(other).downcast().ok().map(|value| *value)),
            _ => Ok(None),
        }
    }

    /// Puts back what `take_keeper` took.
    pub(crate) fn keep<T: Any + Send>(&mut self, value: T) {
        self.keeper = Keeper::other(value);
    }

    /// Returns whether the pool keeps it, or the driver.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.keeper, Keeper::Pool | Keeper::Driver)
    }

    /// Returns whether somebody outside may still use it.
    pub(crate) fn is_exported(&self) -> bool {
        self.exported.load(Ordering::Acquire)
    }

    /// Gives up the memory without freeing it: the caller does.
    pub(crate) fn forget(mut self) {
        self.keeper = Keeper::Nothing;
    }

    fn let_go(&mut self, keeper: Keeper) -> Result<(), CudaError> {
        let exported = self.is_exported();
        let uses = own(&mut self.uses);
        if let (Keeper::Pool, false) = (&keeper, exported) {
            for reader in &uses.read {
                join(&uses.written, reader)?;
            }
            let bound = self.context.bind()?;
            // SAFETY: the memory is freed once, here; the last writer now waits for every reader.
            return unsafe { driver::free_async(&bound, self.address, &uses.written) };
        }
        let waits = if exported {
            // The streams of others are not known, and need not exist any more.
            Waits::Everything
        } else {
            let events = std::iter::once(&uses.written).chain(&uses.read);
            let events: Result<_, _> = events.map(|stream| Event::of(stream)).collect();
            match (events, &keeper) {
                (Ok(events), _) => Waits::Events(events),
                // Nothing runs in a context that is lost: its owner is told.
                (Err(error), Keeper::Other(_)) if error.is_sticky() => Waits::Events(Vec::new()),
                (Err(error), _) => {
                    std::mem::forget(keeper);
                    return Err(error);
                }
            }
        };
        let what = match keeper {
            Keeper::Nothing => return Ok(()),
            Keeper::Pool | Keeper::Driver => What::Free(self.address),
            Keeper::Other(other) => What::Drop(inner(other)),
        };
        self.context.reaper.post(waits, what);
        Ok(())
    }
}

/// Reaches the data of a mutex that nobody else has.
fn own<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

fn inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Memory {
    fn drop(&mut self) {
        let keeper = std::mem::replace(&mut self.keeper, Keeper::Nothing);
        if matches!(keeper, Keeper::Nothing) {
            return;
        }
        if let Err(error) = self.let_go(keeper) {
            report("device memory was not freed", error);
        }
    }
}
