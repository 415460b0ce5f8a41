//! Compiled programs: in memory, and in a folder for later processes.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use arraybridge_core::HostArray;
use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_opencl::{OpenCl, set_program_folder};

/// One program is compiled or loaded, and right.
fn run() {
    let device = common::device().unwrap();
    let host = HostArray::from_slice(&[1i16, -3, 2], &[3]).unwrap();
    let array = OpenCl::from_host(&host, device).unwrap();
    let started = Instant::now();
    let largest = OpenCl::to_host(&OpenCl::max(&array, 0).unwrap()).unwrap();
    let first = started.elapsed();
    assert_eq!(largest.as_slice::<i16>().unwrap(), [2]);
    let started = Instant::now();
    OpenCl::max(&array, 0).unwrap().wait().unwrap();
    assert!(started.elapsed() < first, "the second call compiles nothing");
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

const TEST: &str = "programs_in_a_folder";

#[test]
fn programs_in_a_folder() {
    if common::case().is_some() {
        return run();
    }
    if common::device().is_none() {
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("opencl-programs");
    let _ = fs::remove_dir_all(&folder);
    let variables = [("ARRAYBRIDGE_OPENCL_PROGRAMS", folder.to_str().unwrap())];
    common::in_a_child(TEST, "compiles", &variables);
    let written = files(&folder);
    assert_eq!(written.len(), 1);
    let (path, whole) = &written[0];
    assert_eq!(path.extension().unwrap(), "bin");

    // Found again, the file stays as it is.
    let before = fs::metadata(path).unwrap().modified().unwrap();
    common::in_a_child(TEST, "loads", &variables);
    assert_eq!(fs::metadata(path).unwrap().modified().unwrap(), before);
    // One that is cut off, changed or of something else is compiled anew.
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    for broken in [&whole[..whole.len() / 2], &changed, b"something else"] {
        fs::write(path, broken).unwrap();
        common::in_a_child(TEST, "compiles", &variables);
        assert_ne!(fs::read(path).unwrap(), broken);
        assert_eq!(files(&folder).len(), 1);
    }
    // A folder that cannot be is as none.
    common::in_a_child(TEST, "compiles", &[("ARRAYBRIDGE_OPENCL_PROGRAMS", "/proc/none")]);
    // And nothing is written unless it is asked for.
    let _ = fs::remove_dir_all(&folder);
    common::in_a_child(TEST, "compiles", &[]);
    assert!(files(&folder).is_empty());
}

#[test]
fn the_folder_can_be_set_and_unset() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("opencl-programs-set");
    let Some(device) = common::device() else { return };
    let _ = fs::remove_dir_all(&folder);
    let host = HostArray::from_slice(&[1u16, 7, 2], &[3]).unwrap();
    let array = OpenCl::from_host(&host, device).unwrap();
    set_program_folder(Some(folder.clone()));
    OpenCl::min(&array, 0).unwrap();
    assert_eq!(files(&folder).len(), 1);
    set_program_folder(None);
    OpenCl::max(&array, 0).unwrap();
    assert_eq!(files(&folder).len(), 1);
}
