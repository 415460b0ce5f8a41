//! Who holds the memory, who may write it, and when it is released.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arraybridge_core::{
    Access, AnyArray, ConversionError, Convert, CopyPolicy, Error, HOST, HostArray, Layout, Owner,
};
use arraybridge_ndarray::ndarray::{
    ArcArray, ArcArray2, Array, Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1,
    ArrayViewMut2, array, s,
};
use arraybridge_ndarray::{NdArray, NdView, NdViewMut, Ndarray};

/// Handles on one memory may be on several threads, and so may an error that carries one.
const _: fn() = || {
    fn shared_between_threads<T: Send + Sync>() {}
    shared_between_threads::<NdArray>();
    shared_between_threads::<ConversionError<NdArray>>();
};

/// Memory that counts how often it is released.
struct Counted {
    memory: Vec<u32>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

fn counted(drops: &Arc<AtomicUsize>, access: Access) -> NdArray {
    let mut owner = Counted { memory: vec![1, 2, 3, 4], drops: Arc::clone(drops) };
    let pointer = owner.memory.as_mut_ptr().cast();
    let layout = Layout::row_major(&[2, 2]).unwrap();
    let owner = Owner::new(owner);
    // SAFETY: the owner keeps the vector's memory, and nothing else reaches it.
    let host = unsafe {
        HostArray::from_raw(owner, pointer, arraybridge_core::DType::U32, layout, access)
    };
    NdArray::from_host(host.unwrap())
}

#[test]
fn memory_of_a_foreign_owner_is_copied_once_into_an_array_and_released_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let array = counted(&drops, Access::Exclusive);
    let refused = array.into_array_with::<Array2<u32>>(CopyPolicy::Never).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "ndarray to ndarray on `host` would copy (host copy), and a copy was refused; \
         stays in place declined: shared (the memory is not a Vec or ArcArray of this type, or has \
         other holders)"
    );
    assert_eq!(drops.load(Ordering::SeqCst), 0);
    let array = refused.into_array().unwrap();
    let into = array.into_array_with::<Array2<u32>>(CopyPolicy::Allow).unwrap();
    assert!(into.copied);
    assert_eq!(into.array, array![[1, 2], [3, 4]]);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

#[test]
fn views_keep_a_foreign_owner_and_clones_release_it_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut array = counted(&drops, Access::Exclusive);
    array.view_mut::<ArrayViewMut2<u32>>().unwrap()[[0, 0]] = 10;
    let clone = array.clone();
    drop(array);
    assert_eq!(drops.load(Ordering::SeqCst), 0);
    let moved = std::thread::spawn(move || clone.view::<ArrayView2<u32>>().unwrap().sum());
    assert_eq!(moved.join().unwrap(), 19);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

#[test]
fn a_shared_array_is_written_only_after_a_copy() {
    let mut array = NdArray::from(array![1i64, 2, 3]);
    let mut clone = array.clone();
    let error = clone.view_mut::<ArrayViewMut1<i64>>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "writing needs an array whose memory nobody else can reach: this one is shared or overlaps \
         itself; `make_mut` copies it first"
    );
    assert!(clone.make_mut().unwrap());
    clone.view_mut::<ArrayViewMut1<i64>>().unwrap()[0] = 100;
    assert_eq!(array.view::<ArrayView1<i64>>().unwrap(), array![1, 2, 3]);
    assert!(!array.make_mut().unwrap(), "the clone has its own memory now");
}

#[test]
fn repeating_elements_are_written_only_after_a_copy() {
    let row = HostArray::from_vec(vec![1u8, 2], &[2]).unwrap();
    let mut wide = NdArray::from_host(row.broadcast_to(&[3, 2]).unwrap());
    drop(row);
    assert!(matches!(wide.view_mut::<ArrayViewMut2<u8>>(), Err(Error::Shared { .. })));
    assert!(wide.make_mut().unwrap());
    wide.view_mut::<ArrayViewMut2<u8>>().unwrap()[[0, 0]] = 9;
    assert_eq!(wide.into_array::<Array2<u8>>().unwrap(), array![[9, 2], [1, 2], [1, 2]]);
}

#[test]
fn the_only_arc_hands_its_memory_over() {
    let shared = array![1.5f32, 2.5].into_shared();
    let address = shared.as_ptr();
    let mut array = NdArray::from(shared);
    array.view_mut::<ArrayViewMut1<f32>>().unwrap()[1] = 25.0;
    let into = array.into_array_with::<Array1<f32>>(CopyPolicy::Never).unwrap();
    assert_eq!((into.array.as_ptr(), into.array), (address, array![1.5, 25.0]));
}

#[test]
fn a_shared_arc_is_shared_until_either_side_writes() {
    let mut outside = array![[1u16, 2], [3, 4]].into_shared();
    let address = outside.as_ptr();
    let mut inside = NdArray::from(outside.clone());
    assert_eq!(inside.view::<ArrayView2<u16>>().unwrap().as_ptr(), address);
    let other = inside.clone();

    outside[[0, 0]] = 10; // ndarray copies: `inside` holds the memory
    assert_ne!(outside.as_ptr(), address);
    assert!(inside.make_mut().unwrap());
    inside.view_mut::<ArrayViewMut2<u16>>().unwrap()[[1, 1]] = 40;

    assert_eq!(outside, array![[10, 2], [3, 4]]);
    assert_eq!(inside.view::<ArrayView2<u16>>().unwrap(), array![[1, 2], [3, 40]]);
    assert_eq!(other.view::<ArrayView2<u16>>().unwrap(), array![[1, 2], [3, 4]]);
}

#[test]
fn an_arc_comes_back_without_a_copy_unless_it_was_sliced_or_is_shared() {
    let outside: ArcArray2<i8> = array![[1i8, 2, 3], [4, 5, 6]].into_shared();
    let inside = NdArray::from(outside.clone());
    let back = inside.into_array_with::<ArcArray2<i8>>(CopyPolicy::Never).unwrap().array;
    assert_eq!(back.as_ptr(), outside.as_ptr());

    let plane = NdArray::from(back.clone()).host().index_axis(0, 1).unwrap();
    let into = NdArray::from_host(plane);
    let row = into.into_array_with::<ArcArray<i8, _>>(CopyPolicy::Allow).unwrap();
    assert!(row.copied);
    let expected: Array1<i8> = array![4, 5, 6];
    assert_eq!(row.array, expected);

    let inside = NdArray::from(back);
    let clone = inside.clone();
    let refused = inside.into_array_with::<ArcArray2<i8>>(CopyPolicy::Never).unwrap_err();
    drop(clone);
    let inside = refused.into_array().unwrap();
    let back = inside.into_array_with::<ArcArray2<i8>>(CopyPolicy::Never).unwrap().array;
    assert_eq!(back.as_ptr(), outside.as_ptr());
    assert_eq!(outside, array![[1, 2, 3], [4, 5, 6]]);
}

#[test]
fn an_empty_shared_arc_comes_back() {
    let outside = Array2::<f64>::zeros((0, 3)).into_shared();
    let inside = NdArray::from(outside.clone());
    let back = inside.into_array_with::<ArcArray2<f64>>(CopyPolicy::Never).unwrap();
    assert_eq!((back.copied, back.array.shape()), (false, outside.shape()));
}

#[test]
fn another_dtype_or_rank_gives_the_array_back() {
    let array = NdArray::from(array![[1.0f32, 2.0]]);
    let address = array.host().address();
    let error = array.into_array::<Array2<f64>>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected dtype float64, found float32; cast with `astype` where a cast is meant"
    );
    let error = error.into_array().unwrap().into_array::<Array1<f32>>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "an array type of fixed rank cannot take this layout: shape [1, 2] has 2 axes, the type 1; \
         `IxDyn` takes any number"
    );
    let array = error.into_array().unwrap();
    assert_eq!(array.host().address(), address);
    assert!(matches!(array.view::<ArrayView2<u32>>(), Err(Error::DtypeMismatch { .. })));
    assert!(matches!(array.view::<ArrayView1<f32>>(), Err(Error::LayoutUnsupported { .. })));
}

#[test]
fn an_under_aligned_array_is_not_viewed_but_copied() {
    let mut bytes = vec![0u8; 12];
    let misaligned = (0..4).find(|&k| bytes[k..].as_ptr().addr() % 4 == 1).unwrap();
    bytes[misaligned..][..8].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
    let pointer = bytes[misaligned..].as_mut_ptr();
    let layout = Layout::row_major(&[2]).unwrap();
    let owner = Owner::new(bytes);
    // SAFETY: the vector keeps its memory where it is, and only the array reaches it.
    let host = unsafe {
        let dtype = arraybridge_core::DType::U32;
        HostArray::from_raw(owner, pointer, dtype, layout, Access::Immutable)
    };
    let array = NdArray::from_host(host.unwrap());
    let error = array.view::<ArrayView1<u32>>().unwrap_err().to_string();
    assert!(error.ends_with("is not a multiple of 4; `to_contiguous` of the host array copies it"));
    let expected = [1u32.to_le(), 2u32.to_le()];
    assert_eq!(array.into_array::<Array1<u32>>().unwrap().to_vec(), expected);
}

#[test]
fn borrowed_views_are_copied_into_arrays_and_filled_from_them() {
    let image = Array::from_shape_vec((3, 4), (0..12u32).collect()).unwrap();
    let part = NdView::try_from(image.slice(s![..;2, ..;-1])).unwrap();
    assert_eq!(part.host().address(), &raw const image[[0, 3]] as usize);
    let copy: NdArray = part.copy_to::<Ndarray>(HOST).unwrap();
    assert_eq!(copy.host().as_slice::<u32>().unwrap(), [3, 2, 1, 0, 11, 10, 9, 8]);

    let mut target = Array2::<u32>::zeros((4, 4));
    copy.copy_into(target.slice_mut(s![1..3, ..])).unwrap();
    let mut last = NdViewMut::try_from(target.slice_mut(s![..;3, ..;-1])).unwrap();
    last.copy_from(&copy.host().view()).unwrap();
    let error = last
        .copy_from(part.host())
        .and_then(|()| copy.copy_into(Array2::<i32>::zeros((2, 4)).view_mut()));
    assert_eq!(
        error.unwrap_err().to_string(),
        "expected dtype int32, found uint32; cast with `astype` where a cast is meant"
    );
    assert_eq!(target, array![[0, 1, 2, 3], [3, 2, 1, 0], [11, 10, 9, 8], [8, 9, 10, 11]]);
    let error = copy.copy_into(target.view_mut()).unwrap_err();
    assert_eq!(error.to_string(), "copying into an array: expected shape [4, 4], found [2, 4]");
}

#[test]
fn a_view_whose_bytes_cannot_be_counted_is_refused() {
    let one = array![1.0f64];
    let vast = one.broadcast(usize::MAX / 4).unwrap();
    assert!(matches!(NdView::try_from(vast), Err(Error::SizeOverflow { .. })));
}

#[test]
fn arrays_of_ndarray_convert_by_method_and_as_any_array() {
    let image = array![[1u8, 2], [3, 4]];
    let address = image.as_ptr();
    let array = image.convert_to::<Ndarray>(HOST).unwrap();
    let any = AnyArray::of::<Ndarray>(array).convert_by_name("numpy", HOST).unwrap();
    assert_eq!(any.library().name(), "ndarray");
    let back: Array2<u8> = any.into_native().unwrap();
    assert_eq!(back.as_ptr(), address);
    let again: Array2<u8> = NdArray::from(back).try_into().unwrap();
    assert_eq!(again, array![[1, 2], [3, 4]]);
}

#[test]
fn the_library_is_registered_under_both_names() {
    for name in ["ndarray", "numpy"] {
        let library = arraybridge_core::library(name).unwrap();
        assert_eq!(library.name(), "ndarray");
        assert!(library.is::<Ndarray>());
    }
}
