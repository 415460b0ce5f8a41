//! CUDA devices, their streams and cached memory, through torch.
//!
//! The functions need libtorch's CUDA part ([`super::library_file`]); without it they fail, and no
//! device leads here. What waits for what is decided in `exchange/streams.rs` and `reaper.rs`,
//! which run without a GPU.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use arraybridge_core::Owner;

use super::error::{TorchError, call};
use super::sys;
use crate::reaper::{Fence, Reaper};

/// Torch's number of a stream of a device; 0 is the default stream.
pub(super) type StreamId = i64;

const DEFAULT: StreamId = 0;

/// A stream of this thread or of a consumer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Stream {
    pub(crate) device: i32,
    pub(crate) id: StreamId,
}

/// Returns how many CUDA devices there are.
pub(crate) fn device_count() -> i32 {
    // SAFETY: a function without conditions, which fails quietly.
    unsafe { sys::abt_cuda_count() }
}

/// Returns this thread's CUDA device.
pub(crate) fn current_device() -> Result<i32, TorchError> {
    // SAFETY: the call writes one number.
    call(0, |index, message| unsafe { sys::abt_cuda_device(index, message) })
}

/// Makes a device that is there this thread's CUDA device.
pub(crate) fn set_device(index: i32) -> Result<(), TorchError> {
    // SAFETY: a call on numbers.
    call((), |(), message| unsafe { sys::abt_cuda_set_device(index, message) })
}

/// Gives cached memory of all devices back, and returns how many bytes.
pub(crate) fn empty_cache(device_count: i32) -> Result<i64, TorchError> {
    // SAFETY: the call writes one number.
    call(0, |freed, message| unsafe { sys::abt_cuda_empty_cache(device_count, freed, message) })
}

impl Stream {
    /// Returns this thread's current stream of a device, and CUDA's handle of it.
    pub(crate) fn current(device: i32) -> Result<(Stream, usize), TorchError> {
        let nothing = (0, std::ptr::null_mut::<c_void>());
        // SAFETY: the call writes a number and a pointer.
        let (id, handle) = call(nothing, |(id, handle), message| unsafe {
            sys::abt_stream_current(device, id, handle, message)
        })?;
        Ok((Stream { device, id }, handle as usize))
    }

    /// Takes a stream from torch's pool.
    pub(crate) fn take(device: i32) -> Result<Stream, TorchError> {
        // SAFETY: the call writes one number.
        let id = call(0, |id, message| unsafe { sys::abt_stream_take(device, id, message) })?;
        let stream = Stream { device, id };
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(stream);
        Ok(stream)
    }

    /// Returns the stream of a handle of CUDA's; `None` if torch cannot use it.
    pub(crate) fn of_handle(device: i32, handle: usize) -> Result<Option<Stream>, TorchError> {
        let handle = std::ptr::without_provenance_mut::<c_void>(handle);
        // SAFETY: the call writes one number; the handle is compared.
        let id = call(-1, |id, message| unsafe {
            sys::abt_stream_of_handle(device, handle, id, message)
        })?;
        Ok((id != -1).then_some(Stream { device, id }))
    }

    /// Makes this the thread's current stream.
    pub(crate) fn set(self) -> Result<(), TorchError> {
        // SAFETY: a call on numbers.
        call((), |(), message| unsafe { sys::abt_stream_set(self.device, self.id, message) })
    }

    /// Makes later work here wait for what is queued on another stream now.
    pub(crate) fn wait_for(self, on: Stream) -> Result<(), TorchError> {
        // SAFETY: a call on numbers.
        call((), |(), message| unsafe {
            sys::abt_stream_wait(self.device, self.id, on.id, message)
        })
    }

    /// Waits until what is queued here is done.
    pub(crate) fn finish(self) -> Result<(), TorchError> {
        // SAFETY: a call on numbers.
        call((), |(), message| unsafe { sys::abt_stream_finish(self.device, self.id, message) })
    }
}

/// The streams that threads have taken for themselves: torch has 32 of a device to give.
static TAKEN: Mutex<BTreeSet<Stream>> = Mutex::new(BTreeSet::new());

/// The work that was queued on a stream at some time.
struct Mark(*mut sys::Event);

// SAFETY: CUDA events may be waited for and freed on any thread; the pointer is nobody else's.
unsafe impl Send for Mark {}

impl Mark {
    fn record(stream: Stream) -> Result<Mark, TorchError> {
        let event = std::ptr::null_mut();
        // SAFETY: the call writes one pointer.
        let event = call(event, |event, message| unsafe {
            sys::abt_event_record(stream.device, stream.id, event, message)
        })?;
        Ok(Mark(event))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: the event came from `abt_event_record` and is freed once.
        unsafe { sys::abt_event_free(self.0) };
    }
}

/// The work that was queued on a device's streams at some time.
struct QueuedWork(Vec<Mark>);

impl Fence for QueuedWork {
    fn wait(&self) -> bool {
        self.0.iter().all(|mark| {
            // SAFETY: the event lives until the mark is dropped.
            call((), |(), message| unsafe { sys::abt_event_finish(mark.0, message) }).is_ok()
        })
    }
}

static REAPER: Reaper<QueuedWork> = Reaper::new();

/// Drops an owner once the work is done that is queued on the streams of a device by which its
/// memory can have been used: this thread's current one, the default one, and those that threads have
/// taken, because another thread may have used the memory in a scope that is still open.
pub(super) fn release_after_queued_work(device: u32, owner: Owner) {
    match queued_work(device as i32) {
        Ok(work) => REAPER.release(device, work, owner),
        // A device that takes no event may still work: the memory is never to be used again.
        Err(_) => std::mem::forget(owner),
    }
}

fn queued_work(device: i32) -> Result<QueuedWork, TorchError> {
    let mut streams = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    streams.retain(|stream| stream.device == device);
    streams.insert(Stream { device, id: DEFAULT });
    streams.insert(Stream::current(device)?.0);
    streams.into_iter().map(Mark::record).collect::<Result<_, _>>().map(QueuedWork)
}
