//! Arrays made of nothing, and products of pairs.

use arraybridge_core::ops::{ArrayMath, cast};
use arraybridge_core::{
    DType, Error, F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz,
    F8E8M0Fnu, HostArray, with_element,
};
use half::{bf16, f16};
use num_complex::Complex;

use crate::{NdArray, Ndarray};

/// Returns an array of ones.
pub(super) fn ones(shape: &[usize], dtype: DType) -> Result<HostArray, Error> {
    let mut result = HostArray::scratch(dtype, shape)?;
    with_element!(dtype, T => {
        let one = cast::element::<bool, T>(true)?;
        result.as_slice_mut::<T>()?.fill(one);
    });
    Ok(result)
}

impl ArrayMath<Ndarray> for Ndarray {
    fn default_float(&self) -> DType {
        DType::F64
    }

    fn linspace(
        &self,
        start: f64,
        stop: f64,
        count: usize,
        endpoint: bool,
        dtype: DType,
    ) -> Result<NdArray, Error> {
        let gaps = if endpoint { count.saturating_sub(1) } else { count };
        let mut result = HostArray::scratch(DType::F64, &[count])?;
        let numbers = result.as_slice_mut::<f64>()?;
        // In halves, so that the distance between the largest doubles stays finite.
        let half = stop / 2.0 - start / 2.0;
        let step = half / gaps.max(1) as f64;
        for (place, number) in numbers.iter_mut().enumerate() {
            *number = start + step * place as f64 + step * place as f64;
        }
        if endpoint && count > 1 {
            numbers[count - 1] = stop;
        }
        cast::cast(&result, dtype).map(NdArray::from_host)
    }

    fn ones(&self, shape: &[usize], dtype: DType) -> Result<NdArray, Error> {
        ones(shape, dtype).map(NdArray::from_host)
    }

    fn outer(&self, left: &NdArray, right: &NdArray) -> Result<NdArray, Error> {
        let (left, right) = (left.host().to_contiguous()?, right.host().to_contiguous()?);
        let mut result = HostArray::scratch(left.dtype(), &[left.len(), right.len()])?;
        with_element!(left.dtype(), T => {
            let (left, right) = (left.as_slice::<T>()?, right.as_slice::<T>()?);
            let rows = result.as_slice_mut::<T>()?.chunks_exact_mut(right.len().max(1));
            for (row, &factor) in rows.zip(left) {
                for (place, &other) in row.iter_mut().zip(right) {
                    *place = factor.times(other);
                }
            }
        });
        Ok(NdArray::from_host(result))
    }

    fn floor(&self, value: f64) -> Result<NdArray, Error> {
        HostArray::from_slice(&[value.floor()], &[]).map(NdArray::from_host)
    }
}

/// Multiplication within a dtype: integers wrap, bool is "and", floats round once.
trait Times: Copy {
    fn times(self, other: Self) -> Self;
}

macro_rules! times {
    ($($type:ty),+: |$left:ident, $right:ident| $product:expr) => {$(
        impl Times for $type {
            fn times(self, other: Self) -> Self {
                let ($left, $right) = (self, other);
                $product
            }
        }
    )+};
}

times!(bool: |left, right| left & right);
times!(i8, i16, i32, i64, u8, u16, u32, u64: |left, right| left.wrapping_mul(right));
times!(f32, f64, Complex<f32>, Complex<f64>: |left, right| left * right);
times!(f16: |left, right| f16::from_f32(left.to_f32() * right.to_f32()));
times!(bf16: |left, right| bf16::from_f32(left.to_f32() * right.to_f32()));
times!(F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0Fnu:
    |left, right| Self::from_f64(left.to_f64() * right.to_f64()));
times!(Complex<f16>: |left, right| {
    let wide = |value: Self| Complex::new(value.re.to_f32(), value.im.to_f32());
    let product = wide(left) * wide(right);
    Complex::new(f16::from_f32(product.re), f16::from_f32(product.im))
});
