//! Dropping what kept a buffer's memory alive, once the runtime has let go of the buffer.
//!
//! A buffer over memory of the host needs that memory until the runtime destroys it, which is after
//! the last command on it, whoever queued that. The runtime says so by a callback, on a thread of
//! its own or inside the release of the buffer. Nothing may be waited for or called back there, so
//! the callback only hands on what was kept: to the thread that is releasing the buffer, if that is
//! the one, else to the device's reaper.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use crate::cl::{Context, Mem, OpenClError};

/// How long [`Reaper::settle`] waits at most.
const PATIENCE: Duration = Duration::from_secs(1);

/// What keeps memory alive.
pub(crate) type Kept = Box<dyn Any + Send>;

/// A thread that drops what it is given.
pub(crate) struct Reaper {
    sender: Sender<Kept>,
    thread: thread::ThreadId,
}

impl Reaper {
    /// Starts the thread, which ends with the process.
    pub(crate) fn spawn() -> Option<Reaper> {
        let (sender, receiver) = channel::<Kept>();
        let thread = thread::Builder::new().name("opencl-reaper".into()).spawn(move || {
            for kept in receiver {
                drop_caught(kept);
            }
        });
        thread.ok().map(|thread| Reaper { sender, thread: thread.thread().id() })
    }

    /// Waits until what was handed on so far is dropped.
    pub(crate) fn settle(&self) {
        if thread::current().id() == self.thread {
            return;
        }
        let (done, waiting) = channel::<()>();
        // Its drop on the other side ends the wait.
        if self.sender.send(Box::new(done)).is_ok() {
            let _ = waiting.recv_timeout(PATIENCE);
        }
    }
}

/// Drops a value of somebody else's type; its panic ends here.
fn drop_caught(kept: Kept) {
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(move || drop(kept))) {
        // Dropping what it carries could panic once more.
        std::mem::forget(thrown);
    }
}

thread_local! {
    /// Filled by callbacks on this thread while it releases a buffer.
    static RELEASED: RefCell<Option<Vec<Kept>>> = const { RefCell::new(None) };
}

/// What a buffer's destructor callback is given.
struct Post {
    kept: Kept,
    reaper: Sender<Kept>,
}

/// Hands on what was kept. It neither waits nor unwinds.
extern "C" fn destroyed(_: *mut c_void, data: *mut c_void) {
    // SAFETY: `over` made the pointer of a box, for this one call.
    let post = unsafe { Box::from_raw(data.cast::<Post>()) };
    let Post { kept, reaper } = *post;
    let mut kept = Some(kept);
    let _ = RELEASED.try_with(|released| {
        if let Ok(mut released) = released.try_borrow_mut()
            && let Some(released) = released.as_mut()
        {
            released.extend(kept.take());
        }
    });
    if let Some(kept) = kept {
        // The reaper lives as long as the process.
        let _ = reaper.send(kept);
    }
}

/// Makes a buffer over memory of the host that `kept` keeps alive. `kept` is dropped once, after the
/// last command on the buffer, or at once on an error.
///
/// # Safety
/// As [`Mem::over`], with `kept` keeping the memory valid.
pub(crate) unsafe fn over(
    reaper: &Reaper,
    context: &Context,
    flags: u64,
    nbytes: usize,
    pointer: *mut c_void,
    kept: Kept,
) -> Result<Mem, OpenClError> {
    // SAFETY: as the caller says; `kept` goes into the callback below.
    let mem = unsafe { Mem::over(context, flags, nbytes, pointer) }?;
    let post = Box::into_raw(Box::new(Post { kept, reaper: reaper.sender.clone() }));
    // SAFETY: the callback takes the box, once: a buffer is destroyed once.
    match unsafe { mem.on_destruction(destroyed, post.cast()) } {
        Ok(()) => Ok(mem),
        Err(error) => {
            drop(mem);
            // SAFETY: no callback was set, so the box is still this function's.
            drop(unsafe { Box::from_raw(post) });
            Err(error)
        }
    }
}

/// Releases a buffer, and drops what it kept alive if no command is left on it.
///
/// What is dropped may release further buffers, and so on without an end: an array that went back and
/// forth between libraries is kept by an owner of an owner of an owner. So the outermost call drops
/// what all of them kept, one after another, and the stack does not grow.
pub(crate) fn release(mem: Mem) {
    let is_outermost = RELEASED.try_with(|released| {
        let Ok(mut released) = released.try_borrow_mut() else { return false };
        let is_outermost = released.is_none();
        released.get_or_insert_default();
        is_outermost
    });
    drop(mem);
    if is_outermost != Ok(true) {
        return;
    }
    // Dropped outside of the callback, and of the borrow.
    let next = || RELEASED.try_with(|released| released.try_borrow_mut().ok()?.as_mut()?.pop());
    while let Ok(Some(kept)) = next() {
        drop_caught(kept);
    }
    let _ = RELEASED.try_with(|released| released.take());
}
