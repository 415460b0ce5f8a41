//! Arrays in and out: what is shared, by address, and what keeps kernels from writing what the host
//! reads.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::time::{Duration, Instant};

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{
    AnyArray, ArrayLibrary, Convert, CopyPolicy, DType, Error, HOST, HostArray, HostViewExt,
    Mechanism, library,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_opencl::{ClArray, OpenCl};
use arraybridge_testkit::{Sample, samples, watch};

fn ramp(shape: &[usize]) -> HostArray {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|value| value as f32).collect();
    HostArray::from_vec(values, shape).unwrap()
}

fn address(array: &ClArray) -> usize {
    OpenCl.describe(array).unwrap().address
}

#[test]
fn a_vec_goes_to_a_cpu_and_back_without_a_copy() {
    let Some(device) = common::unified_device() else { return };
    let array = NdArray::from_host(ramp(&[3, 5]));
    let before = array.host().address();
    let (array, records) =
        watch(|| array.convert_with::<OpenCl>(device, CopyPolicy::Never).unwrap());
    assert_eq!(address(&array), before);
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::SharedHostBuffer, false));
    // Written in place: the memory is the array's alone.
    let zero = OpenCl::from_host(&HostArray::from_slice(&[7f32], &[]).unwrap(), device).unwrap();
    let array = OpenCl::assign(array, 0..1, &zero).unwrap();
    assert_eq!(address(&array), before);
    let (back, records) = watch(|| array.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap());
    let mut back: NdArray = back;
    assert_eq!((back.host().address(), records[0].copied), (before, false));
    assert_eq!(back.host().as_slice::<f32>().unwrap()[4..6], [7.0, 5.0]);
    // And the memory is ndarray's alone again.
    back.host_mut().as_slice_mut::<f32>().unwrap()[0] = 1.0;
}

#[test]
fn sharing_64_mib_takes_less_than_a_millisecond() {
    let Some(device) = common::unified_device() else { return };
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let array = NdArray::from_host(HostArray::scratch(DType::F32, &[16 << 20]).unwrap());
        let started = Instant::now();
        let there: ClArray = array.convert_with::<OpenCl>(device, CopyPolicy::Never).unwrap();
        let back: NdArray = there.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
        best = best.min(started.elapsed());
        drop(back);
    }
    assert!(best < Duration::from_millis(1), "there and back took {best:?}");
}

#[test]
fn every_gapless_layout_is_shared_and_others_are_copied_once() {
    let Some(device) = common::unified_device() else { return };
    let shared =
        ["row-major", "negative strides", "Fortran order", "permuted axes", "zero strides"];
    for sample in samples(DType::F32) {
        let Sample { layout, .. } = sample;
        let (host, _) = sample.make().unwrap();
        let before = host.address();
        let made: ClArray = NdArray::from_host(host).convert_to::<OpenCl>(device).unwrap();
        let is_shared = address(&made) == before && !made.layout().is_empty();
        if shared.contains(&layout.name) {
            assert!(is_shared, "{}", layout.name);
        }
        if ["a step", "rows with gaps", "under-aligned"].contains(&layout.name) {
            assert!(!is_shared, "{}", layout.name);
        }
        let back = OpenCl::to_host(&made).unwrap();
        assert_eq!(arraybridge_testkit::bits(&back), sample.bits().unwrap(), "{}", layout.name);
    }
}

/// While the host reads, kernels read too and none writes: what would write copies first.
#[test]
fn a_kernel_does_not_write_what_the_host_reads() {
    let Some(device) = common::unified_device() else { return };
    let array =
        OpenCl::astype(&OpenCl::from_host(&ramp(&[64]), device).unwrap(), DType::I32).unwrap();
    let (before, nine) = (address(&array), HostArray::from_slice(&[9i32], &[1]).unwrap());
    let nine = OpenCl::from_host(&nine, device).unwrap();

    let read = OpenCl::to_host(&array).unwrap();
    assert_eq!(read.address(), before);
    let sum = OpenCl::sum(&array, 0).unwrap();
    let changed = OpenCl::assign(array, .., &nine).unwrap();
    assert_ne!(address(&changed), before);
    assert_eq!(OpenCl::to_host(&sum).unwrap().as_slice::<i64>().unwrap(), [2016]);
    assert_eq!(read.as_slice::<i32>().unwrap()[63], 63);

    // A view borrows, so that the compiler keeps the array from being consumed meanwhile; a second
    // handle is kept from writing as above.
    let mut changed = changed;
    let other = changed.clone();
    let view = changed.host_view().unwrap();
    let other = OpenCl::assign(other, 0..1, &OpenCl::astype(&nine, DType::I32).unwrap()).unwrap();
    assert_eq!(view.as_slice::<i32>().unwrap(), [9; 64]);
    assert_ne!(address(&other), view.address());
    drop(view);
    // Once nobody looks any more, writing is in place.
    drop(other);
    let before = address(&changed);
    let changed = OpenCl::assign(changed, .., &nine).unwrap();
    assert_eq!(address(&changed), before);
}

#[test]
fn a_result_outlives_what_it_was_made_of() {
    let Some(device) = common::device() else { return };
    let array = OpenCl::from_host(&ramp(&[4, 4]), device).unwrap();
    let sum = OpenCl::sum(&array, [0, 1]).unwrap();
    drop(array);
    assert_eq!(OpenCl::to_host(&sum).unwrap().as_slice::<f32>().unwrap(), [120.0]);
}

#[test]
fn views_share_the_buffer_and_carry_their_offset_out() {
    let Some(device) = common::unified_device() else { return };
    let array = OpenCl::from_host(&ramp(&[4, 6]), device).unwrap();
    let plane = OpenCl::plane(&array, 2).unwrap();
    assert_eq!(address(&plane), address(&array) + 12 * 4);
    let wide = OpenCl::broadcast_to(&plane, &[3, 6]).unwrap();
    let read = OpenCl::to_host(&wide).unwrap();
    assert_eq!(read.address(), address(&plane));
    assert_eq!(read.gather().unwrap().as_slice::<f32>().unwrap()[6..8], [12.0, 13.0]);
    assert_eq!(OpenCl::reshape(&array, &[2, 12]).unwrap().offset(), 0);
}

#[test]
fn names_and_devices() {
    for name in ["opencl", "pyclesperanto"] {
        assert_eq!(library(name).unwrap().name(), "opencl");
    }
    let Some(device) = common::device() else { return };
    let error = OpenCl::from_host(&ramp(&[1]), HOST).unwrap_err();
    assert!(error.to_string().contains(&device.to_string()) || error.to_string().contains("host"));
    let error = AnyArray::of::<Ndarray>(NdArray::from_host(ramp(&[1])));
    let error =
        error.convert_by_name("opencl", arraybridge_core::Device::Accelerator(77)).unwrap_err();
    assert!(matches!(error.error(), Error::DeviceUnavailable { .. }), "{error}");
    assert!(error.to_string().contains(&device.to_string()), "{error}");
    let parsed: arraybridge_core::Device = device.to_string().parse().unwrap();
    assert_eq!(parsed, device);
}

#[test]
fn every_dtype_round_trips() {
    let Some(device) = common::device() else { return };
    for dtype in DType::all() {
        let bytes: Vec<u8> = (0..6 * dtype.size()).map(|byte| (byte % 2) as u8).collect();
        let host = HostArray::from_slice(&bytes, &[bytes.len()]).unwrap();
        let host = host.reinterpret(dtype, &[2, 3]).unwrap();
        let array = OpenCl::from_host(&host, device).unwrap();
        // What only moves elements works for every dtype, on the device.
        let stacked = OpenCl::stack(&[&array, &array]).unwrap();
        let turned = array.permute(&[1, 0]).unwrap().to_contiguous().unwrap();
        let turned = turned.permute(&[1, 0]).unwrap().to_contiguous().unwrap();
        for made in [&array, &OpenCl::plane(&stacked, 1).unwrap(), &turned] {
            let back = OpenCl::to_host(made).unwrap();
            assert_eq!((back.dtype(), back.as_bytes().unwrap()), (dtype, &bytes[..]), "{dtype}");
        }
    }
}
