//! Upload, download and description of every layout and dtype.

use arraybridge_core::{AnyArray, Error, HostArray, Library};

use super::{OtherEnd, Subject, bits_of, bits_of_any, devices, dtypes_of, other_end, skip, upload};
use crate::{bits, dtypes, samples};

/// Upload and download keep every bit, of every layout and dtype.
pub fn upload_and_download_keep_every_bit<L: Subject>() {
    for device in devices::<L>() {
        for dtype in dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                let (host, _) = sample.make().unwrap();
                assert_eq!(
                    bits(&host),
                    sample.bits().unwrap(),
                    "the suite's own {}",
                    sample.name()
                );
                let array = L::INSTANCE.upload(&host, device);
                let array = array.unwrap_or_else(|error| panic!("{}: {error}", sample.name()));
                drop(host);
                let back = L::INSTANCE.download(&array).unwrap();
                assert_eq!(back.dtype(), dtype, "{}", sample.name());
                assert_eq!(back.shape(), sample.layout.shape, "{}", sample.name());
                assert_eq!(bits(&back), sample.bits().unwrap(), "{} on {device}", sample.name());
            }
        }
    }
}

/// The result has the array's dtype and shape and lives on `device`, or it is an error: nothing is
/// narrowed, and nothing is placed elsewhere.
pub fn upload_keeps_dtype_shape_and_device_or_is_an_error<L: Subject>() {
    for device in devices::<L>() {
        for dtype in dtypes() {
            for sample in samples(dtype) {
                let (host, _) = sample.make().unwrap();
                let Some(array) = upload::<L>(&host, device) else { continue };
                let seen = L::INSTANCE.describe(&array).unwrap();
                assert_eq!(seen.dtype, dtype, "{}", sample.name());
                assert_eq!(seen.layout.shape(), sample.layout.shape, "{}", sample.name());
                assert_eq!(seen.device, device, "{}", sample.name());
                assert_eq!(L::INSTANCE.device_of(&array).unwrap(), device, "{}", sample.name());
            }
        }
    }
}

/// A description tells dtype, shape and size, and two live arrays with elements have two addresses
/// (where the library tells any).
pub fn describe_agrees_with_what_is_there<L: Subject>() {
    for device in devices::<L>() {
        let host = HostArray::from_vec(vec![1u8, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
        let (Some(one), Some(other)) = (
            upload::<L>(&host.gather().unwrap(), device),
            upload::<L>(&host.gather().unwrap(), device),
        ) else {
            skip::<L>("descriptions", &"it has no uint8");
            return;
        };
        let (first, second) =
            (L::INSTANCE.describe(&one).unwrap(), L::INSTANCE.describe(&other).unwrap());
        assert_eq!(first.nbytes(), 6);
        assert_eq!(first.layout.rank(), 2);
        assert!(first.address == 0 || first.address != second.address, "two arrays, one address");
        let again = L::INSTANCE.describe(&one).unwrap();
        assert_eq!((again.address, again.layout), (first.address, first.layout));
    }
}

/// A dtype that the library refuses is a typed error that names library and dtype, for every
/// layout, and a conversion gives its array back.
pub fn a_refused_dtype_is_a_typed_error_and_the_array_comes_back<L: Subject>() {
    for device in devices::<L>() {
        let taken = dtypes_of::<L>(device);
        for dtype in dtypes().filter(|dtype| !taken.contains(dtype)) {
            for sample in samples(dtype) {
                let (host, releases) = sample.make().unwrap();
                match L::INSTANCE.upload(&host, device).map(|_| ()) {
                    Err(Error::DtypeUnsupported { library, dtype: named, .. }) => {
                        assert_eq!((library, named), (L::NAME, dtype));
                    }
                    other => panic!("{} was refused elsewhere: {other:?}", sample.name()),
                }
                let mock = AnyArray::of::<OtherEnd>(other_end(host));
                let error = mock.convert_to(Library::of::<L>(), device).unwrap_err();
                let named = matches!(error.error(), Error::DtypeUnsupported { .. });
                assert!(named, "{}: {error}", sample.name());
                let back = error.into_array().expect("the array comes back");
                assert_eq!(bits_of_any(&back), sample.bits().unwrap());
                releases.assert_none(&sample.name());
                drop(back);
                releases.assert_once(&sample.name());
            }
        }
    }
}

/// Moves between the library's devices keep every bit and leave the array where it was.
pub fn moves_between_devices_keep_every_bit<L: Subject>() {
    let Some(role) = L::INSTANCE.device_move() else {
        skip::<L>("moves", &"it has no role `DeviceMove`");
        return;
    };
    let devices = devices::<L>();
    for from in &devices {
        for dtype in dtypes_of::<L>(*from) {
            for sample in samples(dtype) {
                let array = L::INSTANCE.upload(&sample.make().unwrap().0, *from).unwrap();
                for to in &devices {
                    let moved = match role.move_to(&array, *to) {
                        Ok(moved) => moved,
                        Err(Error::DtypeUnsupported { .. }) => continue,
                        Err(error) => panic!("{} from {from} to {to}: {error}", sample.name()),
                    };
                    let seen = L::INSTANCE.describe(&moved).unwrap();
                    assert_eq!((seen.device, seen.dtype), (*to, dtype));
                    assert_eq!(bits_of::<L>(&moved), sample.bits().unwrap(), "{}", sample.name());
                }
                assert_eq!(L::INSTANCE.device_of(&array).unwrap(), *from);
                assert_eq!(bits_of::<L>(&array), sample.bits().unwrap(), "{}", sample.name());
            }
        }
    }
}

/// A view from the host reads what a download reads, at the address that is described.
pub fn a_view_reads_what_a_download_reads<L: Subject>() {
    let Some(role) = L::INSTANCE.host_visible() else {
        skip::<L>("views from the host", &"it has no role `HostVisible`");
        return;
    };
    for device in devices::<L>() {
        for dtype in dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                let mut array = L::INSTANCE.upload(&sample.make().unwrap().0, device).unwrap();
                let seen = L::INSTANCE.describe(&array).unwrap();
                match role.view_exclusive(&mut array) {
                    Ok(view) => {
                        assert_eq!((view.dtype(), view.shape()), (dtype, sample.layout.shape));
                        let read = bits(&view.to_host_array().unwrap());
                        assert_eq!(read, sample.bits().unwrap(), "{}", sample.name());
                        if seen.address != 0 && !seen.layout.is_empty() {
                            assert_eq!(view.address(), seen.address, "{}", sample.name());
                        }
                    }
                    Err(Error::Unsupported { .. } | Error::DtypeUnsupported { .. }) => {}
                    Err(error) => panic!("{}: a sole array is viewed: {error}", sample.name()),
                }
                match role.view(&array) {
                    Ok(view) => {
                        let read = bits(&view.to_host_array().unwrap());
                        assert_eq!(read, sample.bits().unwrap(), "{}", sample.name());
                    }
                    Err(Error::Shared { .. } | Error::Unsupported { .. }) => {}
                    Err(Error::DtypeUnsupported { .. }) => {}
                    Err(error) => panic!("{}: {error}", sample.name()),
                }
            }
        }
    }
}
