//! How elements of each dtype become carriers, and carriers elements.

use std::sync::LazyLock;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

use super::carrier::{Carried, Room, each};
use super::round::{f64_to_f32_odd, i64_to_f64_odd, u64_to_f64_odd};
use super::saturate;
use crate::{
    Element, Error, F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz,
    F8E8M0Fnu,
};

/// An element that casts to and from every other: implemented for all of them, and only here.
pub trait Castable: Element + sealed::Sealed {
    /// Widens elements into their carrier, in `room` unless they are one themselves.
    #[doc(hidden)]
    fn load<'a>(source: &'a [Self], room: &'a mut Room) -> Carried<'a>;

    /// Casts as many elements as `target` has.
    #[doc(hidden)]
    fn store(source: Carried<'_>, target: &mut [Self]) -> Result<(), Error>;
}

mod sealed {
    pub trait Sealed {}
}

/// A real number of any dtype, made of a carrier.
trait Real: Element {
    fn from_i32(value: i32) -> Self;
    fn from_i64(value: i64) -> Self;
    fn from_u64(value: u64) -> Self;
    fn from_f32(value: f32) -> Self;
    fn from_f64(value: f64) -> Self;
}

fn store_real<T: Real>(source: Carried<'_>, target: &mut [T]) -> Result<(), Error> {
    match source {
        Carried::I32(source) => each(source, target, T::from_i32),
        Carried::I64(source) => each(source, target, T::from_i64),
        Carried::U64(source) => each(source, target, T::from_u64),
        Carried::F32(source) => each(source, target, T::from_f32),
        Carried::F64(source) => each(source, target, T::from_f64),
        Carried::C64(_) | Carried::C128(_) => return Err(super::drops_imaginary(T::DTYPE)),
    }
    Ok(())
}

macro_rules! primitives {
    ($($type:ty, $from_f32:expr => |$source:ident, $room:ident| $load:expr;)+) => {$(
        impl Real for $type {
            // Rust's `as` is the rule: float to integer truncates, saturates and takes NaN to 0;
            // integer to integer wraps; to a float it rounds to nearest once.
            fn from_i32(value: i32) -> $type { value as $type }
            fn from_i64(value: i64) -> $type { value as $type }
            fn from_u64(value: u64) -> $type { value as $type }
            fn from_f32(value: f32) -> $type { ($from_f32)(value) }
            fn from_f64(value: f64) -> $type { value as $type }
        }

        impl sealed::Sealed for $type {}

        impl Castable for $type {
            fn load<'a>($source: &'a [$type], $room: &'a mut Room) -> Carried<'a> { $load }

            fn store(source: Carried<'_>, target: &mut [$type]) -> Result<(), Error> {
                store_real(source, target)
            }
        }
    )+};
}

primitives! {
    i8, saturate::f32_to_i8 => |source, room| room.i32(source, i32::from);
    i16, saturate::f32_to_i16 => |source, room| room.i32(source, i32::from);
    i32, |value| value as i32 => |source, _room| Carried::I32(source);
    i64, |value| value as i64 => |source, _room| Carried::I64(source);
    u8, saturate::f32_to_u8 => |source, room| room.i32(source, i32::from);
    u16, saturate::f32_to_u16 => |source, room| room.i32(source, i32::from);
    u32, |value| value as u32 => |source, room| room.i64(source, i64::from);
    u64, |value| value as u64 => |source, _room| Carried::U64(source);
    f32, |value| value => |source, _room| Carried::F32(source);
    f64, |value| value as f64 => |source, _room| Carried::F64(source);
}

impl sealed::Sealed for bool {}

impl Castable for bool {
    fn load<'a>(source: &'a [bool], room: &'a mut Room) -> Carried<'a> {
        room.i32(source, i32::from)
    }

    fn store(source: Carried<'_>, target: &mut [bool]) -> Result<(), Error> {
        match source {
            Carried::I32(source) => each(source, target, |value| value != 0),
            Carried::I64(source) => each(source, target, |value| value != 0),
            Carried::U64(source) => each(source, target, |value| value != 0),
            Carried::F32(source) => each(source, target, |value| value != 0.0),
            Carried::F64(source) => each(source, target, |value| value != 0.0),
            Carried::C64(source) => {
                each(source, target, |value| (value.re != 0.0) | (value.im != 0.0));
            }
            Carried::C128(source) => {
                each(source, target, |value| (value.re != 0.0) | (value.im != 0.0));
            }
        }
        Ok(())
    }
}

macro_rules! halves {
    ($($type:ident),+) => {$(
        impl Real for $type {
            fn from_i32(value: i32) -> $type { <Self as Real>::from_f64(f64::from(value)) }
            fn from_i64(value: i64) -> $type { <Self as Real>::from_f64(i64_to_f64_odd(value)) }
            fn from_u64(value: u64) -> $type { <Self as Real>::from_f64(u64_to_f64_odd(value)) }
            fn from_f32(value: f32) -> $type { $type::from_f32(value) }
            // The type's own `from_f64` rounds twice, or drops the low bits before it rounds.
            fn from_f64(value: f64) -> $type { $type::from_f32(f64_to_f32_odd(value)) }
        }

        impl sealed::Sealed for $type {}

        impl Castable for $type {
            fn load<'a>(source: &'a [$type], room: &'a mut Room) -> Carried<'a> {
                room.f32(source, |source, target| source.convert_to_f32_slice(target))
            }

            fn store(source: Carried<'_>, target: &mut [$type]) -> Result<(), Error> {
                if let Carried::F32(source) = source {
                    target.convert_from_f32_slice(source);
                    return Ok(());
                }
                store_real(source, target)
            }
        }
    )+};
}

halves!(f16, bf16);

macro_rules! float8s {
    ($($type:ident),+) => {$(
        impl Real for $type {
            fn from_i32(value: i32) -> $type { $type::from_f64(f64::from(value)) }
            fn from_i64(value: i64) -> $type { $type::from_f64(i64_to_f64_odd(value)) }
            fn from_u64(value: u64) -> $type { $type::from_f64(u64_to_f64_odd(value)) }
            fn from_f32(value: f32) -> $type { $type::from_f64(f64::from(value)) }
            fn from_f64(value: f64) -> $type { $type::from_f64(value) }
        }

        impl sealed::Sealed for $type {}

        impl Castable for $type {
            fn load<'a>(source: &'a [$type], room: &'a mut Room) -> Carried<'a> {
                // Every value of these formats is one of f32.
                static VALUES: LazyLock<[f32; 256]> = LazyLock::new(|| {
                    std::array::from_fn(|bits| $type(bits as u8).to_f64() as f32)
                });
                let values = &*VALUES;
                room.f32(source, |source, target| {
                    each(source, target, |value| values[usize::from(value.0)]);
                })
            }

            fn store(source: Carried<'_>, target: &mut [$type]) -> Result<(), Error> {
                store_real(source, target)
            }
        }
    )+};
}

float8s!(F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0Fnu);

fn store_complex<P: Real>(source: Carried<'_>, target: &mut [Complex<P>]) -> Result<(), Error>
where
    Complex<P>: Element,
{
    let real = |part: P| Complex::new(part, P::default());
    match source {
        Carried::I32(source) => each(source, target, |value| real(P::from_i32(value))),
        Carried::I64(source) => each(source, target, |value| real(P::from_i64(value))),
        Carried::U64(source) => each(source, target, |value| real(P::from_u64(value))),
        Carried::F32(source) => each(source, target, |value| real(P::from_f32(value))),
        Carried::F64(source) => each(source, target, |value| real(P::from_f64(value))),
        Carried::C64(source) => {
            each(source, target, |value| Complex::new(P::from_f32(value.re), P::from_f32(value.im)))
        }
        Carried::C128(source) => {
            each(source, target, |value| Complex::new(P::from_f64(value.re), P::from_f64(value.im)))
        }
    }
    Ok(())
}

macro_rules! complexes {
    ($($part:ty => |$source:ident, $room:ident| $load:expr;)+) => {$(
        impl sealed::Sealed for Complex<$part> {}

        impl Castable for Complex<$part> {
            fn load<'a>($source: &'a [Self], $room: &'a mut Room) -> Carried<'a> { $load }

            fn store(source: Carried<'_>, target: &mut [Self]) -> Result<(), Error> {
                store_complex(source, target)
            }
        }
    )+};
}

complexes! {
    f16 => |source, room| room.c64(source);
    f32 => |source, _room| Carried::C64(source);
    f64 => |source, _room| Carried::C128(source);
}
