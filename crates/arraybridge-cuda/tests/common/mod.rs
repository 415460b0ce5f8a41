//! The tests of this folder run on a stand-in for NVIDIA's driver (`fake-driver`): a shared library
//! named as the driver's, loaded before anything asks for that. What is proven so is everything but
//! the kernels' code for GPUs; they run from the same source, compiled for the host.

// Each test program uses its part of this.
#![allow(dead_code)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::ffi::CString;
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arraybridge_core::ops::HostExchange;
use arraybridge_core::{Device, HostArray};
use arraybridge_cuda::{Cuda, CudaArray};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};

/// Names the case that a child process of a test is to run.
const CASE: &str = "ARRAYBRIDGE_CUDA_TEST_CASE";
/// Names what a child process is to load in place of the stand-in: `none`.
const DRIVER: &str = "ARRAYBRIDGE_CUDA_TEST_DRIVER";

/// Loads the stand-in before the tests begin, so that `libcuda.so` means it.
#[ctor::ctor]
fn load() {
    if std::env::var_os(DRIVER).is_none() {
        library();
    }
}

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        // Cargo puts the stand-in, which the tests depend on, beside them.
        let path = std::env::current_exe().unwrap();
        let path = path.parent().unwrap().join("libarraybridge_fake_cuda.so");
        // SAFETY: the library is this project's own, and its loading runs no code but the
        // registration of its kernels.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
        library.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    })
}

fn symbol<F>(name: &str) -> Symbol<F> {
    // SAFETY: the stand-in's functions have the types that are asked for below.
    unsafe { library().get(name.as_bytes()) }.unwrap()
}

/// Makes a call answer `code` the next `times` times, after `after` more successes.
pub(crate) fn fail(call: &str, code: u32, after: u32, times: u32) {
    let call = CString::new(call).unwrap();
    symbol::<extern "C" fn(*const i8, u32, u32, u32)>("fake_cuda_fail")(
        call.as_ptr().cast(),
        code,
        after,
        times,
    );
}

/// Returns how often a call was made.
pub(crate) fn calls(call: &str) -> u64 {
    let call = CString::new(call).unwrap();
    symbol::<extern "C" fn(*const i8) -> u64>("fake_cuda_calls")(call.as_ptr().cast())
}

/// Delays every operation of every stream.
pub(crate) fn delay(microseconds: u64) {
    symbol::<extern "C" fn(u64)>("fake_cuda_delay")(microseconds);
}

/// Returns how many rules of the driver were broken.
pub(crate) fn violations() -> usize {
    symbol::<extern "C" fn() -> usize>("fake_cuda_violations")()
}

/// Returns the last rule that was broken, and forgets all; empty if there is none.
pub(crate) fn take_violation() -> String {
    let mut text = vec![0u8; 1000];
    let take = symbol::<extern "C" fn(*mut u8, usize) -> usize>("fake_cuda_take_violation");
    let length = take(text.as_mut_ptr(), text.len());
    text.truncate(length);
    String::from_utf8(text).unwrap()
}

/// Returns how many allocations of a device are live.
pub(crate) fn live(device: usize) -> usize {
    symbol::<extern "C" fn(usize) -> usize>("fake_cuda_live")(device)
}

/// Puts a device into an error from which it does not recover.
pub(crate) fn break_device(device: usize, code: u32) {
    symbol::<extern "C" fn(usize, u32)>("fake_cuda_break")(device, code);
}

/// Returns the case that this process was started for, if it is a child of a test.
pub(crate) fn case() -> Option<String> {
    std::env::var(CASE).ok()
}

/// Runs one test of this program in a process of its own, with a case and settings of the stand-in.
pub(crate) fn child(test: &str, case: &str, settings: &[(&str, &str)]) -> Output {
    let settings = settings.iter().map(|(name, value)| match *name {
        "DRIVER" => (DRIVER.to_owned(), *value),
        name => (format!("ARRAYBRIDGE_FAKE_CUDA_{name}"), *value),
    });
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(CASE, case)
        .envs(settings)
        .output()
        .unwrap()
}

/// Runs a test for a case in a process of its own, which may neither fail nor die.
pub(crate) fn in_a_child(test: &str, case: &str, settings: &[(&str, &str)]) {
    let child = child(test, case, settings);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "`{case}` ended with {}: {errors}", child.status);
    let results = String::from_utf8_lossy(&child.stdout);
    assert!(results.contains(" 1 passed"), "`{case}` did not run: {results}");
}

/// Runs a body alone among the tests of a program that break rules, delay streams or count.
pub(crate) fn alone<R>(body: impl FnOnce() -> R) -> R {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let result = body();
    delay(0);
    result
}

/// The first device.
pub(crate) const GPU: Device = Device::Accelerator(0);
/// Another one.
pub(crate) const OTHER: Device = Device::Accelerator(1);

/// Returns numbers from 0 on.
pub(crate) fn ramp(count: usize) -> HostArray {
    let values: Vec<f32> = (0..count).map(|value| value as f32).collect();
    HostArray::from_slice(&values, &[count]).unwrap()
}

/// Reads an array's elements.
pub(crate) fn values(array: &CudaArray) -> Vec<f32> {
    Cuda::to_host(array).unwrap().to_contiguous().unwrap().as_slice::<f32>().unwrap().to_vec()
}

/// Waits for something that another thread does, ten seconds at most.
#[track_caller]
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < patience, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}
