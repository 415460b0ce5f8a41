//! When memory is let go of, and what happens where there is none.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{DType, Error, HostArray, Library, is_out_of_memory};
use arraybridge_cuda::{Cuda, CudaArray, CudaError, failed_releases, pinned, use_stream};
use common::{GPU, alone, calls, eventually, fail, live, ramp, values};

const MIB: usize = 1 << 20;

fn upload(nbytes: usize) -> Result<CudaArray, Error> {
    Cuda::from_host(&HostArray::zeros(DType::U8, &[nbytes]).unwrap(), GPU)
}

#[test]
fn dropping_waits_for_nobody_and_frees_after_every_stream() {
    alone(|| {
        let before = live(0);
        let array = Cuda::from_host(&ramp(1000), GPU).unwrap();
        let stream = array.stream().context().new_stream().unwrap();
        common::delay(100_000);
        let copy = {
            let _scope = use_stream(&stream).unwrap();
            Cuda::astype(&array, DType::F64).unwrap()
        };
        let started = std::time::Instant::now();
        drop(array);
        assert!(started.elapsed().as_millis() < 80, "the drop waited: {:?}", started.elapsed());
        common::delay(0);
        assert_eq!(Cuda::to_host(&copy).unwrap().as_slice::<f64>().unwrap()[999], 999.0);
        drop(copy);
        eventually("the release", || live(0) <= before);
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn writing_in_place_waits_for_every_stream_that_reads() {
    alone(|| {
        let array = Cuda::from_host(&ramp(1000), GPU).unwrap();
        let zero = Cuda::from_host(&HostArray::zeros(DType::F32, &[]).unwrap(), GPU).unwrap();
        let (address, stream) = (array.address(), array.stream().context().new_stream().unwrap());
        common::delay(20_000);
        let copy = {
            let _scope = use_stream(&stream).unwrap();
            Cuda::astype(&array, DType::F64).unwrap()
        };
        common::delay(0);
        let array = Cuda::assign(array, 0..1000, &zero).unwrap();
        assert_eq!(array.address(), address);
        assert_eq!(common::values(&array), [0.0; 1000]);
        assert_eq!(Cuda::to_host(&copy).unwrap().as_slice::<f64>().unwrap()[999], 999.0);
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn arrays_are_dropped_on_another_thread_and_device() {
    alone(|| {
        let before = (live(0), live(1));
        let arrays = [GPU, common::OTHER].map(|gpu| Cuda::from_host(&ramp(100), gpu).unwrap());
        std::thread::spawn(move || drop(arrays)).join().unwrap();
        eventually("the release", || live(0) <= before.0 && live(1) <= before.1);
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn memory_that_runs_out_is_given_back_and_tried_again_once() {
    alone(|| {
        let array = upload(MIB).unwrap();
        let tries = calls("cuMemAllocFromPoolAsync");
        fail("cuMemAllocFromPoolAsync", 2, 0, 1);
        let trims = calls("cuMemPoolTrimTo");
        drop(upload(MIB).unwrap());
        assert_eq!(calls("cuMemAllocFromPoolAsync") - tries, 2);
        assert_eq!(calls("cuMemPoolTrimTo") - trims, 1);
        // Twice is told, with what was asked and what is free.
        fail("cuMemAllocFromPoolAsync", 2, 0, 2);
        let error = upload(3 * MIB).unwrap_err();
        match &error {
            Error::OutOfMemory { library: "cuda", device, requested, available } => {
                assert_eq!((*device, *requested), (GPU, Some(3 * MIB)));
                assert!(available.is_some_and(|free| free > MIB), "{error}");
            }
            other => panic!("{other}"),
        }
        drop(array);
    });
}

#[test]
fn a_full_device_is_told_and_usable_afterwards() {
    alone(|| {
        // The stand-in has a gibibyte; what is freed is kept by the pool until then.
        let all = 1 << 30;
        let most = (0..3).map(|_| upload(all / 4).unwrap()).collect::<Vec<_>>();
        let error = upload(all / 2).unwrap_err();
        assert!(is_out_of_memory(&error) && Library::of::<Cuda>().is_out_of_memory(&error));
        drop(most);
        // Three quarters are cached in smaller pieces now, and come back for one large array.
        drop(upload(all / 4 * 3).unwrap());
        let freed = Library::of::<Cuda>().release_cached_memory(Some(GPU)).unwrap();
        assert!(freed.is_some_and(|freed| freed >= all / 4 * 3), "{freed:?}");
        assert_eq!(Library::of::<Cuda>().release_cached_memory(Some(GPU)).unwrap(), Some(0));
    });
}

#[test]
fn another_failure_is_not_tried_again() {
    alone(|| {
        let tries = calls("cuMemAllocFromPoolAsync");
        fail("cuMemAllocFromPoolAsync", 999, 0, 1);
        let error = upload(MIB).unwrap_err();
        assert_eq!(calls("cuMemAllocFromPoolAsync") - tries, 1);
        let Error::Foreign { source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.downcast_ref(), Some(&CudaError::from_code(999)));
        assert!(!is_out_of_memory(&error));
        upload(MIB).unwrap();
    });
}

#[test]
fn a_failed_release_is_counted_and_nothing_else() {
    alone(|| {
        let (array, before) = (upload(MIB).unwrap(), failed_releases());
        fail("cuMemFreeAsync", 999, 0, 1);
        drop(array);
        assert_eq!(failed_releases() - before, 1);
        // The error does not come up in a later call that has nothing to do with it.
        drop(upload(MIB).unwrap());
        assert_eq!(failed_releases() - before, 1);
    });
}

#[test]
fn a_pinned_array_is_kept_until_its_copy_is_done() {
    alone(|| {
        let mut host = pinned(DType::F32, &[1000], GPU).unwrap();
        host.as_slice_mut::<f32>().unwrap().fill(3.0);
        common::delay(100_000);
        let pinned_before = calls("cuMemFreeHost");
        let started = std::time::Instant::now();
        let array = Cuda::from_host(&host, GPU).unwrap();
        assert!(started.elapsed().as_millis() < 80, "the upload waited");
        // The copy holds the array, so that writing it is refused meanwhile.
        assert!(matches!(host.as_slice_mut::<f32>(), Err(Error::Shared { .. })));
        drop(host);
        assert_eq!(calls("cuMemFreeHost"), pinned_before);
        assert_eq!(values(&array), [3.0; 1000]);
        eventually("the release of pinned memory", || calls("cuMemFreeHost") > pinned_before);
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn large_arrays_go_in_parts_both_ways() {
    alone(|| {
        // Several parts, the last of them short, and an odd length.
        let host = ramp((9 * MIB + 4444) / 4);
        let array = Cuda::from_host(&host, GPU).unwrap();
        let back = Cuda::to_host(&array).unwrap();
        assert_eq!(back.as_slice::<f32>().unwrap(), host.as_slice::<f32>().unwrap());
        // Where no memory can be pinned, the driver stages.
        drop((array, Library::of::<Cuda>().release_cached_memory(None).unwrap()));
        fail("cuMemHostAlloc", 2, 0, 1000);
        let array = Cuda::from_host(&host, GPU).unwrap();
        let back = Cuda::to_host(&array).unwrap();
        fail("cuMemHostAlloc", 0, 0, 0);
        assert_eq!(back.as_slice::<f32>().unwrap(), host.as_slice::<f32>().unwrap());
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn a_device_without_pools_frees_after_waiting() {
    let test = "a_device_without_pools_frees_after_waiting";
    if common::case().is_none() {
        return common::in_a_child(test, "plain", &[("POOLS", "0"), ("MEMORY", "10000000")]);
    }
    let before = live(0);
    let array = Cuda::from_host(&ramp(1000), GPU).unwrap();
    assert!(calls("cuMemAlloc_v2") > 0 && calls("cuMemAllocFromPoolAsync") == 0);
    common::delay(100_000);
    let sum = Cuda::sum(&array, 0).unwrap();
    let started = std::time::Instant::now();
    drop(array);
    assert!(started.elapsed().as_millis() < 80, "the drop waited");
    assert_eq!(values(&sum), [499_500.0]);
    drop(sum);
    eventually("the release", || live(0) <= before);
    // What is freed is there again at once: nothing is cached.
    for _ in 0..5 {
        drop(upload(6 * MIB).unwrap());
    }
    assert!(is_out_of_memory(&upload(11 * MIB).unwrap_err()));
    assert_eq!(common::take_violation(), "");
}

#[test]
fn a_lost_context_is_told_at_once_and_not_tried_again() {
    let test = "a_lost_context_is_told_at_once_and_not_tried_again";
    if common::case().is_none() {
        return common::in_a_child(test, "lost", &[]);
    }
    let array = Cuda::from_host(&ramp(10), GPU).unwrap();
    common::break_device(0, 700);
    let (tries, error) = (calls("cuMemAllocFromPoolAsync"), upload(MIB).unwrap_err());
    assert!(calls("cuMemAllocFromPoolAsync") - tries <= 1);
    let Error::Foreign { source, .. } = &error else { panic!("{error}") };
    let text = source.to_string();
    assert!(text.starts_with("CUDA_ERROR_ILLEGAL_ADDRESS") && text.contains("cannot be used"));
    assert!(Cuda::to_host(&array).is_err() && array.wait().is_err());
    assert!(!is_out_of_memory(&error));
    // Dropping is quiet, and the other device works on.
    drop(array);
    let other = Cuda::from_host(&ramp(10), common::OTHER).unwrap();
    assert_eq!(values(&other)[9], 9.0);
}
