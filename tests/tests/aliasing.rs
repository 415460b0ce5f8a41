//! After a conversion no array that the caller can reach aliases the result writably: each way that
//! someone might try.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use arraybridge::ndarray::{NdArray, Ndarray};
use arraybridge::{
    Access, AnyArray, AxisSlice, Convert, DType, Device, Error, HOST, HostArray, HostViewExt,
    Layout, Library, NativeArray, Owner, to,
};
use arraybridge_tests::{Frozen, Writer, WriterArray};

fn host(elements: &[f32]) -> HostArray {
    HostArray::from_vec(elements.to_vec(), &[elements.len()]).unwrap()
}

fn array(elements: &[f32]) -> NdArray {
    NdArray::from_host(host(elements))
}

fn elements(array: &NdArray) -> Vec<f32> {
    array.host().gather().unwrap().as_slice().unwrap().to_vec()
}

fn writer(array: impl NativeArray<Ndarray>) -> WriterArray {
    array.convert_to::<Writer>(HOST).unwrap()
}

#[test]
fn the_only_handle_crosses_without_a_copy_and_stays_writable() {
    let array = array(&[1.0, 2.0]);
    let address = array.host().address();
    let mut there = writer(array);
    assert_eq!(there.address(), address);
    there.fill(5.0f32).unwrap();
    let mut back = there.convert_to::<Ndarray>(HOST).unwrap();
    assert_eq!(back.host().address(), address);
    back.host_mut().as_slice_mut::<f32>().unwrap()[0] = 6.0;
    assert_eq!(elements(&back), [6.0, 5.0]);
}

#[test]
fn a_clone_of_a_host_array_is_not_written_through() {
    let kept = host(&[1.0, 2.0]);
    let mut there = writer(NdArray::from_host(kept.clone()));
    assert_ne!(there.address(), kept.address());
    there.fill(5.0f32).unwrap();
    assert_eq!(kept.as_slice::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn a_clone_of_an_ndarray_is_not_written_through() {
    let kept = array(&[1.0, 2.0]);
    let mut there = writer(kept.clone());
    there.fill(5.0f32).unwrap();
    assert_eq!(elements(&kept), [1.0, 2.0]);
}

#[test]
fn a_kept_view_of_a_part_is_not_written_through() {
    let mut whole = host(&[1.0, 2.0, 3.0, 4.0]);
    let part = whole.slice(&[AxisSlice::from(1..3)]).unwrap();
    assert_eq!(whole.claim(), Access::Immutable);
    let mut there = writer(NdArray::from_host(whole));
    there.fill(5.0f32).unwrap();
    assert_eq!(part.as_slice::<f32>().unwrap(), [2.0, 3.0]);
}

#[test]
fn both_halves_of_an_array_convert_and_neither_sees_the_other() {
    let whole = host(&[1.0, 2.0, 3.0, 4.0]);
    let left = whole.slice(&[AxisSlice::from(..2)]).unwrap();
    let right = whole.slice(&[AxisSlice::from(2..)]).unwrap();
    drop(whole);
    let mut left = writer(NdArray::from_host(left));
    left.fill(5.0f32).unwrap();
    // The left half was copied, so the right one holds the memory alone.
    let address = right.address();
    let mut right = writer(NdArray::from_host(right));
    assert_eq!(right.address(), address);
    right.fill(6.0f32).unwrap();
    assert_eq!(
        (left.elements::<f32>().unwrap(), right.elements::<f32>().unwrap()),
        (vec![5.0; 2], vec![6.0; 2])
    );
}

#[test]
fn overlapping_elements_are_laid_out_before_anybody_may_write_them() {
    let repeated = host(&[1.0]).broadcast_to(&[3]).unwrap();
    let mut there = writer(NdArray::from_host(repeated));
    there.fill(5.0f32).unwrap();
    assert_eq!(there.elements::<f32>().unwrap(), [5.0; 3]);

    let mut windows =
        host(&[1.0, 2.0, 3.0]).with_layout(Layout::new(&[2, 2], &[1, 1]).unwrap(), 0).unwrap();
    assert_eq!(windows.claim(), Access::Immutable);
    assert!(matches!(windows.as_mut_ptr(), Err(Error::Shared { .. })));
    assert!(windows.make_mut().unwrap());
    assert_eq!(windows.as_slice_mut::<f32>().unwrap(), [1.0, 2.0, 2.0, 3.0]);
}

#[test]
fn conversion_by_reference_leaves_the_source_out_of_reach() {
    let source = array(&[1.0, 2.0]);
    let mut there = to::<Ndarray, Writer>(&source, HOST).unwrap();
    there.fill(5.0f32).unwrap();
    assert_eq!(elements(&source), [1.0, 2.0]);

    let mut kept = writer(source);
    let back = to::<Writer, Ndarray>(&kept, HOST).unwrap();
    kept.fill(7.0f32).unwrap();
    assert_eq!(elements(&back), [1.0, 2.0]);
}

#[test]
fn two_libraries_that_never_write_share_by_reference() {
    let source = array(&[1.0, 2.0]);
    let frozen = to::<Ndarray, Frozen>(&source, HOST).unwrap();
    assert_eq!(frozen.address(), source.host().address());
    // Copy-on-write keeps the frozen array as it was.
    let mut source = source;
    assert!(source.host_mut().make_mut().unwrap());
    source.host_mut().as_slice_mut::<f32>().unwrap().fill(5.0);
    assert_eq!(frozen.elements::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn what_was_shared_with_an_immutable_library_is_copied_for_a_writer() {
    let source = array(&[1.0, 2.0]);
    let frozen = to::<Ndarray, Frozen>(&source, HOST).unwrap();
    let mut there = writer(source);
    there.fill(5.0f32).unwrap();
    assert_eq!(frozen.elements::<f32>().unwrap(), [1.0, 2.0]);

    // And the other way round: the frozen array was the last holder, so it is moved.
    let address = frozen.address();
    let moved = frozen.convert_to::<Writer>(HOST).unwrap();
    assert_eq!(moved.address(), address);
}

#[test]
fn a_native_alias_behind_the_scenes_prevents_sharing() {
    let there = writer(array(&[1.0, 2.0]));
    let mut alias = there.alias();
    let back = there.convert_to::<Ndarray>(HOST).unwrap();
    alias.fill(5.0f32).unwrap();
    assert_eq!(elements(&back), [1.0, 2.0]);

    let mut there = writer(back);
    let _alias = there.alias();
    let refused = there.host_view().unwrap_err();
    assert!(matches!(refused, Error::Shared { .. }), "{refused}");
}

#[test]
fn the_claim_reaches_through_nested_owners() {
    // writer -> ndarray -> frozen -> ndarray: one memory, each wrapped around the other's owner.
    let there = writer(array(&[1.0, 2.0]));
    let address = there.address();
    let wrapped = there.convert_to::<Ndarray>(HOST).unwrap();
    let frozen = wrapped.convert_to::<Frozen>(HOST).unwrap();
    let wrapped = frozen.convert_to::<Ndarray>(HOST).unwrap();
    assert_eq!(wrapped.host().address(), address);
    let kept = wrapped.clone();
    let mut copied = writer(wrapped);
    assert_ne!(copied.address(), address);
    copied.fill(5.0f32).unwrap();
    assert_eq!(elements(&kept), [1.0, 2.0]);
    // With the clone gone the whole chain has one holder again.
    let moved = writer(kept);
    assert_eq!(moved.address(), address);
}

#[test]
fn a_failed_conversion_gives_back_the_same_array() {
    let source = array(&[1.0, 2.0]);
    let address = source.host().address();
    let failed = source.convert_to::<Writer>(Device::Accelerator(0)).unwrap_err();
    assert!(matches!(failed.error(), Error::DeviceKindUnsupported { .. }), "{failed}");
    let source = failed.into_array().unwrap();
    assert_eq!(source.host().address(), address);
    // Nothing of the failed attempt still holds it.
    let there = writer(source);
    assert_eq!(there.address(), address);

    let erased = AnyArray::of::<Writer>(there);
    let failed = erased.convert_by_name("no such library", HOST).unwrap_err();
    let back = failed.into_array().unwrap().into_array_of::<Writer>().unwrap();
    assert_eq!(back.address(), address);
}

#[test]
fn the_erased_form_obeys_the_same_rule() {
    let kept = array(&[1.0, 2.0]);
    let erased = AnyArray::of::<Ndarray>(kept.clone());
    let mut there = erased.convert_to(Library::of::<Writer>(), HOST).unwrap();
    there.as_array_of_mut::<Writer>().unwrap().fill(5.0f32).unwrap();
    assert_eq!(elements(&kept), [1.0, 2.0]);

    let again = there.to(Library::of::<Ndarray>(), HOST).unwrap();
    there.as_array_of_mut::<Writer>().unwrap().fill(6.0f32).unwrap();
    assert_eq!(elements(again.as_array_of::<Ndarray>().unwrap()), [5.0, 5.0]);

    let copy = again.duplicate().unwrap();
    let mut there = again.convert_to(Library::of::<Writer>(), HOST).unwrap();
    there.as_array_of_mut::<Writer>().unwrap().fill(7.0f32).unwrap();
    assert_eq!(elements(copy.as_array_of::<Ndarray>().unwrap()), [5.0, 5.0]);
}

/// Memory that counts its releases.
struct Counted(Arc<AtomicUsize>, Vec<f32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counted(releases: &Arc<AtomicUsize>) -> HostArray {
    let mut memory = Counted(Arc::clone(releases), vec![1.0, 2.0]);
    let pointer = memory.1.as_mut_ptr();
    let layout = Layout::row_major(&[2]).unwrap();
    // SAFETY: the vector's elements do not move with it, and it lives as long as the owner.
    unsafe {
        HostArray::from_raw(
            Owner::new(memory),
            pointer.cast(),
            DType::F32,
            layout,
            Access::Exclusive,
        )
    }
    .unwrap()
}

#[test]
fn a_foreign_owner_is_released_once_after_the_last_reader_on_any_thread() {
    let releases = Arc::new(AtomicUsize::new(0));
    let first = NdArray::from_host(counted(&releases));
    let second = first.clone();
    let frozen = second.convert_to::<Frozen>(HOST).unwrap();
    drop(first);
    assert_eq!(releases.load(Ordering::SeqCst), 0);
    std::thread::spawn(move || assert_eq!(frozen.elements::<f32>().unwrap(), [1.0, 2.0]))
        .join()
        .unwrap();
    assert_eq!(releases.load(Ordering::SeqCst), 1);
}

#[test]
fn an_owner_dropped_on_another_thread_makes_the_array_exclusive() {
    let kept = array(&[1.0, 2.0]);
    let other = kept.clone();
    let (done, wait) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let sum: f32 = elements(&other).iter().sum();
        drop(other);
        done.send(sum).unwrap();
    });
    assert_eq!(wait.recv().unwrap(), 3.0);
    reader.join().unwrap();
    let address = kept.host().address();
    let mut there = writer(kept);
    assert_eq!(there.address(), address);
    there.fill(5.0f32).unwrap();
}

#[test]
fn owners_are_released_once_on_every_path() {
    type Path = fn(HostArray);
    let paths: [(&str, Path); 6] = [
        ("dropped", drop),
        ("copied for a writer", |array| {
            let _kept = array.clone();
            writer(NdArray::from_host(array)).fill(0.0f32).unwrap();
        }),
        ("there and back", |array| {
            let there = writer(NdArray::from_host(array));
            drop(there.convert_to::<Ndarray>(HOST).unwrap());
        }),
        ("refused", |array| {
            let array = NdArray::from_host(array);
            drop(array.convert_to::<Writer>(Device::Accelerator(9)).unwrap_err());
        }),
        ("written after a copy", |mut array| {
            let kept = array.clone();
            assert!(array.make_mut().unwrap());
            drop(kept);
        }),
        ("through DLPack", |array| {
            let payload = array.into_dlpack().unwrap();
            drop(HostArray::from_dlpack(payload).unwrap());
        }),
    ];
    for (name, path) in paths {
        let releases = Arc::new(AtomicUsize::new(0));
        path(counted(&releases));
        assert_eq!(releases.load(Ordering::SeqCst), 1, "{name}");
    }
}

#[test]
fn a_payload_says_who_else_may_reach_its_memory() {
    let only = host(&[1.0, 2.0]);
    assert_eq!(only.into_dlpack().unwrap().access(), Access::Exclusive);

    let kept = host(&[1.0, 2.0]);
    let payload = kept.clone().into_dlpack().unwrap();
    assert_eq!(payload.access(), Access::Immutable);
    let mut imported = HostArray::from_dlpack(payload).unwrap();
    assert_eq!(imported.address(), kept.address());
    assert!(imported.make_mut().unwrap());
    imported.as_slice_mut::<f32>().unwrap().fill(5.0);
    assert_eq!(kept.as_slice::<f32>().unwrap(), [1.0, 2.0]);

    // The legacy form cannot say read-only, so a shared array does not leave in it.
    let refused = kept.clone().into_dlpack().unwrap().into_legacy().unwrap_err();
    assert!(matches!(refused, Error::Shared { .. }), "{refused}");
}
