//! A context on a device with its queues: where arrays live and commands run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arraybridge_core::Device;

use crate::cl::{Context, OpenClError, Queue, create_context};
use crate::device::KnownDevice;
use crate::exit;
use crate::memory::{Pool, StagingPool};
use crate::program::Programs;

/// A queue that commands are put on.
pub(crate) struct Stream {
    pub(crate) queue: Queue,
    /// Whether its commands run one after another, so that none needs to wait for an earlier one.
    pub(crate) in_order: bool,
}

/// A context on a device: the library's own or a caller's.
pub(crate) struct Place {
    id: u64,
    pub(crate) known: &'static KnownDevice,
    pub(crate) programs: Programs,
    pub(crate) pool: Pool,
    pub(crate) staging: StagingPool,
    /// The queue of every thread that has none of its own.
    shared: Arc<Stream>,
    pub(crate) context: Context,
}

static PLACES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// This thread's own queues by place, and how many scopes use each now.
    static OWN: RefCell<HashMap<u64, (Arc<Stream>, usize)>> = RefCell::new(HashMap::new());
}

impl Place {
    /// Makes a context and a queue on a device.
    pub(crate) fn new(known: &'static KnownDevice) -> Result<Place, OpenClError> {
        let context = create_context(known.id)?;
        let queue = Queue::new(&context, known.id)?;
        Ok(Place::of(known, context, Stream { queue, in_order: true }))
    }

    /// Joins a context and a queue of it, on this device.
    pub(crate) fn of(known: &'static KnownDevice, context: Context, shared: Stream) -> Place {
        let id = PLACES.fetch_add(1, Ordering::Relaxed);
        let (programs, pool, staging) =
            (Programs::default(), Pool::default(), StagingPool::default());
        let shared = Arc::new(shared);
        exit::watch(&shared);
        Place { id, known, programs, pool, staging, shared, context }
    }

    pub(crate) fn device(&self) -> Device {
        self.known.device
    }

    /// Returns whether this is the same context and queue.
    pub(crate) fn is(&self, other: &Place) -> bool {
        self.id == other.id
    }

    /// Returns the queue that this thread's commands go on now.
    pub(crate) fn stream(&self) -> Arc<Stream> {
        let own = OWN.try_with(|own| {
            let own = own.try_borrow().ok()?;
            own.get(&self.id).filter(|(_, scopes)| *scopes > 0).map(|(own, _)| Arc::clone(own))
        });
        own.ok().flatten().unwrap_or_else(|| Arc::clone(&self.shared))
    }

    /// Puts this thread's commands on a queue of its own, made on first use, until `leave_stream`.
    pub(crate) fn enter_stream(&self) -> Result<(), OpenClError> {
        OWN.with(|own| {
            let mut own = own.borrow_mut();
            if let Some((_, scopes)) = own.get_mut(&self.id) {
                *scopes += 1;
                return Ok(());
            }
            let queue = Queue::new(&self.context, self.known.id)?;
            let stream = Arc::new(Stream { queue, in_order: true });
            exit::watch(&stream);
            own.insert(self.id, (stream, 1));
            Ok(())
        })
    }

    /// Ends what `enter_stream` began.
    pub(crate) fn leave_stream(&self) {
        let _ = OWN.try_with(|own| {
            if let Ok(mut own) = own.try_borrow_mut()
                && let Some((_, scopes)) = own.get_mut(&self.id)
            {
                *scopes = scopes.saturating_sub(1);
            }
        });
    }

    /// Lets go of memory that is kept for reuse or by queued work, and returns the bytes freed that
    /// were kept for reuse.
    pub(crate) fn release_memory(&self) -> usize {
        let freed = self.pool.clear() + self.staging.clear();
        // Both fail only if queued work failed, which whoever reads its result is told.
        let _ = self.stream().queue.finish();
        let _ = self.shared.queue.finish();
        if let Some(reaper) = self.known.reaper() {
            reaper.settle();
        }
        freed
    }
}
