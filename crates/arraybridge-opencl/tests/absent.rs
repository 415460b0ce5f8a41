//! Machines without OpenCL, or with a broken one: no devices, the reason, and never a panic. Each is
//! a process of its own, because devices are looked for once.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::PathBuf;

use arraybridge_core::ops::HostExchange;
use arraybridge_core::{
    ArrayLibrary, Availability, Device, Error, HostArray, is_out_of_memory, library, plan,
    release_cached_memory_all,
};
use arraybridge_opencl::{OpenCl, device_facts};

fn temporary(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What a program sees of a library that is not usable.
fn no_devices() {
    // None of these loads anything, or fails.
    assert_eq!(library("opencl").unwrap().name(), "opencl");
    plan("opencl", Device::Accelerator(0), "opencl", Device::Accelerator(1)).unwrap();
    assert!(!is_out_of_memory(&Error::already_taken("a test")));
    let _ = release_cached_memory_all(None);

    assert_eq!(OpenCl.devices().unwrap(), []);
    let reason = match OpenCl.availability() {
        Availability::Absent { remedy } => remedy,
        Availability::Broken { cause } => cause,
        other => panic!("{other}"),
    };
    println!("reason: {reason}");
    let host = HostArray::from_slice(&[1f32], &[1]).unwrap();
    let named = Device::named("cpu").unwrap();
    for error in [
        OpenCl::from_host(&host, named).unwrap_err(),
        device_facts(Device::Accelerator(0)).unwrap_err(),
        library("opencl").unwrap().current_device().unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(!text.is_empty() && !text.contains("panicked"), "{text}");
    }
}

/// Runs the case in a child and returns the reason that it prints.
fn reason(variables: &[(&str, &str)]) -> String {
    let child = common::child("without_devices", "no devices", variables);
    let output = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{output}{}", String::from_utf8_lossy(&child.stderr));
    let reason = output.lines().find_map(|line| line.strip_prefix("reason: "));
    reason.unwrap_or_else(|| panic!("no reason in {output}")).to_owned()
}

#[test]
fn without_devices() {
    if common::case().is_some() {
        return no_devices();
    }
    // No loader: what is found first under its name is no library.
    let empty = temporary("no-loader");
    std::fs::write(empty.join("libOpenCL.so.1"), "").unwrap();
    let seen = reason(&[("LD_LIBRARY_PATH", &empty.display().to_string())]);
    assert!(seen.contains("no OpenCL driver") && seen.contains("pocl-opencl-icd"), "{seen}");
    // A loader without a driver.
    let seen = reason(&[("OCL_ICD_VENDORS", "/nonexistent")]);
    assert!(seen.contains("no OpenCL driver"), "{seen}");
    // A driver that is registered and not there.
    let vendors = temporary("gone-driver");
    std::fs::write(vendors.join("gone.icd"), "/nonexistent/libgone.so\n").unwrap();
    let seen = reason(&[("OCL_ICD_VENDORS", &vendors.display().to_string())]);
    assert!(seen.contains("no OpenCL driver"), "{seen}");
}

#[test]
fn an_unwritable_cache_of_the_driver() {
    if common::device().is_none() {
        return;
    }
    let seen = {
        let child =
            common::child("without_devices", "no devices", &[("POCL_CACHE_DIR", "/proc/none")]);
        let output = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success(), "{output}{}", String::from_utf8_lossy(&child.stderr));
        output
    };
    assert!(seen.contains("POCL_CACHE_DIR"), "{seen}");
}

/// PoCL would end the process when a kernel first runs.
#[test]
fn a_driver_that_lacks_its_linker() {
    if common::device().is_none() {
        return;
    }
    let is_pocl = |device| device_facts(device).unwrap().platform.starts_with("Portable");
    if !OpenCl.devices().unwrap().into_iter().all(is_pocl) {
        eprintln!("skipped: PoCL is not the only driver");
        return;
    }
    let seen = reason(&[("PATH", "/nonexistent")]);
    assert!(seen.contains("`ld`") && seen.contains("binutils"), "{seen}");
}

/// A driver of one's own that answers nothing but errors, beside one that works.
#[test]
#[cfg(target_os = "linux")]
fn a_driver_that_fails_hides_no_other() {
    if let Some(case) = common::case() {
        assert_eq!(case, "beside a failing driver");
        println!("devices: {}", OpenCl.devices().unwrap().len());
        return;
    }
    if common::device().is_none() {
        return;
    }
    let count = OpenCl.devices().unwrap().len();
    let vendors = temporary("failing-driver");
    let library = vendors.join("libfailing.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/failing_driver.c");
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    assert!(built.expect("a C compiler named `cc`").success());
    std::fs::write(vendors.join("failing.icd"), format!("{}\n", library.display())).unwrap();
    let own = std::env::var_os("OCL_ICD_VENDORS").unwrap_or("/etc/OpenCL/vendors".into());
    for file in std::fs::read_dir(own).unwrap() {
        let file = file.unwrap().path();
        std::fs::copy(&file, vendors.join(file.file_name().unwrap())).unwrap();
    }
    let vendors = vendors.display().to_string();
    let test = "a_driver_that_fails_hides_no_other";
    let child = common::child(test, "beside a failing driver", &[("OCL_ICD_VENDORS", &vendors)]);
    let output = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{output}{}", String::from_utf8_lossy(&child.stderr));
    assert!(output.contains(&format!("devices: {count}\n")), "{output}");
}
