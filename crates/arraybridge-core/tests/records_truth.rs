//! What records say: the mechanism that did it, whether bytes were copied, and what declined.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod records_mock;

use std::sync::{Arc, Mutex};

use arraybridge_core::{
    AnyArray, Convert, CopyPolicy, DeclineReason, HOST, HostArray, Library, Mechanism, install,
    register, to,
};

use records_mock::{Copier, Frozen, Writable, frozen, samples};

type Seen = (&'static str, &'static str, Mechanism, bool, usize, Vec<(Mechanism, DeclineReason)>);

/// Returns what was recorded while `body` ran.
fn records<R>(body: impl FnOnce() -> R) -> (R, Vec<Seen>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let watch = install(Arc::new(move |record: &arraybridge_core::ConversionRecord<'_>| {
        let declined = record.declined.iter().map(|(by, decline)| (*by, decline.reason()));
        sink.lock().unwrap().push((
            record.source_library,
            record.target_library,
            record.mechanism,
            record.copied,
            record.nbytes,
            declined.collect(),
        ));
    }));
    let result = body();
    drop(watch);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (result, seen)
}

#[test]
fn exclusive_memory_is_shared_not_copied() {
    let (_, seen) = records(|| samples(4).convert_to::<Writable>(HOST).unwrap());
    assert_eq!(seen, [("frozen", "writable", Mechanism::SharedHostBuffer, false, 16, vec![])]);
}

#[test]
fn shared_memory_into_a_writable_library_is_copied_once_and_says_who_declined() {
    let array = frozen(4);
    let other = array.alias();
    let (_, seen) = records(|| other.convert_to::<Writable>(HOST).unwrap());
    let declined = vec![(Mechanism::SharedHostBuffer, DeclineReason::ReadOnly)];
    assert_eq!(seen, [("frozen", "writable", Mechanism::HostCopy, true, 16, declined)]);
}

#[test]
fn a_target_that_copies_in_secret_is_recorded_as_a_host_copy() {
    let (_, seen) = records(|| samples(4).convert_to::<Copier>(HOST).unwrap());
    let declined = vec![(Mechanism::SharedHostBuffer, DeclineReason::Alignment)];
    assert_eq!(seen, [("frozen", "copier", Mechanism::HostCopy, true, 16, declined)]);
}

#[test]
fn a_target_that_copies_in_secret_cannot_do_so_where_a_copy_is_refused() {
    let (error, seen) =
        records(|| samples(4).convert_with::<Copier>(HOST, CopyPolicy::Never).unwrap_err());
    assert!(seen.is_empty());
    let text = error.to_string();
    let expected = "frozen to copier on `host` would copy (host copy), and a copy was refused; \
                    shared host buffer declined: alignment (the target copied: addresses differ)";
    assert_eq!(text, expected);
    assert_eq!(error.into_array().unwrap().0, [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn an_array_without_elements_shares_nothing_and_copies_nothing() {
    let (_, seen) = records(|| samples(0).convert_to::<Writable>(HOST).unwrap());
    assert_eq!(seen, [("frozen", "writable", Mechanism::HostCopy, false, 0, vec![])]);
}

#[test]
fn what_stays_in_place_is_not_recorded() {
    let (array, seen) = records(|| samples(4).convert_to::<Frozen>(HOST).unwrap());
    assert_eq!(array.elements::<f32>().unwrap().len(), 4);
    assert!(seen.is_empty());
}

#[test]
fn a_failed_conversion_is_not_recorded() {
    let (result, seen) =
        records(|| samples(4).convert_to::<Writable>(arraybridge_core::Device::Accelerator(0)));
    assert!(result.is_err() && seen.is_empty());
}

#[test]
fn by_reference_the_copy_of_a_writable_array_is_recorded() {
    let array = samples(4).convert_to::<Writable>(HOST).unwrap();
    let (_, seen) = records(|| to::<Writable, Frozen>(&array, HOST).unwrap());
    let shared = Mechanism::SharedHostBuffer;
    assert_eq!(seen, [("writable", "frozen", shared, true, 16, vec![])]);

    let (_, seen) = records(|| to::<Writable, Writable>(&array, HOST).unwrap());
    let stays = Mechanism::StaysInPlace;
    assert_eq!(seen, [("writable", "writable", stays, true, 16, vec![])]);
}

#[test]
fn by_reference_a_library_that_never_writes_shares_and_stays_unrecorded() {
    let array = frozen(4);
    let (copy, seen) = records(|| to::<Frozen, Frozen>(&array, HOST).unwrap());
    assert_eq!(copy.address(), array.address());
    assert!(seen.is_empty());
}

#[test]
fn typed_and_erased_conversions_record_the_same() {
    let (_, typed) = records(|| samples(4).convert_to::<Writable>(HOST).unwrap());
    register::<Writable>();
    let (_, erased) = records(|| {
        let array = AnyArray::from_native(samples(4)).unwrap();
        array.convert_by_name("writable", HOST).unwrap()
    });
    assert_eq!(typed, erased);
}

#[test]
fn reading_to_the_host_and_making_an_array_of_it_are_recorded() {
    let host = HostArray::from_vec(vec![1u8; 8], &[8]).unwrap();
    let writable = Library::of::<Writable>();
    let (array, seen) = records(|| AnyArray::from_host(&host, writable, HOST).unwrap());
    assert_eq!(seen, [("host", "writable", Mechanism::HostCopy, true, 8, vec![])]);
    let (_, seen) = records(|| array.to_host().unwrap());
    assert_eq!(seen, [("writable", "host", Mechanism::HostCopy, true, 8, vec![])]);
    let (_, seen) = records(|| AnyArray::of::<Frozen>(frozen(2)).to_host().unwrap());
    assert_eq!(seen, [("frozen", "host", Mechanism::SharedHostBuffer, false, 8, vec![])]);
}
