//! Tests under tools that watch memory: AddressSanitizer and valgrind.

use crate::step::{Outcome, Step};
use crate::task::Task;

pub(super) fn steps() -> Vec<Step> {
    vec![
        Step::new("AddressSanitizer", &["asan", "core", "ndarray"], address_sanitizer),
        Step::new("valgrind", &["valgrind"], valgrind),
    ]
}

/// Runs core's and ndarray's tests under AddressSanitizer and its leak detector. That takes a
/// nightly toolchain, which nobody is made to have.
fn address_sanitizer() -> anyhow::Result<Outcome> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Outcome::Skipped("it is set up for x86_64 Linux alone".into()));
    }
    let nightly = Task::cargo("+nightly --version").env("RUSTUP_AUTO_INSTALL", "0");
    if !nightly.succeeds() {
        return Ok(Outcome::Skipped(
            "no nightly toolchain; `rustup toolchain install nightly` brings one".into(),
        ));
    }
    // With `--target`, the flags leave build scripts and macros alone.
    let tests = Task::cargo(
        "+nightly test -p arraybridge-core -p arraybridge-ndarray --lib --tests \
         --target x86_64-unknown-linux-gnu",
    );
    tests.env("RUSTFLAGS", "-Zsanitizer=address").run().map(Outcome::Done)
}

/// Runs the tests of the exchange paths under valgrind.
fn valgrind() -> anyhow::Result<Outcome> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Outcome::Skipped("it is set up for x86_64 Linux alone".into()));
    }
    if !Task::new("valgrind").args(["--version"]).succeeds() {
        return Ok(Outcome::Skipped(
            "no valgrind; the package `valgrind` of the system brings it".into(),
        ));
    }
    let runner =
        "valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite";
    Task::cargo("test -p arraybridge-core --lib -- dlpack host")
        .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner)
        .run()
        .map(Outcome::Done)
}
