//! Work that fails on the device: whoever reads what it was to make is told.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::PathBuf;
use std::process::Command;

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{AnyArray, ArrayLibrary, Convert, DType, HOST, HostArray};
use arraybridge_ndarray::Ndarray;
use arraybridge_opencl::{OpenCl, device_facts};

#[test]
fn whoever_reads_is_told_of_a_kernel_that_failed() {
    let test = "whoever_reads_is_told_of_a_kernel_that_failed";
    if let Some(case) = common::case() {
        assert_eq!(case, "failing kernels");
        return kernels_fail();
    }
    let Some(device) = common::device() else { return };
    if !device_facts(device).unwrap().platform.contains("PoCL 3") {
        eprintln!("skipped: kernels are made to fail in PoCL 3");
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("failing-kernels");
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libfailing.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/failing_kernels.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&*library, source.as_ref()])
        .arg("-ldl")
        .status();
    assert!(built.expect("a C compiler named `cc`").success());
    std::fs::write(folder.join("failing.icd"), format!("{}\n", library.display())).unwrap();
    let vendors = folder.display().to_string();
    for without in ["", "unified"] {
        let variables = [("OCL_ICD_VENDORS", &*vendors), ("ARRAYBRIDGE_OPENCL_WITHOUT", without)];
        common::in_a_child(test, "failing kernels", &variables);
    }
}

fn kernels_fail() {
    let device = OpenCl.devices().unwrap()[0];
    let host = HostArray::from_slice(&[1.0f32; 1000], &[1000]).unwrap();
    let one = OpenCl::from_host(&host, device).unwrap();
    let cast = OpenCl::astype(&one, DType::I16).unwrap();
    assert!(cast.wait().is_err());
    for _ in 0..2 {
        assert!(OpenCl::to_host(&cast).is_err());
        assert!(AnyArray::of::<OpenCl>(cast.clone()).host_view().is_err());
        // Also of what is made of it.
        assert!(OpenCl::sum(&cast, 0).is_err());
        assert!(OpenCl::stack(&[&cast, &cast]).is_err());
    }
    let part = OpenCl::astype(&one, DType::I16).unwrap();
    let whole = OpenCl::from_host(&HostArray::from_slice(&[1i16], &[1]).unwrap(), device).unwrap();
    let cast = OpenCl::assign(cast, 0..1, &whole).unwrap_err().into_array().unwrap();
    let error = cast.convert_to::<Ndarray>(HOST).unwrap_err();
    assert!(error.into_array().is_some());
    // Its memory serves others afterwards.
    drop(part);
    let copies = OpenCl::stack(&[&one, &one]).unwrap();
    assert_eq!(OpenCl::to_host(&copies).unwrap().as_slice::<f32>().unwrap(), [1.0; 2000]);
}
