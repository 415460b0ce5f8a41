//! What conversions do at each step: declines fall back in order, failures stop at once, and the
//! array comes back.
#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge_core::{
    AnyArray, Convert, CopyPolicy, DeclineReason, Device, Error, HOST, HostArray, Library,
    Mechanism, to,
};
use arraybridge_testkit::mock::kinds::{
    AcceleratedKind, AcceleratorOnlyKind, ImmutableKind, NamedDeviceKind, SharedStorageKind,
    WrappingKind,
};
use arraybridge_testkit::mock::{
    Accelerated, AcceleratorOnly, Act, Character, Immutable, Mock, MockArray, MockFailure,
    NamedDevice, SharedStorage, Step, Traits, Wrapping,
};
use arraybridge_testkit::{LAYOUTS, Releases, Sample, bits, watch};

use arraybridge_core::DType;

const GPU: Device = Device::Accelerator(0);
const GPU_1: Device = Device::Accelerator(1);

const ROW_MAJOR: usize = 2;

fn sample() -> Sample {
    Sample { dtype: DType::F32, layout: LAYOUTS[ROW_MAJOR] }
}

fn array<C: Character>(device: Device) -> (MockArray<C>, Releases) {
    let (host, releases) = sample().make().unwrap();
    (MockArray::new(host, device).unwrap(), releases)
}

fn whole<C: Character>(array: &MockArray<C>) {
    assert_eq!(bits(&array.to_host().unwrap()), sample().bits().unwrap());
}

#[test]
fn dlpack_comes_before_the_shared_host_buffer_and_that_before_the_host_copy() {
    let reasons = [DeclineReason::Dtype, DeclineReason::Version];
    let (source, releases) = array::<AcceleratedKind>(HOST);
    let (made, records) = watch(|| source.convert_to::<Immutable>(HOST));
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::Dlpack, false));
    assert!(records[0].declined.is_empty());
    releases.assert_none("over the same memory");
    drop(made);
    releases.assert_once("with the array");

    let (source, _) = array::<AcceleratedKind>(HOST);
    let _first = Immutable::script(Step::Import, Act::Decline(reasons[0]));
    let (made, records) = watch(|| source.convert_to::<Immutable>(HOST));
    whole(&made.unwrap());
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::SharedHostBuffer, false));
    let declined: Vec<_> =
        records[0].declined.iter().map(|(by, why)| (*by, why.reason())).collect();
    assert_eq!(declined, [(Mechanism::Dlpack, reasons[0])]);

    let (source, releases) = array::<AcceleratedKind>(HOST);
    let _second = Accelerated::script(Step::Lend, Act::Decline(reasons[1]));
    let (made, records) = watch(|| source.convert_to::<Immutable>(HOST));
    whole(&made.unwrap());
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::HostCopy, true));
    let declined: Vec<_> =
        records[0].declined.iter().map(|(by, why)| (*by, why.reason())).collect();
    let expected = [(Mechanism::Dlpack, reasons[0]), (Mechanism::SharedHostBuffer, reasons[1])];
    assert_eq!(declined, expected);
    releases.assert_once("the source is gone");
}

/// Every step that can fail, alone: the conversion stops there, whatever would come after.
#[test]
fn a_failure_at_any_step_stops_the_conversion_and_gives_the_array_back() {
    for act in [Act::Fail, Act::OutOfMemory] {
        for step in [Step::Export, Step::Import] {
            for (from, to) in [(HOST, HOST), (GPU, GPU), (GPU, HOST), (HOST, GPU_1)] {
                stops::<AcceleratedKind, ImmutableKind>(from, to, step, act);
            }
        }
        // Imported, and then the move to the other device fails.
        for (from, to) in [(GPU, HOST), (HOST, GPU_1), (GPU, GPU_1)] {
            stops::<AcceleratedKind, ImmutableKind>(from, to, Step::Move, act);
        }
        for step in [Step::Lend, Step::Adopt] {
            stops::<AcceleratedKind, WrappingKind>(HOST, HOST, step, act);
            stops::<SharedStorageKind, WrappingKind>(HOST, HOST, step, act);
            let named = Device::named("mock").unwrap();
            stops::<NamedDeviceKind, WrappingKind>(named, HOST, step, act);
            stops::<WrappingKind, NamedDeviceKind>(HOST, named, step, act);
        }
        for step in [Step::Download, Step::Upload] {
            stops::<AcceleratedKind, WrappingKind>(GPU, HOST, step, act);
            stops::<WrappingKind, AcceleratorOnlyKind>(HOST, GPU_1, step, act);
        }
        stops::<AcceleratedKind, AcceleratedKind>(GPU, HOST, Step::Move, act);
    }
}

fn stops<S: Character, T: Character>(from: Device, to: Device, step: Step, act: Act) {
    let context = format!("{step:?} {act:?} from {from} to {to}");
    for erased in [false, true] {
        let (source, releases) = array::<S>(from);
        let address = source.address();
        let scripts = (Mock::<S>::script(step, act), Mock::<T>::script(step, act));
        let (failed, records) = watch(|| {
            if erased {
                let source = AnyArray::of::<Mock<S>>(source);
                let error = source.convert_to(Library::of::<Mock<T>>(), to).unwrap_err();
                error.map_array(|array| array.into_array_of::<Mock<S>>().ok())
            } else {
                source.convert_to::<Mock<T>>(to).unwrap_err()
            }
        });
        drop(scripts);
        assert!(records.is_empty(), "{context}: a record of a failure");
        let (error, back) = failed.into_parts();
        let Error::Foreign { source, .. } = &error else { panic!("{context}: {error}") };
        let expected =
            if act == Act::Fail { MockFailure::Broken } else { MockFailure::OutOfMemory };
        assert_eq!(source.downcast_ref(), Some(&expected), "{context}");
        let out_of_memory = Library::of::<Accelerated>().is_out_of_memory(&error);
        assert_eq!(out_of_memory, act == Act::OutOfMemory, "{context}");
        let back = back.unwrap_or_else(|| panic!("{context}: the array is lost"));
        assert_eq!((back.address(), back.device()), (address, from), "{context}");
        whole(&back);
        releases.assert_none(&context);
        // It is as usable as before.
        let again = back.convert_to::<Mock<T>>(to).unwrap();
        whole(&again);
        drop(again);
        releases.assert_once(&context);
    }
}

#[test]
fn an_array_that_cannot_be_described_comes_back() {
    let (source, releases) = array::<WrappingKind>(HOST);
    let script = Wrapping::script(Step::Describe, Act::Fail);
    // A conversion that may not copy compares addresses; one that may asks for the device alone.
    let error = source.convert_with::<Accelerated>(GPU, CopyPolicy::Never).unwrap_err();
    let source = AnyArray::of::<Wrapping>(error.into_array().unwrap());
    let accelerated = Library::of::<Accelerated>();
    let error = source.convert_with(accelerated, GPU, CopyPolicy::Never).unwrap_err();
    drop(script);
    assert_eq!(error.to_string(), "mock-wrapping failed in describe");
    let back = error.into_array().expect("nothing was taken");
    assert_eq!(back.device().unwrap(), HOST);
    drop(back);
    releases.assert_once("dropped");
}

#[test]
fn a_dlpack_import_that_was_moved_is_recorded_as_dlpack_and_copied() {
    let (source, releases) = array::<AcceleratorOnlyKind>(GPU);
    let (made, records) = watch(|| source.convert_to::<Immutable>(HOST));
    let made = made.unwrap();
    assert_eq!(made.device(), HOST);
    whole(&made);
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::Dlpack, true));
    assert_eq!(records[0].target_device, HOST);
    releases.assert_once("the payload was let go of after the move");
}

#[test]
fn dlpack_between_accelerators_copies_nothing() {
    let (source, releases) = array::<AcceleratorOnlyKind>(GPU_1);
    let address = source.address();
    let source = {
        let (made, records) =
            watch(|| source.convert_with::<Accelerated>(GPU_1, CopyPolicy::Never));
        assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::Dlpack, false));
        made.unwrap()
    };
    assert_eq!((source.address(), source.device()), (address, GPU_1));
    releases.assert_none("in use");
    drop(source);
    releases.assert_once("dropped");
}

#[test]
fn a_target_that_copies_in_secret_is_recorded_as_a_host_copy() {
    let (source, _) = array::<WrappingKind>(HOST);
    let _script = NamedDevice::script(Step::Adopt, Act::Copy);
    let named = Device::named("mock").unwrap();
    let (made, records) = watch(|| source.convert_to::<NamedDevice>(named));
    whole(&made.unwrap());
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::HostCopy, true));
    let (by, why) = records[0].declined[0];
    assert_eq!(by, Mechanism::SharedHostBuffer);
    assert_eq!(why.to_string(), "alignment (the target copied: addresses differ)");

    // XLA's habit: what is not aligned to 64 bytes.
    let layout = arraybridge_testkit::SampleLayout { offset: 1, ..LAYOUTS[ROW_MAJOR] };
    let (host, _) = Sample { dtype: DType::F32, layout }.make().unwrap();
    let source = MockArray::<AcceleratedKind>::new(host, HOST).unwrap();
    let (made, records) = watch(|| source.convert_to::<Immutable>(HOST));
    drop(made.unwrap());
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::HostCopy, true));
    assert_eq!(records[0].declined[0].0, Mechanism::Dlpack);
}

#[test]
fn a_target_that_copies_in_secret_breaks_a_refusal_to_copy() {
    for step in [Step::Adopt, Step::Import] {
        let (source, releases) = array::<AcceleratedKind>(HOST);
        let address = source.address();
        let _script = SharedStorage::script(step, Act::Copy);
        let _other = (step == Step::Adopt)
            .then(|| SharedStorage::script(Step::Import, Act::Decline(DeclineReason::Version)));
        let error = source.convert_with::<SharedStorage>(HOST, CopyPolicy::Never).unwrap_err();
        assert!(matches!(error.error(), Error::WouldCopy { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("the target copied: addresses differ"), "{text}");
        let back = error.into_array().expect("the array comes back");
        assert_eq!(back.address(), address);
        whole(&back);
        releases.assert_none("in use");
        drop(back);
        releases.assert_once("dropped");
    }
}

#[test]
fn a_refusal_to_copy_comes_before_the_copy() {
    arraybridge_testkit::mock::log_calls();
    let (source, _) = array::<WrappingKind>(HOST);
    let error = source.convert_with::<Accelerated>(GPU, CopyPolicy::Never).unwrap_err();
    let expected = "mock-wrapping to mock-accelerated on `accelerator:0` would copy (host copy), \
                    and a copy was refused";
    assert_eq!(error.to_string(), expected);
    use arraybridge_core::ArrayLibrary;
    let work = |step| matches!(step, Step::Download | Step::Upload);
    let calls = arraybridge_testkit::mock::calls(Wrapping::INSTANCE);
    assert!(!calls.iter().any(|call| work(call.step)), "{calls:?}");
    let calls = arraybridge_testkit::mock::calls(Accelerated::INSTANCE);
    assert!(!calls.iter().any(|call| work(call.step)), "{calls:?}");

    // A move copies too, also after an import that did not.
    let (source, releases) = array::<AcceleratorOnlyKind>(GPU);
    let error = source.convert_with::<Immutable>(HOST, CopyPolicy::Never).unwrap_err();
    assert!(error.to_string().contains("dlpack declined: device (it would be moved"), "{error}");
    whole(&error.into_array().unwrap());
    releases.assert_once("dropped");
}

/// Rules 2 and 3: exclusive memory crosses, shared memory is copied once by its library.
#[test]
fn storage_with_two_handles_is_copied_once_and_the_other_handle_sees_no_write() {
    for target_shares in [true, false] {
        let (source, releases) = array::<SharedStorageKind>(HOST);
        let mut other = source.alias();
        let (made, records) = watch(|| {
            if target_shares {
                let made = source.convert_to::<Accelerated>(HOST).unwrap();
                made.to_host().unwrap()
            } else {
                let made = source.convert_to::<Wrapping>(HOST).unwrap();
                made.to_host().unwrap()
            }
        });
        assert!(records[0].copied, "{records:?}");
        other.fill(0.0f32).unwrap();
        assert_eq!(bits(&made), sample().bits().unwrap(), "a write through the other handle");
        drop(other);
        releases.assert_once("the storage went with its last handle");
    }
}

#[test]
fn storage_with_two_handles_is_refused_uncopied_and_comes_back_with_both() {
    let (source, _) = array::<SharedStorageKind>(HOST);
    let mut other = source.alias();
    let error = source.convert_with::<Accelerated>(HOST, CopyPolicy::Never).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("dlpack declined: shared (the storage has other handles)"), "{text}");
    assert!(text.contains("shared host buffer declined: shared"), "{text}");
    let back = error.into_array().unwrap();
    other.fill(0.0f32).unwrap();
    assert_eq!(bits(&back.to_host().unwrap()), vec![0; 48], "it is a handle on the same storage");
}

/// Rule 3: immutable memory crosses to those who never write it, and is copied for others.
#[test]
fn immutable_memory_crosses_only_to_libraries_that_never_write() {
    let (source, releases) = array::<ImmutableKind>(HOST);
    let address = source.address();
    let (made, records) = watch(|| source.convert_to::<Accelerated>(HOST));
    let made = made.unwrap();
    assert_ne!(made.address(), address);
    let declined: Vec<_> =
        records[0].declined.iter().map(|(by, why)| (*by, why.reason())).collect();
    let read_only = DeclineReason::ReadOnly;
    let expected = [(Mechanism::Dlpack, read_only), (Mechanism::SharedHostBuffer, read_only)];
    assert_eq!(declined, expected);
    releases.assert_once("the copy holds nothing of it");
}

/// Rule 4: by reference the source stays as it was, and memory is shared only where neither
/// library ever writes.
#[test]
fn conversions_by_reference_copy_what_anyone_could_write() {
    let (source, releases) = array::<WrappingKind>(HOST);
    let (made, records) =
        watch(|| to::<Wrapping, NamedDevice>(&source, Device::named("mock").unwrap()));
    let made = made.unwrap();
    assert_ne!(made.address(), source.address());
    assert!(records[0].copied, "{records:?}");
    whole(&source);
    drop(source);
    whole(&made);
    releases.assert_once("the source alone held it");

    // Both never write: one memory, two libraries.
    let (source, releases) = array::<ImmutableKind>(HOST);
    let (made, records) = watch(|| to::<Immutable, Mock<Frozen>>(&source, HOST));
    let made = made.unwrap();
    assert_eq!(made.address(), source.address());
    assert!(!records[0].copied, "{records:?}");
    drop(source);
    whole(&made);
    releases.assert_none("the other array is over it");
    drop(made);
    releases.assert_once("both are gone");

    // What fails leaves the source as it was.
    let (source, _) = array::<ImmutableKind>(HOST);
    let script = Immutable::script(Step::Duplicate, Act::Fail);
    let failed = to::<Immutable, Wrapping>(&source, HOST).unwrap_err();
    assert!(matches!(failed, Error::Foreign { .. }), "{failed}");
    drop(script);
    whole(&source);
}

/// A second library whose arrays never change.
enum Frozen {}

impl Character for Frozen {
    const TRAITS: Traits = Traits { name: "frozen", ..ImmutableKind::TRAITS };
}

/// Rule 8: `?` turns the error into the plain one, and drops the array.
#[test]
fn the_error_of_a_conversion_drops_its_array_when_it_becomes_a_plain_one() {
    fn convert(
        source: MockArray<WrappingKind>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        source.convert_to::<Accelerated>(Device::Accelerator(7))?;
        Ok(())
    }
    let (source, releases) = array::<WrappingKind>(HOST);
    let error = convert(source).unwrap_err();
    let text = "mock-accelerated has no device `accelerator:7`; it has `host`, `accelerator:0`, \
                `accelerator:1`";
    assert_eq!(error.to_string(), text);
    drop(error);
    releases.assert_once("with the error");
}

/// Rule 9: the owner is released once, on whichever thread lets go of it last.
#[test]
fn an_owner_is_released_once_on_the_thread_that_lets_go_last() {
    let (source, releases) = array::<AcceleratedKind>(GPU);
    let made = source.convert_to::<AcceleratorOnly>(GPU).unwrap();
    let made = std::thread::spawn(move || made.convert_to::<Immutable>(GPU).unwrap());
    let made = made.join().unwrap();
    releases.assert_none("in use");
    std::thread::spawn(move || drop(made)).join().unwrap();
    releases.assert_once("dropped there");
}

#[test]
fn an_array_without_elements_shares_nothing_and_copies_nothing() {
    for layout in [LAYOUTS[3], LAYOUTS[4]] {
        let sample = Sample { dtype: DType::F64, layout };
        let (host, releases) = sample.make().unwrap();
        let source = MockArray::<WrappingKind>::new(host, HOST).unwrap();
        let named = Device::named("mock").unwrap();
        let (made, records) =
            watch(|| source.convert_with::<NamedDevice>(named, CopyPolicy::Never));
        let made = made.unwrap();
        assert_eq!(made.to_host().unwrap().shape(), layout.shape);
        let record = &records[0];
        assert_eq!(
            (record.mechanism, record.copied, record.nbytes),
            (Mechanism::HostCopy, false, 0)
        );
        assert!(record.declined.is_empty(), "{records:?}");
        drop(made);
        releases.assert_once(layout.name);
    }
}

#[test]
fn moves_in_one_library_are_recorded_as_conversions_and_unrecorded_by_method() {
    let host = HostArray::from_vec(vec![1u8, 2], &[2]).unwrap();
    let source = MockArray::<AcceleratedKind>::new(host, GPU).unwrap();
    let (made, records) = watch(|| source.convert_to::<Accelerated>(GPU_1));
    assert_eq!((records[0].mechanism, records[0].copied), (Mechanism::DeviceMove, true));
    let made = AnyArray::of::<Accelerated>(made.unwrap());
    let (moved, records) = watch(|| made.move_to_device(HOST));
    assert_eq!(moved.unwrap().device().unwrap(), HOST);
    assert!(records.is_empty());
    let error = made.move_to_device(Device::Accelerator(2)).unwrap_err();
    assert!(matches!(error, Error::DeviceUnavailable { .. }), "{error}");
}
