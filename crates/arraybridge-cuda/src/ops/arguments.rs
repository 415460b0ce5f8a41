//! The structures that kernels take, as `kernels/kernels.cu` has them.

use arraybridge_core::{DType, DTypeKind, Error};

use crate::library::NAME;

/// How many axes a kernel walks.
pub(super) const AXES: usize = 8;

/// A structure that a kernel takes by value.
///
/// # Safety
/// It has the layout of the kernel's own structure.
pub(super) unsafe trait Arguments: Copy {}

macro_rules! arguments {
    ($($(#[$doc:meta])* struct $name:ident { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub(super) struct $name {
            $(pub(super) $field: $type,)*
        }

        // SAFETY: the fields are those of the structure of this name in kernels.cu, in their order;
        // a test compares the sizes with those that the compiled kernels state.
        unsafe impl Arguments for $name {}
    )*};
}

arguments! {
    /// The lengths of the axes that are walked.
    struct Shape {
        count: u64,
        rank: u64,
        lengths: [u64; AXES],
    }
    /// Where the elements lie.
    struct View {
        address: u64,
        strides: [i64; AXES],
    }
    struct Transfer {
        shape: Shape,
        from: View,
        to: View,
    }
    struct Cast {
        shape: Shape,
        from: View,
        to: u64,
        from_code: u32,
        to_code: u32,
    }
    struct Reduce {
        kept: Shape,
        kept_strides: [i64; AXES],
        reduced: Shape,
        reduced_strides: [i64; AXES],
        from: u64,
        to: u64,
        parts: u64,
        code: u32,
        parts_first: u32,
    }
    struct Mean {
        from: u64,
        to: u64,
        count: u64,
        divisor: f64,
        to_code: u64,
    }
    struct Pair {
        shape: Shape,
        left: View,
        right: View,
        to: u64,
        code: u32,
        to_code: u32,
    }
    struct Divide {
        from: u64,
        to: u64,
        scales: u64,
        count: u64,
        plane: u64,
        code: u32,
        to_code: u32,
    }
    struct Rescale {
        from: u64,
        to: u64,
        low: u64,
        high: u64,
        count: u64,
        factor: f64,
        offset: f64,
        code: u32,
        to_code: u32,
        wide: u64,
    }
    struct Linspace {
        to: u64,
        count: u64,
        start: f64,
        half_step: f64,
        stop: f64,
        to_code: u32,
        endpoint: u32,
    }
}

/// Dtypes in the order of `enum Code`.
const CODES: [DType; 24] = [
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
    DType::Complex32,
    DType::Complex64,
    DType::Complex128,
    DType::F8E3M4,
    DType::F8E4M3,
    DType::F8E4M3B11Fnuz,
    DType::F8E4M3Fn,
    DType::F8E4M3Fnuz,
    DType::F8E5M2,
    DType::F8E5M2Fnuz,
    DType::F8E8M0Fnu,
];

/// Returns the number of a dtype in kernels.
pub(super) fn code(dtype: DType) -> Result<u32, Error> {
    let found = CODES.iter().position(|known| *known == dtype);
    let operation = "an operation";
    found.map(|place| place as u32).ok_or(Error::DtypeUnsupported {
        library: NAME,
        operation,
        dtype,
    })
}

/// A wide type that kernels compute in: the end of their names, and the dtype of what they leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Carrier {
    pub(super) name: &'static str,
    pub(super) dtype: DType,
}

pub(super) const I64: Carrier = Carrier { name: "i64", dtype: DType::I64 };
pub(super) const U64: Carrier = Carrier { name: "u64", dtype: DType::U64 };
pub(super) const F32: Carrier = Carrier { name: "f32", dtype: DType::F32 };
pub(super) const F64: Carrier = Carrier { name: "f64", dtype: DType::F64 };
pub(super) const C64: Carrier = Carrier { name: "c64", dtype: DType::Complex64 };
pub(super) const C128: Carrier = Carrier { name: "c128", dtype: DType::Complex128 };

/// Returns the narrowest carrier that holds every value of a dtype.
pub(super) fn carrier(dtype: DType) -> Carrier {
    match (dtype.kind(), dtype) {
        (_, DType::U64) => U64,
        (_, DType::F64) => F64,
        (_, DType::Complex128) => C128,
        (DTypeKind::Complex, _) => C64,
        (DTypeKind::Float, _) => F32,
        _ => I64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = include_str!("../../kernels/kernels.ptx");

    /// Returns the size of the one parameter that a kernel takes, as the PTX states it.
    #[allow(clippy::unwrap_used, clippy::panic)]
    fn stated(kernel: &str) -> usize {
        let start = format!(".b8 {kernel}_param_0[");
        let (_, rest) = PTX.split_once(&start).unwrap_or_else(|| panic!("no kernel `{kernel}`"));
        rest.split_once(']').unwrap().0.parse().unwrap()
    }

    #[test]
    fn the_structures_are_those_of_the_kernels() {
        for (kernel, size) in [
            ("copy_1", size_of::<Transfer>()),
            ("copy_16", size_of::<Transfer>()),
            ("cast_f32", size_of::<Cast>()),
            ("sum_f64", size_of::<Reduce>()),
            ("finite_max_f32", size_of::<Reduce>()),
            ("mean_i64", size_of::<Mean>()),
            ("logical_and", size_of::<Pair>()),
            ("multiply_c64", size_of::<Pair>()),
            ("divide_f32", size_of::<Divide>()),
            ("rescale_f64", size_of::<Rescale>()),
            ("linspace", size_of::<Linspace>()),
        ] {
            assert_eq!(size, stated(kernel), "{kernel}");
        }
    }

    #[test]
    fn the_ptx_is_for_every_gpu_and_waits_for_no_other_thread() {
        assert!(PTX.contains(".version 6.0\n.target sm_50"));
        assert!(!PTX.contains("bar.sync") && !PTX.contains(".shared"));
        // No header of CUDA, no symbol from elsewhere.
        assert!(!PTX.contains(".extern"));
    }

    #[test]
    fn every_dtype_has_a_number() {
        for (number, dtype) in DType::all().enumerate() {
            assert_eq!(code(dtype).ok(), Some(number as u32));
        }
    }
}
