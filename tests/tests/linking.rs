//! Which libraries a program finds: built from crates that name the facade alone, and linked into a C
//! program. The programs are built in the profile that these tests are built in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

const RELEASE: bool = !cfg!(debug_assertions);

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Where the fixtures are built: where the workspace is, so that they share its dependencies.
fn target() -> &'static Path {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp)
}

/// Builds a fixture, with the versions that the workspace has locked.
fn cargo(arguments: &str) -> Output {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    if lock.exists() {
        std::fs::copy(lock, fixtures().join("Cargo.lock")).unwrap();
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("build").arg("--quiet").args(arguments.split(' '));
    if RELEASE {
        command.arg("--release");
    }
    command
        .current_dir(fixtures())
        .env("CARGO_TARGET_DIR", target())
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap()
}

fn build(arguments: &str) -> PathBuf {
    let output = cargo(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target().join(if RELEASE { "release" } else { "debug" })
}

fn run(program: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn registered(fixture: &str) -> Vec<String> {
    let folder = build(&format!("-p {fixture}"));
    run(&folder.join(fixture), &[])
}

#[test]
fn the_default_features_register_ndarray() {
    assert_eq!(registered("default"), ["ndarray"]);
}

#[test]
fn without_features_nothing_is_registered() {
    assert_eq!(registered("bare"), [""; 0]);
}

#[test]
fn the_older_ndarray_alone_registers_ndarray() {
    assert_eq!(registered("old-ndarray"), ["ndarray"]);
}

/// With or without a driver: registering loads nothing.
#[test]
fn opencl_alone_registers_opencl() {
    assert_eq!(registered("opencl"), ["opencl"]);
}

/// With or without a driver: registering loads nothing.
#[test]
fn cuda_alone_registers_cuda() {
    assert_eq!(registered("cuda"), ["cuda"]);
}

/// With or without its plugin: registering loads nothing.
#[test]
fn xla_alone_registers_xla() {
    assert_eq!(registered("xla"), ["xla"]);
}

#[test]
fn a_module_of_a_disabled_feature_is_named_by_the_compiler() {
    let output = cargo("-p bare --features misuse --bin missing-feature");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains("unresolved import `arraybridge::ndarray`"), "{errors}");
    assert!(errors.contains("feature = \"ndarray\""), "{errors}");
}

/// Why the facade denies `unused_crate_dependencies`: a backend that is only a dependency is not
/// linked, and nothing says so.
#[test]
fn a_backend_that_is_not_named_is_not_registered_unless_the_lint_is_on() {
    assert_eq!(registered("forgotten"), [""; 0]);
    let output = cargo("-p forgotten --features guarded");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains("extern crate `arraybridge_ndarray` is unused"), "{errors}");

    let facade = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/arraybridge/src/lib.rs");
    let facade = std::fs::read_to_string(facade).unwrap();
    assert!(facade.contains("deny(unused_crate_dependencies)"));
}

/// Builds the static library and links it into the C program, as a C build would: no LTO.
fn c_program(features: &str) -> Vec<String> {
    let folder = build(&format!("-p embedded{features}"));
    let program = folder.join(format!("embedded{}", features.replace([' ', '-'], "_")));
    let linked = Command::new("cc")
        .arg(fixtures().join("embedded/main.c"))
        .arg(folder.join("libembedded.a"))
        .args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-o"])
        .arg(&program)
        .output();
    let linked = linked.expect("a C compiler named `cc`");
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    run(&program, &["ndarray", "numpy", "torch"])
}

#[test]
#[cfg(target_os = "linux")]
fn a_c_program_finds_libraries_once_they_are_registered() {
    let explicit = c_program(" --features explicit");
    assert_eq!(explicit, ["1", "ndarray 1", "numpy 1", "torch 0"]);
    // What linking alone registers there is up to the linker; if it should ever be something,
    // `register_all` is no longer needed.
    let alone = c_program("");
    assert_eq!(alone, ["0", "ndarray 0", "numpy 0", "torch 0"]);
}
