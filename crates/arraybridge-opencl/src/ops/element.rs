//! Dtypes as the kernels name them.

use arraybridge_core::{DType, Error};

use crate::library::NAME;
use crate::place::Place;

/// How kernels see a dtype: complex numbers are two parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Element {
    pub(crate) dtype: DType,
    /// The dtype of a part, as `elements.cl` names it.
    pub(crate) name: &'static str,
    pub(crate) parts: usize,
    /// The name of the whole, which differs for complex numbers.
    pub(crate) whole: &'static str,
}

impl Element {
    /// Returns how kernels on a device see a dtype.
    ///
    /// # Errors
    /// [`Error::DtypeUnsupported`] for dtypes that are not computed with there.
    pub(crate) fn of(
        dtype: DType,
        operation: &'static str,
        place: &Place,
    ) -> Result<Element, Error> {
        let refused = || Error::DtypeUnsupported { library: NAME, operation, dtype };
        let (name, parts) = match dtype {
            DType::Bool => ("b8", 1),
            DType::I8 => ("i8", 1),
            DType::I16 => ("i16", 1),
            DType::I32 => ("i32", 1),
            DType::I64 => ("i64", 1),
            DType::U8 => ("u8", 1),
            DType::U16 => ("u16", 1),
            DType::U32 => ("u32", 1),
            DType::U64 => ("u64", 1),
            DType::F16 => ("f16", 1),
            DType::BF16 => ("bf16", 1),
            DType::F32 => ("f32", 1),
            DType::F64 => ("f64", 1),
            DType::Complex32 => ("f16", 2),
            DType::Complex64 => ("f32", 2),
            DType::Complex128 => ("f64", 2),
            _ => return Err(refused()),
        };
        if name == "f64" && !place.known.facts.fp64 {
            return Err(refused());
        }
        let whole = match dtype {
            DType::Complex32 => "c32",
            DType::Complex64 => "c64",
            DType::Complex128 => "c128",
            _ => name,
        };
        Ok(Element { dtype, name, parts, whole })
    }
}

/// The dtype of floats that two kernels hand a number over in: `f64` where the device has it.
pub(crate) fn widest(place: &Place) -> DType {
    if place.known.facts.fp64 { DType::F64 } else { DType::F32 }
}

/// How OpenCL C names a float that sums and quotients are made in.
pub(crate) fn real(dtype: DType) -> &'static str {
    if dtype == DType::F64 { "double" } else { "float" }
}
