//! Everything that the driver knows, under one lock.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::clock::Clock;
use crate::memory::Allocation;
use crate::module::{Function, Module};
use crate::stream::{Event, Stream};

pub(crate) const SUCCESS: u32 = 0;
pub(crate) const INVALID_VALUE: u32 = 1;
pub(crate) const OUT_OF_MEMORY: u32 = 2;
pub(crate) const NOT_INITIALIZED: u32 = 3;
pub(crate) const NO_DEVICE: u32 = 100;
pub(crate) const INVALID_DEVICE: u32 = 101;
pub(crate) const INVALID_IMAGE: u32 = 200;
pub(crate) const INVALID_CONTEXT: u32 = 201;
pub(crate) const INVALID_HANDLE: u32 = 400;
pub(crate) const NOT_FOUND: u32 = 500;
pub(crate) const NOT_READY: u32 = 600;
pub(crate) const NOT_SUPPORTED: u32 = 801;

/// A call's result: its value, or the code that it answers.
pub(crate) type Answer<T = ()> = Result<T, u32>;

/// What a call is told to answer instead of doing anything.
pub(crate) struct Failure {
    pub(crate) code: u32,
    /// How many calls still succeed before.
    pub(crate) after: u32,
    pub(crate) times: u32,
}

/// A memory pool.
pub(crate) struct Pool {
    pub(crate) device: usize,
    pub(crate) threshold: u64,
    /// Bytes that were freed and are kept for reuse.
    pub(crate) cached: usize,
    pub(crate) used: usize,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) initialized: bool,
    pub(crate) allocations: BTreeMap<u64, Allocation>,
    /// Where the next device address lies.
    pub(crate) next_address: u64,
    /// Bytes taken from each device, those that pools keep included.
    pub(crate) taken: Vec<usize>,
    pub(crate) pools: HashMap<usize, Pool>,
    pub(crate) streams: HashMap<usize, Arc<Stream>>,
    pub(crate) events: HashMap<usize, Arc<Event>>,
    pub(crate) modules: HashMap<usize, Module>,
    pub(crate) functions: HashMap<usize, Function>,
    /// The contexts that are not a device's primary one, and their devices.
    pub(crate) contexts: HashMap<usize, usize>,
    /// What the host has waited for, on any thread.
    pub(crate) host: Clock,
    pub(crate) calls: HashMap<&'static str, u64>,
    pub(crate) failures: HashMap<String, Failure>,
    pub(crate) violations: Vec<String>,
    /// The error after which a device answers nothing else.
    pub(crate) sticky: Vec<u32>,
    pub(crate) delay_us: u64,
    next_handle: usize,
}

impl State {
    /// Returns a handle that was never given before.
    pub(crate) fn handle(&mut self) -> usize {
        self.next_handle += 0x10;
        0x10_0000 + self.next_handle
    }

    /// Returns the device of a context: the primary one of device N is the handle N + 1.
    pub(crate) fn device_of(&self, context: usize) -> Option<usize> {
        let primary = context.checked_sub(1).filter(|device| *device < self.taken.len());
        primary.or_else(|| self.contexts.get(&context).copied())
    }

    pub(crate) fn violate(&mut self, what: String) {
        eprintln!("fake CUDA driver: violation: {what}");
        self.violations.push(what);
    }
}

/// Locks the state.
pub(crate) fn state() -> MutexGuard<'static, State> {
    static STATE: OnceLock<Mutex<State>> = OnceLock::new();
    STATE
        .get_or_init(|| {
            let devices = setting("DEVICES", 2);
            Mutex::new(State {
                next_address: crate::memory::TAG,
                taken: vec![0; devices],
                sticky: vec![SUCCESS; devices],
                ..State::default()
            })
        })
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Returns a setting of the environment.
pub(crate) fn setting(name: &str, default: usize) -> usize {
    let text = std::env::var(format!("ARRAYBRIDGE_FAKE_CUDA_{name}"));
    text.ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

pub(crate) fn device_count() -> usize {
    setting("DEVICES", 2)
}

thread_local! {
    /// The context that is current on this thread; 0 for none.
    pub(crate) static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Returns the device whose context is current.
pub(crate) fn current() -> Answer<usize> {
    state().device_of(CURRENT.get()).ok_or(INVALID_CONTEXT)
}

/// Counts a call, and fails it if it is told to or the device is in an error.
pub(crate) fn enter(call: &'static str) -> Answer {
    let mut state = state();
    *state.calls.entry(call).or_default() += 1;
    if !state.initialized {
        return Err(NOT_INITIALIZED);
    }
    if let Some(failure) = state.failures.get_mut(call) {
        if failure.after > 0 {
            failure.after -= 1;
        } else if failure.times > 0 {
            failure.times -= 1;
            return Err(failure.code);
        }
    }
    if call.starts_with("cuCtx") && call.ends_with("Current") {
        return Ok(());
    }
    match state.device_of(CURRENT.get()).map(|device| state.sticky[device]) {
        Some(sticky) if sticky != SUCCESS => Err(sticky),
        _ => Ok(()),
    }
}
