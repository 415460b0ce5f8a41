//! The door to the outside: raw DLPack pointers out and in.

#![allow(clippy::unwrap_used)]

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{Access, Error, HostArray, Layout, Owner};
use arraybridge_ndarray::NdArray;
use arraybridge_ndarray::ndarray::{Array2, ArrayView2, ArrayViewMut2, array};

/// Reads a tensor's description through core, keeping its memory.
fn open(tensor: *mut c_void) -> DlpackPayload {
    // SAFETY: the tensor was made by the test, which gives it up; nobody else reaches its memory.
    unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) }.unwrap()
}

#[test]
fn an_exclusive_array_leaves_without_a_copy_and_comes_back() {
    let mut image = array![[1i32, 2, 3], [4, 5, 6]].reversed_axes();
    image.invert_axis(arraybridge_ndarray::ndarray::Axis(0));
    let (expected, address) = (image.clone(), image.as_ptr() as usize);
    let tensor = NdArray::from(image).into_dlpack_versioned().unwrap();
    // SAFETY: as in `open`.
    let mut back = unsafe { NdArray::from_dlpack_versioned(tensor, Access::Exclusive) }.unwrap();
    assert_eq!((back.host().address(), back.strides()), (address, &[-1isize, 3][..]));
    assert_eq!(back.view::<ArrayView2<i32>>().unwrap(), expected);
    back.view_mut::<ArrayViewMut2<i32>>().unwrap()[[0, 0]] = 30;
    // Not the vector's array any more, but the tensor's: one copy.
    let array = back.into_array::<Array2<i32>>().unwrap();
    assert_eq!(array[[0, 0]], 30);
}

#[test]
fn a_shared_array_leaves_as_a_copy_that_says_so() {
    let array = NdArray::from(array![[1u8]]);
    let kept = array.clone();
    let payload = open(array.into_dlpack_versioned().unwrap());
    assert!(payload.is_copied());
    assert_eq!(payload.access(), Access::Exclusive);
    assert_ne!(payload.address(), kept.host().address());
    let payload = open(kept.into_dlpack_versioned().unwrap());
    assert!(!payload.is_copied());
}

#[test]
fn the_read_only_flag_survives_and_forbids_writing() {
    let array = NdArray::from(array![[1.0f32, 2.0]]);
    let kept = array.clone();
    // SAFETY: the consumer below does not write.
    let tensor = unsafe { array.into_dlpack_read_only() }.unwrap();
    // SAFETY: a tensor of the test's own; nobody writes its memory while it is shared.
    let mut back = unsafe { NdArray::from_dlpack_versioned(tensor, Access::Exclusive) }.unwrap();
    assert_eq!(back.host().address(), kept.host().address());
    assert!(matches!(back.view_mut::<ArrayViewMut2<f32>>(), Err(Error::Shared { .. })));
    assert!(back.make_mut().unwrap());
    back.view_mut::<ArrayViewMut2<f32>>().unwrap()[[0, 0]] = 9.0;
    assert_eq!(kept.view::<ArrayView2<f32>>().unwrap(), array![[1.0, 2.0]]);
}

#[test]
fn the_legacy_form_carries_exclusive_memory() {
    let image = array![[1u64, 2], [3, 4]];
    let address = image.as_ptr() as usize;
    let tensor = NdArray::from(image).into_dlpack_legacy().unwrap();
    // SAFETY: a tensor of the test's own, which nobody else reaches.
    let back = unsafe { NdArray::from_dlpack_legacy(tensor, Access::Exclusive) }.unwrap();
    assert_eq!(back.host().address(), address);
    assert_eq!(back.into_array::<Array2<u64>>().unwrap(), array![[1, 2], [3, 4]]);
}

static RELEASED: AtomicUsize = AtomicUsize::new(0);

/// Counts how often it is dropped.
struct Releases(#[allow(dead_code)] Vec<u16>);

impl Drop for Releases {
    fn drop(&mut self) {
        RELEASED.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_tensor_is_released_once_on_every_way() {
    let tensor = || {
        let mut memory = Releases(vec![1, 2, 3]);
        let pointer = memory.0.as_mut_ptr();
        let layout = Layout::row_major(&[3]).unwrap();
        let owner = Owner::new(memory);
        // SAFETY: the owner keeps the vector's memory, which nothing else reaches.
        let host =
            unsafe { HostArray::from_elements(owner, pointer, layout, Access::Exclusive) }.unwrap();
        NdArray::from_host(host).into_dlpack_versioned().unwrap()
    };
    // SAFETY: tensors of the test's own, here and below.
    let taken = unsafe { NdArray::from_dlpack_versioned(tensor(), Access::Exclusive) }.unwrap();
    let clone = taken.clone();
    drop(taken);
    assert_eq!(RELEASED.load(Ordering::SeqCst), 0);
    std::thread::spawn(move || drop(clone)).join().unwrap();
    assert_eq!(RELEASED.load(Ordering::SeqCst), 1);

    // SAFETY: nobody writes the tensor while it is copied.
    let copy = unsafe { NdArray::from_dlpack_versioned(tensor(), Access::SharedMutable) }.unwrap();
    assert_eq!(RELEASED.load(Ordering::SeqCst), 2, "a copy needs its tensor no longer");
    assert_eq!(copy.host().as_slice::<u16>().unwrap(), [1, 2, 3]);

    // SAFETY: null is allowed.
    let error = unsafe { NdArray::from_dlpack_versioned(std::ptr::null_mut(), Access::Exclusive) };
    assert!(matches!(error, Err(Error::InvalidPayload { .. })));
}
