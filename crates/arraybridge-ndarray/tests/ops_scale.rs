//! `scale_dtype` against the formula written out.

#![allow(clippy::unwrap_used)] // Helpers of tests, too.

mod support;

use arraybridge_core::ops::cast::{self, Castable};
use arraybridge_core::ops::{Ops, scale};
use arraybridge_core::{DType, HostArray, with_element};
use arraybridge_ndarray::Ndarray;
use half::f16;
use num_complex::Complex;
use support::*;

fn scaled<S: Castable, T: Castable>(values: &[S]) -> Vec<T> {
    let result = Ndarray::scale_dtype(&array(values, &[values.len()]), T::DTYPE).unwrap();
    assert_eq!(result.host().dtype(), T::DTYPE);
    elements(&result)
}

#[test]
fn ends_and_middles_are_those_of_the_rule() {
    let thirds = [0.0f32, 0.5, 1.0];
    assert_eq!(scaled::<_, u8>(&thirds), [0, 127, 255]);
    assert_eq!(scaled::<_, u16>(&thirds), [0, 32767, 65535]);
    assert_eq!(scaled::<_, i8>(&thirds), [-128, 0, 127]);
    assert_eq!(scaled::<_, i16>(&thirds), [-32768, 0, 32767]);
    assert_eq!(scaled::<_, u32>(&thirds), [0, 2147483647, 4294967295]);
    assert_eq!(scaled::<_, i32>(&thirds), [-2147483648, 0, 2147483647]);
    assert_eq!(scaled::<_, u64>(&thirds), [0, 1 << 63, u64::MAX]);
    assert_eq!(scaled::<_, i64>(&thirds), [i64::MIN, 0, i64::MAX]);
}

#[test]
fn every_float_reaches_both_ends_of_every_integer() {
    for from in DType::all().filter(|dtype| dtype.is_float()) {
        with_element!(from, S => {
            // Powers of two, which every float has.
            let values = [4.0, 0.5, 8.0, 2.0].map(|value| cast::element::<f64, S>(value).unwrap());
            macro_rules! check {
                ($($type:ty),+) => {$(
                    let found = scaled::<S, $type>(&values);
                    assert_eq!((found[1], found[2]), (<$type>::MIN, <$type>::MAX), "{from}");
                    let between = |at: usize| found[at] > <$type>::MIN && found[at] < <$type>::MAX;
                    assert!(between(0) && between(3) && found[3] < found[0], "{from}");
                )+};
            }
            check!(i8, i16, i32, i64, u8, u16, u32, u64);
        });
    }
}

#[test]
fn every_layout_follows_the_formula_in_its_precision() {
    for case in cases::<f32>(|at| (at as f32 * 0.37).sin() * 90.0) {
        let low = case.values.iter().copied().fold(f32::INFINITY, f32::min);
        let high = case.values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let result = Ndarray::scale_dtype(&case.array, DType::U16).unwrap();
        assert_fresh(&result, &SHAPE);
        let single = |x: f32| ((x - low) / (high - low) * 65535.0) as u16;
        let wanted: Vec<u16> = case.values.iter().map(|&x| single(x)).collect();
        assert_eq!(elements::<u16>(&result), wanted, "{}", case.name);
        let result = Ndarray::scale_dtype(&case.array, DType::I32).unwrap();
        let (low, high) = (f64::from(low), f64::from(high));
        let double =
            |x: f32| ((f64::from(x) - low) / (high - low) * 4294967295.0 - 2147483648.0) as i32;
        let wanted: Vec<i32> = case.values.iter().map(|&x| double(x)).collect();
        assert_eq!(elements::<i32>(&result), wanted, "{}", case.name);
    }
}

#[test]
fn doubles_keep_what_single_floats_cannot_hold() {
    let base = 1e9f64;
    let found = scaled::<f64, u8>(&[base, base + 0.5, base + 1.0]);
    assert_eq!(found, [0, 127, 255]);
}

#[test]
fn nan_becomes_zero_and_infinities_the_ends_and_neither_counts() {
    let values = [f32::NAN, -1.0, f32::INFINITY, 1.0, f32::NEG_INFINITY, 0.0];
    assert_eq!(scaled::<_, u8>(&values), [0, 0, 255, 255, 0, 127]);
    assert_eq!(scaled::<_, i16>(&values), [0, -32768, 32767, 32767, -32768, 0]);
    let doubles = values.map(f64::from);
    assert_eq!(scaled::<_, i64>(&doubles), [0, i64::MIN, i64::MAX, i64::MAX, i64::MIN, 0]);
    // In long arrays, at each place of a chunk.
    for at in [0, 15, 16, 1023, 1024, 2999] {
        let mut values: Vec<f32> = (0..3000).map(|value| value as f32).collect();
        values[at] = f32::NEG_INFINITY;
        let range = scale::finite_range(&HostArray::from_slice(&values, &[3000]).unwrap());
        let low = if at == 0 { 1.0 } else { 0.0 };
        let high = if at == 2999 { 2998.0 } else { 2999.0 };
        assert_eq!(range.unwrap(), Some((low, high)), "{at}");
    }
}

#[test]
fn the_widest_spans_do_not_overflow() {
    assert_eq!(scaled::<f32, u8>(&[f32::MIN, 0.0, f32::MAX]), [0, 127, 255]);
    assert_eq!(scaled::<f64, u16>(&[f64::MIN, 0.0, f64::MAX]), [0, 32767, 65535]);
    assert_eq!(scaled::<f64, i8>(&[0.0, 5e-324]), [-128, 127]);
    let halves = [f16::MIN, f16::ZERO, f16::MAX];
    assert_eq!(scaled::<_, u8>(&halves), [0, 127, 255]);
}

#[test]
fn what_has_no_range_is_cast() {
    assert_eq!(scaled::<f32, u8>(&[7.9, 7.9]), [7, 7]);
    assert_eq!(scaled::<f32, i8>(&[f32::INFINITY, 3.0, f32::NAN]), [127, 3, 0]);
    assert_eq!(scaled::<f64, u8>(&[f64::NAN, f64::NEG_INFINITY]), [0, 0]);
    assert_eq!(scaled::<u16, u8>(&[1, 258]), [1, 2]);
    assert_eq!(scaled::<bool, u8>(&[false, true]), [0, 1]);
    assert_eq!(scaled::<f64, f32>(&[0.25, 9.0]), [0.25, 9.0]);
    assert_eq!(scaled::<f64, bool>(&[0.25, 0.0]), [true, false]);
    assert_eq!(scaled::<f32, Complex<f32>>(&[2.0]), [Complex::new(2.0, 0.0)]);
}

#[test]
fn no_elements_give_none_of_the_target_dtype() {
    let empty = array::<f32>(&[], &[0, 4]);
    for to in DType::all() {
        let result = Ndarray::scale_dtype(&empty, to).unwrap();
        assert_fresh(&result, &[0, 4]);
        assert_eq!(result.host().dtype(), to);
    }
}

#[test]
fn complex_numbers_are_refused() {
    let number = array(&[Complex::new(1.0f32, 2.0)], &[1]);
    let error = Ndarray::scale_dtype(&number, DType::U8).unwrap_err();
    assert_eq!(
        error.to_string(),
        "arraybridge does not support dtype uint8 for casting complex numbers into it"
    );
    let error = scale::finite_range(number.host()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "arraybridge does not support dtype complex64 for finding the finite range"
    );
}

#[test]
fn the_rule_as_data_gives_what_the_operation_gives() {
    let values = [-3.0f32, 0.1, 0.7, 12.5];
    for (to, found) in [
        (DType::U8, scaled::<_, u8>(&values).map_to_f64()),
        (DType::I32, scaled::<_, i32>(&values).map_to_f64()),
    ] {
        let rescale = scale::Rescale::new(DType::F32, to, Some((-3.0, 12.5))).unwrap();
        let wanted = values.map(|value| rescale.value(value.into()).trunc());
        assert_eq!(found, wanted, "{to}");
        let precision = if to == DType::U8 { DType::F32 } else { DType::F64 };
        assert_eq!(rescale.precision, precision);
    }
    assert_eq!(scale::ends(DType::I16), Some((65535.0, -32768.0)));
    assert_eq!(scale::ends(DType::F32), None);
}

trait MapToF64 {
    fn map_to_f64(self) -> Vec<f64>;
}

impl<T: Into<f64>> MapToF64 for Vec<T> {
    fn map_to_f64(self) -> Vec<f64> {
        self.into_iter().map(Into::into).collect()
    }
}
