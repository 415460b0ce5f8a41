//! Two devices: told apart, moved between, chosen by threads and the process. Which devices there are
//! is decided once per process, so each case runs in a child process that has two.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Math, Ops};
use arraybridge_core::{AnyArray, ArrayLibrary, Convert, DType, Device, Error, HostArray, Library};
use arraybridge_opencl::{ClArray, Hardware, OpenCl, device_facts};

fn pair() -> [Device; 2] {
    let devices = OpenCl.devices().unwrap();
    let [one, other] = devices[..] else { panic!("{devices:?}") };
    [one, other]
}

fn ramp(count: usize) -> HostArray {
    HostArray::from_vec((0..count).map(|value| value as f32).collect(), &[count]).unwrap()
}

fn values(array: &ClArray) -> Vec<f32> {
    OpenCl::to_host(array).unwrap().as_slice::<f32>().unwrap().to_vec()
}

fn run(case: &str) {
    match case {
        "names" => names(),
        "moves" => moves(),
        "arrays of two devices" => arrays_of_two_devices(),
        "the current device" => the_current_device(),
        other => panic!("no case `{other}`"),
    }
}

const CASES: [&str; 4] = ["names", "moves", "arrays of two devices", "the current device"];

#[test]
fn two_devices() {
    if let Some(case) = common::case() {
        return run(&case);
    }
    if common::device().is_none() {
        return;
    }
    for devices in ["pthread basic", "pthread pthread"] {
        for case in CASES {
            let whole = [("POCL_DEVICES", devices), ("ARRAYBRIDGE_OPENCL_WITHOUT", "")];
            common::in_a_child("two_devices", case, &whole);
        }
    }
    let apart = [("POCL_DEVICES", "pthread basic"), ("ARRAYBRIDGE_OPENCL_WITHOUT", "unified")];
    common::in_a_child("two_devices", "arrays of two devices", &apart);
}

fn names() {
    let [one, other] = pair();
    assert_ne!(one, other);
    for device in [one, other] {
        let facts = device_facts(device).unwrap();
        assert_eq!(facts.hardware, Hardware::Cpu);
        assert!(facts.unified_memory && facts.fp64 && facts.compute_units > 0);
        assert!(facts.largest_buffer <= facts.memory && facts.alignment >= 1);
        assert!(device.to_string().starts_with("device:"), "{device}");
    }
    let missing = Device::named("no such device").unwrap();
    let error = OpenCl::from_host(&ramp(1), missing).unwrap_err();
    assert!(matches!(error, Error::DeviceUnavailable { .. }), "{error}");
    for device in [one, other, missing] {
        assert!(error.to_string().contains(&device.to_string()), "{error}");
    }
}

fn moves() {
    let [one, other] = pair();
    let array = OpenCl::from_host(&ramp(1000), one).unwrap();
    let before = OpenCl.describe(&array).unwrap().address;
    // Both work in the host's memory, so that a move is a second array over it.
    let there: ClArray = array.clone().convert_to::<OpenCl>(other).unwrap();
    assert_eq!((there.device(), OpenCl.describe(&there).unwrap().address), (other, before));
    let there = OpenCl::assign(there, 0..1, &OpenCl::from_host(&ramp(1), other).unwrap()).unwrap();
    assert_eq!((values(&there), values(&array)), (values(&array), values(&array)));
    let any = AnyArray::of::<OpenCl>(there).move_to_device(one).unwrap();
    assert_eq!(any.device().unwrap(), one);
}

fn arrays_of_two_devices() {
    let [one, other] = pair();
    let (here, there) =
        (OpenCl::from_host(&ramp(4), one).unwrap(), OpenCl::from_host(&ramp(4), other).unwrap());
    let error = OpenCl::stack(&[&here, &there]).unwrap_err().to_string();
    assert!(error.contains(&one.to_string()) && error.contains(&other.to_string()), "{error}");
    let moved = OpenCl.device_move().unwrap().move_to(&there, one).unwrap();
    assert_eq!(values(&OpenCl::stack(&[&here, &moved]).unwrap())[4..], [0.0, 1.0, 2.0, 3.0]);
    let joined = here.context().bring(&there).unwrap();
    assert_eq!((joined.device(), values(&joined)), (one, vec![0.0, 1.0, 2.0, 3.0]));
}

fn the_current_device() {
    let [one, other] = pair();
    let opencl = Library::of::<OpenCl>();
    let made = || OpenCl::ones(&[2], DType::F32).unwrap().device();
    assert_eq!((opencl.current_device().unwrap(), made()), (one, one));
    {
        let _scope = opencl.device_scope(other).unwrap();
        assert_eq!((opencl.current_device().unwrap(), made()), (other, other));
        // A scope is its thread's; an inner one ends before it.
        let elsewhere = std::thread::spawn(move || opencl.current_device()).join().unwrap();
        assert_eq!(elsewhere.unwrap(), one);
        let inner = opencl.device_scope(one).unwrap();
        assert_eq!(made(), one);
        drop(inner);
        assert_eq!(made(), other);
    }
    assert_eq!(made(), one);
    opencl.activate(other).unwrap();
    assert_eq!(made(), other);
    let line = OpenCl::linspace(0.0, 1.0, 3, true, None).unwrap();
    assert_eq!((line.device(), values(&line)[1]), (other, 0.5));
    let missing = Device::Accelerator(9);
    for error in
        [opencl.activate(missing).unwrap_err(), opencl.device_scope(missing).map(drop).unwrap_err()]
    {
        assert!(matches!(error, Error::DeviceUnavailable { .. }), "{error}");
    }
    assert_eq!(made(), other);
}
