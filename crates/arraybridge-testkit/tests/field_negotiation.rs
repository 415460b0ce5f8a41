//! How exchanging arrays fails in the field: negotiation.
#![allow(clippy::unwrap_used, clippy::panic)]

mod foreign;

use arraybridge_core::dlpack::{DlpackPayload, DlpackStream};
use arraybridge_core::{Access, Convert, CopyPolicy, Error, HOST, HostArray, Mechanism};
use arraybridge_testkit::mock::{
    Act, Immutable, MockArray, MockFailure, NamedDevice, Step, Wrapping, kinds::SharedStorageKind,
    kinds::WrappingKind,
};
use arraybridge_testkit::{numbers, watch};
use foreign::{Deleted, Exported, Foreign};

const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

#[test]
fn read_only_survives_the_versioned_form() {
    let (array, _) = Foreign { flags: READ_ONLY, ..Foreign::of(&[2]) }.import(Access::Exclusive);
    let mut array = array.unwrap();
    assert_eq!(array.claim(), Access::Immutable);
    assert!(matches!(array.as_slice_mut::<f32>(), Err(Error::Shared { .. })));
    assert_eq!(Exported::of(array).flags() & READ_ONLY, READ_ONLY, "and out again");
    let own = HostArray::from_vec(vec![1u8], &[1]).unwrap();
    let kept = own.clone();
    assert_eq!(Exported::of(own).flags() & READ_ONLY, READ_ONLY, "another handle is kept");
    assert_eq!(Exported::of(kept).flags() & READ_ONLY, 0, "the only handle");
}

#[test]
fn a_legacy_tensor_cannot_say_read_only_and_is_refused() {
    let own = HostArray::from_vec(vec![1u8], &[1]).unwrap();
    let kept = own.clone();
    let error = own.into_dlpack().unwrap().into_legacy().unwrap_err();
    let text = "a legacy DLPack export needs an array whose memory nobody else can reach: its form \
                cannot say read-only; use the versioned form or a copy";
    assert_eq!(error.to_string(), text);
    let tensor = kept.into_dlpack().unwrap().into_legacy().unwrap();
    // SAFETY: exported above and given up.
    let payload = unsafe { DlpackPayload::from_legacy(tensor, Access::Exclusive) }.unwrap();
    assert_eq!(numbers(&HostArray::from_dlpack(payload).unwrap()), [1.0]);
}

#[test]
fn a_read_only_array_is_not_wrapped_by_a_library_that_writes() {
    let (array, deleted) =
        Foreign { flags: READ_ONLY, ..Foreign::of(&[2]) }.import(Access::Exclusive);
    let mock = MockArray::<WrappingKind>::new(array.unwrap(), HOST).unwrap();
    let named = arraybridge_core::Device::named("mock").unwrap();
    let (made, records) = watch(|| mock.convert_to::<NamedDevice>(named));
    drop(made.unwrap());
    let (by, why) = records[0].declined[0];
    assert_eq!(
        (by, why.to_string()),
        (Mechanism::SharedHostBuffer, "read-only (the mock would write it)".into())
    );
    assert!(records[0].copied);
    assert_eq!(deleted.count(), 1);
}

#[test]
fn a_refused_copy_does_not_copy_anyway() {
    let host = HostArray::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
    let array = MockArray::<SharedStorageKind>::new(host, HOST).unwrap();
    let other = array.alias();
    let error = array.convert_with::<Immutable>(HOST, CopyPolicy::Never).unwrap_err();
    assert!(matches!(error.error(), Error::WouldCopy { .. }), "{error}");
    drop(other);
    let array = error.into_array().unwrap();
    let address = array.address();
    let made = array.convert_with::<Wrapping>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(made.address(), address, "the only handle crosses");
}

#[test]
fn a_copy_that_was_made_for_the_export_is_told() {
    let host = HostArray::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
    let array = MockArray::<SharedStorageKind>::new(host, HOST).unwrap();
    let other = array.alias();
    let (made, records) = watch(|| array.convert_to::<Immutable>(HOST));
    drop((made.unwrap(), other));
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::Dlpack, true));

    let own = HostArray::from_vec(vec![1u8], &[1]).unwrap();
    let payload = own.into_dlpack().unwrap().mark_copied();
    let tensor = payload.into_versioned().unwrap();
    // SAFETY: exported above and given up.
    let payload = unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) }.unwrap();
    assert!(payload.is_copied());
    let (array, _) = Foreign { flags: IS_COPIED, ..Foreign::of(&[1]) }.import(Access::Exclusive);
    assert!(array.is_ok());
}

#[test]
fn a_fallback_does_not_swallow_a_real_error() {
    for step in [Step::Import, Step::Adopt] {
        let host = HostArray::from_vec(vec![1.0f32], &[1]).unwrap();
        let array = MockArray::<SharedStorageKind>::new(host, HOST).unwrap();
        let _declined = (step == Step::Adopt).then(|| {
            Immutable::script(Step::Import, Act::Decline(arraybridge_core::DeclineReason::Version))
        });
        let _script = Immutable::script(step, Act::Fail);
        let error = array.convert_to::<Immutable>(HOST).unwrap_err();
        let Error::Foreign { source, .. } = error.error() else { panic!("{error}") };
        assert_eq!(source.downcast_ref(), Some(&MockFailure::Broken));
    }
}

#[test]
fn another_major_version_is_refused_and_released_and_a_newer_minor_one_read() {
    for major in [0, 2, u32::MAX] {
        let deleted = Deleted::default();
        let tensor = Foreign { version: (major, 0), ..Foreign::of(&[2]) }.versioned(&deleted);
        // SAFETY: made above and given up; of another major version only the deleter is known.
        let payload = unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) };
        let text = payload.unwrap_err().to_string();
        assert!(text.starts_with("refused a foreign array: version: "), "{text}");
        assert_eq!(deleted.count(), 1, "major {major}");
    }
    for minor in [0, 1, 99] {
        let (array, _) =
            Foreign { version: (1, minor), ..Foreign::of(&[2]) }.import(Access::Exclusive);
        assert_eq!(numbers(&array.unwrap()), [0.0, 1.0]);
    }
}

#[test]
fn stream_values_are_told_apart() {
    // SAFETY: nobody queues anything on what is named here.
    let read = |value| unsafe { DlpackStream::from_cuda_value(value) };
    assert_eq!(read(-1).unwrap(), DlpackStream::NoSynchronisation);
    assert_eq!(read(1).unwrap(), DlpackStream::LegacyDefault);
    assert_eq!(read(2).unwrap(), DlpackStream::PerThreadDefault);
    assert!(matches!(read(3).unwrap(), DlpackStream::Handle(handle) if handle.get() == 3));
    for wrong in [0, -2, i64::MIN] {
        let text = read(wrong).unwrap_err().to_string();
        assert!(text.contains(&format!("{wrong} is not a stream")), "{text}");
    }
}

#[test]
fn a_null_tensor_is_refused() {
    // SAFETY: null is allowed.
    let payload = unsafe { DlpackPayload::from_versioned(std::ptr::null_mut(), Access::Exclusive) };
    assert!(matches!(payload, Err(Error::InvalidPayload { .. })));
    // SAFETY: null is allowed.
    let payload = unsafe { DlpackPayload::from_legacy(std::ptr::null_mut(), Access::Exclusive) };
    assert!(matches!(payload, Err(Error::InvalidPayload { .. })));
}
