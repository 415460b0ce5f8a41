//! Tensors that only seem to have one holder, and those that have: each case was measured in libtorch.
//! What others can reach is copied, once; what nobody can is not; and no write goes where it was not
//! meant.

#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge_core::ops::Ops;
use arraybridge_core::{
    ArrayLibrary, Convert, CopyPolicy, DeclineReason, Error, HOST, HostViewExt, Mechanism,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_tch::Tch;
use arraybridge_tch::tch::{self, Device, Kind, Tensor};
use arraybridge_testkit::watch;

const FLOATS: (Kind, Device) = (Kind::Float, Device::Cpu);

fn plain() -> Tensor {
    Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0])
}

fn address(tensor: &Tensor) -> usize {
    Tch.describe(tensor).unwrap().address
}

fn floats(array: &NdArray) -> Vec<f32> {
    array.host().to_contiguous().unwrap().as_slice::<f32>().unwrap().to_vec()
}

/// Converts to ndarray: without a copy, at the same address, under a policy that refuses any.
#[track_caller]
fn assert_shared(tensor: Tensor) -> NdArray {
    let before = address(&tensor);
    let array: NdArray = tensor.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(array.host().address(), before);
    array
}

/// Converts to ndarray: by one copy, for a reason that names the holder.
#[track_caller]
fn assert_copied(tensor: Tensor, holder: &str) -> NdArray {
    let before = address(&tensor);
    let error = tensor.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap_err();
    assert!(matches!(error.error(), Error::WouldCopy { .. }), "{error}");
    assert!(error.to_string().contains(holder), "{error}");
    let tensor: Tensor = error.into_array().unwrap();
    assert_eq!(address(&tensor), before, "the tensor itself comes back");
    let (array, records) = watch(|| tensor.convert_to::<Ndarray>(HOST));
    let array: NdArray = array.unwrap();
    assert_ne!(array.host().address(), before);
    assert!(records[0].copied);
    assert_eq!(records[0].mechanism, Mechanism::HostCopy);
    assert_eq!(records[0].declined[0].1.reason(), DeclineReason::Shared);
    array
}

#[test]
fn a_new_tensor_and_a_computed_one_are_nobody_elses() {
    assert_eq!(floats(&assert_shared(plain())), [1.0, 2.0, 3.0, 4.0]);
    let sum = plain() + 1.0;
    assert_eq!(floats(&assert_shared(sum)), [2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn a_shallow_clone_is_another_holder_until_it_is_gone() {
    let tensor = plain();
    let mut clone = tensor.shallow_clone();
    let array = assert_copied(tensor, "other holders");
    let _ = clone.fill_(9.0);
    assert_eq!(floats(&array), [1.0, 2.0, 3.0, 4.0]);
    // Now it is the only one.
    assert_eq!(floats(&assert_shared(clone)), [9.0; 4]);
}

#[test]
fn a_view_and_its_base_hold_one_storage() {
    let base = plain();
    let mut view = base.view([2, 2]);
    let array = assert_copied(base, "other holders");
    let _ = view.fill_(9.0);
    assert_eq!(floats(&array), [1.0, 2.0, 3.0, 4.0]);
    // The base that the view keeps is nobody's any more.
    assert_shared(view);
}

#[test]
fn a_base_that_nobody_can_reach_is_no_holder() {
    // Each made before it is converted: a base in the same expression would live to its end.
    let views: [fn() -> Tensor; 6] = [
        || plain().view([2, 2]),
        || plain().reshape([2, 2]),
        || plain().unsqueeze(0),
        || plain().view([2, 2]).transpose(0, 1),
        || plain().view([2, 2]).detach(),
        || plain().detach(),
    ];
    for make in views {
        assert_shared(make());
        let _without_graph = tch::no_grad_guard();
        assert_shared(make());
    }
}

#[test]
fn a_part_whose_whole_is_gone_is_nobody_elses() {
    let tensor = Tensor::arange(12, FLOATS).view([3, 4]);
    let part = tensor.narrow(1, 1, 2);
    drop(tensor);
    let array = assert_shared(part);
    assert_eq!(floats(&array), [1.0, 2.0, 5.0, 6.0, 9.0, 10.0]);
    assert_eq!(array.host().layout().strides(), [4, 1]);
}

#[test]
fn two_parts_of_one_tensor_hold_its_storage_until_one_is_gone() {
    let mut halves = plain().split(2, 0);
    let second = halves.pop().unwrap();
    let first = halves.pop().unwrap();
    let array = assert_copied(first, "in the same storage");
    assert_eq!(floats(&array), [1.0, 2.0]);
    assert_shared(second);
}

#[test]
fn an_autograd_graph_holds_the_tensors_that_it_saved() {
    let leaf = plain().set_requires_grad(true);
    let square = &leaf * &leaf;
    let array = assert_copied(leaf, "autograd graph");
    // What the graph does with its memory is not seen.
    square.sum(Kind::Float).backward();
    assert_eq!(floats(&array), [1.0, 2.0, 3.0, 4.0]);
    // A result that the graph saved is held by the graph.
    let leaf = plain().set_requires_grad(true);
    let exponential = leaf.exp();
    let sum = exponential.sum(Kind::Float);
    assert_copied(exponential, "");
    drop(sum);
}

#[test]
fn a_gradient_that_is_asked_for_is_no_holder_and_the_result_is_detached() {
    let leaf = plain().set_requires_grad(true);
    assert_eq!(floats(&assert_shared(leaf)), [1.0, 2.0, 3.0, 4.0]);
    // One that nobody can take comes back with its wish.
    let leaf = plain().set_requires_grad(true);
    let _declines = arraybridge_testkit::mock::Wrapping::script(
        arraybridge_testkit::mock::Step::Adopt,
        arraybridge_testkit::mock::Act::Fail,
    );
    let error = leaf.convert_to::<arraybridge_testkit::mock::Wrapping>(HOST).unwrap_err();
    let back: Tensor = error.into_array().unwrap();
    assert!(back.requires_grad());
}

#[test]
fn a_lazy_clone_shares_memory_behind_both_counts() {
    let tensor = plain();
    let mut clone = tensor.f_internal_lazy_clone().unwrap();
    assert_eq!(address(&tensor), address(&clone), "libtorch shares it");
    let array = assert_copied(tensor, "lazy clone");
    let _ = clone.fill_(9.0);
    assert_eq!(floats(&array), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_file_that_is_mapped_shared_is_written_by_whoever_maps_it() {
    let file = std::env::temp_dir().join(format!("arraybridge-tch-{}.bin", std::process::id()));
    std::fs::write(&file, [0u8; 16]).unwrap();
    let name = file.to_str().unwrap();
    let mut one = Tensor::from_file(name, true, 4, FLOATS);
    let mut other = Tensor::from_file(name, true, 4, FLOATS);
    let error = other.host_view().unwrap_err();
    assert!(matches!(error, Error::Shared { .. }), "{error}");
    let array = assert_copied(other, "mapped file");
    let _ = one.fill_(7.0);
    assert_eq!(floats(&array), [0.0; 4]);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_blob_is_somebody_elses_memory() {
    let mut memory = [1f32, 2.0];
    let pointer = memory.as_mut_ptr().cast_const().cast();
    // SAFETY: the memory outlives the tensor.
    let tensor = unsafe { Tensor::from_blob(pointer, &[2], &[1], Kind::Float, Device::Cpu) };
    let array = assert_copied(tensor, "a blob");
    memory.fill(0.0);
    assert_eq!(floats(&array), [1.0, 2.0]);
}

#[test]
fn a_models_parameters_are_held_by_the_model() {
    let mut store = tch::nn::VarStore::new(Device::Cpu);
    let weight = store.root().var("weight", &[4], tch::nn::Init::Const(1.5));
    let array = assert_copied(weight, "a model");
    // Training goes on without being seen.
    tch::no_grad(|| {
        for (_, mut variable) in store.variables() {
            let _ = variable.fill_(0.0);
        }
    });
    assert_eq!(floats(&array), [1.5; 4]);
    store.freeze();
}

#[test]
fn a_view_from_the_host_is_refused_while_anybody_else_could_write() {
    let mut tensor = plain();
    assert_eq!(tensor.host_view().unwrap().as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let clone = tensor.shallow_clone();
    let error = tensor.host_view().unwrap_err();
    assert!(matches!(error, Error::Shared { .. }), "{error}");
    assert!(error.to_string().contains("shallow clone"), "{error}");
    drop(clone);
    tensor.host_view().unwrap();
    // Under a shared borrow a clone could be made at any time.
    let role = Tch.host_visible().unwrap();
    assert!(matches!(role.view(&tensor), Err(Error::Shared { .. })));
}

#[test]
fn lazy_conjugates_and_negatives_are_resolved() {
    let parts = Tensor::from_slice(&[1f32, 2.0, 3.0, -4.0]).view([2, 2]);
    let complex = parts.view_as_complex();
    let conjugate = complex.conj();
    assert_eq!(address(&complex), address(&conjugate), "libtorch is lazy");
    let array: NdArray = conjugate.convert_to::<Ndarray>(HOST).unwrap();
    let bits = arraybridge_testkit::bits(array.host());
    let floats: Vec<f32> =
        bits.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(floats, [1.0, -2.0, 3.0, 4.0]);

    // The imaginary part of a conjugate is a negative view.
    let mut negative = complex.conj().imag();
    let error = negative.host_view().unwrap_err();
    assert!(error.to_string().contains("resolve"), "{error}");
    let array: NdArray = negative.convert_to::<Ndarray>(HOST).unwrap();
    assert_eq!(self::floats(&array), [-2.0, 4.0]);
}

#[test]
fn assign_writes_in_place_only_what_nobody_else_reaches() {
    let (tensor, row) = (plain().view([2, 2]), Tensor::from_slice(&[0f32, 0.0]));
    let before = address(&tensor);
    let written = Tch::assign(tensor, 0..1, &row).unwrap();
    assert_eq!(address(&written), before);
    let clone = written.shallow_clone();
    let written = Tch::assign(written, 1..2, &row).unwrap();
    assert_ne!(address(&written), before);
    assert_eq!(Vec::<f32>::try_from(clone.reshape([4])).unwrap(), [0.0, 0.0, 3.0, 4.0]);
    assert_eq!(Vec::<f32>::try_from(written.reshape([4])).unwrap(), [0.0; 4]);
}

#[test]
fn a_write_through_a_converted_tensor_is_seen_by_nothing_that_the_caller_holds() {
    let array = NdArray::from_host(
        arraybridge_core::HostArray::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap(),
    );
    let kept = array.clone();
    let mut tensor: Tensor = array.convert_to::<Tch>(HOST).unwrap();
    let _ = tensor.fill_(9.0);
    assert_eq!(floats(&kept), [1.0, 2.0, 3.0]);
    // The only handle is handed over instead.
    let before = kept.host().address();
    let mut tensor: Tensor = kept.convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(address(&tensor), before);
    let _ = tensor.fill_(9.0);
}
