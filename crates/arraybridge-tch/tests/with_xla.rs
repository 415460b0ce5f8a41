//! The pair of PyTorch and XLA, on a real plugin.

#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge_core::ops::HostExchange;
use arraybridge_core::{
    ArrayLibrary, Convert, CopyPolicy, DeclineReason, HOST, HostArray, Mechanism,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_tch::Tch;
use arraybridge_tch::tch::{Kind, Tensor};
use arraybridge_testkit::watch;
use arraybridge_xla::{Xla, XlaArray};

/// Returns whether there is a plugin to test with.
fn plugin() -> bool {
    let availability = Xla.availability();
    if availability.is_available() {
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs a PJRT plugin: {availability}");
    eprintln!("skipped: {availability}");
    false
}

fn address(tensor: &Tensor) -> usize {
    Tch.describe(tensor).unwrap().address
}

fn values(array: &XlaArray) -> Vec<f32> {
    Xla::to_host(array).unwrap().as_slice::<f32>().unwrap().to_vec()
}

#[test]
fn a_tensor_reaches_xla_by_dlpack_at_one_address() {
    if !plugin() {
        return;
    }
    // Torch's own memory is aligned to 64 bytes, as XLA wants it.
    let tensor = Tensor::arange(1000, (Kind::Float, arraybridge_tch::tch::Device::Cpu));
    let before = address(&tensor);
    let (array, records) = watch(|| tensor.convert_with::<Xla>(HOST, CopyPolicy::Never));
    let array: XlaArray = array.unwrap();
    assert_eq!(Xla.describe(&array).unwrap().address, before);
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::Dlpack, false));
    assert_eq!(values(&array)[999], 999.0);
}

#[test]
fn memory_of_ndarray_goes_through_torch_into_xla_without_a_copy() {
    if !plugin() {
        return;
    }
    let host = HostArray::from_slice(&[1f32, 2.0, 3.0, 4.0], &[4]).unwrap();
    let before = host.address();
    let mut tensor: Tensor =
        NdArray::from_host(host).convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
    let _ = tensor.f_mul_(&Tensor::from(2f32)).unwrap();
    let array: XlaArray = tensor.convert_with::<Xla>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(Xla.describe(&array).unwrap().address, before);
    let back: NdArray = array.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(back.host().address(), before);
    assert_eq!(back.host().as_slice::<f32>().unwrap(), [2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn what_xla_cannot_wrap_is_copied_once() {
    if !plugin() {
        return;
    }
    let unaligned = || {
        let tensor = Tensor::arange(100, (Kind::Float, arraybridge_tch::tch::Device::Cpu));
        tensor.narrow(0, 1, 20)
    };
    let error = unaligned().convert_with::<Xla>(HOST, CopyPolicy::Never).unwrap_err();
    assert!(error.to_string().contains("alignment"), "{error}");
    let tensor: Tensor = error.into_array().unwrap();
    assert_eq!(tensor.double_value(&[0]), 1.0, "the tensor comes back");
    let (array, records) = watch(|| tensor.convert_to::<Xla>(HOST));
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::HostCopy, true));
    let array: XlaArray = array.unwrap();
    assert_eq!(values(&array)[..3], [1.0, 2.0, 3.0]);
}

#[test]
fn a_tensor_that_others_hold_reaches_xla_as_torchs_copy() {
    if !plugin() {
        return;
    }
    let tensor = Tensor::arange(16, (Kind::Float, arraybridge_tch::tch::Device::Cpu));
    let mut kept = tensor.shallow_clone();
    let (array, records) = watch(|| tensor.convert_to::<Xla>(HOST));
    let array: XlaArray = array.unwrap();
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::Dlpack, true));
    let _ = kept.fill_(9.0);
    assert_eq!(values(&array)[..3], [0.0, 1.0, 2.0], "XLA's arrays never change");
}

#[test]
fn xla_to_torch_copies_once_and_says_so() {
    if !plugin() {
        return;
    }
    let array = Xla::from_host(&HostArray::from_slice(&[1f32, 2.0], &[2]).unwrap(), HOST).unwrap();
    let kept = array.clone();
    let before = Xla.describe(&array).unwrap().address;
    let (tensor, records) = watch(|| array.convert_to::<Tch>(HOST));
    let mut tensor: Tensor = tensor.unwrap();
    assert_ne!(address(&tensor), before);
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::HostCopy, true));
    let reasons: Vec<_> = records[0].declined.iter().map(|(by, why)| (*by, why.reason())).collect();
    assert_eq!(
        reasons,
        [
            (Mechanism::Dlpack, DeclineReason::ReadOnly),
            (Mechanism::SharedHostBuffer, DeclineReason::ReadOnly)
        ]
    );
    let _ = tensor.fill_(9.0);
    assert_eq!(values(&kept), [1.0, 2.0]);
    let error = kept.convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap_err();
    assert_eq!(values(&error.into_array().unwrap()), [1.0, 2.0]);
}
