//! The conformance suite, on the stand-in. ndarray, OpenCL and XLA are linked to exchange with.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_cuda::Cuda;
use arraybridge_ndarray as _;
use arraybridge_opencl as _;
use arraybridge_xla as _;

arraybridge_testkit::conformance!(Cuda);

/// After all cases that ran before it, none of them may have broken a rule; each program of tests has
/// its own stand-in, and a violation is printed where it happens.
#[ctor::dtor]
fn nothing_was_violated() {
    if common::violations() > 0 {
        eprintln!("the conformance suite broke rules of the driver: {}", common::take_violation());
        std::process::abort();
    }
}
