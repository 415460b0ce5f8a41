//! How exchanging arrays fails in the field: devices and drivers.
#![allow(clippy::unwrap_used, clippy::panic)]

mod foreign;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge_core::{
    Access, Availability, Convert, DeclineReason, Device, Error, HOST, HostArray, Library,
    Mechanism, Plan,
};
use arraybridge_testkit::mock::kinds::{AcceleratedKind, AcceleratorOnlyKind, WrappingKind};
use arraybridge_testkit::mock::{
    Absent, Accelerated, AcceleratorOnly, Act, MockArray, Step, Wrapping,
};
use arraybridge_testkit::{numbers, watch};
use foreign::{Deleted, Foreign};

#[test]
fn a_device_that_is_not_there_is_an_error_and_nothing_is_placed_elsewhere() {
    let host = HostArray::from_vec(vec![1u8], &[1]).unwrap();
    let array = MockArray::<WrappingKind>::new(host, HOST).unwrap();
    let error = array.convert_to::<AcceleratorOnly>(Device::Accelerator(2)).unwrap_err();
    let text = "mock-accelerator-only has no device `accelerator:2`; it has `accelerator:0`, \
                `accelerator:1`";
    assert_eq!(error.to_string(), text);
    let array = error.into_array().unwrap();
    let error = array.convert_to::<AcceleratorOnly>(HOST).unwrap_err();
    let text = "mock-accelerator-only has no arrays on `host`; it keeps arrays on: accelerator";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_missing_runtime_means_no_devices_and_no_panic() {
    let library = Library::of::<Absent>();
    let availability = library.availability();
    assert!(matches!(availability, Availability::Absent { .. }));
    assert_eq!(availability.to_string(), "absent: nothing brings a mock's runtime");
    assert_eq!(library.available_devices().unwrap(), []);
    assert_eq!(library.accelerator_devices().unwrap(), []);
    let error = library.current_device().unwrap_err();
    assert!(matches!(error, Error::LibraryUnavailable { .. }), "{error}");
    assert_eq!(library.release_cached_memory(None).unwrap(), None);

    let host = HostArray::from_vec(vec![1u8], &[1]).unwrap();
    let array = MockArray::<WrappingKind>::new(host, HOST).unwrap();
    let error = array.convert_to::<Absent>(HOST).unwrap_err();
    assert_eq!(error.to_string(), "mock-absent has no device `host`; it has none");
    assert!(error.into_array().is_some());

    // Plans ask for no runtime.
    let other = Library::of::<Accelerated>().declaration();
    let plan = Plan::between(library.declaration(), HOST, other, HOST).unwrap();
    assert_eq!(plan.mechanism(), Mechanism::Dlpack);
}

#[test]
fn the_index_of_an_accelerator_is_kept_through_dlpack() {
    for index in [0, 1] {
        let host = HostArray::from_vec(vec![1u8], &[1]).unwrap();
        let array =
            MockArray::<AcceleratorOnlyKind>::new(host, Device::Accelerator(index)).unwrap();
        for wanted in [0, 1] {
            let host = array.to_host().unwrap();
            let array = MockArray::<AcceleratorOnlyKind>::new(host, Device::Accelerator(index));
            let wanted = Device::Accelerator(wanted);
            let (made, records) = watch(|| array.unwrap().convert_to::<Accelerated>(wanted));
            assert_eq!(made.unwrap().device(), wanted);
            assert_eq!(records[0].mechanism, Mechanism::Dlpack);
            assert_eq!(records[0].copied, wanted != Device::Accelerator(index));
        }
    }
}

#[test]
fn pinned_and_managed_memory_is_memory_that_the_host_reads() {
    for device in [(1, 0), (3, 0), (11, 0), (13, 1)] {
        let (array, _) = Foreign { device, ..Foreign::of(&[3]) }.import(Access::Exclusive);
        assert_eq!(numbers(&array.unwrap()), [0.0, 1.0, 2.0]);
    }
}

#[test]
fn memory_that_the_host_cannot_read_is_refused_by_the_right_name_and_released() {
    let names = [
        (2, "CUDA 1"),
        (4, "OpenCL 1"),
        (10, "ROCm 1"),
        (8, "Metal 1"),
        (12, "extension 1"),
        (0, "device type 0 number 1"),
        (99, "device type 99 number 1"),
    ];
    for (device_type, name) in names {
        let text = Foreign::refused(|| Foreign { device: (device_type, 1), ..Foreign::of(&[2]) });
        let expected = format!("device: {name} is not memory that the host can read");
        assert!(text.ends_with(&expected), "{text}");
    }
    assert_ne!(DlpackDevice { device_type: 10, device_id: 0 }, DlpackDevice::cuda(0));
}

#[test]
fn another_programs_extension_device_is_not_taken_for_a_mocks() {
    use arraybridge_core::ArrayLibrary;
    use arraybridge_core::Obstacle;

    let deleted = Deleted::default();
    let tensor = Foreign { device: (12, 0), ..Foreign::of(&[2]) }.versioned(&deleted);
    // SAFETY: made above and given up; nothing reads the elements.
    let payload = unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) }.unwrap();
    let refused = Accelerated::INSTANCE.dlpack_import().unwrap().import(payload).unwrap_err();
    let Obstacle::Declined(decline) = refused else { panic!("{refused:?}") };
    assert_eq!(decline.reason(), DeclineReason::Device);
    assert_eq!(deleted.count(), 1);
}

#[test]
fn out_of_memory_surfaces_and_is_recognised() {
    let library = Library::of::<Accelerated>();
    for step in [Step::Upload, Step::Import, Step::Move] {
        let host = HostArray::from_vec(vec![1u8, 2], &[2]).unwrap();
        let array = MockArray::<AcceleratorOnlyKind>::new(host, Device::Accelerator(0)).unwrap();
        let _declined = (step == Step::Upload)
            .then(|| Accelerated::script(Step::Import, Act::Decline(DeclineReason::Version)));
        let _script = Accelerated::script(step, Act::OutOfMemory);
        let error = array.convert_to::<Accelerated>(Device::Accelerator(1)).unwrap_err();
        assert!(library.is_out_of_memory(error.error()), "{step:?}: {error}");
        let array = error.into_array().expect("an out-of-memory retry sees the same input");
        assert_eq!(numbers(&array.to_host().unwrap()), [1.0, 2.0]);
    }
    // Host memory: more than there is is an error, not an abort.
    let error = HostArray::zeros(arraybridge_core::DType::F64, &[1 << 59]).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    assert!(library.is_out_of_memory(&error));
}

#[test]
fn only_a_decline_falls_through_to_a_slower_route() {
    let host = HostArray::from_vec(vec![1u8], &[1]).unwrap();
    let array = MockArray::<AcceleratedKind>::new(host, HOST).unwrap();
    let script = Wrapping::script(Step::Adopt, Act::OutOfMemory);
    let error = array.convert_to::<Wrapping>(HOST).unwrap_err();
    drop(script);
    assert!(matches!(error.error(), Error::Foreign { operation: "adopt", .. }), "{error}");
    let script = Wrapping::script(Step::Adopt, Act::Decline(DeclineReason::Dtype));
    let (made, records) = watch(|| error.into_array().unwrap().convert_to::<Wrapping>(HOST));
    drop(script);
    assert!(made.is_ok());
    assert_eq!(records[0].mechanism, Mechanism::HostCopy);
}
