//! Shapes, parts and joins.

use arraybridge_core::ops::Ops;
use arraybridge_core::{AxisSlice, DType, Error, HostArray};

use super::super::{Subject, bits_of};
use super::{array, done, expect, real_dtypes, refused};
use crate::{numbers, of_numbers};

fn counting(count: usize) -> Vec<f64> {
    (0..count).map(|k| (k % 100) as f64).collect()
}

/// `reshape` and `prepend_axis` keep the elements in row-major order, whatever the layout; another
/// number of elements is an error.
pub fn reshape_and_prepend_axis_keep_row_major_order<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        for dtype in dtypes {
            let plain = of_numbers(dtype, &counting(24), &[2, 3, 4]).unwrap();
            for host in [plain.permute(&[2, 0, 1]).unwrap(), plain] {
                let source = L::INSTANCE.upload(&host, device).unwrap();
                for shape in [&[4, 6][..], &[24], &[2, 2, 3, 1, 2]] {
                    if let Some(found) = done::<L>(L::reshape(&source, shape), "reshape") {
                        expect(&found, shape, &numbers(&host), "reshape");
                        assert_eq!(found.dtype(), dtype);
                    }
                }
                if let Some(found) = done::<L>(L::prepend_axis(&source), "prepend_axis") {
                    let shape = [&[1], host.shape()].concat();
                    expect(&found, &shape, &numbers(&host), "prepend_axis");
                }
                let error = refused::<L>(L::reshape(&source, &[5, 5]), "reshape");
                assert!(matches!(error, None | Some(Error::ShapeMismatch { .. })), "{error:?}");
            }
        }
    }
}

/// `broadcast_to` repeats by NumPy's rules and refuses what they refuse.
pub fn broadcast_to_repeats<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        for dtype in dtypes {
            let column = of_numbers(dtype, &[3.0, 1.0, 0.0], &[3, 1]).unwrap();
            let source = L::INSTANCE.upload(&column, device).unwrap();
            if let Some(found) = done::<L>(L::broadcast_to(&source, &[2, 3, 2]), "broadcast_to") {
                let row = numbers(&column);
                let twice = [row[0], row[0], row[1], row[1], row[2], row[2]];
                expect(&found, &[2, 3, 2], &[twice, twice].concat(), "broadcast_to");
            }
            for shape in [&[3, 2, 2][..], &[3], &[2, 1]] {
                let error = refused::<L>(L::broadcast_to(&source, shape), "broadcast_to");
                assert!(matches!(error, None | Some(Error::ShapeMismatch { .. })), "{error:?}");
            }
        }
    }
}

/// `ones_like` makes ones of the asked dtype and shape on the device of the reference.
pub fn ones_like_is_ones_where_the_reference_is<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        let Some(&first) = dtypes.first() else { continue };
        let like = array::<L>(first, &[0.0; 6], &[2, 3], device);
        for &dtype in &dtypes {
            for shape in [None, Some(&[4][..]), Some(&[]), Some(&[0, 2])] {
                let made = L::ones_like(&like, shape, dtype);
                if let Ok(made) = &made {
                    assert_eq!(L::INSTANCE.device_of(made).unwrap(), device);
                }
                let Some(found) = done::<L>(made, "ones_like") else { continue };
                let shape = shape.unwrap_or(&[2, 3]);
                assert_eq!(found.dtype(), dtype);
                expect(&found, shape, &vec![1.0; shape.iter().product()], "ones_like");
            }
        }
    }
}

/// `assign` replaces the part that a range selects, with negative ends and any step, by values that
/// broadcast to it; on an error the array comes back unchanged.
pub fn assign_replaces_a_range_with_negative_ends_and_steps<L: Subject>() {
    let cases: &[(AxisSlice, &[usize])] = &[
        (AxisSlice::from(1..3), &[1, 2]),
        (AxisSlice::from(-2..), &[3, 4]),
        (AxisSlice::from(..-3), &[0, 1]),
        (AxisSlice::full(), &[0, 1, 2, 3, 4]),
        (AxisSlice::full().with_step(2), &[0, 2, 4]),
        (AxisSlice::full().with_step(-2), &[4, 2, 0]),
        (AxisSlice::new(Some(3), Some(0), -1), &[3, 2, 1]),
        (AxisSlice::from(3..100), &[3, 4]),
        (AxisSlice::new(Some(4), Some(2), 1), &[]),
    ];
    for (device, dtypes) in real_dtypes::<L>() {
        for dtype in dtypes {
            for (slice, rows) in cases {
                let what = format!("{dtype} [{slice:?}]");
                let full: Vec<f64> = (0..rows.len() * 2).map(|k| (k % 2 + k / 2) as f64).collect();
                let given = [
                    (full.clone(), vec![rows.len(), 2]),
                    (vec![1.0, 0.0], vec![2]),
                    (vec![1.0], vec![]),
                ];
                for (values, shape) in given {
                    let mut expected = numbers(&of_numbers(dtype, &counting(10), &[5, 2]).unwrap());
                    let read = numbers(&of_numbers(dtype, &values, &shape).unwrap());
                    for (k, row) in rows.iter().enumerate() {
                        for column in 0..2 {
                            let from = if shape.len() == 2 { k * 2 + column } else { column };
                            expected[row * 2 + column] = read[from % read.len()];
                        }
                    }
                    let data = array::<L>(dtype, &counting(10), &[5, 2], device);
                    let values = array::<L>(dtype, &values, &shape, device);
                    let made = L::assign(data, *slice, &values).map_err(Error::from);
                    let Some(found) = done::<L>(made, "assign") else { return };
                    expect(&found, &[5, 2], &expected, &what);
                }
            }
        }
        assign_refuses::<L>(device);
    }
}

fn assign_refuses<L: Subject>(device: arraybridge_core::Device) {
    let zeros = |dtype, shape: &[usize]| HostArray::zeros(dtype, shape).unwrap();
    let Some(floats) = super::super::upload::<L>(&zeros(DType::F32, &[2]), device) else { return };
    let Some(bytes) = super::super::upload::<L>(&zeros(DType::U8, &[2]), device) else { return };
    let data = || array::<L>(DType::F32, &[1.0, 2.0, 3.0], &[3], device);
    let unchanged = |error: arraybridge_core::ConversionError<L::Array>| {
        let (error, back) = error.into_parts();
        let back = back.expect("the array comes back");
        let before = of_numbers(DType::F32, &[1.0, 2.0, 3.0], &[3]).unwrap();
        assert_eq!(bits_of::<L>(&back), crate::bits(&before), "{error}");
        error
    };
    let mismatch = L::assign(data(), .., &floats).err().map(unchanged);
    assert!(matches!(mismatch, Some(Error::ShapeMismatch { .. })), "{mismatch:?}");
    let mismatch = L::assign(data(), 0..2, &bytes).err().map(unchanged);
    assert!(matches!(mismatch, Some(Error::DtypeMismatch { .. })), "{mismatch:?}");
    let step = AxisSlice::full().with_step(0);
    let refused = L::assign(data(), step, &floats).err().map(unchanged);
    assert!(matches!(refused, Some(Error::InvalidArgument { .. })), "{refused:?}");
}

/// `logical_and` is true where both are not zero, after broadcasting; NaN is not zero.
pub fn logical_and_is_true_where_both_are_not_zero<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        for dtype in dtypes {
            let odd = if dtype.is_float() { f64::NAN } else { 1.0 };
            let left = array::<L>(dtype, &[0.0, 1.0, odd, 0.0], &[2, 2], device);
            let right = array::<L>(dtype, &[1.0, 2.0], &[2], device);
            let Some(found) = done::<L>(L::logical_and(&left, &right), "logical_and") else {
                continue;
            };
            assert_eq!(found.dtype(), DType::Bool);
            expect(&found, &[2, 2], &[0.0, 1.0, 1.0, 0.0], &format!("logical_and of {dtype}"));
            let other = array::<L>(dtype, &[1.0; 3], &[3], device);
            let error = refused::<L>(L::logical_and(&left, &other), "logical_and");
            assert!(matches!(error, None | Some(Error::ShapeMismatch { .. })), "{error:?}");
        }
    }
}

/// `stack` joins on a new leading axis, and `plane` takes apart again; arrays that do not agree and
/// planes that are not there are errors.
pub fn stack_and_plane_are_inverse<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        for dtype in dtypes {
            let hosts: Vec<HostArray> = (0..3)
                .map(|k| of_numbers(dtype, &[f64::from(k), 1.0, 0.0, 1.0], &[2, 2]).unwrap())
                .map(|host| host.transpose())
                .collect();
            let planes: Vec<L::Array> =
                hosts.iter().map(|host| L::INSTANCE.upload(host, device).unwrap()).collect();
            let every: Vec<&L::Array> = planes.iter().collect();
            let stacked = L::stack(&every);
            if let Ok(stacked) = &stacked {
                for (index, host) in hosts.iter().enumerate() {
                    if let Some(found) = done::<L>(L::plane(stacked, index), "plane") {
                        expect(&found, &[2, 2], &numbers(host), "plane");
                    }
                }
                let error = refused::<L>(L::plane(stacked, 3), "plane");
                assert!(error.is_some(), "plane 3 of 3");
            }
            let Some(found) = done::<L>(stacked, "stack") else { continue };
            assert_eq!(found.dtype(), dtype);
            let all: Vec<f64> = hosts.iter().flat_map(numbers).collect();
            expect(&found, &[3, 2, 2], &all, "stack");
            let longer = array::<L>(dtype, &[0.0; 6], &[2, 3], device);
            let error = refused::<L>(L::stack(&[every[0], &longer]), "stack");
            assert!(matches!(error, Some(Error::ShapeMismatch { .. })), "{error:?}");
            let error = refused::<L>(L::stack(&[]), "stack");
            assert!(matches!(error, Some(Error::InvalidArgument { .. })), "{error:?}");
        }
    }
}
