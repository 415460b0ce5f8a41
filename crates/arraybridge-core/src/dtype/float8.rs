//! The 8-bit floats of DLPack 1.3 as Rust types with exact conversions.
//!
//! Encodings follow the OCP 8-bit floating point specification (E4M3, E5M2, E8M0) and, for the
//! `fnuz` and IEEE-like forms, the definitions of NumPy's `ml_dtypes`.

/// What the top codes of a format mean.
#[derive(Clone, Copy, PartialEq)]
enum Top {
    /// As in IEEE 754: the highest exponent holds infinities and NaNs.
    Ieee,
    /// Finite: only the all-ones code of either sign is NaN.
    Finite,
    /// Finite, and what would be negative zero is the only NaN.
    FiniteUnsignedZero,
}

/// The shape of a signed 8-bit float: mantissa bits, exponent bias, meaning of the top codes.
#[derive(Clone, Copy)]
struct Format {
    mantissa_bits: u32,
    bias: i32,
    top: Top,
}

impl Format {
    /// Returns the largest code of a finite value without its sign.
    const fn largest(self) -> u8 {
        match self.top {
            Top::Ieee => (0x7f & !((1u8 << self.mantissa_bits) - 1)) - 1,
            Top::Finite => 0x7e,
            Top::FiniteUnsignedZero => 0x7f,
        }
    }

    const fn nan(self) -> u8 {
        match self.top {
            // The quiet NaN: highest exponent, highest mantissa bit.
            Top::Ieee => self.largest() + 1 + (1 << (self.mantissa_bits - 1)),
            Top::Finite => 0x7f,
            Top::FiniteUnsignedZero => 0x80,
        }
    }

    /// Returns the value of a finite code without sign.
    fn magnitude(self, code: u8) -> f64 {
        let mantissa = f64::from(code & ((1 << self.mantissa_bits) - 1));
        let exponent = i32::from(code >> self.mantissa_bits);
        let unit = f64::from(1u32 << self.mantissa_bits);
        if exponent == 0 {
            mantissa / unit * 2f64.powi(1 - self.bias)
        } else {
            (1.0 + mantissa / unit) * 2f64.powi(exponent - self.bias)
        }
    }

    fn decode(self, bits: u8) -> f64 {
        let code = bits & 0x7f;
        let is_nan = match self.top {
            Top::FiniteUnsignedZero => bits == 0x80,
            Top::Finite => code == 0x7f,
            Top::Ieee => code > self.largest() + 1,
        };
        let magnitude = if is_nan {
            f64::NAN
        } else if code > self.largest() {
            f64::INFINITY
        } else {
            self.magnitude(code)
        };
        if bits & 0x80 == 0 { magnitude } else { -magnitude }
    }

    /// Rounds to nearest, ties to even; overflow becomes infinity where there is one, else NaN.
    fn encode(self, value: f64) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        if magnitude.is_nan() {
            return match self.top {
                Top::FiniteUnsignedZero => self.nan(),
                _ => self.nan() | sign,
            };
        }
        let largest = self.largest();
        // Codes grow with their values, so the neighbours are found by bisection.
        let (mut low, mut high) = (0u8, largest + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.magnitude(middle) <= magnitude { low = middle } else { high = middle }
        }
        let (below, above) = (self.magnitude(low), self.magnitude(low.saturating_add(1)));
        let middle = below + (above - below) / 2.0;
        let up = magnitude > middle || (magnitude == middle && low % 2 == 1);
        let code = if up { low + 1 } else { low };
        if code > largest {
            return match self.top {
                Top::Ieee => (largest + 1) | sign,
                Top::Finite => self.nan() | sign,
                Top::FiniteUnsignedZero => self.nan(),
            };
        }
        if code == 0 && self.top == Top::FiniteUnsignedZero { 0 } else { code | sign }
    }
}

macro_rules! float8 {
    ($($name:ident, $text:literal, $mantissa:literal, $bias:literal, $top:ident;)+) => {$(
        #[doc = concat!("The 8-bit float `", $text, "`, by its bits.")]
        ///
        /// Conversions from wider floats round to nearest, ties to even; what is too large becomes
        /// infinity where the format has one, else NaN.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u8);

        impl $name {
            const FORMAT: Format =
                Format { mantissa_bits: $mantissa, bias: $bias, top: Top::$top };

            /// Rounds a double to this format.
            pub fn from_f64(value: f64) -> Self {
                $name(Self::FORMAT.encode(value))
            }

            /// Returns the exact value.
            pub fn to_f64(self) -> f64 {
                Self::FORMAT.decode(self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.to_f64())
            }
        }
    )+};
}

float8! {
    F8E3M4, "float8_e3m4", 4, 3, Ieee;
    F8E4M3, "float8_e4m3", 3, 7, Ieee;
    F8E4M3B11Fnuz, "float8_e4m3b11fnuz", 3, 11, FiniteUnsignedZero;
    F8E4M3Fn, "float8_e4m3fn", 3, 7, Finite;
    F8E4M3Fnuz, "float8_e4m3fnuz", 3, 8, FiniteUnsignedZero;
    F8E5M2, "float8_e5m2", 2, 15, Ieee;
    F8E5M2Fnuz, "float8_e5m2fnuz", 2, 16, FiniteUnsignedZero;
}

/// The 8-bit power of two `float8_e8m0fnu`: no sign, no zero, code 255 is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct F8E8M0Fnu(pub u8);

impl F8E8M0Fnu {
    /// Rounds to the nearest power of two, ties to the larger one.
    ///
    /// The format has neither sign nor zero: zero and anything smaller than 2^-127 becomes 2^-127;
    /// negative numbers, infinities, NaN and what rounds above 2^127 become NaN.
    pub fn from_f64(value: f64) -> Self {
        if value.is_nan() || value < 0.0 {
            return F8E8M0Fnu(0xff);
        }
        let smallest = 2f64.powi(-127);
        if value <= smallest {
            return F8E8M0Fnu(0);
        }
        // `value` is a normal double here, so its exponent is in its bits.
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let up = value / 2f64.powi(exponent.clamp(-1022, 1023)) >= 1.5;
        F8E8M0Fnu((exponent + i32::from(up) + 127).clamp(0, 255) as u8)
    }

    /// Returns the exact value.
    pub fn to_f64(self) -> f64 {
        if self.0 == 0xff { f64::NAN } else { 2f64.powi(i32::from(self.0) - 127) }
    }
}

impl std::fmt::Debug for F8E8M0Fnu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.to_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips(name: &str, decode: impl Fn(u8) -> f64, encode: impl Fn(f64) -> u8) {
        for bits in 0..=u8::MAX {
            let value = decode(bits);
            if value.is_nan() {
                assert!(decode(encode(value)).is_nan(), "{name} {bits:#x}");
            } else {
                assert_eq!(encode(value), bits, "{name} {bits:#x} = {value}");
            }
        }
    }

    #[test]
    fn every_code_of_every_format_round_trips() {
        macro_rules! check {
            ($($name:ident),+) => {$(
                round_trips(
                    stringify!($name),
                    |bits| $name(bits).to_f64(),
                    |value| $name::from_f64(value).0,
                );
            )+};
        }
        check!(F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0Fnu);
    }

    #[test]
    fn largest_values_are_those_of_the_specifications() {
        assert_eq!(F8E4M3Fn(0x7e).to_f64(), 448.0);
        assert_eq!(F8E5M2(0x7b).to_f64(), 57344.0);
        assert_eq!(F8E4M3(0x77).to_f64(), 240.0);
        assert_eq!(F8E3M4(0x6f).to_f64(), 15.5);
        assert_eq!(F8E4M3Fnuz(0x7f).to_f64(), 240.0);
        assert_eq!(F8E4M3B11Fnuz(0x7f).to_f64(), 30.0);
        assert_eq!(F8E5M2Fnuz(0x7f).to_f64(), 57344.0);
        assert_eq!(F8E8M0Fnu(0xfe).to_f64(), 2f64.powi(127));
    }

    #[test]
    fn ties_go_to_even_and_overflow_is_said() {
        assert_eq!(F8E4M3Fn::from_f64(1.0625).0, F8E4M3Fn::from_f64(1.0).0);
        assert_eq!(F8E4M3Fn::from_f64(1.1875).0, F8E4M3Fn::from_f64(1.25).0);
        assert_eq!(F8E4M3Fn::from_f64(464.0).to_f64(), 448.0);
        assert!(F8E4M3Fn::from_f64(465.0).to_f64().is_nan());
        assert_eq!(F8E5M2::from_f64(-1e9).to_f64(), f64::NEG_INFINITY);
        assert_eq!(F8E4M3Fnuz::from_f64(-0.0).0, 0);
        assert!(F8E8M0Fnu::from_f64(-1.0).to_f64().is_nan());
        assert!(F8E8M0Fnu::from_f64(f64::MAX).to_f64().is_nan());
        assert_eq!(F8E8M0Fnu::from_f64(3.0).to_f64(), 4.0);
    }
}
