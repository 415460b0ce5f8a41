//! Large memory comes from the pool and returns to it. One test: the pool is the process's.

// Helpers of tests may panic where a library must not.
#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge_core::{
    DType, Device, Error, HOST, HostArray, host_pool, release_cached_memory_all,
};

const MIB: usize = 1 << 20;

#[test]
fn the_pool_keeps_reuses_and_releases() {
    host_pool::release_cached();
    assert_eq!((host_pool::cached_bytes(), host_pool::limit()), (0, 512 * MIB));

    // The next array of about the same size gets the same memory.
    let mut first = HostArray::scratch(DType::U8, &[8 * MIB]).unwrap();
    first.as_slice_mut::<u8>().unwrap().fill(7);
    let address = first.address();
    assert_eq!(address % (2 * MIB), 0, "large memory starts at a huge page");
    assert_eq!(host_pool::cached_bytes(), 0, "live memory is not cached");
    drop(first);
    assert_eq!(host_pool::cached_bytes(), 8 * MIB);
    let mut second = HostArray::zeros(DType::F32, &[2 * MIB - 5]).unwrap();
    assert_eq!(second.address(), address);
    assert_eq!(host_pool::cached_bytes(), 0);
    assert!(second.as_slice::<f32>().unwrap().iter().all(|value| value.to_bits() == 0));
    second.as_slice_mut::<f32>().unwrap().fill(3.0);
    drop(second);
    // Bools are 0 and 1 whatever the memory held.
    let bools = HostArray::scratch(DType::Bool, &[8 * MIB]).unwrap();
    assert_eq!(bools.address(), address);
    assert!(bools.as_slice::<bool>().is_ok());

    // Views keep the memory, threads may drop it.
    let part = bools.index_axis(0, 3).unwrap();
    drop(bools);
    assert_eq!(host_pool::cached_bytes(), 0);
    std::thread::spawn(move || drop(part)).join().unwrap();
    assert_eq!(host_pool::cached_bytes(), 8 * MIB);
    assert_eq!(host_pool::release_cached(), 8 * MIB);
    assert_eq!(host_pool::cached_bytes(), 0);

    // A release of all memory includes the pool, one of an accelerator's does not.
    for device in [None, Some(HOST)] {
        drop(HostArray::scratch(DType::U8, &[8 * MIB]).unwrap());
        let report = release_cached_memory_all(Some(Device::Accelerator(0)));
        assert_eq!((report.freed(), host_pool::cached_bytes()), (0, 8 * MIB));
        let report = release_cached_memory_all(device);
        assert_eq!(report.to_string(), format!("host: {} bytes", 8 * MIB));
        assert_eq!(host_pool::cached_bytes(), 0);
    }

    // The limit holds, and the oldest go first.
    host_pool::set_limit(10 * MIB);
    let arrays: Vec<HostArray> =
        (0..3).map(|_| HostArray::scratch(DType::U8, &[4 * MIB]).unwrap()).collect();
    let addresses: Vec<usize> = arrays.iter().map(HostArray::address).collect();
    arrays.into_iter().for_each(drop);
    assert_eq!(host_pool::cached_bytes(), 8 * MIB);
    let last = HostArray::scratch(DType::U8, &[4 * MIB]).unwrap();
    assert_eq!(last.address(), addresses[2], "the most recently used goes out first");
    drop(last);
    host_pool::set_limit(5 * MIB);
    assert_eq!(host_pool::cached_bytes(), 4 * MIB);
    drop(HostArray::scratch(DType::U8, &[6 * MIB]).unwrap());
    assert_eq!(host_pool::cached_bytes(), 4 * MIB, "larger than the limit: not kept");
    host_pool::set_limit(0);
    assert_eq!(host_pool::cached_bytes(), 0);
    drop(HostArray::scratch(DType::U8, &[6 * MIB]).unwrap());
    assert_eq!(host_pool::cached_bytes(), 0);
    host_pool::set_limit(512 * MIB);

    // Sizes that no machine has are errors, also right at the end of the address space.
    let end = isize::MAX as usize;
    for nbytes in [end, end - 1, end - 4 * MIB, end / 2, 1 << 50] {
        let error = HostArray::zeros(DType::U8, &[nbytes]).unwrap_err();
        assert!(
            matches!(&error, Error::OutOfMemory { requested: Some(found), .. } if *found == nbytes),
            "{error:?}"
        );
        assert!(HostArray::scratch(DType::U8, &[nbytes]).is_err());
    }
    assert!(HostArray::zeros(DType::U8, &[usize::MAX]).is_err());

    // Many threads at once each get memory of their own.
    std::thread::scope(|scope| {
        for mark in 0..8u8 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let mut mine = HostArray::scratch(DType::U8, &[MIB]).unwrap();
                    mine.as_slice_mut::<u8>().unwrap().fill(mark);
                    std::thread::yield_now();
                    assert!(mine.as_slice::<u8>().unwrap().iter().all(|byte| *byte == mark));
                }
            });
        }
    });
}
