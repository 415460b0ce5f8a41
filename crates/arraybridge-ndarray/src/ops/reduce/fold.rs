//! What a reduction does to elements.

use arraybridge_core::Element;
use num_complex::Complex;

/// A reduction of elements `S`: an accumulator, and how it takes elements and others of its kind.
pub(super) trait Fold<S> {
    type Acc: Copy;

    /// The accumulator of no elements.
    const START: Self::Acc;

    /// How many rows are taken one after another before their result is set aside, to be joined
    /// pairwise: what keeps rounding errors from growing with the number of rows.
    const BLOCK: usize;

    fn step(acc: Self::Acc, element: S) -> Self::Acc;

    fn join(left: Self::Acc, right: Self::Acc) -> Self::Acc;
}

/// As many rows as there are: for what does not round.
const EXACT: usize = usize::MAX;

/// As NumPy's pairwise summation adds in a row (128 elements on 8 accumulators).
const PAIRWISE: usize = 16;

/// The sum: integers modulo 2^64, floats in `f64`.
pub(super) struct Total;

/// The sum in `f64`, of integers.
pub(super) struct Average;

/// The largest element; NaN if there is one.
pub(super) struct Greatest;

/// The smallest element; NaN if there is one.
pub(super) struct Least;

macro_rules! integers {
    ($($type:ty => $widen:expr;)+) => {$(
        impl Fold<$type> for Total {
            type Acc = i64;
            const START: i64 = 0;
            const BLOCK: usize = EXACT;

            #[inline(always)]
            fn step(acc: i64, element: $type) -> i64 {
                acc.wrapping_add(element as i64)
            }

            #[inline(always)]
            fn join(left: i64, right: i64) -> i64 {
                left.wrapping_add(right)
            }
        }

        impl Fold<$type> for Average {
            type Acc = f64;
            const START: f64 = 0.0;
            const BLOCK: usize = PAIRWISE;

            #[inline(always)]
            fn step(acc: f64, element: $type) -> f64 {
                let widen: fn($type) -> f64 = $widen;
                acc + widen(element)
            }

            #[inline(always)]
            fn join(left: f64, right: f64) -> f64 {
                left + right
            }
        }
    )+};
}

integers! {
    bool => |element| f64::from(u8::from(element));
    i8 => f64::from;
    i16 => f64::from;
    i32 => f64::from;
    i64 => |element| element as f64;
    u8 => f64::from;
    u16 => f64::from;
    u32 => f64::from;
    u64 => |element| element as f64;
}

macro_rules! fractions {
    ($($type:ty => $acc:ty, $start:expr, |$element:ident| $widen:expr;)+) => {$(
        impl Fold<$type> for Total {
            type Acc = $acc;
            const START: $acc = $start;
            const BLOCK: usize = PAIRWISE;

            #[inline(always)]
            fn step(acc: $acc, $element: $type) -> $acc {
                acc + $widen
            }

            #[inline(always)]
            fn join(left: $acc, right: $acc) -> $acc {
                left + right
            }
        }
    )+};
}

const ZERO: Complex<f64> = Complex::new(0.0, 0.0);

fractions! {
    f32 => f64, 0.0, |element| f64::from(element);
    f64 => f64, 0.0, |element| element;
    Complex<f32> => Complex<f64>, ZERO, |element| {
        Complex::new(f64::from(element.re), f64::from(element.im))
    };
    Complex<f64> => Complex<f64>, ZERO, |element| element;
}

/// An element with a largest and a smallest.
pub(super) trait Ordered: Element {
    const LEAST: Self;
    const GREATEST: Self;

    fn greater(self, other: Self) -> Self;

    fn lesser(self, other: Self) -> Self;
}

macro_rules! ordered {
    ($($type:ty, $least:expr, $greatest:expr, $unordered:expr;)+) => {$(
        impl Ordered for $type {
            const LEAST: $type = $least;
            const GREATEST: $type = $greatest;

            // `|` rather than `||`: without a branch this compiles to vector instructions. Where
            // `other` is NaN no comparison holds, so it is taken; where `self` is, it stays.
            #[inline(always)]
            fn greater(self, other: $type) -> $type {
                let unordered: fn($type) -> bool = $unordered;
                if (self >= other) | unordered(self) { self } else { other }
            }

            #[inline(always)]
            fn lesser(self, other: $type) -> $type {
                let unordered: fn($type) -> bool = $unordered;
                if (self <= other) | unordered(self) { self } else { other }
            }
        }
    )+};
}

ordered! {
    bool, false, true, |_| false;
    i8, i8::MIN, i8::MAX, |_| false;
    i16, i16::MIN, i16::MAX, |_| false;
    i32, i32::MIN, i32::MAX, |_| false;
    i64, i64::MIN, i64::MAX, |_| false;
    u8, u8::MIN, u8::MAX, |_| false;
    u16, u16::MIN, u16::MAX, |_| false;
    u32, u32::MIN, u32::MAX, |_| false;
    u64, u64::MIN, u64::MAX, |_| false;
    f32, f32::NEG_INFINITY, f32::INFINITY, f32::is_nan;
    f64, f64::NEG_INFINITY, f64::INFINITY, f64::is_nan;
}

impl<T: Ordered> Fold<T> for Greatest {
    type Acc = T;
    const START: T = T::LEAST;
    const BLOCK: usize = EXACT;

    #[inline(always)]
    fn step(acc: T, element: T) -> T {
        acc.greater(element)
    }

    #[inline(always)]
    fn join(left: T, right: T) -> T {
        left.greater(right)
    }
}

impl<T: Ordered> Fold<T> for Least {
    type Acc = T;
    const START: T = T::GREATEST;
    const BLOCK: usize = EXACT;

    #[inline(always)]
    fn step(acc: T, element: T) -> T {
        acc.lesser(element)
    }

    #[inline(always)]
    fn join(left: T, right: T) -> T {
        left.lesser(right)
    }
}
