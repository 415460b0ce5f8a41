//! Routes that decline, fail and panic: what comes back, what is tried next, what is released.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use arraybridge_core::{
    AnyArray, ArrayLibrary, Convert, CopyPolicy, DType, DeclineReason, Device, DeviceKinds, HOST,
    Library, Mechanism,
};
use arraybridge_testkit::mock::{
    Act, Character, Mock, MockArray, Script, Step, Traits, calls, log_calls,
};
use arraybridge_testkit::{LAYOUTS, Releases, Sample, bits, watch};

const FIRST: Device = Device::Accelerator(0);
const SECOND: Device = Device::Accelerator(1);

/// Row-major.
const SAMPLE: Sample = Sample { dtype: DType::F32, layout: LAYOUTS[2] };

/// Defines a mock library.
macro_rules! library {
    ($(#[$doc:meta])* $library:ident, $kind:ident: $traits:expr) => {
        enum $kind {}

        impl Character for $kind {
            const TRAITS: Traits = $traits;
        }

        $(#[$doc])*
        type $library = Mock<$kind>;
    };
}

library!(
    /// Exports from its accelerators.
    Giver, GiverKind: Traits {
        name: "giver",
        dlpack_export: DeviceKinds::ACCELERATOR,
        dlpack_import: DeviceKinds::NONE,
        ..Traits::EVERYWHERE
    }
);
library!(
    /// Imports on its accelerators and moves arrays between them.
    Taker, TakerKind: Traits {
        name: "taker",
        dlpack_export: DeviceKinds::NONE,
        dlpack_import: DeviceKinds::ACCELERATOR,
        ..Traits::EVERYWHERE
    }
);
library!(
    /// Imports on its accelerators, where they then stay.
    Fixed, FixedKind: Traits { name: "fixed", moves: false, ..TakerKind::TRAITS }
);
library!(
    /// Another crate's library of the name `giver`.
    Twin, TwinKind: Traits { name: "giver", ..TakerKind::TRAITS }
);

/// Returns an array whose release is counted.
fn given(device: Device) -> (MockArray<GiverKind>, Releases) {
    let (host, releases) = SAMPLE.make().unwrap();
    (MockArray::new(host, device).unwrap(), releases)
}

/// Tells the importing library what to do where its roles are asked.
fn taker(act: Act) -> [Script; 2] {
    [Step::Import, Step::Adopt].map(|step| Taker::script(step, act))
}

#[track_caller]
fn assert_whole<C: Character>(array: &MockArray<C>) {
    assert_eq!(bits(&array.to_host().unwrap()), SAMPLE.bits().unwrap());
}

type Seen = (Mechanism, bool, Vec<(Mechanism, DeclineReason)>);

/// Returns what was recorded while `body` ran.
fn recorded<R>(body: impl FnOnce() -> R) -> (R, Vec<Seen>) {
    let (result, seen) = watch(body);
    let reasons = |declined: &[(Mechanism, arraybridge_core::Decline)]| {
        declined.iter().map(|(by, decline)| (*by, decline.reason())).collect()
    };
    let seen = seen.iter().map(|one| (one.mechanism, one.copied, reasons(&one.declined)));
    (result, seen.collect())
}

/// The conversions whose target is asked through each exchange: DLPack and shared host buffers.
const EXCHANGES: [(Device, Mechanism); 2] =
    [(FIRST, Mechanism::Dlpack), (HOST, Mechanism::SharedHostBuffer)];

#[test]
fn each_exchange_shares_and_releases_the_memory_once() {
    for (device, mechanism) in EXCHANGES {
        let (array, releases) = given(device);
        let address = array.address();
        let (taken, seen) = recorded(|| array.convert_to::<Taker>(device).unwrap());
        assert_eq!(seen, [(mechanism, false, vec![])]);
        assert_eq!((taken.address(), taken.device()), (address, device));
        assert_eq!(releases.count(), 0);
        drop(taken);
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn a_declined_exchange_gives_the_array_to_the_next_route() {
    for (device, mechanism) in EXCHANGES {
        let (array, releases) = given(device);
        let _scripts = taker(Act::Decline(DeclineReason::Dtype));
        let (taken, seen) = recorded(|| array.convert_to::<Taker>(device).unwrap());
        assert_whole(&taken);
        let declined = vec![(mechanism, DeclineReason::Dtype)];
        assert_eq!(seen, [(Mechanism::HostCopy, true, declined)]);
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn a_failure_stops_the_conversion_and_gives_the_array_back() {
    for (device, _) in EXCHANGES {
        let (array, releases) = given(device);
        let address = array.address();
        let _scripts = taker(Act::OutOfMemory);
        log_calls();
        let error = array.convert_to::<Taker>(device).unwrap_err();
        // No slower route was tried, which would bury the failure.
        assert!(calls(Taker::INSTANCE).iter().all(|call| call.step != Step::Upload));
        assert!(Library::of::<Taker>().is_out_of_memory(error.error()));
        let mut back: MockArray<GiverKind> = error.into_array().unwrap();
        assert_eq!((back.address(), back.device()), (address, device));
        assert_whole(&back);
        // It is as exclusive as it was.
        assert!(back.fill(0.0f32).is_ok());
        assert_eq!(releases.count(), 0);
        drop(back);
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn a_target_that_declines_and_keeps_the_memory_is_named() {
    for (device, mechanism) in EXCHANGES {
        let (array, releases) = given(device);
        let scripts = taker(Act::Keep);
        let error = array.convert_to::<Taker>(device).unwrap_err();
        let message = format!(
            "giving an array back needs an array whose memory nobody else can reach: {mechanism} \
             from giver to taker declined it (dtype (as scripted)), and one of them still holds its memory; \
             report this to the author of that backend"
        );
        assert_eq!(error.to_string(), message);
        assert!(error.into_array().is_none());
        assert_eq!(releases.count(), 0);
        drop(scripts);
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn a_panic_in_a_role_releases_the_memory_once() {
    for (device, _) in EXCHANGES {
        let _scripts = taker(Act::Panic);
        let (array, releases) = given(device);
        let convert = AssertUnwindSafe(|| array.convert_to::<Taker>(device));
        assert!(catch_unwind(convert).is_err());
        assert_eq!(releases.count(), 1);

        let (array, releases) = given(device);
        let array = AnyArray::of::<Giver>(array);
        let convert = AssertUnwindSafe(|| array.convert_to(Library::of::<Taker>(), device));
        assert!(catch_unwind(convert).is_err());
        assert_eq!(releases.count(), 1);
    }
}

#[test]
fn after_an_import_the_array_is_moved_to_the_device_that_was_asked_for() {
    let (array, releases) = given(FIRST);
    let (taken, seen) = recorded(|| array.convert_to::<Taker>(SECOND).unwrap());
    assert_eq!(taken.device(), SECOND);
    assert_whole(&taken);
    assert_eq!(seen, [(Mechanism::Dlpack, true, vec![])]);
    assert_eq!(releases.count(), 1);
}

#[test]
fn a_move_that_fails_after_an_import_gives_the_array_back() {
    let (array, releases) = given(FIRST);
    let address = array.address();
    let _script = Taker::script(Step::Move, Act::OutOfMemory);
    let back = array.convert_to::<Taker>(SECOND).unwrap_err().into_array().unwrap();
    assert_eq!((back.address(), back.device()), (address, FIRST));
    assert_eq!(releases.count(), 0);
}

#[test]
fn a_library_that_cannot_move_arrays_gets_them_by_a_copy() {
    let (array, _) = given(FIRST);
    let (taken, seen) = recorded(|| array.convert_to::<Fixed>(SECOND).unwrap());
    assert_eq!(taken.device(), SECOND);
    assert_whole(&taken);
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
    let _script = Giver::script(Step::Export, Act::Copy);
    let convert = |policy| given(FIRST).0.convert_with::<Taker>(FIRST, policy);
    let error = convert(CopyPolicy::Never).unwrap_err();
    let message = "giver to taker on `accelerator:0` would copy (dlpack), and a copy was refused";
    assert_eq!(error.to_string(), message);
    assert_whole(&error.into_array().unwrap());
    let (taken, seen) = recorded(|| convert(CopyPolicy::Allow).unwrap());
    assert_whole(&taken);
    assert_eq!(seen, [(Mechanism::Dlpack, true, vec![])]);
}

#[test]
fn an_array_that_cannot_be_described_comes_back_too() {
    let (array, _) = given(FIRST);
    let array = AnyArray::of::<Taker>(array.convert_to::<Taker>(FIRST).unwrap());
    let script = Taker::script(Step::Describe, Act::Fail);
    let giver = Library::of::<Giver>();
    // A conversion that may not copy compares addresses.
    let error = array.convert_with(giver, FIRST, CopyPolicy::Never).unwrap_err();
    drop(script);
    assert_eq!(error.to_string(), "taker failed in describe");
    let back = error.into_array().unwrap();
    assert_eq!(back.device().unwrap(), FIRST);
}

#[test]
fn being_observed_changes_no_outcome() {
    for (device, mechanism) in EXCHANGES {
        for script in [Giver::script, Taker::script] {
            let (array, _) = given(device);
            let _script = script(Step::Describe, Act::Fail);
            let (taken, seen) = recorded(|| array.convert_to::<Taker>(device));
            assert_whole(&taken.unwrap());
            // What is not proven to be shared is not claimed to be.
            assert!(seen.len() == 1 && seen[0].1, "{mechanism}: {seen:?}");
        }
    }
}

#[test]
fn libraries_of_one_name_are_two_libraries() {
    for (from, to) in [(HOST, HOST), (FIRST, SECOND), (HOST, FIRST)] {
        let (array, _) = given(from);
        let taken = array.convert_to::<Twin>(to).unwrap();
        assert_eq!(taken.device(), to);
        assert_whole(&taken);
    }
    assert_ne!(Library::of::<Giver>(), Library::of::<Twin>());
}

#[test]
fn within_a_library_arrays_stay_or_move() {
    let (array, releases) = given(FIRST);
    let address = array.address();
    let array = array.convert_to::<Giver>(FIRST).unwrap();
    assert_eq!(array.address(), address);
    let (moved, seen) = recorded(|| array.convert_to::<Giver>(SECOND).unwrap());
    assert_eq!((moved.device(), seen), (SECOND, vec![(Mechanism::DeviceMove, true, vec![])]));
    assert_eq!(releases.count(), 1);
    let (refused, _) = recorded(|| moved.convert_with::<Giver>(FIRST, CopyPolicy::Never));
    assert_eq!(refused.unwrap_err().into_array().unwrap().device(), SECOND);
}
