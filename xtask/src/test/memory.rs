//! Tests under tools that watch memory: AddressSanitizer and valgrind.
//!
//! ThreadSanitizer is not among them: without a standard library built for it (`-Zbuild-std`, which
//! needs the component `rust-src`) it reports the `Arc`s of every test as races.

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
    let sanitized = |tests: &str| {
        let test = format!("+nightly test --target x86_64-unknown-linux-gnu {tests}");
        Task::cargo(&test)
            .env("RUSTFLAGS", "-Zsanitizer=address")
            // Tests ask for more memory than there is, and expect an error.
            .env("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1")
            .run()
    };
    let mut tally = sanitized("-p arraybridge-core -p arraybridge-ndarray --lib --tests")?;
    // Not those that build other programs.
    tally.add(sanitized("-p arraybridge-tests --test aliasing --test hostile")?);
    Ok(Outcome::Done(tally))
}

/// How a test program is run under valgrind.
pub(super) const VALGRIND: &str = "valgrind --quiet --error-exitcode=9 --leak-check=full \
                                   --show-leak-kinds=definite --errors-for-leak-kinds=definite";

/// Returns why nothing runs under valgrind here, if it does not.
pub(super) fn no_valgrind() -> Option<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("it is set up for x86_64 Linux alone".into());
    }
    let there = Task::new("valgrind").args(["--version"]).succeeds();
    (!there).then(|| "no valgrind; the package `valgrind` of the system brings it".into())
}

/// Runs the tests of the exchange paths under valgrind.
fn valgrind() -> anyhow::Result<Outcome> {
    if let Some(reason) = no_valgrind() {
        return Ok(Outcome::Skipped(reason));
    }
    let watched = |tests: &str| {
        let test = Task::cargo(&format!("test {tests}"));
        test.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", VALGRIND).run()
    };
    let mut tally = watched("-p arraybridge-core --lib -- dlpack host")?;
    tally.add(watched("-p arraybridge-tests --test aliasing")?);
    // Not the chains of views, which take minutes there and AddressSanitizer watches as well.
    tally.add(watched("-p arraybridge-tests --test hostile -- foreign panics libraries")?);
    Ok(Outcome::Done(tally))
}
