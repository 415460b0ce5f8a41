//! Routes that decline, fail and panic: what comes back, what is tried next, what is released.

#![allow(clippy::unwrap_used, reason = "tests")]

mod route_mock;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use arraybridge_core::{
    AnyArray, ConversionRecord, Convert, CopyPolicy, DeclineReason, Device, Error, HOST, Library,
    Mechanism, install,
};

use route_mock::{
    FAULT, Fault, Fixed, Giver, KEPT, Placed, Taker, Twin, UPLOADS, given, with_fault,
};

const FIRST: Device = Device::Accelerator(0);
const SECOND: Device = Device::Accelerator(1);
const VALUES: [f32; 4] = [0.0, 1.0, 2.0, 3.0];

type Seen = (Mechanism, bool, Vec<(Mechanism, DeclineReason)>);

/// Returns what was recorded while `body` ran.
fn recorded<R>(body: impl FnOnce() -> R) -> (R, Vec<Seen>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let watch = install(Arc::new(move |record: &ConversionRecord<'_>| {
        let declined = record.declined.iter().map(|(by, decline)| (*by, decline.reason()));
        sink.lock().unwrap().push((record.mechanism, record.copied, declined.collect()));
    }));
    let result = body();
    drop(watch);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (result, seen)
}

/// The conversions whose target is asked through each exchange: DLPack and shared host buffers.
const EXCHANGES: [(Device, Mechanism); 2] =
    [(FIRST, Mechanism::Dlpack), (HOST, Mechanism::SharedHostBuffer)];

#[test]
fn each_exchange_shares_and_releases_the_memory_once() {
    for (device, mechanism) in EXCHANGES {
        let (array, releases) = given(device);
        let address = array.host.address();
        let (taken, seen) = recorded(|| array.convert_to::<Taker>(device).unwrap());
        assert_eq!(seen, [(mechanism, false, vec![])]);
        assert_eq!((taken.host.address(), taken.device), (address, device));
        assert_eq!(releases.count(), 0);
        drop(taken);
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn a_declined_exchange_gives_the_array_to_the_next_route() {
    for (device, mechanism) in EXCHANGES {
        let (array, releases) = given(device);
        let convert = || with_fault(Fault::Declines, || array.convert_to::<Taker>(device).unwrap());
        let (taken, seen) = recorded(convert);
        assert_eq!(taken.host.as_slice::<f32>().unwrap(), VALUES);
        let declined = vec![(mechanism, DeclineReason::Dtype)];
        assert_eq!(seen, [(Mechanism::HostCopy, true, declined)]);
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn a_failure_stops_the_conversion_and_gives_the_array_back() {
    for (device, _) in EXCHANGES {
        let (array, releases) = given(device);
        let address = array.host.address();
        let error = with_fault(Fault::Fails, || {
            let error = array.convert_to::<Taker>(device).unwrap_err();
            // No slower route was tried, which would bury the failure.
            assert_eq!(UPLOADS.get(), 0);
            error
        });
        assert!(error.error().is_out_of_memory());
        let mut back: Placed<0> = error.into_array().unwrap();
        assert_eq!((back.host.address(), back.device), (address, device));
        // It is as exclusive as it was.
        assert!(back.host.as_slice_mut::<f32>().is_ok());
        assert_eq!(releases.count(), 0);
        drop(back);
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn a_target_that_declines_and_keeps_the_memory_is_named() {
    for (device, mechanism) in EXCHANGES {
        let (array, releases) = given(device);
        let convert = || array.convert_to::<Taker>(device).unwrap_err();
        let error = with_fault(Fault::DeclinesAndKeeps, convert);
        let message = format!(
            "giving an array back needs an array whose memory nobody else can reach: {mechanism} \
             from giver to taker declined it (dtype), and one of them still holds its memory; \
             report this to the author of that backend"
        );
        assert_eq!(error.to_string(), message);
        assert!(error.into_array().is_none());
        assert_eq!(releases.count(), 0);
        KEPT.take();
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn a_panic_in_a_role_releases_the_memory_once() {
    for (device, _) in EXCHANGES {
        let (array, releases) = given(device);
        let convert = AssertUnwindSafe(|| array.convert_to::<Taker>(device));
        assert!(catch_unwind(|| with_fault(Fault::Panics, convert)).is_err());
        assert_eq!(releases.count(), 1);

        let (array, releases) = given(device);
        let array = AnyArray::of::<Giver>(array);
        let convert = AssertUnwindSafe(|| array.convert_to(Library::of::<Taker>(), device));
        assert!(catch_unwind(|| with_fault(Fault::Panics, convert)).is_err());
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn after_an_import_the_array_is_moved_to_the_device_that_was_asked_for() {
    let (array, releases) = given(FIRST);
    let (taken, seen) = recorded(|| array.convert_to::<Taker>(SECOND).unwrap());
    assert_eq!((taken.device, taken.host.as_slice::<f32>().unwrap()), (SECOND, &VALUES[..]));
    assert_eq!(seen, [(Mechanism::Dlpack, true, vec![])]);
    assert_eq!(releases.count(), 1);
}

#[test]
fn a_move_that_fails_after_an_import_gives_the_array_back() {
    let (array, releases) = given(FIRST);
    let address = array.host.address();
    let convert = || array.convert_to::<Taker>(SECOND).unwrap_err();
    let back = with_fault(Fault::FailsToMove, convert).into_array().unwrap();
    assert_eq!((back.host.address(), back.device), (address, FIRST));
    assert_eq!(releases.count(), 0);
}

#[test]
fn a_library_that_cannot_move_arrays_gets_them_by_a_copy() {
    let (array, _) = given(FIRST);
    let (taken, seen) = recorded(|| array.convert_to::<Fixed>(SECOND).unwrap());
    assert_eq!((taken.device, taken.host.as_slice::<f32>().unwrap()), (SECOND, &VALUES[..]));
    let declined = vec![(Mechanism::Dlpack, DeclineReason::Device)];
    assert_eq!(seen, [(Mechanism::HostCopy, true, declined)]);
}

#[test]
fn a_move_is_refused_where_a_copy_is() {
    let (array, releases) = given(FIRST);
    let error = array.convert_with::<Taker>(SECOND, CopyPolicy::Never).unwrap_err();
    let message = "giver to taker on `accelerator:1` would copy (host copy), and a copy was refused; \
                   dlpack declined: device (it would be moved to the device)";
    assert_eq!(error.to_string(), message);
    assert!(error.into_array().is_some());
    assert_eq!(releases.count(), 1);
}

#[test]
fn an_exporter_that_copies_where_a_copy_is_refused_is_found_out() {
    let convert = |policy| {
        let (array, _) = given(FIRST);
        with_fault(Fault::CopiesInSecret, || array.convert_with::<Taker>(FIRST, policy))
    };
    let error = convert(CopyPolicy::Never).unwrap_err();
    let message = "giver to taker on `accelerator:0` would copy (dlpack), and a copy was refused";
    assert_eq!(error.to_string(), message);
    assert_eq!(error.into_array().unwrap().host.as_slice::<f32>().unwrap(), VALUES);
    let (taken, seen) = recorded(|| convert(CopyPolicy::Allow).unwrap());
    assert_eq!(taken.host.as_slice::<f32>().unwrap(), VALUES);
    assert_eq!(seen, [(Mechanism::Dlpack, true, vec![])]);
}

#[test]
fn an_array_that_cannot_be_described_comes_back_too() {
    let (array, _) = given(FIRST);
    let array = AnyArray::of::<Taker>(array.convert_to::<Taker>(FIRST).unwrap());
    let convert = || array.convert_to(Library::of::<Giver>(), FIRST).unwrap_err();
    let error = with_fault(Fault::CannotDescribe, convert);
    assert!(matches!(error.error(), Error::Unsupported { operation: "describing", .. }));
    let back = error.into_array().unwrap();
    assert_eq!(back.device().unwrap(), FIRST);
}

#[test]
fn being_observed_changes_no_outcome() {
    for (device, mechanism) in EXCHANGES {
        let (array, _) = given(device);
        let convert = || with_fault(Fault::CannotDescribe, || array.convert_to::<Taker>(device));
        let (taken, seen) = recorded(convert);
        assert_eq!(taken.unwrap().host.as_slice::<f32>().unwrap(), VALUES);
        // What is not proven to be shared is not claimed to be.
        assert!(seen.len() == 1 && seen[0].1, "{mechanism}: {seen:?}");
    }
}

#[test]
fn libraries_of_one_name_are_two_libraries() {
    for (from, to) in [(HOST, HOST), (FIRST, SECOND), (HOST, FIRST)] {
        let (array, _) = given(from);
        let taken = array.convert_to::<Twin>(to).unwrap();
        assert_eq!((taken.device, taken.host.as_slice::<f32>().unwrap()), (to, &VALUES[..]));
    }
    assert_ne!(Library::of::<Giver>(), Library::of::<Twin>());
}

#[test]
fn within_a_library_arrays_stay_or_move() {
    let (array, releases) = given(FIRST);
    let address = array.host.address();
    let array = array.convert_to::<Giver>(FIRST).unwrap();
    assert_eq!(array.host.address(), address);
    let (moved, seen) = recorded(|| array.convert_to::<Giver>(SECOND).unwrap());
    assert_eq!((moved.device, seen), (SECOND, vec![(Mechanism::DeviceMove, true, vec![])]));
    assert_eq!(releases.count(), 1);
    let (refused, _) = recorded(|| moved.convert_with::<Giver>(FIRST, CopyPolicy::Never));
    assert_eq!(refused.unwrap_err().into_array().unwrap().device, SECOND);
    assert_eq!(FAULT.get(), Fault::Nothing);
}
