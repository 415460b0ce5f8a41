//! Several CPU devices: how many there are is decided once per process, so that each case runs in a
//! child process that has two.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};

use arraybridge_core::ops::{HostExchange, Math, Ops};
use arraybridge_core::{
    AnyArray, ArrayLibrary, AxisSlice, ConversionRecord, Convert, CopyPolicy, DType, Device, Error,
    HOST, HostArray, Library, install,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_xla::{Xla, XlaArray, cache_statistics, plugins};

fn second() -> Device {
    Device::named("cpu:1").unwrap()
}

fn address(array: &XlaArray) -> usize {
    Xla.describe(array).unwrap().address
}

fn ramp(count: usize) -> HostArray {
    let values: Vec<f32> = (0..count).map(|value| value as f32).collect();
    HostArray::from_slice(&values, &[count]).unwrap()
}

fn values(array: &XlaArray) -> Vec<f32> {
    Xla::to_host(array).unwrap().as_slice::<f32>().unwrap().to_vec()
}

/// Converts and returns whether the record says that elements were copied.
fn recorded<R>(convert: impl FnOnce() -> R) -> (R, bool) {
    let copied = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&copied);
    let watch = install(Arc::new(move |record: &ConversionRecord<'_>| {
        seen.lock().unwrap().push(record.copied)
    }));
    let result = convert();
    drop(watch);
    let copied = copied.lock().unwrap();
    assert_eq!(copied.len(), 1);
    (result, copied[0])
}

fn run(case: &str) {
    match case {
        "names" => names(),
        "aligned memory" => aligned_memory(),
        "other memory" => other_memory(),
        "moves" => moves(),
        "operations" => operations(),
        "arrays of two devices" => arrays_of_two_devices(),
        "the current device" => the_current_device(),
        other => panic!("no case `{other}`"),
    }
}

const CASES: [&str; 7] = [
    "names",
    "aligned memory",
    "other memory",
    "moves",
    "operations",
    "arrays of two devices",
    "the current device",
];

#[test]
fn two_cpu_devices() {
    if let Some(case) = common::case() {
        return run(&case);
    }
    if common::plugin() {
        let two = [("ARRAYBRIDGE_XLA_CPU_DEVICES", "2")];
        common::each_in_a_child("two_cpu_devices", &CASES, &two);
    }
}

#[test]
fn several_plugins() {
    if common::case().is_some() {
        return two_plugins_and_one_that_is_not_there();
    }
    if common::plugin() {
        let path = plugins()[0].path.display().to_string();
        let stated = format!("cpu={path},cpu={path},cuda=/not/there.so");
        let stated = [("ARRAYBRIDGE_XLA_PLUGIN", stated.as_str())];
        common::each_in_a_child("several_plugins", &["two plugins"], &stated);
    }
}

fn two_plugins_and_one_that_is_not_there() {
    assert_eq!(Xla.devices().unwrap(), [HOST, second()]);
    let missing = &plugins()[2];
    assert_eq!((missing.name.as_str(), plugins()[1].failure.is_none()), ("cuda", true));
    assert!(missing.failure.as_ref().unwrap().contains("/not/there.so"), "{missing:?}");
    // Two clients, between which an array is moved through main memory.
    let array = Xla::from_host(&ramp(5), HOST).unwrap().convert_to::<Xla>(second()).unwrap();
    assert_eq!((array.device(), values(&Xla::sum(&array, 0).unwrap())), (second(), vec![10.0]));
    let ones = Xla::ones_like(&array, None, DType::F32).unwrap();
    assert_eq!(ones.device(), second());
}

fn names() {
    assert_eq!(Xla.devices().unwrap(), [HOST, second()]);
    assert_eq!(second().to_string(), "device:cpu:1");
    let third = Device::named("cpu:2").unwrap();
    let error = Xla::from_host(&ramp(1), third).unwrap_err();
    assert!(matches!(error, Error::DeviceUnavailable { .. }), "{error}");
    for name in ["device:cpu:2", "host", "device:cpu:1"] {
        assert!(error.to_string().contains(name), "{error}");
    }
}

fn aligned_memory() {
    let array = NdArray::from_host(ramp(48));
    let before = array.host().address();
    assert!(before.is_multiple_of(64));
    let (array, copied) =
        recorded(|| array.convert_with::<Xla>(second(), CopyPolicy::Never).unwrap());
    assert_eq!((array.device(), address(&array), copied), (second(), before, false));
    assert_eq!(values(&array)[47], 47.0);
    let (back, copied) =
        recorded(|| array.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap());
    assert_eq!((back.host().address(), copied), (before, false));
}

fn other_memory() {
    let odd = ramp(20).slice(&[(1..17isize).into()]).unwrap();
    let before = odd.address();
    let error =
        NdArray::from_host(odd).convert_with::<Xla>(second(), CopyPolicy::Never).unwrap_err();
    assert!(matches!(error.error(), Error::WouldCopy { .. }), "{error}");
    let array = error.into_array().unwrap();
    let (array, copied) = recorded(|| array.convert_to::<Xla>(second()).unwrap());
    assert!(copied && address(&array) != before);
    assert_eq!((array.device(), values(&array)[15]), (second(), 16.0));
}

fn moves() {
    let array = Xla::from_host(&ramp(1000), HOST).unwrap();
    let before = address(&array);
    let (there, copied) = recorded(|| array.clone().convert_to::<Xla>(second()).unwrap());
    assert_eq!((there.device(), copied), (second(), address(&there) != before));
    assert_eq!(values(&there), values(&array));
    let (back, copied) = recorded(|| there.clone().convert_to::<Xla>(HOST).unwrap());
    assert_eq!((back.device(), copied), (HOST, address(&back) != address(&there)));
    drop((array, there));
    assert_eq!(values(&back)[999], 999.0);

    let any = AnyArray::of::<Xla>(back).move_to_device(second()).unwrap();
    assert_eq!(any.device().unwrap(), second());
    assert_eq!(any.move_to_device(HOST).unwrap().device().unwrap(), HOST);
}

fn operations() {
    let mut compiled = Vec::new();
    for device in [HOST, second()] {
        let array = Xla::from_host(&ramp(6), device).unwrap();
        let rows = Xla::reshape(&array, &[3, 2]).unwrap();
        let total = Xla::sum(&array, 0).unwrap();
        let made = [
            Xla::sum(&rows, 0).unwrap(),
            Xla::plane(&rows, 1).unwrap(),
            Xla::stack(&[&array, &array]).unwrap(),
            Xla::ones_like(&array, None, DType::F32).unwrap(),
            Xla::normalize_planes(&rows, DType::F32, &[Some(2.0), None, None]).unwrap(),
            Xla::assign(array.clone(), AxisSlice::new(None, None, 2), &total).unwrap(),
            Xla::astype(&Xla::scale_dtype(&array, DType::U8).unwrap(), DType::F32).unwrap(),
        ];
        for array in &made {
            assert_eq!(array.device(), device);
        }
        let wanted: [&[f32]; 7] = [
            &[6.0, 9.0],
            &[2.0, 3.0],
            &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            &[1.0; 6],
            &[0.0, 0.5, 2.0, 3.0, 4.0, 5.0],
            &[15.0, 1.0, 15.0, 3.0, 15.0, 5.0],
            &[0.0, 51.0, 102.0, 153.0, 204.0, 255.0],
        ];
        for (array, wanted) in made.iter().zip(wanted) {
            assert_eq!(values(array), wanted);
        }
        compiled.push(cache_statistics().misses);
    }
    // A program runs on every device of its plugin: the second device compiled nothing.
    assert_eq!(compiled[0], compiled[1]);
}

fn arrays_of_two_devices() {
    let here = Xla::from_host(&ramp(4), HOST).unwrap();
    let there = Xla::from_host(&ramp(4), second()).unwrap();
    let error = Xla::stack(&[&here, &there]).unwrap_err().to_string();
    assert!(error.contains("`host`") && error.contains("`device:cpu:1`"), "{error}");
    let error = Xla::logical_and(&there, &here).unwrap_err().to_string();
    assert!(error.contains("`host`") && error.contains("`device:cpu:1`"), "{error}");
}

fn the_current_device() {
    let xla = Library::of::<Xla>();
    let made = || Xla::ones(&[2], DType::F32).unwrap().device();
    assert_eq!((xla.current_device().unwrap(), made()), (HOST, HOST));
    {
        let _scope = xla.device_scope(second()).unwrap();
        assert_eq!((xla.current_device().unwrap(), made()), (second(), second()));
        // A scope is its thread's; an inner one ends before it.
        assert_eq!(std::thread::spawn(move || xla.current_device()).join().unwrap().unwrap(), HOST);
        let inner = xla.device_scope(HOST).unwrap();
        assert_eq!(made(), HOST);
        drop(inner);
        assert_eq!(made(), second());
    }
    assert_eq!(made(), HOST);
    xla.activate(second()).unwrap();
    assert_eq!(made(), second());
    assert_eq!(std::thread::spawn(move || xla.current_device()).join().unwrap().unwrap(), second());
    let line = Xla::linspace(0.0, 1.0, 3, true, None).unwrap();
    assert_eq!((line.device(), values(&line)[1]), (second(), 0.5));
    assert_eq!(Xla::floor(2.5).unwrap().device(), second());
    for error in [
        xla.activate(Device::named("cpu:2").unwrap()).unwrap_err(),
        xla.device_scope(Device::named("cpu:2").unwrap()).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, Error::DeviceUnavailable { .. }), "{error}");
    }
    assert_eq!(made(), second());
}
