//! `astype` against the rules written out with wide integers and doubles.

#![allow(clippy::unwrap_used)] // Helpers of tests, too.

mod support;

use arraybridge_core::ops::Ops;
use arraybridge_core::ops::cast::{self, Castable};
use arraybridge_core::{
    DType, DTypeKind, F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz,
    F8E8M0Fnu, HostArray, with_element,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use half::{bf16, f16};
use num_complex::Complex;
use support::*;

fn astype<S: Castable, T: Castable>(values: &[S]) -> Vec<T> {
    let cast = Ndarray::astype(&array(values, &[values.len()]), T::DTYPE).unwrap();
    assert_eq!(cast.host().dtype(), T::DTYPE);
    elements(&cast)
}

/// The value that an integer dtype keeps of a whole number: its low bits.
fn wrapped(value: i128, to: DType) -> i128 {
    let bits = to.size() as u32 * 8;
    let low = value.rem_euclid(1 << bits);
    let negative = to.kind() == DTypeKind::Signed && low >= 1 << (bits - 1);
    if negative { low - (1 << bits) } else { low }
}

fn limits(to: DType) -> (i128, i128) {
    let bits = to.size() as u32 * 8;
    match to.kind() {
        DTypeKind::Signed => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        _ => (0, (1 << bits) - 1),
    }
}

const INTEGERS: [DType; 8] =
    [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];

/// Reads integers of any dtype exactly.
fn whole(array: &NdArray) -> Vec<i128> {
    macro_rules! read {
        ($($variant:ident: $type:ty),+) => {
            match array.host().dtype() {
                $(DType::$variant => {
                    elements::<$type>(array).into_iter().map(i128::from).collect()
                })+
                other => panic!("{other} is not an integer"),
            }
        };
    }
    read!(I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64, Bool: bool)
}

/// The ends of every range and their neighbours, as an array of `from`.
fn probes(from: DType) -> NdArray {
    let (low, high) = limits(from);
    let mut values = vec![0, 1, 2, 3, 100, -1, -2, -100];
    for dtype in INTEGERS {
        let (low, high) = limits(dtype);
        values.extend([low, low - 1, low + 1, high, high - 1, high + 1]);
    }
    values.retain(|value| (low..=high).contains(value));
    with_element!(from, T => {
        let values: Vec<T> = values
            .iter()
            .map(|&value| match u64::try_from(value) {
                Ok(value) => cast::element::<u64, T>(value).unwrap(),
                Err(_) => cast::element::<i64, T>(value as i64).unwrap(),
            })
            .collect();
        array(&values, &[values.len()])
    })
}

#[test]
fn integers_wrap_into_integers_and_round_once_into_floats() {
    for from in INTEGERS {
        let probes = probes(from);
        let values = whole(&probes);
        assert!(values.contains(&limits(from).0) && values.contains(&limits(from).1));
        for to in INTEGERS {
            let found = whole(&Ndarray::astype(&probes, to).unwrap());
            let wanted: Vec<i128> = values.iter().map(|&value| wrapped(value, to)).collect();
            assert_eq!(found, wanted, "{from} to {to}");
        }
        let singles = elements::<f32>(&Ndarray::astype(&probes, DType::F32).unwrap());
        assert_eq!(singles, values.iter().map(|&value| value as f32).collect::<Vec<_>>());
        let doubles = elements::<f64>(&Ndarray::astype(&probes, DType::F64).unwrap());
        assert_eq!(doubles, values.iter().map(|&value| value as f64).collect::<Vec<_>>());
        let truth = elements::<bool>(&Ndarray::astype(&probes, DType::Bool).unwrap());
        assert_eq!(truth, values.iter().map(|&value| value != 0).collect::<Vec<_>>());
    }
}

#[test]
fn floats_truncate_and_saturate_into_integers_and_nan_becomes_zero() {
    let values = [
        0.0,
        -0.0,
        0.99,
        -0.99,
        1.5,
        -1.5,
        2.0,
        127.9,
        -128.9,
        255.5,
        300.0,
        -300.0,
        65535.9,
        -70000.0,
        2147483648.0,
        -3e9,
        5e9,
        1e19,
        -1e19,
        1e30,
        -1e30,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    for from in DType::all().filter(|dtype| dtype.is_float()) {
        with_element!(from, S => {
            let source: Vec<S> = values
                .iter()
                .map(|&value| cast::element::<f64, S>(value).unwrap())
                .collect();
            let source = array(&source, &[values.len()]);
            for to in INTEGERS {
                let (low, high) = limits(to);
                // What the source holds, which may be rounded already.
                let wanted: Vec<i128> = doubles(&source)
                    .iter()
                    .map(|value| if value.is_nan() { 0 } else { value.trunc() as i128 })
                    .map(|value| value.clamp(low, high))
                    .collect();
                let found = whole(&Ndarray::astype(&source, to).unwrap());
                assert_eq!(found, wanted, "{from} to {to}");
            }
            let wanted: Vec<bool> = doubles(&source).iter().map(|&value| value != 0.0).collect();
            assert_eq!(elements::<bool>(&Ndarray::astype(&source, DType::Bool).unwrap()), wanted);
        });
    }
    assert_eq!(astype::<f32, bool>(&[f32::NAN, 0.0, -0.0, 0.1]), [true, false, false, true]);
}

#[test]
fn bool_becomes_zero_or_one_in_every_dtype() {
    for to in DType::all().filter(|dtype| !is_complex(*dtype) && *dtype != DType::F8E8M0Fnu) {
        let cast = Ndarray::astype(&array(&[false, true], &[2]), to).unwrap();
        assert_eq!(doubles(&cast), [0.0, 1.0], "{to}");
    }
}

/// Every cast to a narrow float picks the nearest of all its values, ties to the even code.
#[test]
fn narrow_floats_are_rounded_once() {
    // Just above a tie, by less than the format in between can tell.
    let above_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(astype::<f64, f16>(&[above_tie]), [f16::from_bits(0x3c01)]);
    assert_eq!(astype::<f64, f16>(&[1.0 + 2f64.powi(-11)]), [f16::from_bits(0x3c00)]);
    let above_tie = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
    assert_eq!(
        astype::<f64, bf16>(&[above_tie, -above_tie]),
        [bf16::from_bits(0x3f81), bf16::from_bits(0xbf81)]
    );
    assert_eq!(astype::<f64, bf16>(&[1.0 + 2f64.powi(-8)]), [bf16::from_bits(0x3f80)]);
    let above_tie = (1i64 << 62) + (1 << 54) + 1;
    assert_eq!(
        astype::<i64, bf16>(&[above_tie, -above_tie, above_tie - 1]),
        [bf16::from_bits(0x5e81), bf16::from_bits(0xde81), bf16::from_bits(0x5e80)]
    );
    assert_eq!(astype::<u64, bf16>(&[u64::MAX]), [bf16::from_f32(2f32.powi(64))]);
    // Half way between two single floats, plus one.
    let above_tie = (1i64 << 60) + (1 << 36) + 1;
    assert_eq!(astype::<i64, f32>(&[above_tie]), [2f32.powi(60) + 2f32.powi(37)]);
    assert_eq!(
        astype::<i64, F8E8M0Fnu>(&[(3 << 60) - 1, 3 << 60]),
        [F8E8M0Fnu(61 + 127), F8E8M0Fnu(62 + 127)]
    );
    assert_eq!(
        astype::<f64, f16>(&[1e9, -1e9, 65519.0, 65520.0, 1e-30]),
        [f16::INFINITY, f16::NEG_INFINITY, f16::MAX, f16::INFINITY, f16::ZERO]
    );
    assert_eq!(astype::<i32, f16>(&[2049, 70000]), [f16::from_f32(2048.0), f16::INFINITY]);
    assert_eq!(astype::<f32, F8E5M2>(&[1e9, 1.125]), [F8E5M2(0x7c), F8E5M2(0x3c)]);
    assert!(astype::<f32, F8E4M3Fn>(&[1e9])[0].to_f64().is_nan());
    assert_eq!(astype::<i16, F8E4M3Fnuz>(&[-3]), [F8E4M3Fnuz::from_f64(-3.0)]);
}

#[test]
fn every_narrow_float_survives_the_way_through_wider_ones() {
    fn check<N: Castable>(codes: Vec<N>) {
        let narrow = array(&codes, &[codes.len()]);
        for wide in [DType::F32, DType::F64] {
            let there = Ndarray::astype(&narrow, wide).unwrap();
            let back = Ndarray::astype(&there, N::DTYPE).unwrap();
            let pairs = doubles(&narrow).into_iter().zip(doubles(&back));
            assert!(pairs.into_iter().all(|(a, b)| same(a, b)), "{} by {wide}", N::DTYPE);
        }
    }
    check((0..=u16::MAX).map(f16::from_bits).collect());
    check((0..=u16::MAX).map(bf16::from_bits).collect());
    macro_rules! float8s {
        ($($type:ident),+) => {$(
            let codes: Vec<$type> = (0..=u8::MAX).map($type).collect();
            let values = doubles(&array(&codes, &[256])).into_iter();
            assert!(values.zip(&codes).all(|(value, code)| same(value, code.to_f64())));
            check(codes);
        )+};
    }
    float8s!(F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0Fnu);
}

#[test]
fn complex_numbers_take_reals_and_give_none() {
    for from in DType::all().filter(|dtype| !is_complex(*dtype)) {
        with_element!(from, S => {
            let source = [cast::element::<u8, S>(2).unwrap(); 3];
            let wanted = [Complex::new(2.0, 0.0); 3];
            assert_eq!(
                astype::<S, Complex<f64>>(&source),
                if from == DType::Bool { [Complex::new(1.0, 0.0); 3] } else { wanted }
            );
        });
    }
    let number = Complex::new(1.5f64, -2.25);
    assert_eq!(astype::<_, Complex<f32>>(&[number]), [Complex::new(1.5f32, -2.25)]);
    assert_eq!(
        astype::<_, Complex<f16>>(&[number]),
        [Complex::new(f16::from_f32(1.5), f16::from_f32(-2.25))]
    );
    let zero = Complex::new(0.0f32, 0.0);
    let imaginary = Complex::new(0.0, f32::NAN);
    assert_eq!(astype::<_, bool>(&[zero, imaginary, Complex::new(-1.0, 0.0)]), [false, true, true]);
    for to in DType::all().filter(|to| !is_complex(*to) && *to != DType::Bool) {
        let error = Ndarray::astype(&array(&[number], &[1]), to).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("arraybridge does not support dtype {to} for casting complex numbers into it")
        );
    }
}

#[test]
fn every_layout_is_cast_in_order() {
    for case in cases::<i16>(|at| at as i16 * 3 - 200) {
        let cast = Ndarray::astype(&case.array, DType::F64).unwrap();
        assert_fresh(&cast, &SHAPE);
        let wanted: Vec<f64> = case.values.iter().map(|&value| f64::from(value)).collect();
        assert_eq!(elements::<f64>(&cast), wanted, "{}", case.name);
        let same = Ndarray::astype(&case.array, DType::I16).unwrap();
        assert_eq!(elements::<i16>(&same), case.values, "{}", case.name);
    }
    let empty = Ndarray::astype(&array::<u8>(&[], &[2, 0]), DType::F32).unwrap();
    assert_fresh(&empty, &[2, 0]);
}

#[test]
fn casts_longer_than_a_chunk_are_complete() {
    let values: Vec<u16> = (0..5000).collect();
    let wanted: Vec<f32> = values.iter().map(|&value| f32::from(value)).collect();
    assert_eq!(astype::<u16, f32>(&values), wanted);
    let bytes: Vec<u8> = values.iter().map(|&value| value as u8).collect();
    assert_eq!(astype::<f32, u16>(&wanted), values);
    assert_eq!(astype::<u16, u8>(&values), bytes);
}

#[test]
fn readers_and_slices_refuse_what_does_not_fit() {
    let source = HostArray::from_slice(&[1u8, 2, 3], &[3]).unwrap();
    let mut reader = cast::Reader::new(&source).unwrap();
    let mut two = [0f32; 2];
    reader.read(1, &mut two).unwrap();
    assert_eq!(two, [2.0, 3.0]);
    let error = reader.read(2, &mut two).unwrap_err();
    assert_eq!(error.to_string(), "reading elements: expected shape [2], found [1]");
    let error = cast::slice(&[1u8], &mut two).unwrap_err();
    assert_eq!(error.to_string(), "casting a slice: expected shape [2], found [1]");
}
