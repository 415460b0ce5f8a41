//! Dtypes as torch's scalar types.

use std::ffi::c_int;

use arraybridge_core::{DType, Error};

use crate::library::NAME;

/// Torch's code (`c10::ScalarType`) of each dtype that it has. tch's `Kind` lacks the last four.
const CODES: [(DType, c_int); 21] = [
    (DType::U8, 0),
    (DType::I8, 1),
    (DType::I16, 2),
    (DType::I32, 3),
    (DType::I64, 4),
    (DType::F16, 5),
    (DType::F32, 6),
    (DType::F64, 7),
    (DType::Complex32, 8),
    (DType::Complex64, 9),
    (DType::Complex128, 10),
    (DType::Bool, 11),
    (DType::BF16, 15),
    (DType::F8E5M2, 23),
    (DType::F8E4M3Fn, 24),
    (DType::F8E5M2Fnuz, 25),
    (DType::F8E4M3Fnuz, 26),
    (DType::U16, 27),
    (DType::U32, 28),
    (DType::U64, 29),
    (DType::F8E8M0Fnu, 44),
];

/// Returns torch's code of a dtype.
pub(crate) fn scalar_type(dtype: DType, operation: &'static str) -> Result<c_int, Error> {
    let found = CODES.iter().find(|(known, _)| *known == dtype);
    found.map(|(_, code)| *code).ok_or(Error::DtypeUnsupported { library: NAME, operation, dtype })
}

/// Returns whether torch has a dtype.
pub(crate) fn is_known(dtype: DType) -> bool {
    scalar_type(dtype, "").is_ok()
}

/// Returns the dtype of a code of torch's.
pub(crate) fn of_scalar_type(code: c_int) -> Option<DType> {
    CODES.iter().find(|(_, known)| *known == code).map(|(dtype, _)| *dtype)
}
