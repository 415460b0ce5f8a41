//! Dtypes that torch stores and hardly computes with, carried by others.

use arraybridge_core::{DType, DTypeKind};
use tch::Tensor;

use super::failure::Failure;
use crate::{dtype, torch};

/// Returns a dtype of the same size that every operation that moves elements knows; `None` for
/// dtypes that are known themselves.
fn bits(dtype: DType) -> Option<DType> {
    match dtype {
        DType::U16 => Some(DType::I16),
        DType::U32 => Some(DType::I32),
        DType::U64 => Some(DType::I64),
        _ if dtype.is_float8() => Some(DType::U8),
        _ => None,
    }
}

/// Returns a tensor of the same bits, over the same memory, whose elements torch can move.
pub(super) fn to_bits(tensor: &Tensor, dtype: DType) -> Result<Tensor, Failure> {
    as_dtype(tensor, bits(dtype).unwrap_or(dtype))
}

/// Undoes [`to_bits`].
pub(super) fn from_bits(tensor: &Tensor, dtype: DType) -> Result<Tensor, Failure> {
    as_dtype(tensor, dtype)
}

/// Reads the elements' bits as another dtype of the same size.
pub(super) fn as_dtype(tensor: &Tensor, dtype: DType) -> Result<Tensor, Failure> {
    Ok(torch::reinterpret(tensor, dtype::scalar_type(dtype, "its bits")?)?)
}

/// Returns a dtype that holds every element of another and that torch computes with.
pub(super) fn arithmetic(dtype: DType) -> DType {
    match dtype {
        DType::U16 => DType::I32,
        DType::U32 => DType::I64,
        DType::Complex32 => DType::Complex64,
        _ if dtype.is_float8() => DType::F32,
        _ => dtype,
    }
}

/// Returns what sums and means of a float or complex dtype are accumulated in.
pub(super) fn accumulator(dtype: DType) -> DType {
    match dtype.kind() {
        DTypeKind::Float if dtype.size() < 4 => DType::F32,
        _ => arithmetic(dtype),
    }
}
