//! Many threads on one device, and arrays that are dropped while their work is queued: results are
//! right, owners are released once, and nothing is held when all is done.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{Access, Convert, DType, Device, HOST, HostArray, Layout, Library, Owner};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_opencl::{ClArray, OpenCl, memory_use};
use arraybridge_testkit::Releases;

const THREADS: usize = 16;
const ROUNDS: usize = 30;

/// A host array whose owner counts its release.
fn tracked(values: &[f32]) -> (HostArray, Releases) {
    let mut storage = HostArray::from_slice(values, &[values.len()]).unwrap();
    let pointer = storage.as_mut_ptr().unwrap();
    let releases = Releases::new();
    let owner = Owner::new(releases.guard(storage));
    let layout = Layout::row_major(&[values.len()]).unwrap();
    // SAFETY: the owner holds the storage, which nobody else reaches.
    let array =
        unsafe { HostArray::from_raw(owner, pointer, DType::F32, layout, Access::Exclusive) };
    (array.unwrap(), releases)
}

fn work(round: usize, device: Device) {
    let rows = 16 << (round % 4);
    let values: Vec<f32> = (0..rows * 256).map(|place| (place % 256) as f32).collect();
    let (host, releases) = tracked(&values);
    let shaped = host.reshape(&[rows, 256]).unwrap();
    drop(host);
    let array: ClArray = NdArray::from_host(shaped).convert_to::<OpenCl>(device).unwrap();
    let sum = OpenCl::sum(&array, 1).unwrap();
    let bytes = OpenCl::astype(&array, DType::U8).unwrap();
    // Let go of while the work on it may still be queued.
    drop(array);
    let sum: NdArray = sum.convert_to::<Ndarray>(HOST).unwrap();
    assert!(sum.host().as_slice::<f32>().unwrap().iter().all(|sum| *sum == 32_640.0));
    let bytes = OpenCl::to_host(&bytes).unwrap();
    let bytes = bytes.as_slice::<u8>().unwrap();
    assert!(bytes.iter().enumerate().all(|(place, byte)| *byte == (place % 256) as u8));
    releases.assert_once("an array that was dropped with pending work");
}

fn until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn sixteen_threads_on_one_queue_and_on_their_own() {
    let Some(device) = common::device() else { return };
    let rounds = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let rounds = &rounds;
            scope.spawn(move || {
                let opencl = Library::of::<OpenCl>();
                // Half of them on queues of their own.
                let _scope = (thread % 2 == 0).then(|| opencl.device_scope(device).unwrap());
                for _ in 0..ROUNDS {
                    work(rounds.fetch_add(1, Ordering::Relaxed), device);
                }
            });
        }
    });
    // Nothing but what is kept for reuse is left.
    until("memory is still in use", || {
        let _ = arraybridge_core::release_cached_memory_all(None);
        memory_use(device).unwrap().used == 0
    });
}

#[test]
fn an_array_made_on_one_queue_is_right_on_another() {
    let Some(device) = common::device() else { return };
    let values: Vec<f32> = (0..1 << 20).map(|place| (place % 7) as f32).collect();
    let expected: f32 = values.iter().sum();
    let host = HostArray::from_vec(values, &[1 << 20]).unwrap();
    for _ in 0..10 {
        let array = OpenCl::from_host(&host, device).unwrap();
        // Queued on another thread's own queue, used here at once.
        let doubled = std::thread::spawn(move || {
            let normalize = arraybridge_core::ArrayFunction::<OpenCl, _>::new(
                "normalize",
                |array: &ClArray| {
                    OpenCl::normalize_planes(array, DType::F32, &vec![Some(0.5); 1 << 20])
                },
            );
            normalize.call(&array).unwrap()
        });
        let doubled = doubled.join().unwrap();
        let sum = OpenCl::sum(&doubled, 0).unwrap();
        drop(doubled);
        assert_eq!(OpenCl::to_host(&sum).unwrap().as_slice::<f32>().unwrap(), [2.0 * expected]);
    }
}

#[test]
fn the_last_array_is_dropped_before_its_kernels_end() {
    if let Some(case) = common::case() {
        assert_eq!(case, "leave");
        let device = common::device().unwrap();
        let values = vec![1f32; 1 << 22];
        let array = OpenCl::from_host(&HostArray::from_slice(&values, &[1 << 22]).unwrap(), device);
        let mut array = array.unwrap();
        for _ in 0..20 {
            array =
                OpenCl::astype(&OpenCl::astype(&array, DType::I32).unwrap(), DType::F32).unwrap();
        }
        // The process ends with work in flight, and neither hangs nor dies.
        return;
    }
    let Some(device) = common::device() else { return };
    let (host, releases) = tracked(&vec![2f32; 1 << 22]);
    let array: ClArray = NdArray::from_host(host).convert_to::<OpenCl>(device).unwrap();
    for dtype in [DType::I32, DType::U8, DType::F16] {
        drop(OpenCl::astype(&array, dtype).unwrap());
    }
    drop(array);
    releases.assert_once("the last array over the memory");
    common::in_a_child("the_last_array_is_dropped_before_its_kernels_end", "leave", &[]);
}
