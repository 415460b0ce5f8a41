//! Threads: each has a stream of its own in array functions, and what they share stays in order.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::HashSet;
use std::sync::{Arc, Barrier, Mutex};

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{ArrayFunction, DType, Error, OutputDtype};
use arraybridge_cuda::cudarc::driver::CudaContext;
use arraybridge_cuda::{Cuda, CudaArray, current_stream, failed_releases, use_stream};
use common::{GPU, eventually, live, ramp, values};

#[test]
fn array_functions_run_on_a_stream_of_each_threads_own() {
    let seen = Mutex::new(HashSet::new());
    let name = || current_stream(GPU).unwrap().cu_stream() as usize;
    let function = ArrayFunction::<Cuda, _>::new("streams", |array: &CudaArray| {
        let first = name();
        assert_eq!(array.shape(), [100]);
        seen.lock().unwrap().insert(first);
        Cuda::astype(array, DType::F32)
    })
    .output_dtype(OutputDtype::Native);
    let array = Cuda::from_host(&ramp(100), GPU).unwrap();
    let outside = name();
    function.call(&array).unwrap();
    function.call(&array).unwrap();
    assert_eq!(seen.lock().unwrap().len(), 1, "one stream per thread, made once");
    let barrier = Barrier::new(3);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                function.call(&array).unwrap();
                barrier.wait();
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), 4);
    assert!(!seen.contains(&outside));
    assert_eq!(name(), outside, "the scope ended");
}

#[test]
fn a_stream_of_the_callers_own_is_used_until_its_guard_goes() {
    let context = arraybridge_cuda::cudarc::driver::CudaContext::new(0).unwrap();
    let (one, two) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let first = use_stream(&one).unwrap();
    let array = Cuda::from_host(&ramp(10), GPU).unwrap();
    assert_eq!(array.stream(), one);
    let second = use_stream(&two).unwrap();
    // Guards may go in any order.
    drop(first);
    let sum = Cuda::sum(&array, 0).unwrap();
    assert_eq!(sum.stream(), two);
    drop(second);
    assert_ne!(current_stream(GPU).unwrap(), two);
    assert_eq!(values(&sum), [45.0]);
}

#[test]
fn a_stream_that_is_another_one_on_each_thread_is_refused() {
    let context = CudaContext::new(0).unwrap();
    let error = use_stream(&context.per_thread_stream()).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
}

#[test]
fn eight_threads_share_arrays_and_leave_nothing_behind() {
    let before = (live(0), live(1), failed_releases());
    let shared = Cuda::from_host(&ramp(5000), GPU).unwrap();
    let exact: f32 = (0..5000).map(|value| value as f32).sum();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let shared = &shared;
            scope.spawn(move || -> Result<(), Error> {
                let scope = arraybridge_core::Library::of::<Cuda>();
                let _own = scope.device_scope(GPU)?;
                let context = Arc::clone(shared.stream().context());
                let own = context.new_stream().unwrap();
                let _stream = use_stream(&own)?;
                for round in 0..30 {
                    let mine = Cuda::astype(shared, DType::F64)?;
                    let sum = Cuda::sum(shared, 0)?;
                    assert!((values(&sum)[0] - exact).abs() < 1.0);
                    let zero = Cuda::from_host(
                        &arraybridge_core::HostArray::zeros(DType::F64, &[]).unwrap(),
                        GPU,
                    )?;
                    // In place: the array is this thread's alone.
                    let address = mine.address();
                    let mine = Cuda::assign(mine, 0..(round + 1), &zero).map_err(Error::from)?;
                    assert_eq!(mine.address(), address, "thread {thread}");
                    let read = Cuda::to_host(&mine)?;
                    assert_eq!(read.as_slice::<f64>()?[round as usize + 1], (round + 1) as f64);
                    drop((sum, mine));
                }
                Ok(())
            });
        }
    });
    assert_eq!(values(&shared)[4999], 4999.0);
    drop(shared);
    eventually("the release", || live(0) <= before.0 + 2);
    assert_eq!(failed_releases(), before.2);
    assert_eq!(common::take_violation(), "");
}
