//! Exchange with the other native backends that build without an SDK, on the stand-in: every layout and
//! dtype there and back. A runtime that is missing is said, and fails in CI.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::{
    AnyArray, ArrayLibrary, Convert, Device, Error, HOST, HostArray, Library, Mechanism,
};
use arraybridge_cuda::{Cuda, CudaArray};
use arraybridge_opencl::OpenCl;
use arraybridge_testkit::{bits, dtypes, samples, watch};
use arraybridge_xla::{Xla, XlaArray};
use common::{GPU, OTHER, ramp, values};

/// Returns the devices of a library, or says why there are none.
fn devices<L: ArrayLibrary>() -> Vec<Device> {
    let availability = L::INSTANCE.availability();
    if availability.is_available() {
        return L::INSTANCE.devices().unwrap();
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs {}: {availability}", L::NAME);
    eprintln!("skipped: {} is {availability}", L::NAME);
    Vec::new()
}

/// Takes every sample to a library and back, by name as a program would.
fn there_and_back<L: ArrayLibrary>() {
    for place in devices::<L>() {
        for dtype in dtypes() {
            for sample in samples(dtype) {
                let context = format!("{} by {} on {place}", sample.name(), L::NAME);
                let host = sample.make().unwrap().0;
                let array = AnyArray::from_host(&host, Library::of::<Cuda>(), GPU).unwrap();
                let there = match array.convert_by_name(L::NAME, place) {
                    Ok(there) => there,
                    Err(error) => {
                        let refused = matches!(error.error(), Error::DtypeUnsupported { .. });
                        assert!(refused, "{context}: {error}");
                        let back = error.into_array().unwrap().to_host().unwrap();
                        assert_eq!(bits(&back), sample.bits().unwrap(), "{context}");
                        continue;
                    }
                };
                assert_eq!(there.device().unwrap(), place);
                let back = there.convert_by_name("cupy", OTHER).unwrap();
                assert_eq!(back.device().unwrap(), OTHER);
                let read = back.to_host().unwrap();
                assert_eq!(bits(&read), sample.bits().unwrap(), "{context}");
            }
        }
    }
    assert_eq!(common::take_violation(), "");
}

#[test]
fn with_xla_every_bit_is_kept() {
    there_and_back::<Xla>();
}

#[test]
fn with_opencl_every_bit_is_kept() {
    there_and_back::<OpenCl>();
}

#[test]
fn xla_without_the_gpu_declines_dlpack_and_copies() {
    if !devices::<Xla>().contains(&HOST) {
        return;
    }
    let array: CudaArray = Cuda.upload(&ramp(100), GPU).unwrap();
    let (there, records) = watch(|| array.convert_to::<Xla>(HOST));
    let there: XlaArray = there.unwrap();
    let has_gpu =
        Xla.devices().unwrap().iter().any(|known| matches!(known, Device::Accelerator(_)));
    if !has_gpu {
        // Planned by DLPack; the memory's device is none of XLA's here.
        assert_eq!(records[0].mechanism, Mechanism::HostCopy);
        assert_eq!(records[0].declined[0].0, Mechanism::Dlpack);
        assert!(records[0].copied);
    }
    let back: CudaArray = there.convert_to::<Cuda>(GPU).unwrap();
    assert_eq!(values(&back), ramp(100).as_slice::<f32>().unwrap());
    let empty = HostArray::from_slice::<f32>(&[], &[0, 3]).unwrap();
    let empty: XlaArray = Cuda.upload(&empty, GPU).unwrap().convert_to::<Xla>(HOST).unwrap();
    assert_eq!(empty.shape(), [0, 3]);
}
