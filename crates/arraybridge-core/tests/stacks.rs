//! Stacking planes of any libraries, and cutting stacks into planes.

mod common;

use arraybridge_core::{
    AnyArray, Device, Error, HOST, HostArray, Library, process_slices, stack_slices,
    stack_slices_to, unstack_slices, unstack_slices_to,
};
use common::{
    ACC0, ACC1, BareLib, DeviceLib, FakeArray, HostLib, Notes, OnlyLib, taken, uploads_left,
};

fn host(start: usize, shape: &[usize]) -> AnyArray {
    AnyArray::of::<HostLib>(FakeArray::counting(start, shape, HOST))
}

fn device(start: usize, shape: &[usize], place: Device) -> AnyArray {
    AnyArray::of::<DeviceLib>(FakeArray::counting(start, shape, place))
}

fn target<L: arraybridge_core::ArrayLibrary>() -> Library {
    Library::of::<L>()
}

fn counted(len: usize) -> Vec<f64> {
    (0..len).map(|value| value as f64).collect()
}

#[test]
fn host_planes_reach_an_accelerator_in_one_upload_with_a_record_each() {
    let notes = Notes::new();
    let _watch = notes.watch();
    let planes = (0..5).map(|index| host(6 * index, &[2, 3])).collect();
    taken();
    let stacked = stack_slices_to::<OnlyLib>(planes, ACC1).unwrap();
    assert_eq!(taken(), ["fakeonly upload [5, 2, 3] to accelerator:1"]);
    assert_eq!((stacked.shape(), stacked.device), (&[5, 2, 3][..], ACC1));
    assert_eq!(stacked.values(), counted(30));
    let line = "fakehost on host -> fakeonly on accelerator:1: host copy, 24 bytes, copied";
    assert_eq!(notes.lines(), [line; 5]);
}

#[test]
fn transposed_planes_are_gathered_in_order() {
    let turned = FakeArray::new(
        FakeArray::<common::HostSpec>::counting(0, &[2, 3], HOST).host.transpose(),
        HOST,
    );
    let stacked = stack_slices_to::<OnlyLib>(vec![AnyArray::of::<HostLib>(turned)], ACC0).unwrap();
    assert_eq!(stacked.shape(), [1, 3, 2]);
    assert_eq!(stacked.values(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
}

#[test]
fn host_planes_of_two_libraries_become_one_host_array_that_the_target_takes() {
    let notes = Notes::new();
    let _watch = notes.watch();
    taken();
    let planes = vec![host(0, &[2, 2]), device(4, &[2, 2], HOST)];
    let stacked = stack_slices_to::<HostLib>(planes, HOST).unwrap();
    // The device library lends no views, so it downloads its plane itself.
    assert_eq!(taken(), ["fakedevice download [2, 2]", "fakehost adopt [2, 2, 2]"]);
    assert_eq!(stacked.values(), counted(8));
    let line = "fakedevice on host -> fakehost on host: host copy, 16 bytes, copied";
    assert_eq!(notes.lines(), [line]);
    // Nobody else holds the memory.
    let mut memory = stacked.host;
    assert!(memory.as_mut_ptr().is_ok());
}

#[test]
fn planes_of_the_target_library_are_stacked_where_they_are_and_moved_once() {
    let notes = Notes::new();
    let _watch = notes.watch();
    taken();
    let planes = vec![device(0, &[1, 2], HOST), device(2, &[1, 2], HOST)];
    let stacked = stack_slices(planes, target::<DeviceLib>(), ACC0).unwrap();
    assert_eq!(
        taken(),
        ["fakedevice stack 2 on host", "fakedevice move [2, 1, 2] to accelerator:0"]
    );
    assert_eq!(stacked.device().unwrap(), ACC0);
    assert!(notes.lines().is_empty(), "moves within a library write no record");
}

#[test]
fn planes_of_several_places_are_converted_one_by_one() {
    let notes = Notes::new();
    let _watch = notes.watch();
    taken();
    let planes = vec![host(0, &[1, 2]), device(2, &[1, 2], ACC1), device(4, &[1, 2], ACC0)];
    let stacked = stack_slices_to::<DeviceLib>(planes, ACC0).unwrap();
    assert_eq!(stacked.values(), counted(6));
    assert_eq!(
        taken(),
        [
            "fakehost download [1, 2]",
            "fakedevice upload [1, 2] to accelerator:0",
            "fakedevice move [1, 2] to accelerator:0",
            "fakedevice stack 3 on accelerator:0"
        ]
    );
    let line = "fakehost on host -> fakedevice on accelerator:0: host copy, 8 bytes, copied";
    assert_eq!(notes.lines(), [line], "one record for the one plane of another library");
}

#[test]
fn a_device_that_is_full_gives_every_plane_back() {
    // All in main memory: nothing has been converted.
    uploads_left(Some(0));
    let planes = vec![host(0, &[1, 2]), device(2, &[1, 2], HOST)];
    let error = stack_slices(planes, target::<OnlyLib>(), ACC0).unwrap_err();
    assert_eq!(error.to_string(), "fakeonly is out of memory on `accelerator:0`");
    let names: Vec<_> =
        error.into_array().unwrap().iter().map(|plane| plane.library().name()).collect();
    assert_eq!(names, ["fakehost", "fakedevice"]);

    // One by one: the first has been converted, the others have not.
    uploads_left(Some(1));
    let planes = vec![host(0, &[1, 2]), host(2, &[1, 2]), device(4, &[1, 2], ACC1)];
    let error = stack_slices(planes, target::<OnlyLib>(), ACC0).unwrap_err();
    uploads_left(None);
    let planes = error.into_array().unwrap();
    let names: Vec<_> = planes.iter().map(|plane| plane.library().name()).collect();
    assert_eq!(names, ["fakeonly", "fakehost", "fakedevice"]);
    let stacked = stack_slices_to::<OnlyLib>(planes, ACC0).unwrap();
    assert_eq!(stacked.values(), counted(6));
}

#[test]
fn what_cannot_be_stacked_is_refused_with_what_was_seen_and_comes_back() {
    let bytes = HostArray::from_slice(&[1u8, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let cases = [
        (vec![], "stack_slices: no planes were given"),
        (
            vec![host(0, &[2, 3]), host(0, &[1, 2, 3])],
            "stack_slices: plane 1 has shape [1, 2, 3]; every plane must be 2-D",
        ),
        (
            vec![host(0, &[2, 3]), host(0, &[2, 3]), host(0, &[3, 2])],
            "stack_slices: planes must have one shape; plane 0 has [2, 3], plane 2 has [3, 2]",
        ),
        (
            vec![host(0, &[2, 3]), AnyArray::of::<HostLib>(FakeArray::new(bytes, HOST))],
            "stack_slices: planes must have one dtype; plane 0 has float32, plane 1 has uint8; cast with `astype` first",
        ),
    ];
    for (planes, message) in cases {
        let count = planes.len();
        let error = stack_slices(planes, target::<DeviceLib>(), ACC0).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.into_array().map(|planes| planes.len()), Some(count));
    }
}

#[test]
fn a_device_that_is_not_there_is_refused_before_anything_is_converted() {
    taken();
    let planes = vec![host(0, &[2, 3])];
    let error = stack_slices(planes, target::<DeviceLib>(), Device::Accelerator(7)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "fakedevice has no device `accelerator:7`; it has `host`, `accelerator:0`, `accelerator:1`"
    );
    let planes = error.into_array().unwrap();
    assert_eq!(planes[0].library(), target::<HostLib>());
    let error = unstack_slices(host(0, &[1, 2, 3]), target::<DeviceLib>(), Device::Accelerator(7));
    assert_eq!(error.unwrap_err().into_array().unwrap().library(), target::<HostLib>());
    assert!(taken().is_empty());
}

#[test]
fn a_stack_is_converted_as_a_whole_and_then_cut() {
    let notes = Notes::new();
    let _watch = notes.watch();
    taken();
    let planes = unstack_slices_to::<DeviceLib>(host(0, &[3, 1, 2]), ACC1).unwrap();
    assert_eq!(
        taken(),
        ["fakehost download [3, 1, 2]", "fakedevice upload [3, 1, 2] to accelerator:1"]
    );
    let line = "fakehost on host -> fakedevice on accelerator:1: host copy, 24 bytes, copied";
    assert_eq!(notes.lines(), [line]);
    assert_eq!(planes.len(), 3);
    assert_eq!(planes[2].values(), [4.0, 5.0]);
    assert!(planes.iter().all(|plane| plane.device == ACC1 && plane.shape() == [1, 2]));
}

#[test]
fn planes_share_the_memory_of_a_stack_that_stays_where_it_is() {
    let stack = FakeArray::counting(0, &[2, 2, 2], HOST);
    let address = stack.host.address();
    let planes = unstack_slices_to::<HostLib>(AnyArray::of::<HostLib>(stack), HOST).unwrap();
    assert_eq!(planes[0].host.address(), address);
    assert_eq!(planes[1].host.address(), address + 16);
}

#[test]
fn moving_a_stack_within_its_library_writes_no_record() {
    let notes = Notes::new();
    let _watch = notes.watch();
    taken();
    let planes = unstack_slices(device(0, &[2, 1, 1], HOST), target::<DeviceLib>(), ACC0).unwrap();
    assert_eq!(taken(), ["fakedevice move [2, 1, 1] to accelerator:0"]);
    assert_eq!(planes[1].device().unwrap(), ACC0);
    assert!(notes.lines().is_empty());
}

#[test]
fn only_three_axes_are_cut_and_no_planes_are_an_empty_list() {
    let error = unstack_slices(host(0, &[2, 3]), target::<HostLib>(), HOST).unwrap_err();
    assert_eq!(error.to_string(), "unstack_slices: needs a 3-D array, found shape [2, 3]");
    assert_eq!(error.into_array().unwrap().describe().unwrap().layout.shape(), [2, 3]);
    let planes = unstack_slices(host(0, &[0, 2, 3]), target::<HostLib>(), HOST).unwrap();
    assert!(planes.is_empty());
}

#[test]
fn the_slice_loop_stacks_in_the_library_that_came_back_and_collects_extras() {
    use arraybridge_core::Outputs;
    let volume = host(0, &[3, 1, 2]);
    let mut calls = 0;
    let out = process_slices(&volume, HOST, |plane| {
        calls += 1;
        let moved = plane.to(target::<DeviceLib>(), ACC1)?;
        Ok::<_, Error>(Outputs::new(moved, calls))
    })
    .unwrap();
    assert_eq!(out.extra, [1, 2, 3]);
    assert_eq!(out.main.library(), target::<DeviceLib>());
    assert_eq!(out.main.device().unwrap(), ACC1);
    assert_eq!(out.main.as_array_of::<DeviceLib>().unwrap().values(), counted(6));
}

#[test]
fn the_slice_loop_runs_on_the_device_that_is_asked_for() {
    let volume = device(0, &[2, 1, 1], HOST);
    let out = process_slices(&volume, ACC1, |plane| {
        assert_eq!(plane.device()?, ACC1);
        plane.duplicate()
    });
    assert_eq!(out.unwrap().device().unwrap(), ACC1);
    assert_eq!(volume.device().unwrap(), HOST);
}

#[test]
fn the_slice_loop_names_the_plane_that_does_not_fit() {
    let same = |plane: &AnyArray| plane.duplicate();
    let error = process_slices(&host(0, &[2, 3]), HOST, same).unwrap_err();
    assert_eq!(error.to_string(), "`process_slices`: needs a 3-D array, found shape [2, 3]");
    let error = process_slices(&host(0, &[0, 2, 3]), HOST, same).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`process_slices`: the input has no planes, so there is nothing to stack"
    );
    let mut index = 0;
    let error = process_slices(&host(0, &[3, 2, 3]), HOST, |_| {
        index += 1;
        Ok::<_, Error>(host(0, &[2, if index == 3 { 5 } else { 4 }]))
    });
    assert_eq!(
        error.unwrap_err().to_string(),
        "`process_slices` (plane 2): returned float32 of shape [2, 5], while plane 0 returned float32 of shape [2, 4]"
    );
    let error = process_slices(&host(0, &[3, 2, 3]), HOST, |_| Ok::<_, Error>(host(0, &[2])));
    assert_eq!(
        error.unwrap_err().to_string(),
        "`process_slices` (plane 0): returned float32 of shape [2], and planes are stacked as 2-D"
    );
    let error = process_slices(&host(0, &[3, 2, 3]), HOST, |_| Err::<AnyArray, _>("too dark"));
    assert_eq!(error.unwrap_err().to_string(), "`process_slices` (plane 0) failed");
}

#[test]
fn a_library_without_operations_stacks_and_is_cut_through_main_memory() {
    let plane = |start| AnyArray::of::<BareLib>(FakeArray::counting(start, &[1, 2], ACC0));
    taken();
    let stacked = stack_slices(vec![plane(0), plane(2)], target::<BareLib>(), ACC0).unwrap();
    assert_eq!(
        taken(),
        [
            "fakebare download [1, 2]",
            "fakebare download [1, 2]",
            "fakebare upload [2, 1, 2] to accelerator:0"
        ]
    );
    let planes = unstack_slices_to::<BareLib>(stacked, ACC0).unwrap();
    // Read once for all planes.
    assert_eq!(
        taken(),
        [
            "fakebare download [2, 1, 2]",
            "fakebare upload [1, 2] to accelerator:0",
            "fakebare upload [1, 2] to accelerator:0"
        ]
    );
    assert_eq!((planes[1].values(), planes[1].device), (vec![2.0, 3.0], ACC0));
}
