//! What a conversion allocates and copies.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use arraybridge::ndarray::{NdArray, Ndarray};
use arraybridge::{
    AnyArray, ArrayLibrary, Convert, CopyPolicy, DType, Error, HOST, HostArray, Library, Mechanism,
};
use arraybridge_testkit::mock::{Step, calls, log_calls};
use arraybridge_tests::{Counting, Frozen, Writer, WriterArray, tally};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// 64 MiB of f32.
const SHAPE: [usize; 3] = [16, 1024, 1024];
const NBYTES: usize = 64 << 20;

/// Returns the addresses that the writer copied from.
fn uploads() -> Vec<usize> {
    let calls = calls(Writer::INSTANCE);
    calls.iter().filter(|call| call.step == Step::Upload).map(|call| call.address).collect()
}

fn stack() -> NdArray {
    NdArray::from_host(HostArray::zeros(DType::F32, &SHAPE).unwrap())
}

#[test]
fn an_owned_array3_into_a_wrapping_library_copies_nothing() {
    let stack = ndarray::Array3::<f32>::zeros(SHAPE);
    let address = stack.as_ptr() as usize;
    log_calls();
    let (there, spent) = tally(|| stack.convert_to::<Writer>(HOST).unwrap());
    assert_eq!((there.address(), uploads()), (address, vec![]));
    assert!(spent.count <= 4 && spent.largest < 256, "{spent:?}");
    let (back, spent) = tally(|| there.convert_to::<Ndarray>(HOST).unwrap());
    assert_eq!(back.host().address(), address);
    assert!(spent.count <= 2 && spent.largest < 256, "{spent:?}");
}

#[test]
fn a_cloned_arc_array_into_a_writable_library_copies_exactly_once() {
    let kept = ndarray::ArcArray3::<f32>::zeros(SHAPE);
    let address = kept.as_ptr() as usize;
    let second = kept.clone();
    log_calls();
    let (mut there, spent) = tally(|| second.convert_to::<Writer>(HOST).unwrap());
    assert_eq!(uploads(), [address]);
    assert!(spent.largest < NBYTES + 4096 && spent.count <= 10, "{spent:?}");
    there.fill(1.0f32).unwrap();
    assert!(kept.iter().all(|value| *value == 0.0));

    let refused = kept.convert_with::<Writer>(HOST, CopyPolicy::Never);
    // The clone is gone, so nothing need be copied any more.
    assert_eq!(refused.unwrap().address(), address);
}

#[test]
fn an_owned_stack_into_a_wrapping_library_copies_nothing() {
    let stack = stack();
    let address = stack.host().address();
    log_calls();
    let (there, spent) = tally(|| stack.convert_to::<Writer>(HOST).unwrap());
    assert_eq!((there.address(), uploads()), (address, vec![]));
    assert!(spent.count <= 2 && spent.largest < 256, "{spent:?}");

    let (back, spent) = tally(|| there.convert_to::<Ndarray>(HOST).unwrap());
    assert_eq!(back.host().address(), address);
    assert!(spent.count <= 2 && spent.largest < 256, "{spent:?}");
}

#[test]
fn a_cloned_stack_into_a_writable_library_copies_exactly_once() {
    let kept = stack();
    let second = kept.clone();
    log_calls();
    let (there, spent) = tally(|| second.convert_to::<Writer>(HOST).unwrap());
    // The writer made the one copy straight from the memory that both handles share.
    assert_ne!(there.address(), kept.host().address());
    assert_eq!(uploads(), [kept.host().address()]);
    assert!(spent.largest < NBYTES + 4096 && spent.count <= 6, "{spent:?}");
}

#[test]
fn a_refused_copy_is_refused_before_copying() {
    let kept = stack();
    let second = kept.clone();
    let (failed, spent) =
        tally(|| second.convert_with::<Writer>(HOST, CopyPolicy::Never).unwrap_err());
    assert!(spent.largest < 1024, "{spent:?}");
    let Error::WouldCopy { mechanism, declined, .. } = failed.error() else {
        panic!("{failed}");
    };
    assert_eq!(*mechanism, Mechanism::HostCopy);
    assert_eq!(declined[0].0, Mechanism::SharedHostBuffer);
    assert_eq!(
        failed.to_string(),
        "ndarray to writer on `host` would copy (host copy), and a copy was refused; \
         shared host buffer declined: read-only (the mock would write it)"
    );
    assert_eq!(failed.into_array().unwrap().host().address(), kept.host().address());
}

#[test]
fn a_refused_copy_of_a_native_alias_gives_the_array_back() {
    let there: WriterArray = stack().convert_to::<Writer>(HOST).unwrap();
    let alias = there.alias();
    let (failed, spent) =
        tally(|| there.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap_err());
    assert!(spent.largest < 1024, "{spent:?}");
    assert_eq!(failed.into_array().unwrap().address(), alias.address());
}

#[test]
fn a_typed_conversion_without_a_copy_allocates_at_most_twice() {
    let small = NdArray::from_host(HostArray::from_vec(vec![1.0f32; 8], &[2, 4]).unwrap());
    let (frozen, spent) = tally(|| small.convert_to::<Frozen>(HOST).unwrap());
    assert_eq!(spent.count, 0, "{spent:?}");
    let (small, spent) = tally(|| frozen.convert_to::<Ndarray>(HOST).unwrap());
    assert_eq!(spent.count, 0, "{spent:?}");
    let (there, spent) = tally(|| small.convert_to::<Writer>(HOST).unwrap());
    assert!(spent.count <= 2, "{spent:?}");
    let (_, spent) = tally(|| there.convert_to::<Ndarray>(HOST).unwrap());
    assert!(spent.count <= 2, "{spent:?}");

    let native = ndarray::Array3::<f32>::zeros((2, 3, 4));
    let (_, spent) = tally(|| native.convert_to::<Writer>(HOST).unwrap());
    assert!(spent.count <= 2, "{spent:?}");
}

#[test]
fn an_erased_conversion_adds_one_box() {
    let small = NdArray::from_host(HostArray::from_vec(vec![1.0f32; 8], &[2, 4]).unwrap());
    let erased = AnyArray::of::<Ndarray>(small);
    let (_, spent) = tally(|| erased.convert_to(Library::of::<Frozen>(), HOST).unwrap());
    assert_eq!(spent.count, 1, "{spent:?}");
}

#[test]
fn staying_in_place_allocates_nothing() {
    let small = NdArray::from_host(HostArray::from_vec(vec![1.0f32; 8], &[2, 4]).unwrap());
    let address = small.host().address();
    let (small, spent) = tally(|| small.convert_to::<Ndarray>(HOST).unwrap());
    assert_eq!((small.host().address(), spent.count), (address, 0));
}
