//! What shares memory, and that nobody sees another's writes.

use arraybridge_core::ops::Ops;
use arraybridge_core::{Access, AnyArray, Device, HostArray, Library};

use super::{Subject, bits_of, bits_of_any, cleared, cleared_any, devices, peers, skip, upload};
use crate::bits;

const VALUES: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

fn host() -> HostArray {
    HostArray::from_vec(VALUES.to_vec(), &[2, 3]).unwrap()
}

fn each<L: Subject>(body: impl Fn(L::Array, Device)) {
    for device in devices::<L>() {
        match upload::<L>(&host(), device) {
            Some(array) => body(array, device),
            None => skip::<L>("sharing", &"it has no float32"),
        }
    }
}

/// The result of a download shares the array's memory only if neither is ever written while it
/// does; otherwise it is a copy.
pub fn download_shares_only_what_is_never_written<L: Subject>() {
    each::<L>(|array, device| {
        let read = L::INSTANCE.download(&array).unwrap();
        if let Some(array) = cleared::<L>(array) {
            assert_eq!(bits(&read), bits(&host()), "a write to the array on {device} is seen");
            assert_ne!(bits_of::<L>(&array), bits(&host()));
        }
    });
    each::<L>(|array, device| {
        let mut read = L::INSTANCE.download(&array).unwrap();
        if read.claim() == Access::Exclusive && read.as_slice_mut::<f32>().is_ok() {
            read.as_slice_mut::<f32>().unwrap().fill(0.0);
            assert_eq!(bits_of::<L>(&array), bits(&host()), "a write to the download of {device}");
        }
    });
}

/// The result of an upload shares the host array's memory only if neither is ever written while it
/// does.
pub fn upload_shares_only_what_is_never_written<L: Subject>() {
    for device in devices::<L>() {
        let given = host();
        let Some(array) = upload::<L>(&given, device) else { return };
        if let Some(array) = cleared::<L>(array) {
            assert_eq!(
                bits(&given),
                bits(&host()),
                "a write on {device} is seen in what was given"
            );
            drop(array);
        }
        let mut given = host();
        let array = L::INSTANCE.upload(&given, device).unwrap();
        given.make_mut().unwrap();
        given.as_slice_mut::<f32>().unwrap().fill(0.0);
        assert_eq!(bits_of::<L>(&array), bits(&host()), "a write to what was given is seen");
    }
}

/// A duplicate is another array of the same elements and device; a write to one is not seen in the
/// other.
pub fn a_duplicate_does_not_alias_writably<L: Subject>() {
    each::<L>(|array, device| {
        let array = AnyArray::of::<L>(array);
        let copy = array.duplicate().unwrap();
        assert_eq!((copy.library(), copy.device().unwrap()), (Library::of::<L>(), device));
        assert_eq!(bits_of_any(&copy), bits(&host()));
        if let Some(role) = L::INSTANCE.duplicate() {
            let (first, second) = (array.describe().unwrap(), copy.describe().unwrap());
            if first.address != 0 {
                assert_eq!(first.address == second.address, role.shares(), "shares() tells so");
            }
        }
        let again = array.duplicate().unwrap();
        if let Some(changed) = cleared_any(array) {
            assert_ne!(bits_of_any(&changed), bits(&host()));
            assert_eq!(bits_of_any(&copy), bits(&host()), "a write is seen in a duplicate");
            cleared_any(again).unwrap();
            assert_eq!(bits_of_any(&copy), bits(&host()), "a duplicate's write is seen");
        }
    });
}

/// A conversion by reference leaves the source as it was, and no write to one is seen in the
/// other, with every library and device, both ways.
pub fn conversions_by_reference_do_not_alias_writably<L: Subject>() {
    each::<L>(|array, device| {
        let source = AnyArray::of::<L>(array);
        for (peer, place) in peers() {
            let context = format!("{} on {device} and {peer} on {place}", L::NAME);
            let made = source.to(peer, place).unwrap();
            let seen = made.describe().unwrap();
            assert_eq!((made.library(), seen.device), (peer, place), "{context}");
            assert_eq!(bits_of_any(&made), bits(&host()), "{context}");
            let back = made.to(Library::of::<L>(), device).unwrap();
            assert_eq!(bits_of_any(&back), bits(&host()), "{context}");
            if let Some(changed) = cleared_any(made) {
                assert_ne!(bits_of_any(&changed), bits(&host()), "{context}");
                assert_eq!(bits_of_any(&source), bits(&host()), "{context}: seen in the source");
                assert_eq!(bits_of_any(&back), bits(&host()), "{context}: seen in the result");
            }
            let made = source.to(peer, place).unwrap();
            let own = source.duplicate().unwrap();
            if let Some(changed) = cleared_any(own) {
                assert_ne!(bits_of_any(&changed), bits(&host()), "{context}");
            }
            assert_eq!(bits_of_any(&made), bits(&host()), "{context}");
            if let Some(changed) = cleared_any(back) {
                assert_ne!(bits_of_any(&changed), bits(&host()), "{context}");
                assert_eq!(bits_of_any(&made), bits(&host()), "{context}: seen in the other");
                assert_eq!(bits_of_any(&source), bits(&host()), "{context}: seen in the source");
            }
        }
    });
}

/// `assign` consumes what it changes and leaves the values as they are, also later.
pub fn assign_leaves_the_values_that_it_was_given<L: Subject>() {
    each::<L>(|array, device| {
        let row = HostArray::from_vec(vec![7f32, 8.0, 9.0], &[3]).unwrap();
        let values = L::INSTANCE.upload(&row, device).unwrap();
        let Some(array) = cleared::<L>(array) else { return };
        let array = L::assign(array, 0..1, &values).unwrap();
        let array = cleared::<L>(array).unwrap();
        assert_eq!(bits_of::<L>(&values), bits(&row));
        assert_eq!(bits_of::<L>(&array), vec![0; 24]);
    });
}
