//! Element types: their names, sizes and DLPack codes.

mod element;
mod float8;

use std::fmt;
use std::str::FromStr;

use crate::Error;

pub use element::Element;
pub use float8::{
    F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0Fnu,
};

/// The type of an array's elements.
///
/// Names are NumPy's where NumPy has one (`float32`), and those of its `ml_dtypes` extension
/// elsewhere (`bfloat16`, `float8_e4m3fn`).
///
/// ```
/// use arraybridge_core::DType;
///
/// assert_eq!("uint16".parse::<DType>()?, DType::U16);
/// assert_eq!((DType::Complex64.size(), DType::Complex64.name()), (8, "complex64"));
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE 754 half precision.
    F16,
    /// The upper half of an `f32`.
    BF16,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
    /// Two `f16`, real part first.
    Complex32,
    /// Two `f32`, real part first.
    Complex64,
    /// Two `f64`, real part first.
    Complex128,
    /// 8-bit float with 3 exponent and 4 mantissa bits, with infinities.
    F8E3M4,
    /// 8-bit float with 4 exponent and 3 mantissa bits, with infinities.
    F8E4M3,
    /// As [`DType::F8E4M3Fnuz`] with an exponent bias of 11.
    F8E4M3B11Fnuz,
    /// 8-bit float with 4 exponent and 3 mantissa bits, finite (no infinities).
    F8E4M3Fn,
    /// 8-bit float with 4 exponent and 3 mantissa bits, finite, without a negative zero.
    F8E4M3Fnuz,
    /// 8-bit float with 5 exponent and 2 mantissa bits, with infinities.
    F8E5M2,
    /// 8-bit float with 5 exponent and 2 mantissa bits, finite, without a negative zero.
    F8E5M2Fnuz,
    /// 8 exponent bits alone: powers of two, no sign, no zero.
    F8E8M0Fnu,
}

/// What kind of number a [`DType`] holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DTypeKind {
    /// Truth values.
    Bool,
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Floating-point numbers of any width.
    Float,
    /// Complex numbers.
    Complex,
}

/// One row per dtype: the name, size and alignment in bytes, DLPack type code and bits.
struct Row {
    dtype: DType,
    name: &'static str,
    size: usize,
    align: usize,
    code: u8,
}

/// DLPack 1.3 type codes (`DLDataTypeCode` in dlpack.h).
mod code {
    pub(super) const INT: u8 = 0;
    pub(super) const UINT: u8 = 1;
    pub(super) const FLOAT: u8 = 2;
    pub(super) const BFLOAT: u8 = 4;
    pub(super) const COMPLEX: u8 = 5;
    pub(super) const BOOL: u8 = 6;
}

const fn row(dtype: DType, name: &'static str, size: usize, align: usize, code: u8) -> Row {
    Row { dtype, name, size, align, code }
}

/// In the order of the enum, so that a dtype is its own index.
static ROWS: [Row; 24] = [
    row(DType::Bool, "bool", 1, 1, code::BOOL),
    row(DType::I8, "int8", 1, 1, code::INT),
    row(DType::I16, "int16", 2, 2, code::INT),
    row(DType::I32, "int32", 4, 4, code::INT),
    row(DType::I64, "int64", 8, 8, code::INT),
    row(DType::U8, "uint8", 1, 1, code::UINT),
    row(DType::U16, "uint16", 2, 2, code::UINT),
    row(DType::U32, "uint32", 4, 4, code::UINT),
    row(DType::U64, "uint64", 8, 8, code::UINT),
    row(DType::F16, "float16", 2, 2, code::FLOAT),
    row(DType::BF16, "bfloat16", 2, 2, code::BFLOAT),
    row(DType::F32, "float32", 4, 4, code::FLOAT),
    row(DType::F64, "float64", 8, 8, code::FLOAT),
    row(DType::Complex32, "complex32", 4, 2, code::COMPLEX),
    row(DType::Complex64, "complex64", 8, 4, code::COMPLEX),
    row(DType::Complex128, "complex128", 16, 8, code::COMPLEX),
    row(DType::F8E3M4, "float8_e3m4", 1, 1, 7),
    row(DType::F8E4M3, "float8_e4m3", 1, 1, 8),
    row(DType::F8E4M3B11Fnuz, "float8_e4m3b11fnuz", 1, 1, 9),
    row(DType::F8E4M3Fn, "float8_e4m3fn", 1, 1, 10),
    row(DType::F8E4M3Fnuz, "float8_e4m3fnuz", 1, 1, 11),
    row(DType::F8E5M2, "float8_e5m2", 1, 1, 12),
    row(DType::F8E5M2Fnuz, "float8_e5m2fnuz", 1, 1, 13),
    row(DType::F8E8M0Fnu, "float8_e8m0fnu", 1, 1, 14),
];

impl DType {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns every dtype in order.
    pub fn all() -> impl Iterator<Item = DType> {
        ROWS.iter().map(|row| row.dtype)
    }

    /// Returns the NumPy (or `ml_dtypes`) name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the size of one element in bytes.
    pub fn size(self) -> usize {
        self.row().size
    }

    /// Returns the alignment in bytes that one element needs for a Rust reference.
    pub fn align(self) -> usize {
        self.row().align
    }

    /// Returns what kind of number this is.
    pub fn kind(self) -> DTypeKind {
        match self.row().code {
            code::BOOL => DTypeKind::Bool,
            code::INT => DTypeKind::Signed,
            code::UINT => DTypeKind::Unsigned,
            code::COMPLEX => DTypeKind::Complex,
            _ => DTypeKind::Float,
        }
    }

    /// Returns whether this is a floating-point type of any width.
    pub fn is_float(self) -> bool {
        self.kind() == DTypeKind::Float
    }

    /// Returns whether this is a signed or unsigned integer.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), DTypeKind::Signed | DTypeKind::Unsigned)
    }

    /// Returns whether this is one of the eight 8-bit floats.
    pub fn is_float8(self) -> bool {
        self.is_float() && self.size() == 1
    }

    /// Returns the DLPack type code and bits (lanes are always 1).
    pub fn to_dlpack(self) -> (u8, u8) {
        // Sizes are at most 16 bytes, so the product fits.
        (self.row().code, (self.size() * 8) as u8)
    }

    /// Returns the dtype of a DLPack type code, bits and lanes.
    ///
    /// # Errors
    /// [`Error::InvalidPayload`] names what was given: more than one lane, sub-byte types, opaque
    /// handles and widths that no library here has are refused, never reinterpreted.
    pub fn from_dlpack(code: u8, bits: u8, lanes: u16) -> Result<DType, Error> {
        let refuse = |message: String| Error::InvalidPayload { field: "dtype", message };
        if lanes != 1 {
            return Err(refuse(format!("{lanes} lanes per element; only 1 is supported")));
        }
        let found = ROWS.iter().find(|row| row.dtype.to_dlpack() == (code, bits));
        found.map(|row| row.dtype).ok_or_else(|| {
            let kind = match code {
                code::INT => "int",
                code::UINT => "uint",
                code::FLOAT => "float",
                3 => "opaque handle",
                code::BFLOAT => "bfloat",
                code::COMPLEX => "complex",
                code::BOOL => "bool",
                7..=14 => "float8",
                15 | 16 => "float6",
                17 => "float4",
                _ => "unknown",
            };
            refuse(format!("{kind} of {bits} bits (code {code}) has no dtype here"))
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(text: &str) -> Result<DType, Error> {
        ROWS.iter().find(|row| row.name == text).map(|row| row.dtype).ok_or_else(|| {
            Error::InvalidLabel {
                what: "dtype",
                text: text.chars().take(64).collect(),
                expected: "a NumPy name such as `float32`, `uint8` or `bool`",
            }
        })
    }
}
