//! Conversions between the library and every other.

use std::thread;
use std::time::{Duration, Instant};

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{
    Access, AnyArray, Convert, CopyPolicy, DType, DeclineReason, Device, Error, HOST, HostArray,
    Library, Mechanism, Obstacle, Plan,
};

use super::{
    OtherEnd, Subject, bits_of_any, devices, dtypes_of, other_end, peers, skip, some_dtypes_of,
    upload,
};
use crate::mock::{Accelerated, Immutable, NamedDevice, SharedStorage, Wrapping};
use crate::{Sample, Seen, samples, watch};

/// Round trips with every library, device, layout and dtype keep every bit, or refuse the dtype by
/// a typed error that gives the array back.
pub fn round_trips_with_every_library_keep_every_bit<L: Subject>() {
    let peers = peers();
    for device in devices::<L>() {
        for dtype in dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                for (peer, place) in &peers {
                    let context = format!("{} {device} -> {peer} {place}", sample.name());
                    let array = L::INSTANCE.upload(&sample.make().unwrap().0, device).unwrap();
                    let array = AnyArray::of::<L>(array);
                    let Some(there) = cross(array, &sample, *peer, *place, &context) else {
                        continue;
                    };
                    let context = format!("{context} and back");
                    cross(there, &sample, Library::of::<L>(), device, &context);
                }
            }
        }
    }
}

/// Converts and checks dtype, shape, device and bits; `None` where the target refuses the dtype.
fn cross(
    array: AnyArray,
    sample: &Sample,
    target: Library,
    device: Device,
    context: &str,
) -> Option<AnyArray> {
    match array.convert_to(target, device) {
        Ok(made) => {
            let seen = made.describe().unwrap();
            assert_eq!((made.library(), seen.device), (target, device), "{context}");
            assert_eq!((seen.dtype, seen.layout.shape()), (sample.dtype, sample.layout.shape));
            assert_eq!(bits_of_any(&made), sample.bits().unwrap(), "{context}");
            Some(made)
        }
        Err(error) => {
            let refused = matches!(error.error(), Error::DtypeUnsupported { .. });
            assert!(refused, "{context}: {error}");
            let back = error.into_array().expect("the array comes back");
            assert_eq!(bits_of_any(&back), sample.bits().unwrap(), "{context}");
            None
        }
    }
}

/// Typed conversions do what erased ones do.
pub fn typed_round_trips_keep_every_bit<L: Subject>() {
    for device in devices::<L>() {
        for dtype in dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                typed_round_trip::<L, Wrapping>(&sample, device, HOST);
                typed_round_trip::<L, Accelerated>(&sample, device, Device::Accelerator(1));
                typed_round_trip::<L, Immutable>(&sample, device, HOST);
                typed_round_trip::<L, SharedStorage>(&sample, device, HOST);
                typed_round_trip::<L, NamedDevice>(&sample, device, Device::named("mock").unwrap());
            }
        }
    }
}

fn typed_round_trip<L: Subject, P: Subject>(sample: &Sample, device: Device, place: Device) {
    let array = L::INSTANCE.upload(&sample.make().unwrap().0, device).unwrap();
    let there: P::Array = array.convert_to::<P>(place).unwrap();
    assert_eq!(P::INSTANCE.device_of(&there).unwrap(), place);
    let back: L::Array = there.convert_to::<L>(device).unwrap();
    let seen = L::INSTANCE.describe(&back).unwrap();
    assert_eq!((seen.dtype, seen.device), (sample.dtype, device), "{}", sample.name());
    let bits = super::bits_of::<L>(&back);
    assert_eq!(bits, sample.bits().unwrap(), "{} by {}", sample.name(), P::NAME);
}

/// A record names libraries, devices, size and the mechanism that did it, which is the planned one
/// or a fallback whose predecessors declined; it says "not copied" only where the address stayed.
pub fn records_tell_the_mechanism_and_whether_it_copied<L: Subject>() {
    for device in devices::<L>() {
        for dtype in [DType::F32, DType::U8] {
            if !dtypes_of::<L>(device).contains(&dtype) {
                skip::<L>("records", &format!("it has no {dtype}"));
                continue;
            }
            for sample in samples(dtype) {
                for (peer, place) in peers() {
                    let array = L::INSTANCE.upload(&sample.make().unwrap().0, device).unwrap();
                    let array = AnyArray::of::<L>(array);
                    if let Some(there) = recorded(array, &sample, peer, place) {
                        recorded(there, &sample, Library::of::<L>(), device);
                    }
                }
            }
        }
    }
}

fn recorded(array: AnyArray, sample: &Sample, target: Library, to: Device) -> Option<AnyArray> {
    let (source, before) = (array.library(), array.describe().unwrap());
    let context = format!("{}: {source} {} -> {target} {to}", sample.name(), before.device);
    let (made, records) = watch(|| array.convert_to(target, to));
    let made = match made {
        Ok(made) => made,
        Err(error) => {
            assert!(matches!(error.error(), Error::DtypeUnsupported { .. }), "{context}: {error}");
            assert!(records.is_empty(), "{context}: a record of what failed");
            return None;
        }
    };
    if source == target && before.device == to {
        assert!(records.is_empty(), "{context}: a record of staying in place");
        return Some(made);
    }
    let [record] = &records[..] else { panic!("{context}: {} records", records.len()) };
    let after = made.describe().unwrap();
    let (named, then_named) = (before.label.unwrap_or(source.name()), after.label);
    assert_eq!((record.source_library, record.source_device), (named, before.device));
    let then_named = then_named.unwrap_or(target.name());
    assert_eq!((record.target_library, record.target_device), (then_named, to));
    assert_eq!(record.nbytes, sample.bits().unwrap().len(), "{context}");
    let moved = before.address != after.address;
    if sample.bits().unwrap().is_empty() {
        assert!(!record.copied, "{context}: nothing was copied");
    } else if moved {
        assert!(record.copied, "{context}: addresses differ");
    } else if !record.mechanism.copies() {
        assert!(!record.copied, "{context}: the address stayed");
    }
    agrees_with_plan(record, source, before.device, target, to, &context);
    Some(made)
}

fn agrees_with_plan(
    record: &Seen,
    source: Library,
    from: Device,
    target: Library,
    to: Device,
    context: &str,
) {
    let plan = Plan::between(source.declaration(), from, target.declaration(), to).unwrap();
    let empty = record.nbytes == 0;
    let mut order = vec![plan.mechanism()];
    order.extend(plan.fallbacks());
    let place = order.iter().position(|mechanism| *mechanism == record.mechanism);
    let place = place.unwrap_or_else(|| panic!("{context}: {} unplanned", record.mechanism));
    let declined: Vec<Mechanism> =
        record.declined.iter().map(|(mechanism, _)| *mechanism).collect();
    if empty {
        // Nothing is shared where there is nothing: recorded as a host copy without a decline.
        assert!(declined.len() <= place, "{context}");
        return;
    }
    assert_eq!(declined, order[..place], "{context}: each mechanism before declined");
}

/// With `CopyPolicy::Never` the result has the address of the array, or it is an error that gives
/// the array back where it was.
pub fn never_copying_shares_or_gives_the_array_back<L: Subject>() {
    for device in devices::<L>() {
        for dtype in some_dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                for (peer, place) in peers() {
                    let array = L::INSTANCE.upload(&sample.make().unwrap().0, device).unwrap();
                    let array = AnyArray::of::<L>(array);
                    let back = uncopied(array, &sample, peer, place);
                    let Some(there) = back else { continue };
                    uncopied(there, &sample, Library::of::<L>(), device);
                }
            }
        }
    }
}

fn uncopied(array: AnyArray, sample: &Sample, target: Library, to: Device) -> Option<AnyArray> {
    let (source, before) = (array.library(), array.describe().unwrap());
    let context = format!("{}: {source} {} -> {target} {to}", sample.name(), before.device);
    let empty = before.layout.is_empty();
    let (made, records) = watch(|| array.convert_with(target, to, CopyPolicy::Never));
    match made {
        Ok(made) => {
            let after = made.describe().unwrap();
            assert!(empty || after.address == before.address, "{context}: it copied");
            assert!(records.iter().all(|record| !record.copied), "{context}: it says it copied");
            assert_eq!(bits_of_any(&made), sample.bits().unwrap(), "{context}");
            Some(made)
        }
        Err(error) => {
            let refused = matches!(error.error(), Error::WouldCopy { .. })
                || matches!(error.error(), Error::DtypeUnsupported { .. });
            assert!(refused, "{context}: {error}");
            assert!(records.is_empty(), "{context}: a record of what was refused");
            let back = error.into_array().expect("the array comes back");
            let after = back.describe().unwrap();
            assert_eq!(back.library(), source, "{context}");
            assert_eq!((after.address, after.device), (before.address, before.device), "{context}");
            assert_eq!(bits_of_any(&back), sample.bits().unwrap(), "{context}");
            None
        }
    }
}

/// An array that is already what was asked for comes back as it is, without a record.
pub fn staying_in_place_writes_no_record<L: Subject>() {
    for device in devices::<L>() {
        let host = HostArray::from_vec(vec![1u8, 2], &[2]).unwrap();
        let Some(array) = upload::<L>(&host, device) else { return };
        let address = L::INSTANCE.describe(&array).unwrap().address;
        let (same, records) = watch(|| array.convert_with::<L>(device, CopyPolicy::Never));
        let same: L::Array = same.unwrap();
        assert_eq!(L::INSTANCE.describe(&same).unwrap().address, address);
        let (same, more) = watch(|| AnyArray::of::<L>(same).convert_to(Library::of::<L>(), device));
        assert_eq!(same.unwrap().describe().unwrap().address, address);
        assert!(records.is_empty() && more.is_empty());
    }
}

/// An array that nobody else reaches crosses to a library that wraps it as the plan says: without a
/// copy where both exchange main memory.
pub fn an_exclusive_array_crosses_to_a_wrapping_library_as_planned<L: Subject>() {
    for device in devices::<L>() {
        let host = HostArray::from_vec((0u8..200).collect(), &[10, 20]).unwrap();
        let Some(array) = upload::<L>(&host.gather().unwrap(), device) else { return };
        drop(host);
        let (there, records) = watch(|| array.convert_to::<OtherEnd>(HOST));
        let there = there.unwrap();
        let shares =
            L::INSTANCE.host_share().is_some_and(|role| role.kinds().contains(device.kind()));
        let expected = if shares { Mechanism::SharedHostBuffer } else { Mechanism::HostCopy };
        // Arrays that never change are read-only to others. Addresses that differ are no such reason.
        let declined = records[0].declined.first().map(|(_, decline)| decline);
        let reason = declined.filter(|decline| decline.reason() != DeclineReason::Alignment);
        match reason {
            Some(reason) => skip::<L>("sharing with a library that writes", reason),
            None => {
                assert_eq!(records[0].mechanism, expected, "{records:?}");
                assert_eq!(records[0].copied, !shares, "{records:?}");
            }
        }
        assert_eq!(crate::numbers(&there.to_host().unwrap()).len(), 200);
    }
}

/// The payload's owner holds the array, and is the only handle; its access is claimed, not assumed;
/// and what nobody imported is taken back.
pub fn a_payload_has_the_array_in_its_owner_alone<L: Subject>() {
    let Some(role) = L::INSTANCE.dlpack_export() else {
        skip::<L>("DLPack export", &"it has no such role");
        return;
    };
    let exporting = |device: &Device| role.kinds().contains(device.kind());
    for device in devices::<L>().into_iter().filter(exporting) {
        for dtype in dtypes_of::<L>(device) {
            for sample in samples(dtype) {
                let array = L::INSTANCE.upload(&sample.make().unwrap().0, device).unwrap();
                let before = L::INSTANCE.describe(&array).unwrap();
                let place = match role.device(&array) {
                    Ok(place) => place,
                    Err(Obstacle::Declined(_)) => continue,
                    Err(obstacle) => panic!("{}: {obstacle:?}", sample.name()),
                };
                let mut slot = Some(array);
                let payload: DlpackPayload = match role.export(&mut slot, CopyPolicy::Never, None) {
                    Ok(payload) => payload,
                    Err(Obstacle::Declined(_)) => {
                        assert!(slot.is_some(), "{}: declined without it", sample.name());
                        continue;
                    }
                    Err(obstacle) => panic!("{}: {obstacle:?}", sample.name()),
                };
                assert!(slot.is_none(), "{}: exported and kept", sample.name());
                assert_eq!((payload.device(), payload.dtype()), (place, dtype));
                assert_eq!(payload.layout().shape(), sample.layout.shape, "{}", sample.name());
                assert!(!payload.is_copied(), "{}: copied under Never", sample.name());
                if !before.layout.is_empty() && before.address != 0 {
                    assert_eq!(payload.address(), before.address, "{}", sample.name());
                }
                let mut owner = payload.into_owner();
                assert!(owner.is_unique(), "{}: others hold the owner", sample.name());
                let back = role.reclaim(owner);
                let back = back.unwrap_or_else(|_| panic!("{}: not taken back", sample.name()));
                assert_eq!(super::bits_of::<L>(&back), sample.bits().unwrap(), "{}", sample.name());
                assert_eq!(L::INSTANCE.device_of(&back).unwrap(), device);
            }
        }
    }
}

/// A library that may write its arrays takes exclusive memory only: what others read is declined
/// and copied, and a write to the result is not seen by them.
pub fn a_writing_library_takes_exclusive_memory_only<L: Subject>() {
    for device in devices::<L>() {
        let host = HostArray::from_vec(vec![1f32, 2.0, 3.0], &[3]).unwrap();
        if upload::<L>(&host, device).is_none() {
            return;
        }
        // A clone is kept, so the mock lends memory that others read.
        let mock = other_end(host.clone());
        let (made, records) = watch(|| mock.convert_to::<L>(device));
        let made: L::Array = made.unwrap();
        let copied = records[0].copied;
        if let Some(made) = super::cleared::<L>(made) {
            assert_ne!(super::bits_of::<L>(&made), crate::bits(&host));
        }
        assert_eq!(host.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0], "copied: {copied}");
        let mut host = host;
        // A runtime that releases on a thread of its own is given ten seconds, as by `Releases`.
        let patience = Instant::now() + Duration::from_secs(10);
        while host.claim() != Access::Exclusive && Instant::now() < patience {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(host.claim(), Access::Exclusive, "the library let go of what it was lent");
    }
}
