//! The program itself, on a machine with or without a GPU.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn gpu_check(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpu-check")).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn checking_nothing_is_no_success() {
    let output = gpu_check(&["--only", "no check has this name"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("nothing was checked"), "{}", text(&output));
}

#[test]
fn it_tells_what_it_saw_on_whatever_device_there_is() {
    let file = std::env::temp_dir().join(format!("gpu-check-{}.json", std::process::id()));
    let json = file.to_str().unwrap();
    let output =
        gpu_check(&["--on-any-device", "--only", "large array there and back", "--json", json]);
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    // Without its runtime a backend has no device at all.
    let (code, results) = (output.status.code(), written.matches("\"passed\": true").count());
    match results {
        0 => assert_eq!((code, written.trim()), (Some(2), "[]"), "{}", text(&output)),
        _ => assert_eq!(code, Some(0), "{}", text(&output)),
    }
}
