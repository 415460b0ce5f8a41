//! Faults planted on purpose, so that the stand-in's silence elsewhere means something. What is planted
//! goes past this crate, by the driver's own calls.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::{HostArray, ops::HostExchange};
use arraybridge_cuda::cudarc::driver::sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
use arraybridge_cuda::cudarc::driver::{CudaContext, CudaStream, result};
use arraybridge_cuda::{Cuda, Grid, Program};
use common::{GPU, alone, take_violation};
use std::sync::Arc;

/// PTX that names a kernel of the stand-in's own.
const DOUBLE: &str = ".version 6.0\n.target sm_50\n.address_size 64\n\
    .visible .entry double_f32(.param .u64 double_f32_param_0, .param .u64 double_f32_param_1) {}";

fn streams() -> (Arc<CudaStream>, Arc<CudaStream>) {
    let context = CudaContext::new(0).unwrap();
    (context.new_stream().unwrap(), context.new_stream().unwrap())
}

fn allocate(stream: &CudaStream) -> u64 {
    // SAFETY: the stream is alive; what becomes of the memory is what is tested.
    unsafe { result::malloc_async(stream.cu_stream(), 1024) }.unwrap()
}

fn fill(stream: &CudaStream, address: u64, count: usize) {
    // SAFETY: the stand-in checks the memory, which is what is tested.
    let _ = unsafe { result::memset_d8_async(address, 7, count, stream.cu_stream()) };
}

fn free(stream: &CudaStream, address: u64) {
    // SAFETY: as above.
    let _ = unsafe { result::free_async(address, stream.cu_stream()) };
}

fn copy(stream: &CudaStream, to: u64, from: u64) {
    // SAFETY: as above.
    let _ = unsafe { result::memcpy_dtod_async(to, from, 1024, stream.cu_stream()) };
}

#[track_caller]
fn caught(what: &str) {
    let violation = take_violation();
    assert!(violation.contains(what), "`{violation}` does not say `{what}`");
}

#[test]
fn a_use_after_a_free_is_caught() {
    alone(|| {
        let (stream, _) = streams();
        let address = allocate(&stream);
        free(&stream, address);
        stream.synchronize().unwrap();
        fill(&stream, address, 1024);
        stream.synchronize().unwrap();
        caught("not all live memory");
        // Also where the free is only queued when the use is.
        let address = allocate(&stream);
        common::delay(2000);
        free(&stream, address);
        fill(&stream, address, 1024);
        stream.synchronize().unwrap();
        caught("which was freed");
    });
}

#[test]
fn a_second_free_is_caught() {
    alone(|| {
        let (stream, _) = streams();
        let address = allocate(&stream);
        free(&stream, address);
        stream.synchronize().unwrap();
        free(&stream, address);
        caught("is freed, and is not the start of live memory");
    });
}

#[test]
fn an_access_out_of_bounds_is_caught() {
    alone(|| {
        let (stream, _) = streams();
        let address = allocate(&stream);
        fill(&stream, address, 1025);
        caught("1025 bytes");
        free(&stream, address);
        stream.synchronize().unwrap();
    });
}

#[test]
fn a_kernel_out_of_bounds_is_caught() {
    alone(|| {
        let kernel = Program::from_ptx(GPU, DOUBLE).unwrap().kernel("double_f32").unwrap();
        let host = HostArray::from_slice(&[1f32; 128], &[128]).unwrap();
        let mut array = Cuda::from_host(&host, GPU).unwrap();
        for (count, wrong) in [(128u64, false), (129, true)] {
            let mut launch = kernel.launch(Grid::for_count(1));
            launch.writes(&mut array).unwrap().value(count);
            // SAFETY: the kernel takes a pointer and a count; 129 is what is tested.
            unsafe { launch.run() }.unwrap();
            array.wait().unwrap();
            if wrong {
                caught("a kernel writes 4 bytes at 0x4");
            } else {
                assert_eq!(common::violations(), 0);
            }
        }
    });
}

#[test]
fn a_missing_wait_is_caught() {
    alone(|| {
        let (writes, reads) = streams();
        let (source, target) = (allocate(&writes), allocate(&reads));
        common::delay(1000);
        // A read that does not wait for the write, whichever happens to run first.
        fill(&writes, source, 1024);
        copy(&reads, target, source);
        writes.synchronize().unwrap();
        reads.synchronize().unwrap();
        caught("without waiting for it");
        // A write that does not wait for a read.
        fill(&writes, source, 1024);
        writes.synchronize().unwrap();
        copy(&reads, target, source);
        fill(&writes, source, 1024);
        writes.synchronize().unwrap();
        reads.synchronize().unwrap();
        caught("without waiting for it");
        // A free that does not wait for a read.
        copy(&reads, target, source);
        free(&writes, source);
        writes.synchronize().unwrap();
        reads.synchronize().unwrap();
        assert_ne!(take_violation(), "");
        // With the wait, nothing is to be said.
        let source = allocate(&writes);
        fill(&writes, source, 1024);
        reads.join(&writes).unwrap();
        copy(&reads, target, source);
        writes.join(&reads).unwrap();
        free(&writes, source);
        free(&reads, target);
        writes.synchronize().unwrap();
        reads.synchronize().unwrap();
        assert_eq!(take_violation(), "");
    });
}

#[test]
fn memory_of_another_device_is_caught() {
    alone(|| {
        let (stream, _) = streams();
        let other = CudaContext::new(1).unwrap().new_stream().unwrap();
        other.context().bind_to_thread().unwrap();
        let address = allocate(&other);
        stream.context().bind_to_thread().unwrap();
        fill(&stream, address, 1024);
        stream.synchronize().unwrap();
        caught("on device 0 writes memory of device 1");
        free(&other, address);
        other.synchronize().unwrap();
        take_violation();
    });
}

#[test]
fn handles_of_another_device_are_caught() {
    alone(|| {
        let (stream, _) = streams();
        let other = CudaContext::new(1).unwrap();
        let event = other.new_event(None).unwrap();
        // SAFETY: both are alive; that they do not fit is what is tested.
        assert!(unsafe { result::event::record(event.cu_event(), stream.cu_stream()) }.is_err());
        caught("an event of device 1 on a stream of device 0");
        // Without any context there is none that an event could be of.
        std::thread::scope(|scope| {
            let made = scope.spawn(|| result::event::create(CU_EVENT_DISABLE_TIMING).is_err());
            assert!(made.join().unwrap());
        });
    });
}
