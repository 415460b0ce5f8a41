//! How exchanging arrays fails in the field: ownership.
#![allow(clippy::unwrap_used, clippy::panic)]

mod foreign;

use std::thread;

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{Access, AnyArray, Convert, Device, HOST, HostArray, Library, Owner};
use arraybridge_testkit::mock::{
    Accelerated, Act, Immutable, MockArray, SharedStorage, Step, Wrapping, kinds::AcceleratedKind,
    kinds::SharedStorageKind, kinds::WrappingKind,
};
use arraybridge_testkit::{Releases, Sample, bits, dtypes, numbers, samples};
use foreign::{Deleted, Exported, Foreign};

const GPU: Device = Device::Accelerator(0);

#[test]
fn an_import_that_fails_after_it_took_over_releases_once() {
    for act in [Act::Fail, Act::OutOfMemory] {
        for step in [Step::Import, Step::Move] {
            for dtype in dtypes() {
                for sample in samples(dtype) {
                    let (host, releases) = sample.make().unwrap();
                    let array = MockArray::<AcceleratedKind>::new(host, GPU).unwrap();
                    let script = Immutable::script(step, act);
                    let failed = array.convert_to::<Immutable>(Device::Accelerator(1)).err();
                    drop(script);
                    let Some(failed) = failed else {
                        // Read-only memory goes to a library that never writes, too: nothing moved.
                        panic!("{}: it did not fail", sample.name());
                    };
                    releases.assert_none(&sample.name());
                    drop(failed);
                    releases.assert_once(&sample.name());
                }
            }
        }
    }
}

#[test]
fn a_tensor_is_released_once_when_imported_and_once_when_nobody_imports_it() {
    let deleted = Deleted::default();
    let tensor = Foreign::of(&[2]).versioned(&deleted);
    // SAFETY: made above and given up.
    let payload = unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) }.unwrap();
    assert_eq!(deleted.count(), 0);
    drop(payload);
    assert_eq!(deleted.count(), 1, "a payload that nobody consumed");

    let (array, deleted) = Foreign::of(&[2]).import(Access::Exclusive);
    let array = array.unwrap();
    let (one, other) = (array.clone(), array.transpose());
    drop(array);
    drop(one);
    assert_eq!(deleted.count(), 0, "a view lives");
    drop(other);
    assert_eq!(deleted.count(), 1);
}

#[test]
fn an_exported_tensor_that_is_never_imported_is_released_by_its_deleter() {
    let sample =
        Sample { dtype: arraybridge_core::DType::F32, layout: arraybridge_testkit::LAYOUTS[2] };
    let (host, releases) = sample.make().unwrap();
    let exported = Exported::of(host);
    releases.assert_none("exported");
    drop(exported);
    releases.assert_once("deleted by its consumer");
    // A chain: out, in, out again, in again.
    let (host, releases) = sample.make().unwrap();
    let mut array = host;
    for _ in 0..3 {
        let tensor = Exported::of(array).into_raw();
        // SAFETY: exported above and given up.
        let payload = unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) }.unwrap();
        array = HostArray::from_dlpack(payload).unwrap();
    }
    assert_eq!(bits(&array), sample.bits().unwrap());
    assert_eq!(array.claim(), Access::Exclusive, "exclusivity is kept through the chain");
    releases.assert_none("in use");
    drop(array);
    releases.assert_once("dropped");
}

#[test]
fn a_deleter_runs_once_on_whichever_thread_lets_go() {
    let (array, deleted) = Foreign::of(&[4]).import(Access::Exclusive);
    let array = array.unwrap();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let array = array.clone();
            thread::spawn(move || assert_eq!(numbers(&array), [0.0, 1.0, 2.0, 3.0]))
        })
        .collect();
    drop(array);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert_eq!(deleted.count(), 1);
}

#[test]
fn a_panic_in_an_owner_does_not_unwind_into_the_consumer() {
    struct Explodes(#[allow(dead_code)] Releases);
    impl Drop for Explodes {
        fn drop(&mut self) {
            panic!("in the drop of an owner");
        }
    }
    let releases = Releases::new();
    let owner = Owner::new((releases.guard(()), Explodes(releases.clone())));
    let layout = arraybridge_core::Layout::row_major(&[0]).unwrap();
    let dtype = arraybridge_core::DType::U8;
    let access = Access::Exclusive;
    let device = arraybridge_core::dlpack::DlpackDevice::CPU;
    // SAFETY: there are no elements.
    let payload = unsafe {
        DlpackPayload::new(owner, std::ptr::null_mut(), 0, dtype, layout, device, access)
    };
    let tensor = payload.unwrap().into_versioned().unwrap();
    // SAFETY: exported above and given up; deleted here, as a C program would.
    let managed = unsafe { &*tensor.cast::<dlpark::ffi::DLManagedTensorVersioned>() };
    let delete = managed.deleter.unwrap();
    // SAFETY: called once.
    unsafe { delete(tensor.cast()) };
    releases.assert_once("deleted");
}

#[test]
fn a_write_through_one_array_is_not_seen_in_an_immutable_one() {
    // What comes from outside, without knowledge of who writes it, is copied.
    let (array, deleted) = Foreign::of(&[3]).import(Access::SharedMutable);
    let mut array = array.unwrap();
    assert_eq!(deleted.count(), 1, "copied and let go");
    assert_eq!(array.claim(), Access::Exclusive);
    // Storage with two handles is copied before it goes to a library whose arrays never change.
    let host = HostArray::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
    let storage = MockArray::<SharedStorageKind>::new(host, HOST).unwrap();
    let mut other = storage.alias();
    let frozen = storage.convert_to::<Immutable>(HOST).unwrap();
    other.fill(0.0f32).unwrap();
    assert_eq!(numbers(&frozen.to_host().unwrap()), [1.0, 2.0]);
}

#[test]
fn a_read_of_storage_that_others_write_is_a_copy() {
    let host = HostArray::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
    let storage = MockArray::<SharedStorageKind>::new(host, HOST).unwrap();
    let mut other = storage.alias();
    let mut any = AnyArray::of::<SharedStorage>(storage);
    let read = any.to_host().unwrap();
    assert!(any.host_view().is_err() && any.host_view_exclusive().is_err(), "others hold it");
    other.fill(0.0f32).unwrap();
    assert_eq!(numbers(&read), [1.0, 2.0]);
    drop(other);
    assert_eq!(any.host_view_exclusive().unwrap().as_slice::<f32>().unwrap(), [0.0, 0.0]);
}

#[test]
fn every_pair_of_libraries_releases_once_on_every_path() {
    let libraries = [
        (Library::of::<Wrapping>(), HOST),
        (Library::of::<Accelerated>(), HOST),
        (Library::of::<Accelerated>(), GPU),
        (Library::of::<Immutable>(), HOST),
        (Library::of::<SharedStorage>(), HOST),
    ];
    let sample =
        Sample { dtype: arraybridge_core::DType::F64, layout: arraybridge_testkit::LAYOUTS[2] };
    for (first, on) in libraries {
        for (second, then_on) in libraries {
            let (host, releases) = sample.make().unwrap();
            let mock = MockArray::<WrappingKind>::new(host, HOST).unwrap();
            let one = AnyArray::of::<Wrapping>(mock).convert_to(first, on).unwrap();
            let two = one.convert_to(second, then_on).unwrap();
            let copy = two.to(first, on).unwrap();
            drop(two);
            assert_eq!(bits(&copy.to_host().unwrap()), sample.bits().unwrap());
            drop(copy);
            releases.assert_once(&format!("{first} {on}, {second} {then_on}"));
        }
    }
}
