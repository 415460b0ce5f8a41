//! Elements of host arrays, read and written without the code under test.

use arraybridge_core::{
    DType, DTypeKind, Element, Error, HostArray, half::bf16, half::f16, with_element,
};

use crate::sample::offsets;

/// Returns the bytes of the elements in row-major order.
pub fn bits(array: &HostArray) -> Vec<u8> {
    let size = array.dtype().size();
    let mut bits = Vec::with_capacity(array.nbytes());
    for offset in offsets(array.shape(), array.layout().strides()) {
        let element = array.as_ptr().wrapping_offset(offset * size as isize);
        // SAFETY: the address of an element of the array, which is initialised memory that is not
        // written while the array is borrowed.
        bits.extend_from_slice(unsafe { std::slice::from_raw_parts(element, size) });
    }
    bits
}

/// Returns the elements in row-major order as `f64` (real parts of complex numbers): exact but for
/// 64-bit integers beyond 2^53.
pub fn numbers(array: &HostArray) -> Vec<f64> {
    let dtype = array.dtype();
    bits(array).chunks_exact(dtype.size().max(1)).map(|bytes| number(dtype, bytes)).collect()
}

fn number(dtype: DType, bytes: &[u8]) -> f64 {
    let mut wide = [0u8; 8];
    let part = if dtype.kind() == DTypeKind::Complex { bytes.len() / 2 } else { bytes.len() };
    wide[..part].copy_from_slice(&bytes[..part]);
    let raw = u64::from_le_bytes(wide);
    match dtype {
        DType::I8 => f64::from(raw as i8),
        DType::I16 => f64::from(raw as i16),
        DType::I32 => f64::from(raw as i32),
        DType::I64 => raw as i64 as f64,
        DType::F16 | DType::Complex32 => f64::from(f16::from_bits(raw as u16)),
        DType::BF16 => f64::from(bf16::from_bits(raw as u16)),
        DType::F32 | DType::Complex64 => f64::from(f32::from_bits(raw as u32)),
        DType::F64 | DType::Complex128 => f64::from_bits(raw),
        _ => raw as f64,
    }
}

/// Makes a row-major array of numbers, each of which the dtype holds exactly or as its nearest.
///
/// # Errors
/// [`Error::DtypeUnsupported`] for 8-bit floats, [`Error::ShapeMismatch`].
pub fn of_numbers(dtype: DType, numbers: &[f64], shape: &[usize]) -> Result<HostArray, Error> {
    let mut bytes = Vec::with_capacity(numbers.len() * dtype.size());
    for &number in numbers {
        match dtype {
            DType::Bool => bytes.push(u8::from(number != 0.0)),
            DType::I8 => bytes.extend((number as i8).to_le_bytes()),
            DType::I16 => bytes.extend((number as i16).to_le_bytes()),
            DType::I32 => bytes.extend((number as i32).to_le_bytes()),
            DType::I64 => bytes.extend((number as i64).to_le_bytes()),
            DType::U8 => bytes.push(number as u8),
            DType::U16 => bytes.extend((number as u16).to_le_bytes()),
            DType::U32 => bytes.extend((number as u32).to_le_bytes()),
            DType::U64 => bytes.extend((number as u64).to_le_bytes()),
            DType::F16 => bytes.extend(f16::from_f64(number).to_le_bytes()),
            DType::BF16 => bytes.extend(bf16::from_f64(number).to_le_bytes()),
            DType::F32 => bytes.extend((number as f32).to_le_bytes()),
            DType::F64 => bytes.extend(number.to_le_bytes()),
            DType::Complex32 => {
                bytes.extend(f16::from_f64(number).to_le_bytes());
                bytes.extend([0; 2]);
            }
            DType::Complex64 => {
                bytes.extend((number as f32).to_le_bytes());
                bytes.extend([0; 4]);
            }
            DType::Complex128 => {
                bytes.extend(number.to_le_bytes());
                bytes.extend([0; 8]);
            }
            other => {
                let library = "the conformance suite";
                let operation = "reference values";
                return Err(Error::DtypeUnsupported { library, operation, dtype: other });
            }
        }
    }
    with_element!(dtype, T => of_bytes::<T>(&bytes, shape))
}

fn of_bytes<T: Element>(bytes: &[u8], shape: &[usize]) -> Result<HostArray, Error> {
    let mut elements = vec![T::default(); bytes.len() / size_of::<T>().max(1)];
    let target = elements.as_mut_ptr().cast::<u8>();
    // SAFETY: as many bytes as the elements have; they are the bytes of valid elements (0 or 1 for
    // bool), and elements have no padding.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
    Ok(HostArray::from_vec(elements, shape)?)
}
