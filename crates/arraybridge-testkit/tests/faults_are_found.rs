//! The suite fails where a library is wrong: one fault each, found by the case that is meant to.
#![allow(clippy::unwrap_used)]

use std::panic::catch_unwind;

use arraybridge_core::roles::{HostOffer, HostShare};
use arraybridge_core::{
    ArrayLibrary, Availability, ConversionError, DType, Description, Device, DeviceKinds, Error,
    HOST, HostArray, NativeArray, Obstacle, Owner,
};
use arraybridge_testkit::cases::{exchange, identity, owners, transfer};

const SOUND: u8 = 0;
const REORDERS: u8 = 1;
const NARROWS: u8 = 2;
const PLACES_ELSEWHERE: u8 = 3;
const LEAKS: u8 = 4;
const LOSES: u8 = 5;
const COPIES_ALWAYS: u8 = 6;
const TELLS_ONE_ADDRESS: u8 = 7;

/// A library in main memory with one fault.
struct Faulty<const FAULT: u8>;

struct FaultyArray<const FAULT: u8>(HostArray);

impl<const FAULT: u8> NativeArray<Faulty<FAULT>> for FaultyArray<FAULT> {
    fn into_library(self) -> Result<Self, ConversionError<Self>> {
        Ok(self)
    }

    fn from_library(array: Self) -> Result<Self, ConversionError<Self>> {
        Ok(array)
    }
}

impl<const FAULT: u8> ArrayLibrary for Faulty<FAULT> {
    type Array = FaultyArray<FAULT>;

    const INSTANCE: &'static Self = &Faulty;
    const NAME: &'static str = "faulty";
    const KINDS: DeviceKinds = DeviceKinds::HOST;

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        Ok(vec![HOST])
    }

    fn describe(&self, array: &Self::Array) -> Result<Description, Error> {
        let host = &array.0;
        let address = if FAULT == TELLS_ONE_ADDRESS { 64 } else { host.address() };
        Ok(Description::new(host.dtype(), host.layout().clone(), HOST, address))
    }

    fn download(&self, array: &Self::Array) -> Result<HostArray, Error> {
        array.0.gather()
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<Self::Array, Error> {
        if FAULT != PLACES_ELSEWHERE {
            arraybridge_core::require_device::<Self>(device)?;
        }
        let mut own = array.gather()?;
        if FAULT == REORDERS
            && !array.layout().is_row_major()
            && let Ok(bytes) = own.as_slice_mut::<u8>()
        {
            bytes.reverse();
        }
        if FAULT == NARROWS && array.dtype() == DType::F64 {
            own = HostArray::zeros(DType::F32, array.shape())?;
        }
        Ok(FaultyArray(own))
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        Some(self)
    }
}

impl<const FAULT: u8> HostShare<Faulty<FAULT>> for Faulty<FAULT> {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, slot: &mut Option<FaultyArray<FAULT>>) -> Result<HostArray, Obstacle> {
        let array = slot.take().ok_or(arraybridge_core::DeclineReason::Device)?;
        if FAULT == COPIES_ALWAYS { Ok(array.0.gather()?) } else { Ok(array.0) }
    }

    fn adopt(&self, offer: HostOffer, _: Device) -> Result<FaultyArray<FAULT>, Obstacle> {
        let host = offer.into_array();
        if FAULT == LEAKS {
            std::mem::forget(host.clone());
        }
        Ok(FaultyArray(host))
    }

    fn reclaim(&self, array: HostArray) -> Result<FaultyArray<FAULT>, Owner> {
        if FAULT == LOSES { Err(array.into_owner()) } else { Ok(FaultyArray(array)) }
    }
}

/// Asserts that a case passes a sound library and not a faulty one.
#[track_caller]
fn found(sound: fn(), faulty: fn()) {
    sound();
    assert!(catch_unwind(faulty).is_err(), "the fault was not found");
}

#[test]
fn a_layout_that_is_reordered_is_found() {
    found(
        transfer::upload_and_download_keep_every_bit::<Faulty<SOUND>>,
        transfer::upload_and_download_keep_every_bit::<Faulty<REORDERS>>,
    );
}

#[test]
fn a_dtype_that_is_narrowed_is_found() {
    found(
        transfer::upload_keeps_dtype_shape_and_device_or_is_an_error::<Faulty<SOUND>>,
        transfer::upload_keeps_dtype_shape_and_device_or_is_an_error::<Faulty<NARROWS>>,
    );
}

#[test]
fn an_array_that_is_placed_elsewhere_is_found() {
    found(
        identity::an_unknown_device_is_refused_with_those_that_are_there::<Faulty<SOUND>>,
        identity::an_unknown_device_is_refused_with_those_that_are_there::<Faulty<PLACES_ELSEWHERE>>,
    );
}

#[test]
fn an_owner_that_is_never_released_is_found() {
    found(
        owners::every_owner_is_released_exactly_once::<Faulty<SOUND>>,
        owners::every_owner_is_released_exactly_once::<Faulty<LEAKS>>,
    );
}

#[test]
fn an_array_that_is_lost_on_a_failure_is_found() {
    found(
        owners::a_failed_exchange_gives_the_array_back::<Faulty<SOUND>>,
        owners::a_failed_exchange_gives_the_array_back::<Faulty<LOSES>>,
    );
}

#[test]
fn a_copy_in_place_of_sharing_is_found() {
    found(
        exchange::an_exclusive_array_crosses_to_a_wrapping_library_as_planned::<Faulty<SOUND>>,
        exchange::an_exclusive_array_crosses_to_a_wrapping_library_as_planned::<
            Faulty<COPIES_ALWAYS>,
        >,
    );
}

#[test]
fn one_address_for_all_arrays_is_found() {
    found(
        transfer::describe_agrees_with_what_is_there::<Faulty<SOUND>>,
        transfer::describe_agrees_with_what_is_there::<Faulty<TELLS_ONE_ADDRESS>>,
    );
}
