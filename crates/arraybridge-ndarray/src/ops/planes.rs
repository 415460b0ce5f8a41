//! Casting and dividing plane by plane, in one pass.

use arraybridge_core::ops::cast::{self, Castable, Reader};
use arraybridge_core::{
    DType, Element, Error, F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz,
    F8E8M0Fnu, HostArray, with_element,
};
use half::{bf16, f16};
use num_complex::Complex;

/// Elements that stay in the first-level cache between the cast and the division.
const RUN: usize = 1024;

/// Casts every plane to `dtype` and divides it by its scale.
pub(super) fn normalize(
    array: &HostArray,
    dtype: DType,
    scales: &[Option<f64>],
) -> Result<HostArray, Error> {
    let source = array.to_contiguous()?;
    with_element!(dtype, T => planes::<T>(&source, scales))
}

fn planes<T: Dividend>(source: &HostArray, scales: &[Option<f64>]) -> Result<HostArray, Error> {
    let mut result = HostArray::scratch(T::Quotient::DTYPE, source.shape())?;
    let mut reader = Reader::new(source)?;
    let mut at = 0;
    // Without elements there is nothing to cut into planes.
    let length = source.len().checked_div(scales.len()).unwrap_or(0).max(1);
    for (plane, scale) in result.as_slice_mut::<T::Quotient>()?.chunks_mut(length).zip(scales) {
        for run in plane.chunks_mut(RUN) {
            T::read(&mut reader, at, run)?;
            if let Some(scale) = scale {
                T::divide(run, *scale);
            }
            at += run.len();
        }
    }
    Ok(result)
}

/// An element that true division divides.
trait Dividend: Castable {
    /// What the division gives.
    type Quotient: Castable;

    /// Reads elements, cast to `Self`.
    fn read(reader: &mut Reader<'_>, at: usize, run: &mut [Self::Quotient]) -> Result<(), Error>;

    /// Divides in the precision that the quotient is computed in, the scale included.
    fn divide(run: &mut [Self::Quotient], scale: f64);
}

macro_rules! fractions {
    ($($type:ty, |$value:ident, $scale:ident: $single:ty| $quotient:expr;)+) => {$(
        impl Dividend for $type {
            type Quotient = $type;

            fn read(reader: &mut Reader<'_>, at: usize, run: &mut [$type]) -> Result<(), Error> {
                reader.read(at, run)
            }

            fn divide(run: &mut [$type], scale: f64) {
                let $scale = scale as $single;
                for place in run {
                    let $value = *place;
                    *place = $quotient;
                }
            }
        }
    )+};
}

fractions! {
    f32, |value, scale: f32| value / scale;
    f64, |value, scale: f64| value / scale;
    f16, |value, scale: f32| f16::from_f32(value.to_f32() / scale);
    bf16, |value, scale: f32| bf16::from_f32(value.to_f32() / scale);
    Complex<f32>, |value, scale: f32| value / scale;
    Complex<f64>, |value, scale: f64| value / scale;
    Complex<f16>, |value, scale: f32| Complex::new(
        f16::from_f32(value.re.to_f32() / scale),
        f16::from_f32(value.im.to_f32() / scale)
    );
}

macro_rules! float8_fractions {
    ($($type:ident),+) => {
        fractions! {
            $($type, |value, scale: f64| $type::from_f64(value.to_f64() / scale);)+
        }
    };
}

float8_fractions!(
    F8E3M4,
    F8E4M3,
    F8E4M3B11Fnuz,
    F8E4M3Fn,
    F8E4M3Fnuz,
    F8E5M2,
    F8E5M2Fnuz,
    F8E8M0Fnu
);

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl Dividend for $type {
            type Quotient = f64;

            fn read(reader: &mut Reader<'_>, at: usize, run: &mut [f64]) -> Result<(), Error> {
                let mut whole = [<$type>::default(); RUN];
                let whole = &mut whole[..run.len()];
                reader.read(at, whole)?;
                cast::slice(whole, run)
            }

            fn divide(run: &mut [f64], scale: f64) {
                f64::divide(run, scale);
            }
        }
    )+};
}

integers!(bool, i8, i16, i32, i64, u8, u16, u32, u64);
