//! Functions that belong to a library.
#![allow(clippy::unwrap_used)]

mod common;

use std::cell::Cell;
use std::error::Error as StdError;

use arraybridge_core::{
    AnyArray, ArrayFunction, ArrayPayload, BoxError, DType, Error, FunctionArguments, HOST,
    HostArray, Library, OutputDtype, Outputs, is_out_of_memory,
};
use common::{
    ACC0, ACC1, BareLib, DeviceLib, DeviceSpec, FakeArray, FakeOom, HostLib, HostSpec, NoneLib,
    OnlyLib, current, taken,
};

type OnHost = FakeArray<HostSpec>;
type OnDevice = FakeArray<DeviceSpec>;

fn bytes(values: &[u8], shape: &[usize]) -> OnHost {
    FakeArray::new(HostArray::from_slice(values, shape).unwrap(), HOST)
}

fn floats(values: &[f32]) -> OnHost {
    FakeArray::new(HostArray::from_slice(values, &[values.len()]).unwrap(), HOST)
}

fn copy<S: common::Spec>(array: &FakeArray<S>) -> FakeArray<S> {
    FakeArray::new(array.host.clone(), array.device)
}

/// Half of every element, as f32.
fn half(image: &OnHost) -> Result<OnHost, Error> {
    let halves: Vec<f32> = image.values().iter().map(|value| *value as f32 / 2.0).collect();
    Ok(FakeArray::new(HostArray::from_slice(&halves, image.shape())?, image.device))
}

#[test]
fn the_main_output_has_the_input_dtype_unless_another_is_declared_or_asked_for() {
    let image = bytes(&[0, 10, 20], &[3]);
    let function = ArrayFunction::<HostLib, _>::new("half", half);
    // 0, 5, 10 as floats are rescaled into the range of the input's dtype.
    let kept = function.call(&image).unwrap();
    assert_eq!((kept.dtype(), kept.values()), (DType::U8, vec![0.0, 127.0, 255.0]));

    let native = function.by_ref().output_dtype(OutputDtype::Native).call(&image).unwrap();
    assert_eq!((native.dtype(), native.values()), (DType::F32, vec![0.0, 5.0, 10.0]));

    let declared = ArrayFunction::<HostLib, _>::new("half", half).output_dtype(OutputDtype::F64);
    assert_eq!(declared.declared_output_dtype(), OutputDtype::F64);
    assert_eq!(declared.call(&image).unwrap().dtype(), DType::F64);
    let other = declared.by_ref().output_dtype(OutputDtype::PreserveInput).call(&image).unwrap();
    assert_eq!(other.dtype(), DType::U8);
    assert_eq!(declared.call(&image).unwrap().dtype(), DType::F64, "the override was for one call");
}

#[test]
fn every_output_dtype_names_one() {
    let all = [
        (OutputDtype::U8, DType::U8),
        (OutputDtype::U16, DType::U16),
        (OutputDtype::I16, DType::I16),
        (OutputDtype::I32, DType::I32),
        (OutputDtype::F32, DType::F32),
        (OutputDtype::F64, DType::F64),
    ];
    let function = ArrayFunction::<HostLib, _>::new("half", half);
    for (policy, dtype) in all {
        let out = function.by_ref().output_dtype(policy).call(&bytes(&[1, 2], &[2])).unwrap();
        assert_eq!(out.dtype(), dtype);
    }
}

#[test]
fn an_output_of_the_wanted_dtype_is_not_touched() {
    let same =
        ArrayFunction::<HostLib, _>::new("same", |image: &OnHost| Ok::<_, Error>(copy(image)));
    let image = floats(&[1.0, 2.0]);
    taken();
    let out = same.call(&image).unwrap();
    assert_eq!(out.host.address(), image.host.address());
    assert!(taken().is_empty());
}

#[test]
fn extra_outputs_pass_through() {
    let function = ArrayFunction::<HostLib, _>::new("sum", |image: &OnHost| {
        let sum: f64 = image.values().iter().sum();
        Ok::<_, Error>(Outputs::new(half(image)?, (sum, "label")))
    });
    let out = function.call(&bytes(&[0, 10], &[2])).unwrap();
    assert_eq!(out.extra, (10.0, "label"));
    assert_eq!(out.main.dtype(), DType::U8);
}

#[test]
fn slice_by_slice_sees_planes_and_stacks_them_with_extras_in_order() {
    let maximum = |image: &OnHost| {
        assert_eq!(image.shape(), [1, 2]);
        let max = image.values().into_iter().fold(f64::MIN, f64::max);
        Ok::<_, Error>(Outputs::new(copy(image), max))
    };
    let function = ArrayFunction::<HostLib, _>::new("maximum", maximum);
    assert!(!function.is_by_slice());
    let volume = OnHost::counting(0, &[3, 1, 2], HOST);
    let out = function.call_slices(&volume).unwrap();
    assert_eq!(out.extra, [1.0, 3.0, 5.0]);
    assert_eq!((out.main.shape(), out.main.values()), (&[3, 1, 2][..], volume.values()));

    // Declared, and overridden for one call.
    let seen = Cell::new(0);
    let function = ArrayFunction::<HostLib, _>::new("count", |image: &OnHost| {
        seen.set(seen.get() + 1);
        Ok::<_, Error>(copy(image))
    })
    .by_slice();
    assert!(function.is_by_slice());
    function.call(&volume).unwrap();
    assert_eq!(seen.replace(0), 3);
    let whole = function.by_ref().whole().call(&volume).unwrap();
    assert_eq!((seen.get(), whole.shape()), (1, &[3, 1, 2][..]));
}

#[test]
fn slice_by_slice_runs_once_on_what_is_not_a_volume() {
    let function = ArrayFunction::<HostLib, _>::new("rank", |image: &OnHost| {
        Ok::<_, Error>(Outputs::new(copy(image), image.shape().len()))
    });
    let out = function.call_slices(&OnHost::counting(0, &[2, 3], HOST)).unwrap();
    assert_eq!((out.extra, out.main.shape()), (vec![2], &[2, 3][..]));
}

#[test]
fn the_dtype_policy_sees_the_stack_not_its_planes() {
    let function = ArrayFunction::<HostLib, _>::new("half", half);
    let volume = bytes(&[0, 20, 40, 100], &[2, 1, 2]);
    // One scale for the volume: 0, 10, 20, 50 of 50, not 0, 255, 0, 255.
    let out = function.call_slices(&volume).unwrap();
    assert_eq!(out.values(), [0.0, 51.0, 102.0, 255.0]);
}

#[test]
fn planes_are_cut_and_stacked_on_their_own_device() {
    let function = ArrayFunction::<DeviceLib, _>::new("same", |image: &OnDevice| {
        assert_eq!(image.device, ACC1);
        Ok::<_, Error>(copy(image))
    });
    taken();
    let out = function.call_slices(&OnDevice::counting(0, &[2, 2, 2], ACC1)).unwrap();
    assert_eq!(out.device, ACC1);
    assert!(taken().contains(&"fakedevice stack 2 on accelerator:1".to_string()));
}

#[test]
fn a_library_without_operations_has_functions_too() {
    type OnBare = FakeArray<common::BareSpec>;
    let function = ArrayFunction::<BareLib, _>::new("first", |image: &OnBare| {
        Ok::<_, Error>(Outputs::new(copy(image), image.values()[0]))
    });
    let out = function.call_slices(&OnBare::counting(0, &[2, 1, 2], ACC0)).unwrap();
    assert_eq!((out.extra, out.main.device), (vec![0.0, 2.0], ACC0));
    assert_eq!(out.main.values(), [0.0, 1.0, 2.0, 3.0]);
    // 0, 1, 2, 3 of 3 by the rules of `scale_dtype`.
    let scaled = function.by_ref().output_dtype(OutputDtype::U8);
    let out = scaled.call(&OnBare::counting(0, &[4], ACC0)).unwrap();
    assert_eq!((out.main.values(), out.main.device), (vec![0.0, 85.0, 170.0, 255.0], ACC0));
}

#[test]
fn errors_of_slices_name_the_plane() {
    let volume = OnHost::counting(0, &[3, 2, 2], HOST);
    let fails = ArrayFunction::<HostLib, _>::new("fails", |image: &OnHost| {
        if image.values()[0] == 4.0 {
            return Err("too dark");
        }
        Ok(copy(image))
    });
    let error = fails.call_slices(&volume).unwrap_err();
    assert_eq!(error.to_string(), "`fails` (plane 1) failed");
    assert_eq!(error.source().unwrap().to_string(), "too dark");
    let error = fails.call(&OnHost::counting(4, &[2, 2], HOST)).unwrap_err();
    assert_eq!(error.to_string(), "`fails` failed");

    let disagree = ArrayFunction::<HostLib, _>::new("disagree", |image: &OnHost| {
        let wide = image.values()[0] == 8.0;
        Ok::<_, Error>(OnHost::counting(0, &[2, if wide { 5 } else { 2 }], HOST))
    });
    assert_eq!(
        disagree.call_slices(&volume).unwrap_err().to_string(),
        "`disagree` (plane 2): returned float32 of shape [2, 5] on `host`, while plane 0 returned float32 of shape [2, 2] on `host`"
    );
    let flat = ArrayFunction::<HostLib, _>::new("flat", |_: &OnHost| {
        Ok::<_, Error>(OnHost::counting(0, &[2], HOST))
    });
    assert_eq!(
        flat.call_slices(&volume).unwrap_err().to_string(),
        "`flat` (plane 0): returned float32 of shape [2] on `host`, and planes are stacked as 2-D"
    );
    assert_eq!(
        flat.call_slices(&OnHost::counting(0, &[0, 2, 2], HOST)).unwrap_err().to_string(),
        "`flat`: the input has no planes, so there is nothing to stack"
    );
}

#[test]
fn a_contract_is_held_against_raw_outputs_per_plane() {
    let function = ArrayFunction::<HostLib, _>::new("half", half)
        .output_contract("at most 4", |out: &OnHost| {
            out.dtype() == DType::F32 && out.values().iter().all(|value| *value <= 4.0)
        });
    assert_eq!(function.output_contract_description(), Some("at most 4"));
    function.call(&bytes(&[0, 8], &[2])).unwrap();
    assert_eq!(
        function.call(&bytes(&[0, 10], &[2])).unwrap_err().to_string(),
        "the result of `half` breaks its output contract: at most 4"
    );
    assert_eq!(
        function.call_slices(&bytes(&[0, 8, 0, 10], &[2, 1, 2])).unwrap_err().to_string(),
        "the result of `half` (plane 1) breaks its output contract: at most 4"
    );
}

#[test]
fn what_is_declared_can_be_read() {
    #[derive(Debug, PartialEq)]
    struct FlexibleAxes(u8);
    let function = ArrayFunction::<DeviceLib, _, HostLib, HostLib>::declare("half", half)
        .declare_contract(FlexibleAxes(3))
        .oom_recovery(false);
    assert_eq!(function.name(), "half");
    assert_eq!(function.execution_library(), Library::of::<DeviceLib>());
    assert_eq!(function.input_library(), Library::of::<HostLib>());
    assert_eq!(function.output_library(), Library::of::<HostLib>());
    assert_eq!(function.declared_contract(), Some(&FlexibleAxes(3)));
    assert_eq!(function.declared_contract::<u8>(), None);
    assert!(!function.recovers_from_oom());
    assert!(function.output_contract_description().is_none());
    assert_eq!(
        format!("{function:?}"),
        "ArrayFunction { name: \"half\", input: \"fakehost\", output: \"fakehost\", execution: \"fakedevice\", output_dtype: PreserveInput, by_slice: false, oom_recovery: false, .. }"
    );
    // Metadata is not enforced.
    function.call(&bytes(&[0, 10], &[2])).unwrap();
}

#[test]
fn input_and_output_may_be_of_different_libraries() {
    let function =
        ArrayFunction::<DeviceLib, _, HostLib, DeviceLib>::declare("up", |image: &OnHost| {
            Ok::<_, Error>(OnDevice::new(half(image)?.host, ACC0))
        });
    taken();
    let out = function.call(&bytes(&[0, 10, 20, 30], &[2, 1, 2])).unwrap();
    assert_eq!((out.device, out.dtype()), (ACC0, DType::U8));
    // The output's library scales, and stacks.
    assert_eq!(taken(), ["fakedevice scale to uint8"]);
    let out = function.call_slices(&bytes(&[0, 10, 20, 30], &[2, 1, 2])).unwrap();
    assert_eq!((out.device, out.shape()), (ACC0, &[2, 1, 2][..]));
    assert_eq!(taken(), ["fakedevice stack 2 on accelerator:0", "fakedevice scale to uint8"]);
}

#[test]
fn a_host_call_touches_nothing_of_the_accelerator_and_is_not_retried() {
    let runs = Cell::new(0);
    let function = ArrayFunction::<DeviceLib, _>::new("full", |_: &OnDevice| {
        runs.set(runs.get() + 1);
        Err::<OnDevice, _>(FakeOom)
    });
    taken();
    let error = function.call(&OnDevice::counting(0, &[2], HOST)).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "fake device memory exhausted");
    assert!(taken().is_empty());
    assert_eq!(runs.get(), 1);
}

#[test]
fn an_accelerator_call_runs_in_the_devices_scope_and_on_the_threads_stream() {
    let function = ArrayFunction::<DeviceLib, _>::new("where", |image: &OnDevice| {
        assert_eq!(current(), ACC1);
        Ok::<_, Error>(copy(image))
    });
    taken();
    let before = current();
    function.call(&OnDevice::counting(0, &[2], ACC1)).unwrap();
    assert_eq!(
        taken(),
        [
            "fakedevice enters accelerator:1",
            "fakedevice streams on accelerator:1",
            "fakedevice leaves accelerator:1"
        ]
    );
    assert_eq!(current(), before);
}

#[test]
fn out_of_memory_releases_the_cache_of_that_device_and_retries_twice() {
    let runs = Cell::new(0);
    let function = ArrayFunction::<DeviceLib, _>::new("tight", |image: &OnDevice| {
        runs.set(runs.get() + 1);
        if runs.get() < 3 {
            return Err(Box::<dyn StdError + Send + Sync>::from(FakeOom));
        }
        Ok(copy(image))
    });
    let image = OnDevice::counting(0, &[2], ACC1);
    taken();
    function.call(&image).unwrap();
    assert_eq!(runs.get(), 3, "a retry sees the same input");
    let log = taken();
    let released = log.iter().filter(|line| *line == "fakedevice releases accelerator:1").count();
    assert_eq!(released, 2);
    // The scope is left before the cache is released.
    assert_eq!(log[2], "fakedevice leaves accelerator:1");
    assert_eq!(log[3], "fakedevice releases accelerator:1");

    runs.set(i32::MIN);
    let error = function.call(&image).unwrap_err();
    assert_eq!(runs.get(), i32::MIN + 3, "two retries, then the last error");
    assert!(is_out_of_memory(&error));
    assert_eq!(error.to_string(), "`tight` failed");

    runs.set(i32::MIN);
    function.by_ref().oom_recovery(false).call(&image).unwrap_err();
    assert_eq!(runs.get(), i32::MIN + 1);
}

#[test]
fn a_failed_conversion_in_a_closure_that_ran_out_of_memory_is_retried() {
    let runs = Cell::new(0);
    let function = ArrayFunction::<DeviceLib, _>::new("convert", |image: &OnDevice| {
        runs.set(runs.get() + 1);
        let full =
            Error::OutOfMemory { library: "x", device: ACC0, requested: None, available: None };
        let failed = arraybridge_core::ConversionError::new(full, Some(copy(image)));
        Err::<OnDevice, BoxError>(failed.into())
    });
    function.call(&OnDevice::counting(0, &[2], ACC0)).unwrap_err();
    assert_eq!(runs.get(), 3);
}

#[test]
fn other_errors_are_not_retried() {
    let runs = Cell::new(0);
    let function = ArrayFunction::<DeviceLib, _>::new("bug", |_: &OnDevice| {
        runs.set(runs.get() + 1);
        Err::<OnDevice, _>("a bug")
    });
    function.call(&OnDevice::counting(0, &[2], ACC0)).unwrap_err();
    assert_eq!(runs.get(), 1);
}

#[test]
fn a_library_without_main_memory_runs_on_its_current_device() {
    let function = ArrayFunction::<OnlyLib, _, HostLib, HostLib>::declare("half", half);
    taken();
    function.call(&floats(&[1.0])).unwrap();
    let log = taken();
    assert_eq!(log[0], "fakeonly enters accelerator:0");
    // Where it has no device at all, the call runs as it is.
    let function = ArrayFunction::<NoneLib, _, HostLib, HostLib>::declare("half", half);
    function.call(&floats(&[1.0])).unwrap();
    assert!(taken().is_empty());
}

#[test]
fn arguments_follow_the_input_and_take_part_in_the_device_rule() {
    #[derive(Clone)]
    struct Kernel {
        add: f64,
    }
    impl FunctionArguments for Kernel {}

    let add = ArrayFunction::<DeviceLib, _>::with_arguments(
        "add",
        |image: &OnDevice, (others, kernel): (&[OnDevice], Kernel)| {
            let others: f64 = others.iter().flat_map(FakeArray::values).sum();
            let sum: Vec<f32> =
                image.values().iter().map(|x| (x + others + kernel.add) as f32).collect();
            Ok::<_, Error>(OnDevice::new(HostArray::from_slice(&sum, image.shape())?, image.device))
        },
    );
    let image = OnDevice::counting(0, &[2], ACC0);
    let near = [OnDevice::counting(10, &[1], ACC0), OnDevice::counting(20, &[1], ACC0)];
    let out = add.call_with(&image, (&near[..], Kernel { add: 0.5 })).unwrap();
    assert_eq!(out.values(), [30.5, 31.5]);

    let far = [OnDevice::counting(0, &[1], ACC1), OnDevice::counting(0, &[1], HOST)];
    let error = add.call_with(&image, (&far[..], Kernel { add: 0.0 })).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`add`: its fakedevice arrays are on `host` and `accelerator:0` and `accelerator:1`; move them to one device first"
    );
}

/// Whether a call on `accelerator:0` notices an array of `accelerator:1` among its arguments.
fn notices<P: FunctionArguments>(arguments: P) -> bool {
    let function =
        ArrayFunction::<DeviceLib, _>::with_arguments("any", |image: &OnDevice, _: P| {
            Ok::<_, Error>(copy(image))
        });
    function.call_with(&OnDevice::counting(0, &[1], ACC0), arguments).is_err()
}

#[test]
fn arrays_are_found_one_level_inside_lists_and_tuples() {
    let far = || OnDevice::counting(0, &[1], ACC1);
    let near = || OnDevice::counting(0, &[1], ACC0);
    let erased = AnyArray::of::<DeviceLib>(far());
    let foreign = OnHost::counting(0, &[1], HOST);
    assert!(notices(&far()));
    assert!(notices((1.5, &far())));
    assert!(notices(&[near(), far()][..]));
    assert!(notices(&vec![near(), far()]));
    assert!(notices(vec![&near(), &far()]));
    assert!(notices([&near(), &far()]));
    assert!(notices(Some(&far())));
    assert!(notices(&erased));
    assert!(notices(&vec![AnyArray::of::<DeviceLib>(far())]));
    assert!(!notices((&near(), "text", 3, true, None::<&OnDevice>)));
    assert!(!notices((&foreign, vec![&foreign])), "another library's arrays may be anywhere");
}

#[test]
fn arguments_reach_every_plane() {
    let scale = ArrayFunction::<HostLib, _>::with_arguments("scale", |image: &OnHost, by: f64| {
        let scaled: Vec<f32> = image.values().iter().map(|x| (x * by) as f32).collect();
        Ok::<_, Error>(OnHost::new(HostArray::from_slice(&scaled, image.shape())?, HOST))
    });
    let volume = OnHost::counting(0, &[2, 1, 2], HOST);
    let out = scale.by_ref().by_slice().call_with(&volume, 10.0).unwrap();
    assert_eq!(out.values(), [0.0, 10.0, 20.0, 30.0]);
}

#[test]
fn a_payload_passes_through_with_its_context() {
    let function = ArrayFunction::<HostLib, _>::new("half", half);
    let image = ArrayPayload::new(bytes(&[0, 10], &[2]), "channel 1".to_string());
    let out = function.call(&image).unwrap();
    assert_eq!((out.context().as_str(), out.array().dtype()), ("channel 1", DType::U8));

    let volume = ArrayPayload::new(OnHost::counting(0, &[2, 1, 2], HOST), 7);
    let first = ArrayFunction::<HostLib, _>::new("first", |image: &OnHost| {
        Ok::<_, Error>(Outputs::new(copy(image), image.values()[0]))
    });
    let out = first.call_slices(&volume).unwrap();
    assert_eq!((out.main.context(), out.main.array().shape()), (&7, &[2, 1, 2][..]));
    assert_eq!(out.extra, [0.0, 2.0]);
}

#[test]
fn closures_may_return_any_error() {
    let own = ArrayFunction::<HostLib, _>::new("own", |_: &OnHost| Err::<OnHost, _>(FakeOom));
    assert!(own.call(&floats(&[1.0])).unwrap_err().source().unwrap().is::<FakeOom>());
    let text = ArrayFunction::<HostLib, _>::new("text", |_: &OnHost| {
        Err::<OnHost, _>(String::from("words"))
    });
    assert_eq!(text.call(&floats(&[1.0])).unwrap_err().source().unwrap().to_string(), "words");
    let boxed = ArrayFunction::<HostLib, _>::new("boxed", |_: &OnHost| {
        let number: u8 = "x".parse()?;
        Ok::<_, BoxError>(floats(&[f32::from(number)]))
    });
    let error = boxed.call(&floats(&[1.0])).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "invalid digit found in string");
}

#[test]
fn functions_go_to_other_threads() {
    let function = ArrayFunction::<HostLib, _>::new("half", half).by_slice();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| function.call(&bytes(&[0, 10], &[1, 1, 2])).unwrap());
        }
    });
}
