//! The few wide types that elements pass through on their way to another dtype.

use half::f16;
use num_complex::Complex;

/// Elements cached at a time: what a loop reads and another writes stays in the first-level cache.
pub(crate) const CHUNK: usize = 1024;

/// A run of elements in the narrowest of seven types that holds every value of their dtype.
///
/// With them 24 dtypes need 24 loops in and at most 7 times 24 loops out, rather than one per pair.
#[derive(Clone, Copy, Debug)]
pub enum Carried<'a> {
    /// bool and integers that fit.
    I32(&'a [i32]),
    /// `u32` and `i64`.
    I64(&'a [i64]),
    /// `u64`.
    U64(&'a [u64]),
    /// Floats up to 32 bits.
    F32(&'a [f32]),
    /// `f64`.
    F64(&'a [f64]),
    /// Complex numbers of parts up to 32 bits.
    C64(&'a [Complex<f32>]),
    /// Complex numbers of `f64`.
    C128(&'a [Complex<f64>]),
}

/// Room for a chunk of elements whose dtype is not a carrier itself.
#[derive(Default, Debug)]
pub struct Room {
    i32: Vec<i32>,
    i64: Vec<i64>,
    f32: Vec<f32>,
    c64: Vec<Complex<f32>>,
}

/// Returns the first `length` elements of a buffer that grows to it.
fn sized<C: Copy + Default>(buffer: &mut Vec<C>, length: usize) -> &mut [C] {
    if buffer.len() < length {
        buffer.resize(length, C::default());
    }
    &mut buffer[..length]
}

impl Room {
    pub(super) fn i32<S: Copy>(&mut self, source: &[S], widen: impl Fn(S) -> i32) -> Carried<'_> {
        let target = sized(&mut self.i32, source.len());
        each(source, target, widen);
        Carried::I32(target)
    }

    pub(super) fn i64<S: Copy>(&mut self, source: &[S], widen: impl Fn(S) -> i64) -> Carried<'_> {
        let target = sized(&mut self.i64, source.len());
        each(source, target, widen);
        Carried::I64(target)
    }

    pub(super) fn f32<S>(
        &mut self,
        source: &[S],
        widen: impl FnOnce(&[S], &mut [f32]),
    ) -> Carried<'_> {
        let target = sized(&mut self.f32, source.len());
        widen(source, target);
        Carried::F32(target)
    }

    pub(super) fn c64(&mut self, source: &[Complex<f16>]) -> Carried<'_> {
        let target = sized(&mut self.c64, source.len());
        each(source, target, |value| Complex::new(value.re.to_f32(), value.im.to_f32()));
        Carried::C64(target)
    }
}

/// Writes what `convert` makes of every element of `source` to the same place in `target`.
#[inline(always)]
pub(super) fn each<S: Copy, T>(source: &[S], target: &mut [T], convert: impl Fn(S) -> T) {
    for (place, &value) in target.iter_mut().zip(source) {
        *place = convert(value);
    }
}
