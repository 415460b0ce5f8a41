//! Reductions against plain loops.

#![allow(clippy::unwrap_used)] // Helpers of tests, too.

mod support;

use std::ops::Range;

use arraybridge_core::ops::cast::{self, Castable};
use arraybridge_core::ops::{Ops, Reduction};
use arraybridge_core::{DType, DTypeKind, Error, HostArray, with_element};
use arraybridge_ndarray::{NdArray, Ndarray};
use half::{bf16, f16};
use num_complex::Complex;
use support::*;

const ALL_AXES: [&[isize]; 8] = [&[], &[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]];

fn reduce(array: &NdArray, by: Reduction, axes: &[isize]) -> Result<NdArray, Error> {
    match by {
        Reduction::Max => Ndarray::max(array, axes),
        Reduction::Min => Ndarray::min(array, axes),
        Reduction::Mean => Ndarray::mean(array, axes),
        _ => Ndarray::sum(array, axes),
    }
}

/// Collects, for each output, the elements that go into it.
fn groups(values: &[f64], axes: &[isize]) -> (Vec<usize>, Vec<Vec<f64>>) {
    let kept: Vec<usize> = (0..3).filter(|axis| !axes.contains(&(*axis as isize))).collect();
    let shape: Vec<usize> = kept.iter().map(|&axis| SHAPE[axis]).collect();
    let mut groups = vec![Vec::new(); shape.iter().product()];
    for (index, &value) in indices(&SHAPE).iter().zip(values) {
        let place = kept.iter().fold(0, |place, &axis| place * SHAPE[axis] + index[axis]);
        groups[place].push(value);
    }
    (shape, groups)
}

fn expected(by: Reduction, group: &[f64]) -> f64 {
    match by {
        Reduction::Max => group.iter().copied().reduce(f64::max).unwrap(),
        Reduction::Min => group.iter().copied().reduce(f64::min).unwrap(),
        Reduction::Mean => group.iter().sum::<f64>() / group.len() as f64,
        _ => group.iter().sum(),
    }
}

fn result_dtype(by: Reduction, dtype: DType) -> DType {
    match (by, dtype.kind()) {
        (Reduction::Sum, DTypeKind::Signed) => DType::I64,
        (Reduction::Sum, DTypeKind::Unsigned | DTypeKind::Bool) => DType::U64,
        (Reduction::Mean, DTypeKind::Signed | DTypeKind::Unsigned | DTypeKind::Bool) => DType::F64,
        _ => dtype,
    }
}

#[test]
fn every_dtype_layout_and_set_of_axes_agrees_with_plain_loops() {
    for dtype in DType::all().filter(|dtype| !is_complex(*dtype)) {
        with_element!(dtype, T => {
            // Small numbers that every dtype but bool and the powers of two tells apart.
            let number = |at: usize| cast::element::<i32, T>((at * 7 % 11) as i32).unwrap();
            for case in cases::<T>(number) {
                let values: Vec<f64> = case.values.iter()
                    .map(|&value| cast::element::<T, f64>(value).unwrap())
                    .collect();
                for by in [Reduction::Max, Reduction::Min, Reduction::Mean, Reduction::Sum] {
                    for axes in ALL_AXES {
                        let (shape, groups) = groups(&values, axes);
                        let result = reduce(&case.array, by, axes).unwrap();
                        let what = format!("{by:?} of {dtype}, {}, over {axes:?}", case.name);
                        assert_fresh(&result, &shape);
                        assert_eq!(result.host().dtype(), result_dtype(by, dtype), "{what}");
                        let wanted = groups.iter().map(|group| expected(by, group));
                        let wanted: Vec<f64> = wanted.map(|value| round(value, &result)).collect();
                        let found = doubles(&result);
                        assert_eq!(found.len(), wanted.len(), "{what}");
                        assert!(
                            found.iter().zip(&wanted).all(|(&found, &wanted)| same(found, wanted)),
                            "{what}: {found:?}, not {wanted:?}"
                        );
                    }
                }
            }
        });
    }
}

/// Rounds to the dtype of an array, by way of `f32` where that is what sums are made in.
fn round(value: f64, like: &NdArray) -> f64 {
    let narrow = like.host().dtype().is_float() && like.host().dtype().size() < 4;
    let value = if narrow { f64::from(value as f32) } else { value };
    with_element!(like.host().dtype(), T => {
        let rounded = cast::element::<f64, T>(value).unwrap();
        cast::element::<T, f64>(rounded).unwrap_or(f64::NAN)
    })
}

#[test]
fn sums_of_integers_are_kept_in_64_bits_and_wrap_there() {
    let signed = Ndarray::sum(&array(&[i8::MIN; 1000], &[1000]), 0).unwrap();
    assert_eq!(elements::<i64>(&signed), [-128_000]);
    let unsigned = Ndarray::sum(&array(&[u8::MAX; 1000], &[1000]), 0).unwrap();
    assert_eq!(elements::<u64>(&unsigned), [255_000]);
    let large = Ndarray::sum(&array(&[u64::MAX, 3], &[2]), 0).unwrap();
    assert_eq!(elements::<u64>(&large), [2]);
    let truth = Ndarray::sum(&array(&[true, false, true], &[3]), 0).unwrap();
    assert_eq!(elements::<u64>(&truth), [2]);
    let repeated = array(&[i64::MAX], &[1]);
    let repeated = Ndarray::broadcast_to(&repeated, &[3]).unwrap();
    let sum = Ndarray::sum(&repeated, 0).unwrap();
    assert_eq!(elements::<i64>(&sum), [i64::MAX.wrapping_mul(3)]);
}

#[test]
fn nan_is_propagated_and_infinities_compare() {
    fn check<T: Castable>() {
        let number = |value: f64| cast::element::<f64, T>(value).unwrap();
        let rows = [1.0, f64::NAN, 3.0, f64::NEG_INFINITY, 5.0, f64::INFINITY].map(number);
        let image = array(&rows, &[2, 3]);
        for (by, wanted) in [
            (Reduction::Max, [f64::NAN, f64::INFINITY]),
            (Reduction::Min, [f64::NAN, f64::NEG_INFINITY]),
            (Reduction::Sum, [f64::NAN, f64::NAN]),
            (Reduction::Mean, [f64::NAN, f64::NAN]),
        ] {
            let found = doubles(&reduce(&image, by, &[1]).unwrap());
            assert!(
                found.iter().zip(wanted).all(|(&found, wanted)| same(found, wanted)),
                "{by:?} {}: {found:?}",
                T::DTYPE
            );
        }
        let columns = doubles(&Ndarray::max(&image, 0).unwrap());
        assert!(columns[0] == 1.0 && columns[1].is_nan() && columns[2] == f64::INFINITY);
    }
    check::<f16>();
    check::<bf16>();
    check::<f32>();
    check::<f64>();
    // A NaN anywhere in long rows, so that each accumulator meets one.
    for at in 0..40 {
        let mut values = vec![1.0f32; 40];
        values[at] = f32::NAN;
        let row = array(&values, &[40]);
        assert!(elements::<f32>(&Ndarray::max(&row, 0).unwrap())[0].is_nan(), "{at}");
        assert!(elements::<f32>(&Ndarray::min(&row, 0).unwrap())[0].is_nan(), "{at}");
    }
}

#[test]
fn complex_numbers_have_sums_and_means_but_no_order() {
    let number = |at: usize| Complex::new(at as f64, -(at as f64) / 2.0);
    for case in cases::<Complex<f64>>(number) {
        for axes in ALL_AXES {
            let parts: [Vec<f64>; 2] = [
                case.values.iter().map(|value| value.re).collect(),
                case.values.iter().map(|value| value.im).collect(),
            ];
            for by in [Reduction::Sum, Reduction::Mean] {
                let found = elements::<Complex<f64>>(&reduce(&case.array, by, axes).unwrap());
                let [re, im] = parts.each_ref().map(|part| {
                    groups(part, axes).1.iter().map(|group| expected(by, group)).collect::<Vec<_>>()
                });
                assert_eq!(found.iter().map(|value| value.re).collect::<Vec<_>>(), re);
                assert_eq!(found.iter().map(|value| value.im).collect::<Vec<_>>(), im);
            }
        }
    }
    let half = array(&[Complex::new(f16::from_f32(1.5), f16::ONE); 4], &[4]);
    let sum = Ndarray::sum(&half, 0).unwrap();
    assert_eq!(
        elements::<Complex<f16>>(&sum),
        [Complex::new(f16::from_f32(6.0), f16::from_f32(4.0))]
    );
    let error = Ndarray::max(&array(&[Complex::new(1f32, 2.0)], &[1]), 0).unwrap_err();
    assert_eq!(error.to_string(), "ndarray does not support dtype complex64 for max");
}

#[test]
fn no_elements_sum_to_zero_have_no_mean_and_no_extremes() {
    let empty = array::<i16>(&[], &[0, 3]);
    assert_eq!(elements::<i64>(&Ndarray::sum(&empty, 0).unwrap()), [0, 0, 0]);
    let means = doubles(&Ndarray::mean(&empty, 0).unwrap());
    assert!(means.len() == 3 && means.iter().all(|mean| mean.is_nan()));
    let error = Ndarray::max(&empty, 0).unwrap_err();
    assert_eq!(error.to_string(), "max: no elements to choose from in shape [0, 3] over axes [0]");
    // Over the other axis nothing is asked for, so nothing is missing.
    assert_fresh(&Ndarray::min(&empty, 1).unwrap(), &[0]);
    assert_eq!(Ndarray::sum(&empty, 1).unwrap().host().dtype(), DType::I64);
    let complex = array::<Complex<f32>>(&[], &[0]);
    let mean = elements::<Complex<f32>>(&Ndarray::mean(&complex, 0).unwrap());
    assert!(mean[0].re.is_nan() && mean[0].im.is_nan());
}

#[test]
fn a_0d_array_is_reduced_over_no_axes() {
    let scalar = array(&[7u8], &[]);
    assert_eq!(elements::<u8>(&Ndarray::max(&scalar, []).unwrap()), [7]);
    assert_eq!(elements::<u64>(&Ndarray::sum(&scalar, []).unwrap()), [7]);
    let error = Ndarray::sum(&scalar, 0).unwrap_err();
    assert_eq!(error.to_string(), "axis 0 is out of range for an array of 0 axes");
}

#[test]
fn axes_count_from_the_end_and_are_named_once() {
    let image = array(&[1i32, 2, 3, 4, 5, 6], &[2, 3]);
    assert_eq!(elements::<i64>(&Ndarray::sum(&image, -1).unwrap()), [6, 15]);
    assert_eq!(elements::<i32>(&Ndarray::max(&image, [-2]).unwrap()), [4, 5, 6]);
    let twice = Ndarray::sum(&image, [1, -1]).unwrap_err();
    assert_eq!(twice.to_string(), "reduction: axes [1, -1] name one axis twice");
    let beyond = Ndarray::sum(&image, 2).unwrap_err();
    assert_eq!(beyond.to_string(), "axis 2 is out of range for an array of 2 axes");
}

/// Lengths around the sizes of blocks, tiles and lanes.
#[test]
fn long_rows_and_many_rows_are_complete() {
    for (rows, columns) in [(1, 5000), (5000, 1), (33, 1025), (1025, 33), (2049, 3), (3, 2049)] {
        let values: Vec<u16> = (0..rows * columns).map(|at| (at % 1009) as u16).collect();
        let image = array(&values, &[rows, columns]);
        let sums_of = |count: usize, each: &dyn Fn(usize) -> Vec<u64>| -> Vec<u64> {
            (0..count).map(|at| each(at).iter().sum()).collect()
        };
        let along = |range: Range<usize>, step: usize| -> Vec<u64> {
            range.step_by(step).map(|at| u64::from(values[at])).collect()
        };
        let down = sums_of(columns, &|column| along(column..rows * columns, columns));
        let across = sums_of(rows, &|row| along(row * columns..(row + 1) * columns, 1));
        assert_eq!(elements::<u64>(&Ndarray::sum(&image, 0).unwrap()), down);
        assert_eq!(elements::<u64>(&Ndarray::sum(&image, 1).unwrap()), across);
        let floats = Ndarray::astype(&image, DType::F32).unwrap();
        let float_sums = Ndarray::sum(&floats, 0).unwrap();
        let wanted: Vec<f32> = down.iter().map(|&sum| sum as f32).collect();
        assert_eq!(elements::<f32>(&float_sums), wanted, "{rows} by {columns}");
        let means = doubles(&Ndarray::mean(&image, 1).unwrap());
        let wanted: Vec<f64> = across.iter().map(|&sum| sum as f64 / columns as f64).collect();
        assert_eq!(means, wanted);
    }
}

/// The bound of pairwise summation is log2(n) roundings; adding one after another needs up to n.
#[test]
fn sums_of_floats_lose_no_more_than_pairwise_summation_along_any_axis() {
    const COUNT: usize = 10_000_000;
    let f32s = vec![0.1f32; COUNT];
    let exact = f64::from(0.1f32) * COUNT as f64;
    let bound = exact * f64::from(f32::EPSILON) / 2.0 * (COUNT as f64).log2();
    let line = NdArray::from_host(HostArray::from_vec(f32s, &[COUNT]).unwrap());
    for (shape, axes) in [
        ([COUNT, 1], [0].as_slice()),
        ([1, COUNT], &[1]),
        ([COUNT / 4, 4], &[0]),
        ([COUNT / 1000, 1000], &[0]),
        ([1000, COUNT / 1000], &[0, 1]),
    ] {
        let image = Ndarray::reshape(&line, &shape).unwrap();
        let sums = doubles(&Ndarray::sum(&image, axes).unwrap());
        let wanted = exact / sums.len() as f64;
        for sum in sums {
            assert!((sum - wanted).abs() <= bound / exact * wanted, "{shape:?} {axes:?} {sum}");
        }
    }
    // In f64: the sum of 2^20 times 1 + 2^-52 needs 2^20 roundings one after another.
    let count = 1 << 20;
    let value = 1.0 + f64::EPSILON;
    let bound = 40.0 * f64::EPSILON;
    for shape in [[count, 1], [1, count], [count / 2, 2], [1024, 1024]] {
        let image = array(&vec![value; count], &shape);
        for axis in [0isize, 1] {
            let length = shape[axis as usize] as f64;
            let sums = doubles(&Ndarray::sum(&image, axis).unwrap());
            for sum in sums {
                assert!((sum / length - value).abs() <= bound, "{shape:?} {axis}");
            }
        }
    }
}
