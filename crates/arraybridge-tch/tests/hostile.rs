//! Tensors that safe calls of torch leave in a state that memory must not be trusted in, and arrays
//! that must come back as they were.

#![allow(clippy::unwrap_used)]

use arraybridge_core::ops::HostExchange;
use arraybridge_core::{ArrayLibrary, Convert, CopyPolicy, DeclineReason, HOST, HostArray};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_tch::Tch;
use arraybridge_tch::tch::{Kind, Tensor};
use arraybridge_testkit::mock::{Act, Step, Wrapping};
use ndarray::{Array1, s};

/// A tensor of repeated elements over wrapped memory, and one at an address that is no multiple of
/// its element's size.
fn wrapped_oddly() -> [Tensor; 2] {
    let whole: Tensor = Array1::from_vec(vec![1f32, 2.0]).convert_to::<Tch>(HOST).unwrap();
    let repeated = whole.view([2, 1]).expand([2, 3], false);
    let odd = Array1::from_vec((0..9u8).collect()).slice_move(s![1..]);
    let odd: Tensor = odd.convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
    [repeated, odd.view_dtype(Kind::Float)]
}

#[test]
fn wrapped_memory_that_nobody_adopts_comes_back_as_the_tensor_that_it_was() {
    for tensor in wrapped_oddly() {
        let (size, stride) = (tensor.size(), tensor.stride());
        let _declines = Wrapping::script(Step::Adopt, Act::Decline(DeclineReason::Layout));
        let _fails = Wrapping::script(Step::Upload, Act::Fail);
        let error = tensor.convert_to::<Wrapping>(HOST).unwrap_err();
        let back: Tensor = error.into_array().unwrap();
        assert_eq!((back.size(), back.stride()), (size, stride));
    }
}

#[test]
fn what_is_declined_goes_by_the_next_route_whatever_its_layout() {
    let [repeated, odd] = wrapped_oddly();
    let _declines = Wrapping::script(Step::Adopt, Act::Decline(DeclineReason::Layout));
    let array = repeated.convert_to::<Wrapping>(HOST).unwrap();
    let host = Wrapping::to_host(&array).unwrap();
    assert_eq!(host.as_slice::<f32>().unwrap(), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    let array = odd.convert_to::<Wrapping>(HOST).unwrap();
    let host = Wrapping::to_host(&array).unwrap();
    assert_eq!(host.as_bytes().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_tensor_over_a_part_of_another_comes_back_itself() {
    let whole = Tensor::from_slice(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let array: NdArray = whole.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    let part: HostArray = array.host().slice(&[(1..3isize).into()]).unwrap();
    drop(array);
    let tensor: Tensor =
        NdArray::from_host(part).convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(tensor.size(), [2]);
    let before = Tch.describe(&tensor).unwrap().address;
    let _fails = Wrapping::script(Step::Adopt, Act::Fail);
    let error = tensor.convert_to::<Wrapping>(HOST).unwrap_err();
    let back: Tensor = error.into_array().unwrap();
    assert_eq!(Vec::<f32>::try_from(&back).unwrap(), [1.0, 2.0]);
    assert_eq!(Tch.describe(&back).unwrap().address, before);
}
