//! Roundings that make two steps give the result of one.
//!
//! A value that is first rounded *to odd* (of the two neighbours, the one whose last bit is 1,
//! unless the value is exact) with at least two bits more than the final format has, and then
//! rounded to nearest, gives what rounding once gives: S. Boldo and G. Melquiond, "Emulation of a
//! FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on
//! Computers 57(4), 2008.

/// Rounds a double to odd.
pub(super) fn f64_to_f32_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if nearest.is_nan() || f64::from(nearest) == value || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    // Bits grow with magnitude, and the other neighbour is one step toward the value.
    let bits = nearest.to_bits();
    let outward = value.abs() > f64::from(nearest.abs());
    f32::from_bits(if outward { bits + 1 } else { bits - 1 })
}

/// Rounds an integer to odd.
pub(super) fn u64_to_f64_odd(value: u64) -> f64 {
    let excess = (u64::BITS - value.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS);
    let kept = value >> excess << excess;
    // 53 bits are left, so the conversion is exact.
    (if kept == value { kept } else { kept | 1 << excess }) as f64
}

/// Rounds an integer to odd.
pub(super) fn i64_to_f64_odd(value: i64) -> f64 {
    let magnitude = u64_to_f64_odd(value.unsigned_abs());
    if value < 0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inexact_values_end_in_a_one_and_bracket_the_value() {
        for value in [0.1, 1.0 + 1e-9, -1.0 - 1e-12, 1e-50, -1e-44, 3.5e38, 1e300] {
            let odd = f64_to_f32_odd(value);
            assert_eq!(odd.to_bits() & 1, 1, "{value}");
            assert_eq!(odd.is_sign_negative(), value < 0.0);
        }
        assert_eq!(f64_to_f32_odd(0.5), 0.5);
        assert_eq!(f64_to_f32_odd(f64::INFINITY), f32::INFINITY);
        assert!(f64_to_f32_odd(f64::NAN).is_nan());
        assert_eq!(u64_to_f64_odd(u64::MAX), !0x7ffu64 as f64);
        assert_eq!(u64_to_f64_odd((1 << 62) + 1), ((1u64 << 62) + (1 << 10)) as f64);
        assert_eq!(i64_to_f64_odd(i64::MIN), -(2f64.powi(63)));
        assert_eq!(i64_to_f64_odd(-12345), -12345.0);
    }
}
