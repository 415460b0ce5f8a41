//! Containers around arrays, and geometry.

mod common;

use arraybridge_core::{
    AnyArray, ArrayGeometry, ArrayPayload, ConvertPayload, DType, Device, Geometry, HOST, Library,
};
use common::{ACC0, DeviceLib, FakeArray, HostLib, HostSpec, taken};

type OnHost = FakeArray<HostSpec>;

fn image() -> ArrayPayload<OnHost, &'static str> {
    ArrayPayload::new(OnHost::counting(0, &[2, 3], HOST), "nuclei.tif")
}

#[test]
fn the_context_stays_when_the_array_is_replaced() {
    let longer = image().with_array(vec![1, 2]);
    assert_eq!(longer.into_parts(), (vec![1, 2], "nuclei.tif"));
    let shape = image().map(|array| array.shape().to_vec());
    assert_eq!((shape.array().as_slice(), *shape.context()), (&[2, 3][..], "nuclei.tif"));
    assert_eq!(image().try_map(|_| "7".parse::<i32>()).unwrap().into_array(), 7);
    assert!(image().try_map(|_| "x".parse::<i32>()).is_err());
    assert_eq!(**image().as_ref().context(), "nuclei.tif");
}

#[test]
fn a_payload_converts_with_its_context_and_comes_back_whole_when_it_cannot() {
    let moved = image().convert_to::<DeviceLib>(ACC0).unwrap();
    assert_eq!((moved.array().device, *moved.context()), (ACC0, "nuclei.tif"));

    let error = image().convert_to::<DeviceLib>(Device::Accelerator(9)).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "fakedevice has no device `accelerator:9`; it has `host`, `accelerator:0`, `accelerator:1`"
    );
    let back = error.into_array().unwrap();
    assert_eq!((back.array().shape(), *back.context()), (&[2, 3][..], "nuclei.tif"));

    let erased = image().map(AnyArray::of::<HostLib>);
    let moved = erased.convert_to(Library::of::<DeviceLib>(), ACC0).unwrap();
    assert_eq!((moved.array().device().unwrap(), *moved.context()), (ACC0, "nuclei.tif"));
}

#[test]
fn geometry_is_told_without_touching_the_data() {
    taken();
    let array = OnHost::counting(0, &[2, 3], HOST);
    let seen = Geometry::of::<HostLib>(&array).unwrap();
    assert_eq!((seen.shape(), seen.rank(), seen.len()), (&[2, 3][..], 2, 6));
    assert_eq!((seen.dtype(), seen.nbytes()), (DType::F32, 24));
    assert_eq!(array.host.geometry().unwrap(), seen);
    assert_eq!(array.host.view().geometry().unwrap(), seen);
    let payload = image().map(AnyArray::of::<HostLib>);
    assert_eq!(payload.geometry().unwrap(), seen);
    assert!(taken().is_empty());

    let none = Geometry::of::<HostLib>(&OnHost::counting(0, &[1 << 20, 0], HOST)).unwrap();
    assert_eq!((none.is_empty(), none.nbytes(), none.rank()), (true, 0, 2));
}

#[test]
fn what_has_no_geometry_is_an_error() {
    let mut sparse = OnHost::counting(0, &[2], HOST);
    sparse.opaque = true;
    let text = "fakehost does not support describing a sparse array: make it dense";
    assert_eq!(Geometry::of::<HostLib>(&sparse).unwrap_err().to_string(), text);
    let payload = ArrayPayload::new(AnyArray::of::<HostLib>(sparse), ());
    assert_eq!(payload.geometry().unwrap_err().to_string(), text);
}
