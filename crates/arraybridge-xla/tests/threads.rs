//! Eight threads that convert and run operations: results stay right, memory does not grow, and
//! nothing is held when they are done.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{Convert, DType, HOST, HostArray};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_xla::{Xla, XlaArray};

/// How long the threads work, in seconds; 5 if it is not set.
const SECONDS: &str = "ARRAYBRIDGE_XLA_THREADS_SECONDS";
const THREADS: usize = 8;
/// What memory may grow by after warming up, in bytes: a second of work makes far more.
const GROWTH: usize = 64 << 20;

/// One round of work on memory that XLA shares and on memory that it copies.
fn work(round: usize) {
    let rows = 64 << (round % 3);
    let values: Vec<f32> = (0..rows * 256).map(|place| (place % 256) as f32).collect();
    let aligned = HostArray::from_slice(&values, &[rows, 256]).unwrap();
    let vector = HostArray::from_vec(values, &[rows, 256]).unwrap();
    for mut host in [aligned, vector] {
        let array: XlaArray = NdArray::from_host(host.clone()).convert_to::<Xla>(HOST).unwrap();
        let sum = Xla::sum(&array, 1).unwrap();
        let bytes = Xla::astype(&array, DType::U8).unwrap();
        // Let go of while the work on it may still be queued.
        drop(array);
        let sum: NdArray = sum.convert_to::<Ndarray>(HOST).unwrap();
        assert!(sum.host().as_slice::<f32>().unwrap().iter().all(|sum| *sum == 32_640.0));
        let bytes = Xla::to_host(&bytes).unwrap();
        let bytes = bytes.as_slice::<u8>().unwrap();
        assert!(bytes.iter().enumerate().all(|(place, byte)| *byte == (place % 256) as u8));
        wait_until_unshared(&mut host);
    }
}

/// Waits until XLA has let go of an array's memory, which it does on a thread of its own.
fn wait_until_unshared(host: &mut HostArray) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while host.as_slice_mut::<f32>().is_err() {
        assert!(Instant::now() < deadline, "the memory is still held");
        std::thread::yield_now();
    }
}

/// Returns the memory of this process in bytes, where the system tells it.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

fn in_threads(body: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(&body);
        }
    });
}

#[test]
fn eight_threads() {
    if !common::plugin() {
        return;
    }
    let seconds = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok()).unwrap_or(5.0);
    let seconds = Duration::from_secs_f64(seconds);
    // Programs are compiled and the allocator's arenas filled before memory is looked at.
    in_threads(|| (0..12).for_each(work));
    let before = resident();
    let rounds = AtomicUsize::new(0);
    in_threads(|| {
        let started = Instant::now();
        while started.elapsed() < seconds {
            work(rounds.fetch_add(1, Ordering::Relaxed));
        }
    });
    let rounds = rounds.into_inner();
    assert!(rounds >= THREADS, "{rounds} rounds");
    if let (Some(before), Some(after)) = (before, resident()) {
        let grown = after.saturating_sub(before);
        eprintln!("{rounds} rounds, {} MiB, {} MiB more", before >> 20, grown >> 20);
        assert!(grown < GROWTH, "{grown} bytes more after {rounds} rounds");
    }
}
