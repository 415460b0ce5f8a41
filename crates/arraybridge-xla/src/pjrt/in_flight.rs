//! Work that is queued or running, which a process must not end under.
//!
//! A plugin's threads use its static data, which the C library destroys when the process exits: a
//! program still running then crashes. So executions are counted until their events happen, and
//! exiting waits for them.

use std::ffi::c_void;
use std::sync::{Condvar, Mutex, Once, PoisonError};
use std::time::Duration;

use super::api::call;
use super::client::Client;
use super::error::PjrtError;
use super::sys;

/// How many executions have not completed.
static RUNNING: Mutex<usize> = Mutex::new(0);
static COMPLETED: Condvar = Condvar::new();

/// How long exiting waits at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a completion callback needs.
struct Pending {
    client: Client,
    event: *mut sys::Event,
}

/// Counts the execution that `event` belongs to until it happens.
///
/// # Safety
/// `event` is an event of this client's plugin that nobody else frees.
pub(super) unsafe fn count(client: &Client, event: *mut sys::Event) -> Result<(), PjrtError> {
    if event.is_null() {
        return Ok(());
    }
    static FIRST: Once = Once::new();
    // After the first program has run, so that it comes before what the plugin registered: such
    // functions run in reverse order.
    FIRST.call_once(|| {
        // SAFETY: the function takes nothing, returns nothing and does not unwind.
        let _ = unsafe { libc::atexit(wait_for_all) };
    });
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    let pending = Box::into_raw(Box::new(Pending { client: client.clone(), event }));
    let registered = call!(
        client.api(),
        event_on_ready,
        sys::EventOnReadyArgs {
            event,
            callback: Some(completed),
            user_arg: pending.cast(),
            ..Default::default()
        }
    );
    if let Err(error) = registered {
        // SAFETY: the plugin did not take the callback, so the box is still ours.
        drop(unsafe { Box::from_raw(pending) });
        one_less();
        // SAFETY: the event is ours by the caller's word.
        unsafe { client.api().wait(event) }?;
        return Err(error);
    }
    Ok(())
}

/// Runs on any thread when an execution has completed.
unsafe extern "C" fn completed(error: *mut sys::Error, pending: *mut c_void) {
    // SAFETY: the pointer is the box that `count` leaked for this one call.
    let pending = unsafe { Box::from_raw(pending.cast::<Pending>()) };
    // SAFETY: the callback owns the error. The outputs' own events tell it to whoever reads them.
    let _ = unsafe { pending.client.api().check(error) };
    let _ = call!(
        pending.client.api(),
        event_destroy,
        sys::EventDestroyArgs { event: pending.event, ..Default::default() }
    );
    drop(pending);
    one_less();
}

fn one_less() {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    *running = running.saturating_sub(1);
    COMPLETED.notify_all();
}

/// Waits until nothing runs.
extern "C" fn wait_for_all() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = COMPLETED.wait_timeout_while(running, PATIENCE, |running| *running > 0);
}
