//! Work that is queued or running, which a process must not end under.
//!
//! A driver's threads compile and run kernels with static data, which the C library destroys when the
//! process exits: a kernel still running then crashes. So exiting waits for all queues.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::place::Stream;

/// How long exiting waits at most.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the wait is registered at most.
const REGISTRATIONS: usize = 16;

static STREAMS: Mutex<Vec<Weak<Stream>>> = Mutex::new(Vec::new());
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// Has exiting wait for a queue.
pub(crate) fn watch(stream: &Arc<Stream>) {
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    streams.retain(|stream| stream.strong_count() > 0);
    streams.push(Arc::downgrade(stream));
    drop(streams);
    register();
}

/// Has exiting wait before what the driver registered until now is run: such functions run in
/// reverse order, and drivers register some when they first compile.
pub(crate) fn register() {
    if REGISTERED.fetch_add(1, Ordering::Relaxed) < REGISTRATIONS {
        // SAFETY: the function takes nothing, returns nothing and does not unwind.
        let _ = unsafe { libc::atexit(wait_for_all) };
    }
}

/// Waits until nothing runs.
extern "C" fn wait_for_all() {
    let deadline = Instant::now() + PATIENCE;
    let streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let streams: Vec<Arc<Stream>> = streams.iter().filter_map(Weak::upgrade).collect();
    for stream in &streams {
        // In order, the marker is over when all before it is; otherwise that is what it waits for.
        let Ok(marker) = stream.queue.marker() else { continue };
        let _ = stream.queue.flush();
        while !marker.is_over() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
