//! What rescaling floats into integers means, for every library, and how to do it in main memory.
//!
//! With `min` and `max` over the finite elements `x` becomes, truncated toward zero,
//!
//! `(x - min) / (max - min) * factor + offset`
//!
//! where `factor` is the width of the target's range and `offset` its lower end ([`ends`]). So `min`
//! gives the lower end and `max` the upper one, exactly; infinities give the ends and NaN gives 0.
//! Every step is rounded in [`Rescale::precision`].
//!
//! A source that is not a float, a target that is not an integer, and an array that has no two
//! different finite elements are cast ([`cast`]) instead.

use super::cast::{self, Carried, Castable, Reader};
use crate::{DType, Error, HostArray, with_element};

/// Returns the ends of an integer dtype's range as `(factor, offset)`: the distance between them and
/// the lower one, as doubles; `None` for other dtypes.
///
/// For `i64` and `u64` the distance is rounded up to 2^64; the saturating cast takes that back.
pub fn ends(dtype: DType) -> Option<(f64, f64)> {
    let lowest = match dtype {
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 0.0,
        DType::I8 => f64::from(i8::MIN),
        DType::I16 => f64::from(i16::MIN),
        DType::I32 => f64::from(i32::MIN),
        DType::I64 => i64::MIN as f64,
        _ => return None,
    };
    // 2^64 - 1 rounds to 2^64; the narrower ones are exact.
    Some((2f64.powi(dtype.size() as i32 * 8) - 1.0, lowest))
}

/// The numbers that rescale one array, for a library that runs the formula itself.
///
/// ```
/// use arraybridge_core::{DType, ops::scale::Rescale};
///
/// let rescale = Rescale::new(DType::F32, DType::U8, Some((0.0, 2.0))).unwrap();
/// assert_eq!(rescale.value(1.0), 127.5);
/// assert!(Rescale::new(DType::F32, DType::U8, Some((2.0, 2.0))).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Rescale {
    /// The smallest finite element.
    pub min: f64,
    /// The largest finite element.
    pub max: f64,
    /// The distance between the ends of the target's range.
    pub factor: f64,
    /// The lower end of the target's range.
    pub offset: f64,
    /// The dtype to compute in: `F32`, or `F64` for `f64` sources, for targets of 32 and 64 bits,
    /// and where `max - min` overflows `F32`.
    pub precision: DType,
}

impl Rescale {
    /// Returns how to rescale, or `None` for a plain cast; `range` is the smallest and largest
    /// finite element ([`finite_range`]), if there is one.
    pub fn new(from: DType, to: DType, range: Option<(f64, f64)>) -> Option<Rescale> {
        let (factor, offset) = ends(to).filter(|_| from.is_float())?;
        let (min, max) = range.filter(|(min, max)| min < max)?;
        let wide = from == DType::F64 || to.size() > 2 || max - min > f64::from(f32::MAX);
        let precision = if wide { DType::F64 } else { DType::F32 };
        Some(Rescale { min, max, factor, offset, precision })
    }

    /// Returns what one element becomes before it is truncated: the reference for every library.
    pub fn value(&self, x: f64) -> f64 {
        if self.precision == DType::F32 {
            f64::from(self.single()(x as f32))
        } else {
            self.double()(x)
        }
    }

    fn single(&self) -> impl Fn(f32) -> f32 + use<> {
        let (min, max) = (self.min as f32, self.max as f32);
        let (span, factor, offset) = (max - min, self.factor as f32, self.offset as f32);
        move |x| (x - min) / span * factor + offset
    }

    fn double(&self) -> impl Fn(f64) -> f64 + use<> {
        // Halving is exact and keeps the span of the widest doubles finite.
        let shrink = if (self.max - self.min).is_finite() { 1.0 } else { 0.5 };
        let min = self.min * shrink;
        let (span, factor, offset) = (self.max * shrink - min, self.factor, self.offset);
        move |x| (x * shrink - min) / span * factor + offset
    }
}

/// Returns the smallest and the largest finite element of a float array; `None` if it has none.
///
/// # Errors
/// [`Error::DtypeUnsupported`] for other dtypes; [`Error::OutOfMemory`].
pub fn finite_range(array: &HostArray) -> Result<Option<(f64, f64)>, Error> {
    let refused = || Error::DtypeUnsupported {
        library: "arraybridge",
        operation: "finding the finite range",
        dtype: array.dtype(),
    };
    if !array.dtype().is_float() {
        return Err(refused());
    }
    let source = array.to_contiguous()?;
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    Reader::new(&source)?.for_each_chunk(|_, chunk| {
        let (low, high) = match chunk {
            Carried::F32(chunk) => single::finite_range(chunk),
            Carried::F64(chunk) => double::finite_range(chunk),
            _ => return Err(refused()),
        };
        range = (range.0.min(low), range.1.max(high));
        Ok(())
    })?;
    Ok(Some(range).filter(|(low, high)| low <= high))
}

macro_rules! range_of {
    ($module:ident, $float:ident) => {
        mod $module {
            /// Returns the range, or infinities the wrong way round where nothing is finite.
            pub(super) fn finite_range(chunk: &[$float]) -> (f64, f64) {
                // Comparing leaves NaN out by itself, infinities show in the result.
                let (low, high) = range(chunk, |_| true);
                if low.is_finite() && high.is_finite() {
                    return (low.into(), high.into());
                }
                let (low, high) = range(chunk, $float::is_finite);
                (low.into(), high.into())
            }

            fn range(chunk: &[$float], take: impl Fn($float) -> bool) -> ($float, $float) {
                let (low, high) = lanes(chunk, take);
                let low = low.into_iter().fold($float::INFINITY, $float::min);
                (low, high.into_iter().fold($float::NEG_INFINITY, $float::max))
            }

            const LANES: usize = 16;

            /// Keeps one minimum and maximum per lane, in vector instructions: inlined, the folds
            /// after it lead the compiler to split them again.
            #[inline(never)]
            fn lanes(
                chunk: &[$float],
                take: impl Fn($float) -> bool,
            ) -> ([$float; LANES], [$float; LANES]) {
                let mut low = [$float::INFINITY; LANES];
                let mut high = [$float::NEG_INFINITY; LANES];
                let (whole, rest) = chunk.as_chunks::<LANES>();
                for values in whole {
                    for lane in 0..LANES {
                        let value = values[lane];
                        let taken = take(value);
                        low[lane] = if taken & (value < low[lane]) { value } else { low[lane] };
                        high[lane] = if taken & (value > high[lane]) { value } else { high[lane] };
                    }
                }
                for (lane, &value) in rest.iter().enumerate().filter(|(_, value)| take(**value)) {
                    low[lane] = if value < low[lane] { value } else { low[lane] };
                    high[lane] = if value > high[lane] { value } else { high[lane] };
                }
                (low, high)
            }
        }
    };
}

range_of!(single, f32);
range_of!(double, f64);

/// Rescales an array in main memory into a row-major array, or casts it where the rules say so.
///
/// ```
/// use arraybridge_core::{DType, HostArray, ops::scale};
///
/// let array = HostArray::from_slice(&[0.0f32, 0.5, 1.0, f32::NAN, f32::INFINITY], &[5])?;
/// let scaled = scale::scale(&array, DType::U16)?;
/// assert_eq!(scaled.as_slice::<u16>()?, [0, 32767, 65535, 0, 65535]);
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
///
/// # Errors
/// As [`cast::check`]; [`Error::OutOfMemory`].
pub fn scale(array: &HostArray, dtype: DType) -> Result<HostArray, Error> {
    cast::check(array.dtype(), dtype)?;
    if !array.dtype().is_float() || ends(dtype).is_none() {
        return cast::cast(array, dtype);
    }
    let source = array.to_contiguous()?;
    let range = finite_range(&source)?;
    let Some(rescale) = Rescale::new(array.dtype(), dtype, range) else {
        return cast::cast(&source, dtype);
    };
    let mut target = HostArray::scratch(dtype, array.shape())?;
    with_element!(dtype, T => store(&source, &rescale, target.as_slice_mut::<T>()?))?;
    Ok(target)
}

fn store<T: Castable>(
    source: &HostArray,
    rescale: &Rescale,
    target: &mut [T],
) -> Result<(), Error> {
    let (single, double) = (rescale.single(), rescale.double());
    let (mut singles, mut doubles) = (Vec::<f32>::new(), Vec::<f64>::new());
    Reader::new(source)?.for_each_chunk(|places, chunk| {
        let scaled = match chunk {
            Carried::F32(chunk) if rescale.precision == DType::F32 => {
                singles.clear();
                singles.extend(chunk.iter().map(|&x| single(x)));
                Carried::F32(&singles)
            }
            Carried::F32(chunk) => {
                doubles.clear();
                doubles.extend(chunk.iter().map(|&x| double(f64::from(x))));
                Carried::F64(&doubles)
            }
            Carried::F64(chunk) => {
                doubles.clear();
                doubles.extend(chunk.iter().map(|&x| double(x)));
                Carried::F64(&doubles)
            }
            other => other,
        };
        T::store(scaled, &mut target[places])
    })
}
