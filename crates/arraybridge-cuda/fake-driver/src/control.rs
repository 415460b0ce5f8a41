//! What tests ask of the stand-in.

use std::ffi::{CStr, c_char};

use crate::state::{Failure, state};

/// Makes a call answer `code` the next `times` times, after `after` more successes.
#[unsafe(no_mangle)]
extern "C" fn fake_cuda_fail(call: *const c_char, code: u32, after: u32, times: u32) {
    // SAFETY: tests pass a C string.
    let call = unsafe { CStr::from_ptr(call) }.to_string_lossy().into_owned();
    state().failures.insert(call, Failure { code, after, times });
}

/// Returns how often a call was made.
#[unsafe(no_mangle)]
extern "C" fn fake_cuda_calls(call: *const c_char) -> u64 {
    // SAFETY: tests pass a C string.
    let call = unsafe { CStr::from_ptr(call) }.to_string_lossy().into_owned();
    state().calls.get(call.as_str()).copied().unwrap_or(0)
}

/// Delays every operation of every stream.
#[unsafe(no_mangle)]
extern "C" fn fake_cuda_delay(microseconds: u64) {
    state().delay_us = microseconds;
}

/// Returns how many rules were broken.
#[unsafe(no_mangle)]
extern "C" fn fake_cuda_violations() -> usize {
    state().violations.len()
}

/// Forgets the rules that were broken, and writes the last one down.
#[unsafe(no_mangle)]
extern "C" fn fake_cuda_take_violation(text: *mut u8, room: usize) -> usize {
    let mut state = state();
    let last = state.violations.pop().unwrap_or_default();
    state.violations.clear();
    let length = last.len().min(room);
    // SAFETY: tests give that much room.
    unsafe { text.copy_from_nonoverlapping(last.as_ptr(), length) };
    length
}

/// Returns how many allocations of a device are live, pinned memory left out.
#[unsafe(no_mangle)]
extern "C" fn fake_cuda_live(device: usize) -> usize {
    let pinned = crate::memory::Kind::Pinned;
    let state = state();
    let live = state.allocations.values().filter(|allocation| {
        !allocation.freed && allocation.device == device && allocation.kind != pinned
    });
    live.count()
}

/// Puts a device into an error from which it does not recover.
#[unsafe(no_mangle)]
extern "C" fn fake_cuda_break(device: usize, code: u32) {
    state().sticky[device] = code;
}
