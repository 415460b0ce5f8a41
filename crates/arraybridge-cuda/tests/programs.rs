//! Kernels of a program's own. The stand-in has one by the name `double_f32`.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::Error;
use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_cuda::{Cuda, Grid, Program, failed_releases};
use common::{GPU, OTHER, ramp, values};

const PTX: &str = ".version 6.0\n.target sm_50\n.address_size 64\n\
    .visible .entry double_f32(.param .u64 double_f32_param_0, .param .u64 double_f32_param_1) {}\n\
    .visible .entry unknown(.param .u64 unknown_param_0) {}";

#[test]
fn a_kernel_runs_in_the_order_of_its_arrays() {
    common::alone(|| {
        let kernel = Program::from_ptx(GPU, PTX).unwrap().kernel("double_f32").unwrap();
        let stream = arraybridge_cuda::current_stream(GPU).unwrap().context().new_stream().unwrap();
        let mut array = Cuda::from_host(&ramp(100), GPU).unwrap();
        common::delay(1000);
        for _ in 0..2 {
            // On another stream than the one before each time.
            let _scope = arraybridge_cuda::use_stream(&stream).unwrap();
            let mut launch = kernel.launch(Grid::for_count(100));
            launch.writes(&mut array).unwrap().value(100u64);
            // SAFETY: a pointer to floats and their number.
            unsafe { launch.run() }.unwrap();
            assert_eq!(array.stream(), stream);
            drop(_scope);
            let total = Cuda::sum(&array, 0).unwrap();
            drop(total);
        }
        assert_eq!(values(&array)[99], 396.0);
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn a_program_is_unloaded_after_its_kernels() {
    let test = "a_program_is_unloaded_after_its_kernels";
    // Other tests unload programs of theirs.
    if common::case().is_none() {
        return common::in_a_child(test, "alone", &[]);
    }
    let mut array = Cuda::from_host(&ramp(10), GPU).unwrap();
    common::delay(100_000);
    {
        let kernel = Program::from_ptx(GPU, PTX).unwrap().kernel("double_f32").unwrap();
        let mut launch = kernel.launch(Grid::for_count(10));
        launch.writes(&mut array).unwrap().value(10u64);
        // SAFETY: a pointer to floats and their number.
        unsafe { launch.run() }.unwrap();
    }
    assert_eq!(common::calls("cuModuleUnload"), 0, "while the kernel is queued");
    common::delay(0);
    assert_eq!(values(&array)[9], 18.0);
    common::eventually("unloading", || common::calls("cuModuleUnload") == 1);
    assert_eq!(failed_releases(), 0);
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let kernel = Program::from_ptx(GPU, PTX).unwrap().kernel("double_f32").unwrap();
    let mut array = Cuda::from_host(&ramp(10), GPU).unwrap();
    let other = array.clone();
    let mut launch = kernel.launch(Grid::for_count(10));
    let error = launch.writes(&mut array).map(drop).unwrap_err();
    assert!(matches!(error, Error::Shared { .. }), "{error}");
    drop(launch);
    drop(other);
    assert!(kernel.launch(Grid::for_count(10)).writes(&mut array).is_ok());
    let elsewhere = Cuda::from_host(&ramp(10), OTHER).unwrap();
    let mut launch = kernel.launch(Grid::for_count(10));
    let error = launch.reads(&elsewhere).map(drop).unwrap_err().to_string();
    assert!(error.contains("`accelerator:0`") && error.contains("`accelerator:1`"), "{error}");
}

#[test]
fn text_and_names_that_are_wrong_are_refused() {
    for text in ["nonsense", "a zero\0byte"] {
        assert!(Program::from_ptx(GPU, text).is_err(), "{text}");
    }
    let program = Program::from_ptx(GPU, PTX).unwrap();
    for name in ["missing", "a zero\0byte"] {
        let error = program.kernel(name).map(drop).unwrap_err().to_string();
        assert!(error.contains("has no kernel"), "{error}");
    }
    let launch = program.kernel("unknown").unwrap();
    let launch = launch.launch(Grid { blocks: [0, 1, 1], threads: [1, 1, 1], shared_bytes: 0 });
    // SAFETY: a grid without blocks runs nothing.
    let error = unsafe { launch.run() }.unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
}

#[test]
fn source_needs_the_compilers_library() {
    let source = "extern \"C\" __global__ void nothing() {}";
    match Program::from_source(GPU, source) {
        Err(Error::LibraryUnavailable { cause, .. }) => assert!(cause.contains("libnvrtc")),
        // Where it is installed, it compiles, and says what it does not understand.
        Ok(program) => {
            program.kernel("nothing").unwrap();
            let error = Program::from_source(GPU, "nonsense").map(drop).unwrap_err();
            assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
        }
        Err(error) => panic!("{error}"),
    }
}
