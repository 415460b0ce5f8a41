//! Operations against reference values: written down, or computed here in `f64` and `i128`.
//! What a library answers `Unsupported` to is printed as skipped.

mod cast;
mod made;
mod parts;
mod reduce;
mod scale;

pub use cast::*;
pub use made::*;
pub use parts::*;
pub use reduce::*;
pub use scale::*;

use arraybridge_core::{DType, Device, Error, HostArray};

use super::{Subject, devices, dtypes_of, skip};
use crate::{numbers, of_numbers};

/// The dtypes of real numbers that references can be computed for.
const REAL: [DType; 13] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
];

/// Returns the devices and real dtypes that a library takes.
fn real_dtypes<L: Subject>() -> Vec<(Device, Vec<DType>)> {
    let real = |device: &Device| {
        dtypes_of::<L>(*device).into_iter().filter(|dtype| REAL.contains(dtype)).collect()
    };
    devices::<L>().into_iter().map(|device| (device, real(&device))).collect()
}

fn array<L: Subject>(dtype: DType, values: &[f64], shape: &[usize], device: Device) -> L::Array {
    L::INSTANCE.upload(&of_numbers(dtype, values, shape).unwrap(), device).unwrap()
}

/// Reads the result of an operation; `None`, said aloud, where the library does not have it.
fn done<L: Subject>(result: Result<L::Array, Error>, what: &str) -> Option<HostArray> {
    match result {
        Ok(array) => Some(L::INSTANCE.download(&array).unwrap()),
        Err(error @ (Error::Unsupported { .. } | Error::DtypeUnsupported { .. })) => {
            skip::<L>(what, &error);
            None
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Returns the error of an operation that must fail; `None` where the library does not have it.
fn refused<L: Subject>(result: Result<L::Array, Error>, what: &str) -> Option<Error> {
    match result {
        Ok(_) => panic!("{what}: it was not refused"),
        Err(error @ Error::Unsupported { .. }) => {
            skip::<L>(what, &error);
            None
        }
        Err(error) => Some(error),
    }
}

/// Asserts shape and values, NaN being equal to NaN.
fn expect(found: &HostArray, shape: &[usize], values: &[f64], what: &str) {
    expect_near(found, shape, values, 0.0, what);
}

/// As [`expect`], with a relative tolerance.
fn expect_near(found: &HostArray, shape: &[usize], values: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.shape(), shape, "{what}: shape");
    let read = numbers(found);
    assert_eq!(read.len(), values.len(), "{what}: number of elements");
    for (place, (&found, &expected)) in read.iter().zip(values).enumerate() {
        let same = found == expected || (found.is_nan() && expected.is_nan());
        let near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        assert!(same || near, "{what}: element {place} is {found}, expected {expected}");
    }
}

/// How far results of a dtype may be from the exact ones.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2e-3,
        DType::BF16 => 2e-2,
        DType::F32 => 1e-6,
        DType::F64 => 1e-14,
        _ => 0.0,
    }
}
