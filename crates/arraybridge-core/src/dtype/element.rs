//! The Rust types that an array's elements can be viewed as.

use std::fmt::Debug;

use half::{bf16, f16};
use num_complex::Complex;

use super::{
    DType, F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0Fnu,
};

/// A Rust type that is the element of a [`DType`].
///
/// The trait is implemented for `bool`, the integers, `f16`/`bf16` (crate `half`), `f32`, `f64`,
/// `Complex<f16 | f32 | f64>` (crate `num-complex`) and the eight 8-bit floats of this crate.
///
/// # Safety
/// An implementation promises that
/// - the type's size and alignment are [`DType::size`] and [`DType::align`] of `DTYPE`, and it has
///   no padding;
/// - every bit pattern is a valid value. Dtype `bool` is the one exception: its arrays never hold
///   another byte than 0 or 1, which their constructors check, and an element type of it has no
///   other values either, since what it writes is read as `bool`.
pub unsafe trait Element:
    Copy + PartialEq + Debug + Default + Send + Sync + 'static
{
    /// The dtype that the type is the element of.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),+ $(,)?) => {$(
        // SAFETY: size and alignment are asserted below. The type is a primitive number, a
        // `repr(C)` pair of them or a `repr(transparent)` wrapper of one, none of which has padding
        // or an invalid bit pattern; `bool` is the documented exception.
        unsafe impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )+

        #[test]
        fn every_dtype_has_an_element_of_its_size_and_alignment() {
            let mut seen = Vec::new();
            $(
                assert_eq!(size_of::<$type>(), DType::$dtype.size(), "{}", DType::$dtype);
                assert_eq!(align_of::<$type>(), DType::$dtype.align(), "{}", DType::$dtype);
                seen.push(DType::$dtype);
            )+
            assert_eq!(seen, DType::all().collect::<Vec<_>>());
            for dtype in DType::all() {
                assert_eq!(crate::with_element!(dtype, T => T::DTYPE), dtype);
            }
        }
    };
}

elements! {
    bool => Bool,
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    f16 => F16,
    bf16 => BF16,
    f32 => F32,
    f64 => F64,
    Complex<f16> => Complex32,
    Complex<f32> => Complex64,
    Complex<f64> => Complex128,
    F8E3M4 => F8E3M4,
    F8E4M3 => F8E4M3,
    F8E4M3B11Fnuz => F8E4M3B11Fnuz,
    F8E4M3Fn => F8E4M3Fn,
    F8E4M3Fnuz => F8E4M3Fnuz,
    F8E5M2 => F8E5M2,
    F8E5M2Fnuz => F8E5M2Fnuz,
    F8E8M0Fnu => F8E8M0Fnu,
}

/// Runs a block once with a type alias bound to the element type of a dtype known at run time.
///
/// `with_element!(dtype, T => body)` expands `body` once per dtype, so loops inside it are compiled
/// for each element type and no element pays for a dispatch.
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $element:ident => $body:expr) => {
        $crate::with_element!(@arms $dtype, $element => $body,
            Bool: bool, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64,
            F16: $crate::half::f16, BF16: $crate::half::bf16, F32: f32, F64: f64,
            Complex32: $crate::num_complex::Complex<$crate::half::f16>,
            Complex64: $crate::num_complex::Complex<f32>,
            Complex128: $crate::num_complex::Complex<f64>,
            F8E3M4: $crate::F8E3M4, F8E4M3: $crate::F8E4M3, F8E4M3B11Fnuz: $crate::F8E4M3B11Fnuz,
            F8E4M3Fn: $crate::F8E4M3Fn, F8E4M3Fnuz: $crate::F8E4M3Fnuz, F8E5M2: $crate::F8E5M2,
            F8E5M2Fnuz: $crate::F8E5M2Fnuz, F8E8M0Fnu: $crate::F8E8M0Fnu)
    };
    (@arms $dtype:expr, $element:ident => $body:expr, $($variant:ident: $type:ty),+) => {
        match $dtype {
            $($crate::DType::$variant => {
                type $element = $type;
                $body
            })+
            // Unreachable inside this workspace (every dtype has an arm); `DType` is
            // non-exhaustive to crates outside of it.
            #[allow(unreachable_patterns)]
            other => $crate::unknown_dtype(other),
        }
    };
}
