//! Arrays in and out: what is shared, by address, and when owners are released.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{
    AnyArray, ArrayLibrary, Convert, CopyPolicy, DType, Device, Error, HOST, HostArray,
    HostViewExt, Mechanism, library,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_xla::{Program, Xla, XlaArray};

fn ramp(shape: &[usize]) -> HostArray {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|value| value as f32).collect();
    HostArray::from_slice(&values, shape).unwrap()
}

#[test]
fn aligned_memory_is_shared_both_ways() {
    if !common::plugin() {
        return;
    }
    let array = NdArray::from_host(ramp(&[3, 5]));
    let address = array.host().address();
    let device: XlaArray = array.convert_with::<Xla>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(Xla.describe(&device).unwrap().address, address);
    let back: NdArray = device.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(back.host().address(), address);
    assert_eq!(back.host().as_slice::<f32>().unwrap()[14], 14.0);
}

#[test]
fn memory_at_another_address_is_copied_once_and_refused_without_copies() {
    if !common::plugin() {
        return;
    }
    let values: Vec<f32> = (0..20).map(|value| value as f32).collect();
    let host = HostArray::from_vec(values, &[20]).unwrap();
    let odd = host.slice(&[(1..17isize).into()]).unwrap();
    let odd = if odd.address().is_multiple_of(64) {
        host.slice(&[(2..18isize).into()]).unwrap()
    } else {
        odd
    };
    let first = odd.as_slice::<f32>().unwrap()[0];
    let error = NdArray::from_host(odd).convert_with::<Xla>(HOST, CopyPolicy::Never).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error.error(), Error::WouldCopy { .. }), "{text}");
    assert!(text.contains("alignment"), "{text}");
    let back = error.into_array().unwrap();
    let made: XlaArray = back.convert_to::<Xla>(HOST).unwrap();
    assert_eq!(Xla::to_host(&made).unwrap().as_slice::<f32>().unwrap()[0], first);
}

#[test]
fn a_result_outlives_the_array_it_was_shared_from() {
    if !common::plugin() {
        return;
    }
    let device = Xla::from_host(&ramp(&[4, 4]), HOST).unwrap();
    let sum = Xla::sum(&device, [0, 1]).unwrap();
    drop(device);
    let mut sum = sum;
    assert_eq!(sum.host_view().unwrap().as_slice::<f32>().unwrap(), [120.0]);
}

#[test]
fn a_shared_array_is_not_written_by_the_library_that_receives_it() {
    if !common::plugin() {
        return;
    }
    let device = Xla::from_host(&ramp(&[2, 2]), HOST).unwrap();
    let kept = device.clone();
    let mut array: NdArray = device.convert_to::<Ndarray>(HOST).unwrap();
    assert!(array.host_mut().as_slice_mut::<f32>().is_err());
    assert!(array.host_mut().make_mut().unwrap());
    array.host_mut().as_slice_mut::<f32>().unwrap()[0] = 99.0;
    assert_eq!(Xla::to_host(&kept).unwrap().as_slice::<f32>().unwrap()[0], 0.0);
}

#[test]
fn names_and_devices_are_those_of_the_declaration() {
    for name in ["xla", "jax", "tensorflow"] {
        assert_eq!(library(name).unwrap().name(), "xla");
    }
    if !common::plugin() {
        return;
    }
    assert!(Xla.devices().unwrap().contains(&HOST));
    let error = Xla::from_host(&ramp(&[1]), Device::Accelerator(7)).unwrap_err();
    assert!(error.to_string().contains("`host`"), "{error}");
    let any = AnyArray::of::<Ndarray>(NdArray::from_host(ramp(&[2])));
    let any = any.convert_by_name("jax", HOST).unwrap();
    assert_eq!(any.library().name(), "xla");
    assert_eq!(
        arraybridge_core::plan("jax", HOST, "tensorflow", HOST).unwrap().mechanism(),
        Mechanism::StaysInPlace
    );
}

#[test]
fn every_dtype_that_xla_has_round_trips_and_the_other_is_refused() {
    if !common::plugin() {
        return;
    }
    for dtype in DType::all() {
        let bytes: Vec<u8> = (0..6 * dtype.size()).map(|byte| (byte % 2) as u8).collect();
        let host = HostArray::from_slice(&bytes, &[bytes.len()]).unwrap();
        let host = host.reinterpret(dtype, &[2, 3]).unwrap();
        match Xla::from_host(&host, HOST) {
            Ok(array) => {
                let back = Xla::to_host(&array).unwrap();
                assert_eq!(back.dtype(), dtype);
                assert_eq!(back.as_bytes().unwrap(), bytes, "{dtype}");
            }
            Err(error) => {
                assert_eq!(dtype, DType::Complex32, "{error}");
                assert!(matches!(error, Error::DtypeUnsupported { .. }), "{error}");
            }
        }
    }
}

#[test]
fn no_elements_and_no_axes() {
    if !common::plugin() {
        return;
    }
    for shape in [&[][..], &[0], &[3, 0, 2]] {
        let array = Xla::from_host(&ramp(shape), HOST).unwrap();
        let back = Xla::to_host(&array).unwrap();
        assert_eq!(back.shape(), shape);
    }
}

#[test]
fn programs_of_other_orders_than_row_major_are_refused() {
    if !common::plugin() {
        return;
    }
    let text = "module @m { func.func public @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32> \
        {mhlo.layout_mode = \"{0,1}\"}) { return %a : tensor<2x3xf32> } }";
    // SAFETY: the program calls nothing outside of XLA.
    let program = unsafe { Program::compile(text, HOST) }.unwrap();
    let array = Xla::from_host(&ramp(&[2, 3]), HOST).unwrap();
    let error = program.run(&[&array]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "xla does not support an array whose elements are not in row-major order: leave the \
         layout of the program's results to its default"
    );
    let text = "module @m { func.func public @main(%a: tensor<2x3xf32> {mhlo.layout_mode = \
        \"{0,1}\"}) -> tensor<2x3xf32> { return %a : tensor<2x3xf32> } }";
    // SAFETY: as above.
    let error = unsafe { Program::compile(text, HOST) }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "reading @main: it asks for a layout of its parameters; only the default is served"
    );
}

#[test]
fn memory_that_went_in_and_out_several_times_is_released_with_its_last_holder() {
    if !common::plugin() {
        return;
    }
    let mut array = Xla::from_host(&ramp(&[64]), HOST).unwrap();
    for _ in 0..3 {
        // Each holds the one before, so that its release runs inside the runtime's.
        array = Xla::from_host(&Xla::to_host(&array).unwrap(), HOST).unwrap();
    }
    let sum = Xla::sum(&array, 0).unwrap();
    drop(array);
    assert_eq!(Xla::to_host(&sum).unwrap().as_slice::<f32>().unwrap(), [2016.0]);
}
