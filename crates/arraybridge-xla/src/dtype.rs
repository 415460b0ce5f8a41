//! Dtypes as PJRT codes and as StableHLO names.

use arraybridge_core::{DType, Error};

use crate::library::NAME;
use crate::pjrt::ElementType;

/// PJRT's code (`PJRT_Buffer_Type`) and the StableHLO name of each dtype that XLA has.
const CODES: [(DType, u32, &str); 23] = [
    (DType::Bool, 1, "i1"),
    (DType::I8, 2, "i8"),
    (DType::I16, 3, "i16"),
    (DType::I32, 4, "i32"),
    (DType::I64, 5, "i64"),
    (DType::U8, 6, "ui8"),
    (DType::U16, 7, "ui16"),
    (DType::U32, 8, "ui32"),
    (DType::U64, 9, "ui64"),
    (DType::F16, 10, "f16"),
    (DType::F32, 11, "f32"),
    (DType::F64, 12, "f64"),
    (DType::BF16, 13, "bf16"),
    (DType::Complex64, 14, "complex<f32>"),
    (DType::Complex128, 15, "complex<f64>"),
    (DType::F8E5M2, 16, "f8E5M2"),
    (DType::F8E4M3Fn, 17, "f8E4M3FN"),
    (DType::F8E4M3B11Fnuz, 18, "f8E4M3B11FNUZ"),
    (DType::F8E5M2Fnuz, 19, "f8E5M2FNUZ"),
    (DType::F8E4M3Fnuz, 20, "f8E4M3FNUZ"),
    (DType::F8E4M3, 26, "f8E4M3"),
    (DType::F8E3M4, 27, "f8E3M4"),
    (DType::F8E8M0Fnu, 28, "f8E8M0FNU"),
];

fn row(dtype: DType, operation: &'static str) -> Result<(u32, &'static str), Error> {
    let found = CODES.iter().find(|(known, _, _)| *known == dtype);
    found.map(|(_, code, name)| (*code, *name)).ok_or(Error::DtypeUnsupported {
        library: NAME,
        operation,
        dtype,
    })
}

/// Returns the element type of a dtype.
pub(crate) fn element(dtype: DType, operation: &'static str) -> Result<ElementType, Error> {
    row(dtype, operation).map(|(code, _)| ElementType::new(code, dtype.size()))
}

/// Returns the StableHLO name of a dtype.
pub(crate) fn name(dtype: DType, operation: &'static str) -> Result<&'static str, Error> {
    row(dtype, operation).map(|(_, name)| name)
}

/// Returns the dtype of a PJRT code.
pub(crate) fn from_code(code: u32) -> Option<DType> {
    CODES.iter().find(|(_, known, _)| *known == code).map(|(dtype, _, _)| *dtype)
}

/// Returns the dtype of a StableHLO name.
pub(crate) fn from_name(name: &str) -> Option<DType> {
    CODES.iter().find(|(_, _, known)| *known == name).map(|(dtype, _, _)| *dtype)
}
