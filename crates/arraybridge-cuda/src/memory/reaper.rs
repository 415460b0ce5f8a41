//! The thread of each context that waits for work to be done, and lets go of what it used.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};

use cudarc::driver::CudaContext;

use crate::CudaError;
use crate::context::lock;
use crate::driver::{self, Bound, Event};
use crate::faults::report;

/// What is waited for.
pub(crate) enum Waits {
    Events(Vec<Event>),
    /// All work of the context.
    Everything,
}

/// What is done then.
pub(crate) enum What {
    /// Frees memory of the driver or a pool.
    Free(u64),
    /// Drops an owner.
    Drop(Box<dyn Any + Send>),
    /// Tells that all that was posted before is done.
    Tell(mpsc::Sender<()>),
}

type Release = (Waits, What);

/// Lets go of things on a thread of its own, so that nobody's thread waits for a device.
pub(crate) struct Reaper {
    context: Arc<CudaContext>,
    thread: Mutex<Option<(mpsc::Sender<Release>, ThreadId)>>,
}

impl Reaper {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Reaper {
        Reaper { context: Arc::clone(context), thread: Mutex::new(None) }
    }

    /// Hands something over; the thread is started when it is first needed.
    pub(crate) fn post(&self, waits: Waits, what: What) {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            *thread = self.start();
        }
        let release = (waits, what);
        let unsent = match &*thread {
            Some((sender, _)) => sender.send(release).err().map(|unsent| unsent.0),
            None => Some(release),
        };
        drop(thread);
        if let Some(release) = unsent {
            // No thread could be started: this one waits after all.
            perform(&self.context, release);
        }
    }

    fn start(&self) -> Option<(mpsc::Sender<Release>, ThreadId)> {
        let (sender, receiver) = mpsc::channel::<Release>();
        let context = Arc::clone(&self.context);
        let name = format!("arraybridge-cuda-{}", context.ordinal());
        let run = move || {
            for release in receiver {
                perform(&context, release);
            }
        };
        let thread = thread::Builder::new().name(name).spawn(run).ok()?;
        Some((sender, thread.thread().id()))
    }

    /// Waits until all that was posted is done. On the thread itself there is nothing to wait for.
    pub(crate) fn drain(&self) {
        let (sender, receiver) = mpsc::channel();
        match &*lock(&self.thread) {
            Some((queue, thread)) if *thread != thread::current().id() => {
                let _ = queue.send((Waits::Events(Vec::new()), What::Tell(sender)));
            }
            _ => return,
        }
        // An error means that the thread has ended, and there is nothing to wait for either.
        let _ = receiver.recv();
    }
}

fn wait(context: &CudaContext, waits: Waits) -> Result<(), CudaError> {
    match waits {
        Waits::Events(events) => events.iter().try_for_each(Event::wait),
        Waits::Everything => driver::synchronize(&Bound::to(context)?),
    }
}

fn perform(context: &CudaContext, (waits, what): Release) {
    let waited = wait(context, waits);
    match (waited, what) {
        (_, What::Tell(sender)) => {
            let _ = sender.send(());
        }
        // What may still be used stays. In a context that is lost, nothing is used any more.
        (Err(error), what) if !error.is_sticky() => {
            report("memory was left to the driver", error);
            std::mem::forget(what);
        }
        (_, What::Free(address)) => {
            let freed = Bound::to(context).and_then(|bound| {
                // SAFETY: whoever posted it gave it up, and all work on it is done.
                unsafe { driver::free(&bound, address) }
            });
            if let Err(error) = freed {
                report("device memory was not freed", error);
            }
        }
        (_, What::Drop(owner)) => {
            if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(owner))) {
                report("an owner panicked when it was dropped", "its memory may be lost");
                // Dropping what it carries could panic once more.
                std::mem::forget(thrown);
            }
        }
    }
}
