//! Machines without a driver, with an old one, without a GPU, with a broken one: no devices, the reason
//! in words, and never a panic. The driver is loaded once per process, so each case has its own.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Math};
use arraybridge_core::{ArrayLibrary, Availability, DType, Device, Error, HostArray, Library};
use arraybridge_cuda::{Cuda, CudaError, Program, current_stream, pinned};
use common::GPU;

/// A machine that has no device for the library.
struct Machine {
    name: &'static str,
    /// What makes the stand-in be so.
    settings: &'static [(&'static str, &'static str)],
    /// What the reason must say.
    reason: &'static str,
}

const fn machine(
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    reason: &'static str,
) -> Machine {
    Machine { name, settings, reason }
}

const MACHINES: &[Machine] = &[
    machine("no driver", &[("DRIVER", "none")], "no NVIDIA driver was found"),
    machine("no GPU", &[("DEVICES", "0")], "finds no GPU"),
    machine("an old driver", &[("VERSION", "10020")], "too old: it is for CUDA 10.2"),
    machine("a driver that fails", &[("INIT", "803")], "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    machine("a driver of unknown codes", &[("INIT", "4242")], "CUDA error 4242"),
];

#[test]
fn without_a_device() {
    if let Some(case) = common::case() {
        let machine = MACHINES.iter().find(|machine| machine.name == case).unwrap();
        return nothing_is_there(machine.reason, &case);
    }
    for machine in MACHINES {
        if machine.name == "no driver" && has_real_driver() {
            eprintln!("skipped: this machine has a driver");
            continue;
        }
        common::in_a_child("without_a_device", machine.name, machine.settings);
    }
}

fn has_real_driver() -> bool {
    ["libcuda.so.1", "libcuda.so"].iter().any(|name| {
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/aarch64-linux-gnu"]
            .iter()
            .any(|folder| std::path::Path::new(folder).join(name).exists())
    })
}

fn nothing_is_there(reason: &str, case: &str) {
    let library = Library::of::<Cuda>();
    // What needs no device does not ask for one.
    assert_eq!(library.release_cached_memory(None).unwrap(), Some(0));
    let broken = Error::foreign("cuda", "a test", CudaError::from_code(2));
    assert!(library.is_out_of_memory(&broken));

    let availability = Cuda.availability();
    assert!(availability.to_string().contains(reason), "{availability}");
    let is_absent = matches!(availability, Availability::Absent { .. });
    assert_eq!(is_absent, case.starts_with("no "), "{availability}");
    match Cuda.devices() {
        Ok(devices) => assert_eq!(devices, []),
        Err(error) => {
            assert!(matches!(error, Error::LibraryUnavailable { .. }), "{error}");
            assert!(case.starts_with("a driver"), "{case}: {error}");
        }
    }
    let host = HostArray::zeros(DType::U8, &[3]).unwrap();
    let errors = [
        Cuda.upload(&host, GPU).map(drop).unwrap_err(),
        Cuda::ones(&[2], DType::F32).map(drop).unwrap_err(),
        Cuda::floor(2.5).map(drop).unwrap_err(),
        library.current_device().map(drop).unwrap_err(),
        library.device_scope(GPU).map(drop).unwrap_err(),
        library.activate(GPU).unwrap_err(),
        current_stream(GPU).map(drop).unwrap_err(),
        pinned(DType::U8, &[3], GPU).map(drop).unwrap_err(),
        Program::from_ptx(GPU, "").map(drop).unwrap_err(),
    ];
    for error in errors {
        match &error {
            // What asks for a device by name is told that there is none.
            Error::DeviceUnavailable { available, .. } => assert_eq!(available, &[]),
            Error::LibraryUnavailable { cause, .. } => assert!(cause.contains(reason), "{cause}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_device_that_is_not_there_is_named_with_those_that_are() {
    let error = Cuda::from_host(&common::ramp(1), Device::Accelerator(2)).unwrap_err();
    let text = "cuda has no device `accelerator:2`; it has `accelerator:0`, `accelerator:1`";
    assert_eq!(error.to_string(), text);
}
