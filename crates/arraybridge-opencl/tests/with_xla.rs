//! Arrays between OpenCL on a CPU and XLA, both of which work in main memory.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{
    AnyArray, ArrayLibrary, Convert, DType, Device, HOST, HostArray, Library, Mechanism,
    stack_slices,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_opencl::{ClArray, OpenCl};
use arraybridge_testkit::{Sample, bits, samples, watch};
use arraybridge_xla::{Xla, XlaArray};

/// Returns the OpenCL device, if XLA is there too.
fn both() -> Option<Device> {
    let device = common::unified_device()?;
    let xla = Xla.availability();
    if !xla.is_available() {
        assert!(std::env::var_os("CI").is_none(), "CI needs a PJRT plugin: {xla}");
        eprintln!("skipped: xla is {xla}");
        return None;
    }
    Some(device)
}

fn address_of(array: &AnyArray) -> usize {
    array.describe().unwrap().address
}

#[test]
fn aligned_memory_goes_around_without_a_copy() {
    let Some(device) = both() else { return };
    // Core's own memory is aligned as XLA wants it.
    let host = HostArray::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let before = host.address();
    let array: ClArray = NdArray::from_host(host).convert_to::<OpenCl>(device).unwrap();
    let array =
        OpenCl::assign(array, 0..1, &OpenCl::from_host(&ramp(&[2]), device).unwrap()).unwrap();
    let (there, records) = watch(|| array.convert_to::<Xla>(HOST).unwrap());
    let there: XlaArray = there;
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::SharedHostBuffer, false));
    assert_eq!(Xla.describe(&there).unwrap().address, before);
    // XLA never writes, so what comes back is read-only to OpenCL, which copies before it writes.
    let (back, records) = watch(|| there.clone().convert_to::<OpenCl>(device).unwrap());
    let back: ClArray = back;
    assert_eq!((OpenCl.describe(&back).unwrap().address, records[0].copied), (before, false));
    let back = OpenCl::assign(back, .., &OpenCl::from_host(&ramp(&[]), device).unwrap()).unwrap();
    assert_eq!(OpenCl::to_host(&back).unwrap().as_slice::<f32>().unwrap(), [0.0; 4]);
    assert_eq!(Xla::to_host(&there).unwrap().as_slice::<f32>().unwrap(), [0.0, 1.0, 3.0, 4.0]);
}

fn ramp(shape: &[usize]) -> HostArray {
    let count: usize = shape.iter().product();
    HostArray::from_vec((0..count).map(|value| value as f32).collect(), shape).unwrap()
}

#[test]
fn every_layout_crosses_both_ways() {
    let Some(device) = both() else { return };
    for dtype in [DType::Bool, DType::U16, DType::F32, DType::Complex128] {
        for sample in samples(dtype) {
            let Sample { layout, .. } = sample;
            let array = OpenCl::from_host(&sample.make().unwrap().0, device).unwrap();
            let there = array.convert_to::<Xla>(HOST).unwrap();
            let back: ClArray = there.convert_to::<OpenCl>(device).unwrap();
            let read = OpenCl::to_host(&back).unwrap();
            assert_eq!(bits(&read), sample.bits().unwrap(), "{} {dtype}", layout.name);
        }
    }
}

#[test]
fn planes_of_three_libraries_stack_into_one() {
    let Some(device) = both() else { return };
    let plane = |value: f32| HostArray::from_slice(&[value; 6], &[2, 3]).unwrap();
    let planes = vec![
        AnyArray::of::<Ndarray>(NdArray::from_host(plane(1.0))),
        AnyArray::of::<Xla>(Xla::from_host(&plane(2.0), HOST).unwrap()),
        AnyArray::of::<OpenCl>(OpenCl::from_host(&plane(3.0), device).unwrap()),
    ];
    let stack = stack_slices(planes, Library::of::<OpenCl>(), device).unwrap();
    assert_ne!(address_of(&stack), 0);
    let largest = stack.max([1, 2]).unwrap().to_host().unwrap();
    assert_eq!(largest.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0]);
}
