//! Owners are released exactly once, whatever happens.

use arraybridge_core::{
    AnyArray, Convert, DeclineReason, Device, Error, HOST, HostArray, Library, Mechanism, Owner,
};

use super::{
    OtherEnd, Subject, bits_of, bits_of_any, devices, dtypes_of, other_end, peers, skip,
    some_dtypes_of,
};
use crate::mock::{Act, MockFailure, Step};
use crate::{Sample, samples, watch};

/// Gives the library memory with a counting owner, by conversion.
fn tracked<L: Subject>(sample: &Sample, device: Device) -> (L::Array, crate::Releases, bool) {
    let (host, releases) = sample.make().unwrap();
    let mock = other_end(host);
    let address = mock.address();
    let made: L::Array = mock.convert_to::<L>(device).unwrap();
    let seen = L::INSTANCE.describe(&made).unwrap();
    let shares = !seen.layout.is_empty() && seen.address == address;
    (made, releases, shares)
}

/// The owner is released once, after the last use: through the library, to every other, and back.
pub fn every_owner_is_released_exactly_once<L: Subject>() {
    for device in devices::<L>() {
        for dtype in some_dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                for (peer, place) in peers() {
                    let context = format!("{} by {peer} {place}", sample.name());
                    let (array, releases, _) = tracked::<L>(&sample, device);
                    let Ok(there) = AnyArray::of::<L>(array).convert_to(peer, place) else {
                        releases.assert_once(&context);
                        continue;
                    };
                    let back = there.convert_to(Library::of::<L>(), device).unwrap();
                    assert!(releases.count() <= 1, "{context}");
                    assert_eq!(bits_of_any(&back), sample.bits().unwrap(), "{context}");
                    drop(back);
                    releases.assert_once(&context);
                }
            }
        }
    }
}

/// The owner lives as long as an array over its memory.
pub fn an_owner_lives_as_long_as_the_array_over_its_memory<L: Subject>() {
    for device in devices::<L>() {
        for dtype in dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                let (array, releases, shares) = tracked::<L>(&sample, device);
                if shares {
                    releases.assert_none(&sample.name());
                }
                let read = L::INSTANCE.download(&array).unwrap();
                drop(array);
                assert_eq!(crate::bits(&read), sample.bits().unwrap(), "{}", sample.name());
                drop(read);
                releases.assert_once(&sample.name());
            }
        }
    }
}

/// Declines fall back in order: whatever reason the other side has, the array arrives by a host
/// copy, the record tells the reasons, and the memory is released once.
pub fn a_declined_exchange_releases_nothing_and_falls_back<L: Subject>() {
    let reasons = [
        DeclineReason::Dtype,
        DeclineReason::Layout,
        DeclineReason::Alignment,
        DeclineReason::ReadOnly,
        DeclineReason::Shared,
        DeclineReason::Device,
        DeclineReason::Version,
    ];
    for device in devices::<L>() {
        let shares =
            L::INSTANCE.host_share().is_some_and(|role| role.kinds().contains(device.kind()));
        let Some(dtype) = dtypes_of::<L>(device).first().copied() else { return };
        for sample in samples(dtype) {
            for reason in reasons {
                let (array, releases, _) = tracked::<L>(&sample, device);
                let _script = OtherEnd::script(Step::Adopt, Act::Decline(reason));
                let (there, records) = watch(|| array.convert_to::<OtherEnd>(HOST));
                let there = there.unwrap();
                let record = &records[0];
                assert_eq!(record.mechanism, Mechanism::HostCopy, "{}", sample.name());
                let declined: Vec<_> =
                    record.declined.iter().map(|(by, why)| (*by, why.reason())).collect();
                if !shares {
                    assert_eq!(declined, [], "{}", sample.name());
                } else if !record.declined.is_empty() {
                    assert_eq!(declined.len(), 1, "{}", sample.name());
                    assert_eq!(declined[0].0, Mechanism::SharedHostBuffer);
                }
                assert_eq!(crate::bits(&there.to_host().unwrap()), sample.bits().unwrap());
                releases.assert_once(&sample.name());
            }
        }
    }
}

/// A failure of the other side stops the conversion at once and gives the array back, whole and
/// usable, with its owner alive until it is dropped.
pub fn a_failed_exchange_gives_the_array_back<L: Subject>() {
    for device in devices::<L>() {
        let shares =
            L::INSTANCE.host_share().is_some_and(|role| role.kinds().contains(device.kind()));
        for dtype in some_dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                for act in [Act::Fail, Act::OutOfMemory] {
                    let (array, releases, over) = tracked::<L>(&sample, device);
                    let scripts =
                        [Step::Adopt, Step::Upload].map(|step| OtherEnd::script(step, act));
                    let error = array.convert_to::<OtherEnd>(HOST).unwrap_err();
                    drop(scripts);
                    let expected = match act {
                        Act::Fail => MockFailure::Broken,
                        _ => MockFailure::OutOfMemory,
                    };
                    let Error::Foreign { library: "mock-other-end", source, .. } = error.error()
                    else {
                        panic!("{}: {error}", sample.name());
                    };
                    assert_eq!(source.downcast_ref(), Some(&expected));
                    let back = error.into_array();
                    let back = back.unwrap_or_else(|| panic!("{}: it is lost", sample.name()));
                    assert_eq!(bits_of::<L>(&back), sample.bits().unwrap(), "{}", sample.name());
                    assert_eq!(L::INSTANCE.device_of(&back).unwrap(), device);
                    if over {
                        releases.assert_none(&sample.name());
                    }
                    drop(back);
                    releases.assert_once(&sample.name());
                }
            }
        }
        if !shares {
            skip::<L>("a failing exchange of main memory", &format!("none on {device}"));
        }
    }
    foreign_owner_is_not_taken_for_an_array::<L>();
}

/// Owners that hold something else are handed back by `reclaim`, not lost or misread.
fn foreign_owner_is_not_taken_for_an_array<L: Subject>() {
    if let Some(role) = L::INSTANCE.dlpack_export() {
        let owner = Owner::new(17u32);
        let back = role.reclaim(owner).err().expect("an array of somebody else's owner");
        assert_eq!(back.into_inner::<u32>().ok(), Some(17));
    }
    // Main memory that the library never saw is an array of it at most, and never freed twice.
    if let Some(role) = L::INSTANCE.host_share() {
        let sample = Sample { dtype: arraybridge_core::DType::U8, layout: crate::LAYOUTS[2] };
        let (host, releases): (HostArray, _) = sample.make().unwrap();
        drop(role.reclaim(host));
        releases.assert_once("reclaiming unknown memory");
    }
}
