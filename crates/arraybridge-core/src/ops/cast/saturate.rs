//! Saturating casts of `f32` to narrow integers that compile to vector instructions.
//!
//! They give what `as` gives. A loop over `as` converts one element at a time, because the
//! compiler finds no vector instruction that saturates at the ends of 8 and 16 bits.

macro_rules! saturating {
    ($($name:ident => $type:ident;)+) => {$(
        #[inline(always)]
        pub(super) fn $name(value: f32) -> $type {
            // Ends of at most 16 bits are exact in `f32`.
            const LOW: f32 = $type::MIN as f32;
            const HIGH: f32 = $type::MAX as f32;
            let number = if value.is_nan() { 0.0 } else { value };
            let raised = if number > LOW { number } else { LOW };
            let clamped = if raised < HIGH { raised } else { HIGH };
            // SAFETY: `clamped` is not NaN (that became 0) and lies between `LOW` and `HIGH`, both
            // of which `i32` holds.
            let whole = unsafe { clamped.to_int_unchecked::<i32>() };
            whole as $type
        }
    )+};
}

saturating! {
    f32_to_i8 => i8;
    f32_to_i16 => i16;
    f32_to_u8 => u8;
    f32_to_u16 => u16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_float_casts_as_rust_does() {
        // Steps through signs, exponents and mantissas, NaNs and infinities included.
        for bits in (0..=u32::MAX).step_by(9973) {
            let value = f32::from_bits(bits);
            assert_eq!(f32_to_i8(value), value as i8, "{value}");
            assert_eq!(f32_to_i16(value), value as i16, "{value}");
            assert_eq!(f32_to_u8(value), value as u8, "{value}");
            assert_eq!(f32_to_u16(value), value as u16, "{value}");
        }
        for value in [-32769.0, -32768.0, 32767.0, 32768.0, 65535.0, 65536.0, f32::NAN] {
            assert_eq!(f32_to_i16(value), value as i16, "{value}");
            assert_eq!(f32_to_u16(value), value as u16, "{value}");
        }
    }
}
