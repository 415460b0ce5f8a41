//! Every test of this folder runs on a real plugin. Where there is none the test says so and passes,
//! except in CI, where it fails.

// Each test program uses its part of this.
#![allow(dead_code)]

use std::process::{Command, Output};

use arraybridge_core::ArrayLibrary;
use arraybridge_xla::Xla;

/// Names the case that a child process of a test is to run.
const CASE: &str = "ARRAYBRIDGE_XLA_TEST_CASE";

/// Returns whether there is a plugin to test with.
pub(crate) fn plugin() -> bool {
    let availability = Xla.availability();
    if availability.is_available() {
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs a PJRT plugin: {availability}");
    eprintln!("skipped: {availability}");
    false
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

/// Runs a test for each case in a process of its own, none of which may fail or die.
pub(crate) fn each_in_a_child(test: &str, cases: &[&str], variables: &[(&str, &str)]) {
    for case in cases {
        let child = child(test, case, variables);
        let errors = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "`{case}` ended with {}: {errors}", child.status);
        let results = String::from_utf8_lossy(&child.stdout);
        assert!(results.contains(" 1 passed"), "`{case}` did not run: {results}");
    }
}
