//! Tensors that safe calls of torch leave in a state that memory must not be trusted in, and arrays
//! that must come back as they were.

#![allow(clippy::unwrap_used)]

use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{
    AnyArray, ArrayLibrary, Convert, CopyPolicy, DType, DeclineReason, Error, HOST, HostArray,
    HostViewExt,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_tch::Tch;
use arraybridge_tch::tch::{Kind, Tensor};
use arraybridge_testkit::mock::{Act, Step, Wrapping};
use ndarray::{Array1, Array2, s};

fn bytes(bools: &[bool]) -> Vec<u8> {
    // SAFETY: bytes are read as bytes, whatever they are.
    unsafe { std::slice::from_raw_parts(bools.as_ptr().cast::<u8>(), bools.len()) }.to_vec()
}

/// Four bools of a vector, as a tensor of bytes over its memory.
fn bytes_of_bools() -> Tensor {
    let bools = Array1::from_vec(vec![true; 4]);
    let tensor: Tensor = bools.convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
    tensor.view_dtype(Kind::Uint8)
}

#[test]
fn bytes_that_torch_wrote_do_not_come_back_in_a_vector_of_bools() {
    // Outside the part that is handed on.
    let written = bytes_of_bools();
    let _ = written.narrow(0, 2, 2).fill_(7);
    let part = written.view_dtype(Kind::Bool).narrow(0, 0, 2);
    drop(written);
    let array: NdArray = part.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    let array: Array1<bool> = array.into_array().unwrap();
    assert_eq!(bytes(array.as_slice().unwrap()), [1, 1]);
    assert_eq!(bytes(&array.into_raw_vec_and_offset().0), [1, 1], "not the vector of four");

    // By ndarray, as bytes.
    let array: NdArray = bytes_of_bools().convert_to::<Ndarray>(HOST).unwrap();
    let mut host = array.into_host();
    host.as_slice_mut::<u8>().unwrap().fill(9);
    let none = host.slice(&[(0..0isize).into()]).unwrap();
    drop(host);
    let none = none.reinterpret(DType::Bool, &[0]).unwrap();
    assert!(none.into_vec_parts::<bool>().is_err());

    // What is seen whole comes back as the vector that it was.
    let bools = Array2::from_elem((2, 2), true);
    let before = bools.as_ptr();
    let tensor: Tensor = bools.convert_to::<Tch>(HOST).unwrap();
    let array: NdArray = tensor.convert_to::<Ndarray>(HOST).unwrap();
    let bools: Array2<bool> = array.into_array().unwrap();
    assert_eq!(bools.as_ptr(), before);
}

#[test]
fn bytes_that_are_no_bool_are_not_exported() {
    let role = Tch.dlpack_export().unwrap();
    let bad = Tensor::from_slice(&[0u8, 1, 2]).view_dtype(Kind::Bool);
    let mut slot = Some(bad);
    assert!(role.export(&mut slot, CopyPolicy::Allow, None).is_err());
    // Torch makes bools of what it copies.
    let _other = slot.as_ref().unwrap().shallow_clone();
    let payload = role.export(&mut slot, CopyPolicy::Allow, None).unwrap();
    let array = HostArray::from_dlpack(payload).unwrap();
    assert_eq!(array.as_slice::<bool>().unwrap(), [false, true, true]);
}

#[test]
fn a_tensor_left_too_long_by_a_resize_that_failed_is_refused() {
    let wrapped: Tensor = Array1::from_vec(vec![1f32; 8]).convert_to::<Tch>(HOST).unwrap();
    let own = Tensor::from_slice(&[1f32; 8]);
    for (mut tensor, size) in [(wrapped, 100i64), (own, 1 << 45)] {
        assert!(tensor.f_resize_([size]).is_err());
        assert_eq!(tensor.size(), [size], "torch leaves it so");
        let refused = |error: Error| {
            assert!(error.to_string().contains("beyond their memory"), "{error}");
        };
        refused(Tch.describe(&tensor).unwrap_err());
        refused(Tch::to_host(&tensor).unwrap_err());
        refused(tensor.host_view().map(drop).unwrap_err());
        refused(Tch::max(&tensor, 0).unwrap_err());
        let error = tensor.convert_to::<Ndarray>(HOST).unwrap_err();
        assert_eq!(error.into_array().unwrap().size(), [size]);
    }
    let outside = Tensor::from_slice(&[1f32, 2.0]).f_internal_reshape_alias([1000], [1]);
    assert!(AnyArray::of::<Tch>(outside.unwrap()).to_host().is_err());
}

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

#[test]
fn assign_leaves_no_graph_with_gradients_that_are_wrong() {
    let leaf = Tensor::from_slice(&[1f32, 2.0]).set_requires_grad(true);
    let twice = &leaf * 2.0;
    let assigned = Tch::assign(twice, 0..1, &Tensor::from_slice(&[9f32])).unwrap();
    assert!(!assigned.requires_grad(), "the first element does not depend on the leaf");
    assert_eq!(Vec::<f32>::try_from(&assigned).unwrap(), [9.0, 4.0]);
}

#[test]
fn the_largest_of_nothing_is_nothing_where_nothing_is_kept() {
    for dtype in [DType::F32, DType::U16, DType::U64, DType::Bool, DType::F8E5M2] {
        let empty = Tch::from_host(&HostArray::zeros(dtype, &[0, 0, 3]).unwrap(), HOST).unwrap();
        for axes in [0isize, 2] {
            let largest = Tch::max(&empty, axes).unwrap();
            assert_eq!(largest.size(), if axes == 0 { [0, 3] } else { [0, 0] });
            assert_eq!(Tch.describe(&largest).unwrap().dtype, dtype);
        }
        assert!(Tch::min(&empty, [0isize, 1]).is_err(), "three that are of nothing");
    }
    let complex = Tch::from_host(&HostArray::zeros(DType::Complex64, &[0, 3]).unwrap(), HOST);
    assert!(Tch::max(&complex.unwrap(), 1).is_err());
}
