//! Every test of this folder runs on a real driver. Where there is none the test says so and passes,
//! except in CI, where it fails.

// Each test program uses its part of this.
#![allow(dead_code)]

use std::process::{Command, Output};

use arraybridge_core::{ArrayLibrary, Device};
use arraybridge_opencl::{OpenCl, device_facts};

/// Names the case that a child process of a test is to run.
const CASE: &str = "ARRAYBRIDGE_OPENCL_TEST_CASE";

/// Returns the device to test on, if there is one.
pub(crate) fn device() -> Option<Device> {
    let availability = OpenCl.availability();
    if availability.is_available() {
        return OpenCl.devices().unwrap().first().copied();
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs an OpenCL driver: {availability}");
    eprintln!("skipped: {availability}");
    None
}

/// Returns the device to test on, if there is one and it works in the host's memory.
pub(crate) fn unified_device() -> Option<Device> {
    let device = device()?;
    let unified = device_facts(device).unwrap().unified_memory;
    if !unified {
        eprintln!("skipped: {device} has memory of its own");
    }
    unified.then_some(device)
}

/// Returns the case that this process was started for, if it is a child of a test.
pub(crate) fn case() -> Option<String> {
    std::env::var(CASE).ok()
}

/// Runs one test of this program in a process of its own, with a case and variables.
pub(crate) fn child(test: &str, case: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(CASE, case)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// Runs a test for a case in a process of its own, which may neither fail nor die.
pub(crate) fn in_a_child(test: &str, case: &str, variables: &[(&str, &str)]) {
    let child = child(test, case, variables);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "`{case}` ended with {}: {errors}", child.status);
    let results = String::from_utf8_lossy(&child.stdout);
    assert!(results.contains(" 1 passed"), "`{case}` did not run: {results}");
}
