//! The cases of the conformance suite, one function each: [`conformance!`](crate::conformance)
//! makes tests of them. They say what is wrong by panicking, and print what they skip.
//!
//! The names and number of cases grow with every version: they are not part of the stable API.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod exchange;
pub mod identity;
pub mod ops;
pub mod owners;
pub mod sharing;
pub mod threads;
pub mod transfer;

use arraybridge_core::ops::Ops;
use arraybridge_core::{
    AnyArray, ArrayLibrary, DType, Device, Error, HOST, HostArray, Library, NativeArray, libraries,
};

use crate::mock::{
    Accelerated, AcceleratorOnly, Character, Declining, Immutable, Mock, MockArray, NamedDevice,
    SharedStorage, Traits, Wrapping,
};
use crate::{bits, dtypes};

/// A library that the suite runs on: any whose own array type is registered with it.
pub trait Subject: ArrayLibrary<Array: NativeArray<Self>> {}

impl<L: ArrayLibrary<Array: NativeArray<L>>> Subject for L {}

/// Returns every case with its name, for programs that run the suite without a test harness: on a
/// machine that has the hardware, say.
pub fn all<L: Subject>() -> Vec<(&'static str, fn())> {
    crate::each_case!(list_cases L)
}

/// The character of the library at the other end, which is no subject itself.
enum Other {}

impl Character for Other {
    const TRAITS: Traits = Traits { name: "mock-other-end", ..Traits::HOST_ONLY };
}

/// The library at the other end: wraps exclusive main memory, and can be told to decline or fail.
type OtherEnd = Mock<Other>;

/// Returns an array at the other end over this memory.
fn other_end(host: HostArray) -> MockArray<Other> {
    MockArray::new(host, HOST).unwrap()
}

/// Returns the devices to try, none if the library cannot run here.
fn devices<L: Subject>() -> Vec<Device> {
    let availability = L::INSTANCE.availability();
    if !availability.is_available() {
        skip::<L>("everything on devices", &availability);
        return Vec::new();
    }
    L::INSTANCE.devices().unwrap()
}

/// Says what is not tried, and why.
fn skip<L: Subject>(what: &str, why: &dyn std::fmt::Display) {
    eprintln!("skipped for {}: {what}: {why}", L::NAME);
}

/// Returns the libraries to exchange with and their devices: those that are registered and work
/// here, and the mocks.
fn peers() -> Vec<(Library, Device)> {
    let mut peers = vec![
        Library::of::<Wrapping>(),
        Library::of::<Accelerated>(),
        Library::of::<AcceleratorOnly>(),
        Library::of::<NamedDevice>(),
        Library::of::<Immutable>(),
        Library::of::<SharedStorage>(),
        Library::of::<Declining>(),
    ];
    for library in libraries() {
        if !peers.contains(&library) && library.availability().is_available() {
            peers.push(library);
        }
    }
    let devices = |peer: Library| {
        peer.available_devices().unwrap().into_iter().map(move |device| (peer, device))
    };
    peers.into_iter().flat_map(devices).collect()
}

/// Uploads, or answers `None` for a dtype that the library refuses.
fn upload<L: Subject>(host: &HostArray, device: Device) -> Option<L::Array> {
    match L::INSTANCE.upload(host, device) {
        Ok(array) => Some(array),
        Err(Error::DtypeUnsupported { .. }) => None,
        Err(error) => panic!("upload of {host:?} to {device}: {error}"),
    }
}

/// Returns the dtypes that a library takes on a device.
fn dtypes_of<L: Subject>(device: Device) -> Vec<DType> {
    let takes = |dtype: &DType| {
        let one = HostArray::zeros(*dtype, &[1]).unwrap();
        upload::<L>(&one, device).is_some()
    };
    dtypes().filter(takes).collect()
}

/// Returns a dtype of each size and kind of handling, of those that a library takes on a device:
/// for cases that run with every other library and ask nothing of the elements.
fn some_dtypes_of<L: Subject>(device: Device) -> Vec<DType> {
    let some = [DType::Bool, DType::F16, DType::F32, DType::I64, DType::Complex128];
    dtypes_of::<L>(device).into_iter().filter(|dtype| some.contains(dtype)).collect()
}

/// Returns the bytes of an array's elements.
fn bits_of<L: Subject>(array: &L::Array) -> Vec<u8> {
    bits(&L::INSTANCE.download(array).unwrap())
}

fn bits_of_any(array: &AnyArray) -> Vec<u8> {
    bits(&array.to_host().unwrap())
}

/// Sets every element to zero with the library's own `assign`; `None` if it has none.
fn cleared<L: Subject>(array: L::Array) -> Option<L::Array> {
    let seen = L::INSTANCE.describe(&array).unwrap();
    let zeros = HostArray::zeros(seen.dtype, seen.layout.shape()).unwrap();
    let zeros = L::INSTANCE.upload(&zeros, seen.device).unwrap();
    match L::assign(array, .., &zeros) {
        Ok(array) => Some(array),
        Err(error) => match error.error() {
            Error::Unsupported { .. } | Error::DtypeUnsupported { .. } => {
                skip::<L>("writing by `assign`", error.error());
                None
            }
            _ => panic!("assign: {error}"),
        },
    }
}

fn cleared_any(array: AnyArray) -> Option<AnyArray> {
    let seen = array.describe().unwrap();
    let zeros = HostArray::zeros(seen.dtype, seen.layout.shape()).unwrap();
    let zeros = AnyArray::from_host(&zeros, array.library(), seen.device).unwrap();
    match array.assign(.., &zeros) {
        Ok(array) => Some(array),
        Err(error) => match error.error() {
            Error::Unsupported { .. } | Error::DtypeUnsupported { .. } => None,
            _ => panic!("assign: {error}"),
        },
    }
}
