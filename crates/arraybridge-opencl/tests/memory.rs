//! Running out of memory: found before the driver is asked, recognised, and mended by letting go of
//! what is kept. Each case has a process of its own, because the budget is the process's.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Math, Ops};
use arraybridge_core::{
    ArrayLibrary, DType, Device, Error, HostArray, Library, is_out_of_memory, run_with_oom_recovery,
};
use arraybridge_opencl::{ClArray, OpenCl, device_facts, memory_use, set_memory_budget};

fn ones(device: Device, mib: usize) -> Result<ClArray, Error> {
    let like = OpenCl::from_host(&HostArray::zeros(DType::U8, &[1]).unwrap(), device)?;
    OpenCl::ones_like(&like, Some(&[mib << 20]), DType::U8)
}

fn run(case: &str) {
    let device = common::device().unwrap();
    match case {
        "the budget" => the_budget(device),
        "the largest buffer" => the_largest_buffer(device),
        "reuse" => reuse(device),
        other => panic!("no case `{other}`"),
    }
}

#[test]
fn memory() {
    if let Some(case) = common::case() {
        return run(&case);
    }
    if common::device().is_none() {
        return;
    }
    common::in_a_child("memory", "the budget", &[]);
    common::in_a_child("memory", "the budget", &[("ARRAYBRIDGE_OPENCL_WITHOUT", "unified")]);
    common::in_a_child("memory", "the largest buffer", &[("POCL_MEMORY_LIMIT", "1")]);
    common::in_a_child("memory", "reuse", &[("ARRAYBRIDGE_OPENCL_WITHOUT", "unified")]);
}

fn the_budget(device: Device) {
    set_memory_budget(device, Some(64 << 20)).unwrap();
    let first = ones(device, 40).unwrap();
    let error = ones(device, 40).unwrap_err();
    let Error::OutOfMemory { library: "opencl", requested, available, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(requested, Some(40 << 20));
    assert!((23 << 20..=24 << 20).contains(&available.unwrap()), "{available:?}");
    assert!(is_out_of_memory(&error) && Library::of::<OpenCl>().is_out_of_memory(&error));
    // What queued work or the cache holds is waited for and let go of.
    let sum = OpenCl::sum(&first, 0).unwrap();
    drop(first);
    let second = ones(device, 40).unwrap();
    assert_eq!(OpenCl::to_host(&sum).unwrap().as_slice::<u64>().unwrap(), [40 << 20]);
    // A function that lets go of an array is tried again.
    let mut held = Some(second);
    let made = run_with_oom_recovery(Library::of::<OpenCl>(), 2, Some(device), || {
        let made = ones(device, 40);
        held.take();
        made
    });
    drop(made.unwrap());
    // Memory of others does not count.
    let host = HostArray::zeros(DType::U8, &[128 << 20]).unwrap();
    if device_facts(device).unwrap().unified_memory {
        OpenCl::from_host(&host, device).unwrap();
    }
    set_memory_budget(device, None).unwrap();
    ones(device, 80).unwrap();
    assert_eq!(memory_use(device).unwrap().budget, device_facts(device).unwrap().memory);
}

fn the_largest_buffer(device: Device) {
    let largest = device_facts(device).unwrap().largest_buffer;
    assert_eq!(largest, 256 << 20);
    let error = ones(device, 257).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let error = OpenCl::ones(&[usize::MAX / 8], DType::F32).unwrap_err();
    assert!(matches!(error, Error::SizeOverflow { .. } | Error::OutOfMemory { .. }), "{error}");
    // The driver refuses to wrap so much, which is out of memory too.
    let host = HostArray::zeros(DType::U8, &[300 << 20]).unwrap();
    let error = OpenCl::from_host(&host, device).unwrap_err();
    assert!(OpenCl.accelerator().unwrap().is_out_of_memory(&error) || is_out_of_memory(&error));
    // All of the device at most: four of 250 MiB are, a fifth is not.
    let kept: Vec<ClArray> = (0..4).map(|_| ones(device, 250).unwrap()).collect();
    let error = ones(device, 250).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    drop(kept);
    ones(device, 250).unwrap();
}

/// Buffers of a device's own memory are kept and used again, also while work on them is queued.
fn reuse(device: Device) {
    let first = ones(device, 8).unwrap();
    let sum = OpenCl::sum(&first, 0).unwrap();
    drop(first);
    assert!(memory_use(device).unwrap().cached >= 8 << 20);
    // Takes the kept buffer, and must not be written before the sum has read it.
    let zeros = HostArray::zeros(DType::U8, &[8 << 20]).unwrap();
    let second = OpenCl::from_host(&zeros, device).unwrap();
    assert!(memory_use(device).unwrap().cached < 1 << 20);
    assert_eq!(OpenCl::to_host(&sum).unwrap().as_slice::<u64>().unwrap(), [8 << 20]);
    assert_eq!(OpenCl::to_host(&second).unwrap().as_slice::<u8>().unwrap()[..4], [0; 4]);
    drop((second, sum));
    let freed = Library::of::<OpenCl>().release_cached_memory(Some(device)).unwrap();
    assert!(freed.unwrap() >= 8 << 20);
    assert_eq!(memory_use(device).unwrap().used, 0);
    // Large arrays go in parts.
    let values: Vec<u32> = (0..5_000_011).collect();
    let host = HostArray::from_vec(values, &[5_000_011]).unwrap();
    let back = OpenCl::to_host(&OpenCl::from_host(&host, device).unwrap()).unwrap();
    assert_eq!(back.as_slice::<u32>().unwrap(), host.as_slice::<u32>().unwrap());
}
