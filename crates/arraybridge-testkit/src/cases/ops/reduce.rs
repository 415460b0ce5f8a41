//! Reductions.

use arraybridge_core::ops::Ops;
use arraybridge_core::{DType, DTypeKind, Device, Error, HostArray};

use super::super::{Subject, upload};
use super::{array, done, expect, expect_near, real_dtypes, refused, tolerance};
use crate::{bits, numbers, of_numbers};

const SHAPE: [usize; 3] = [2, 3, 4];

/// Axes as given, and counted from the front.
const AXES: &[(&[isize], &[usize])] =
    &[(&[0], &[0]), (&[-1], &[2]), (&[1], &[1]), (&[2, 0], &[0, 2]), (&[0, 1, -1], &[0, 1, 2])];

/// Values of both signs where the dtype has them, in row-major order and permuted.
fn inputs(dtype: DType) -> Vec<HostArray> {
    let shift = match dtype.kind() {
        DTypeKind::Unsigned | DTypeKind::Bool => 0.0,
        _ => 12.0,
    };
    let modulus = if dtype == DType::Bool { 2 } else { 24 };
    let values: Vec<f64> = (0..24).map(|k| ((k * 37 + 5) % modulus) as f64 - shift).collect();
    let plain = of_numbers(dtype, &values, &SHAPE).unwrap();
    vec![plain.permute(&[2, 0, 1]).unwrap(), plain]
}

/// Reduces by a fold over the elements of each group, independently of any library.
fn reference(
    host: &HostArray,
    axes: &[usize],
    fold: impl Fn(&[f64]) -> f64,
) -> (Vec<usize>, Vec<f64>) {
    let kept: Vec<usize> = (0..host.shape().len()).filter(|axis| !axes.contains(axis)).collect();
    let shape: Vec<usize> = kept.iter().map(|&axis| host.shape()[axis]).collect();
    let mut groups = vec![Vec::new(); shape.iter().product()];
    for (flat, value) in numbers(host).into_iter().enumerate() {
        let (mut rest, mut index) = (flat, vec![0; host.shape().len()]);
        for axis in (0..index.len()).rev() {
            index[axis] = rest % host.shape()[axis];
            rest /= host.shape()[axis];
        }
        let group = kept.iter().fold(0, |group, &axis| group * host.shape()[axis] + index[axis]);
        groups[group].push(value);
    }
    (shape, groups.iter().map(|group| fold(group)).collect())
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(f64::NEG_INFINITY, |best, &v| if v > best || v.is_nan() { v } else { best })
}

/// `max` and `min` keep the dtype, over one axis or several, and propagate NaN.
pub fn max_and_min_keep_the_dtype_and_propagate_nan<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        for dtype in dtypes {
            for host in inputs(dtype) {
                let source = L::INSTANCE.upload(&host, device).unwrap();
                for (given, axes) in AXES {
                    let what = format!("max of {dtype} over {given:?}");
                    if let Some(found) = done::<L>(L::max(&source, *given), &what) {
                        let (shape, values) = reference(&host, axes, largest);
                        assert_eq!(found.dtype(), dtype, "{what}");
                        expect(&found, &shape, &values, &what);
                    }
                    let what = format!("min of {dtype} over {given:?}");
                    if let Some(found) = done::<L>(L::min(&source, *given), &what) {
                        let smallest =
                            |v: &[f64]| -largest(&v.iter().map(|v| -v).collect::<Vec<_>>());
                        let (shape, values) = reference(&host, axes, smallest);
                        assert_eq!(found.dtype(), dtype, "{what}");
                        expect(&found, &shape, &values, &what);
                    }
                }
            }
            if dtype.is_float() {
                let values = [1.0, f64::NAN, 3.0, 4.0, 2.0, 0.5];
                let source = array::<L>(dtype, &values, &[2, 3], device);
                for (by, result) in [("max", L::max(&source, 1)), ("min", L::min(&source, 1))] {
                    let expected = [f64::NAN, if by == "max" { 4.0 } else { 0.5 }];
                    if let Some(found) = done::<L>(result, by) {
                        expect(&found, &[2], &expected, &format!("{by} of {dtype} with a NaN"));
                    }
                }
            }
        }
    }
}

/// Sums of integers and bool are in 64 bits, those of floats in their dtype and no worse than
/// pairwise; over no elements the sum is 0.
pub fn sums_are_in_64_bits_or_the_float_itself<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        for dtype in dtypes {
            let wide: &[DType] = match dtype.kind() {
                DTypeKind::Signed => &[DType::I64],
                DTypeKind::Unsigned | DTypeKind::Bool => &[DType::U64, DType::I64],
                _ => &[dtype],
            };
            for host in inputs(dtype) {
                let source = L::INSTANCE.upload(&host, device).unwrap();
                for (given, axes) in AXES {
                    let what = format!("sum of {dtype} over {given:?}");
                    let Some(found) = done::<L>(L::sum(&source, *given), &what) else { continue };
                    assert!(wide.contains(&found.dtype()), "{what} is {}", found.dtype());
                    let (shape, values) = reference(&host, axes, |values| values.iter().sum());
                    expect_near(&found, &shape, &values, tolerance(dtype), &what);
                }
            }
            let nothing = array::<L>(dtype, &[], &[0, 3], device);
            if let Some(found) = done::<L>(L::sum(&nothing, 0), "a sum over no elements") {
                expect(&found, &[3], &[0.0; 3], "a sum over no elements");
            }
        }
        exact_sums::<L>(device);
    }
}

fn exact_sums<L: Subject>(device: Device) {
    let sum = |host: HostArray, what: &str| {
        let source = upload::<L>(&host, device)?;
        done::<L>(L::sum(&source, 0), what)
    };
    // 8 and 32 bits would overflow, f64 would round.
    let bytes = HostArray::from_vec(vec![200u8; 1000], &[1000]).unwrap();
    if let Some(found) = sum(bytes, "a sum of uint8") {
        expect(&found, &[], &[200_000.0], "a sum of uint8");
    }
    let large = HostArray::from_vec(vec![1i64 << 60, 1, 1 << 59], &[3]).unwrap();
    if let Some(found) = sum(large, "a sum of int64") {
        assert_eq!(bits(&found), ((1i64 << 60) + (1 << 59) + 1).to_le_bytes());
    }
    let tenths = HostArray::from_vec(vec![0.1f32; 1 << 18], &[1 << 18]).unwrap();
    if let Some(found) = sum(tenths, "a long sum of float32") {
        let exact = f64::from(0.1f32) * f64::from(1 << 18);
        expect_near(&found, &[], &[exact], 2e-6, "a long sum, as pairwise summation has it");
    }
}

/// Means of floats keep their dtype, those of integers are `f64` or `f32`; over no elements the mean
/// is NaN.
pub fn means_are_floats<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        for dtype in dtypes {
            let floats: &[DType] =
                if dtype.is_float() { &[dtype] } else { &[DType::F64, DType::F32] };
            for host in inputs(dtype) {
                let source = L::INSTANCE.upload(&host, device).unwrap();
                for (given, axes) in AXES {
                    let what = format!("mean of {dtype} over {given:?}");
                    let Some(found) = done::<L>(L::mean(&source, *given), &what) else { continue };
                    assert!(floats.contains(&found.dtype()), "{what} is {}", found.dtype());
                    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
                    let (shape, values) = reference(&host, axes, mean);
                    expect_near(&found, &shape, &values, tolerance(found.dtype()), &what);
                }
            }
            let nothing = array::<L>(dtype, &[], &[0, 2], device);
            if let Some(found) = done::<L>(L::mean(&nothing, 0), "a mean over no elements") {
                expect(&found, &[2], &[f64::NAN; 2], "a mean over no elements");
            }
        }
    }
}

/// An axis that is not there or named twice is an error, and so is the largest of no elements.
pub fn reductions_refuse_bad_axes_and_no_elements<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        let Some(&dtype) = dtypes.last() else { continue };
        let source = array::<L>(dtype, &[0.0; 6], &[2, 3], device);
        for (axis, rank) in [(2, 2), (-3, 2), (isize::MIN, 2), (isize::MAX, 2)] {
            let Some(error) = refused::<L>(L::sum(&source, axis), "sum") else { return };
            let named = matches!(error, Error::AxisOutOfRange { axis: a, rank: r } if (a, r) == (axis, rank));
            assert!(named, "{error}");
        }
        let twice = refused::<L>(L::mean(&source, [0, -2]), "mean");
        assert!(matches!(twice, Some(Error::InvalidArgument { .. })), "{twice:?}");
        let nothing = array::<L>(dtype, &[], &[2, 0], device);
        for result in [L::max(&nothing, 1), L::min(&nothing, [0, 1])] {
            let error = refused::<L>(result, "the largest of none");
            assert!(matches!(error, Some(Error::InvalidArgument { .. })), "{error:?}");
        }
        if let Some(found) = done::<L>(L::max(&nothing, 0), "max") {
            expect(&found, &[0], &[], "no maxima of no columns");
        }
    }
}
