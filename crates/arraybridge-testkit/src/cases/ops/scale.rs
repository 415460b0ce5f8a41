//! Scales: of planes, and of floats into integers.

use arraybridge_core::ops::Ops;
use arraybridge_core::{DType, Error};

use super::super::{Subject, bits_of};
use super::{array, done, expect, expect_near, real_dtypes, refused, tolerance};
use crate::of_numbers;

/// `normalize_planes` casts every plane and divides it by its scale; integers promote to floats; the
/// source is never touched; a wrong number of scales is an error.
pub fn normalize_planes_divides_by_scales<L: Subject>() {
    let values = [2.0, 4.0, 6.5, 1.0, 3.0, 5.0];
    let scales = [Some(4.0), None, Some(0.5)];
    for (device, dtypes) in real_dtypes::<L>() {
        for &from in dtypes.iter().filter(|dtype| **dtype != DType::Bool) {
            let host = of_numbers(from, &values, &[3, 2]).unwrap();
            let read = crate::numbers(&host);
            let source = L::INSTANCE.upload(&host, device).unwrap();
            for &to in dtypes.iter().filter(|dtype| **dtype != DType::Bool) {
                let what = format!("normalize_planes of {from} to {to}");
                let made = L::normalize_planes(&source, to, &scales);
                let Some(found) = done::<L>(made, &what) else { continue };
                let floats: &[DType] =
                    if to.is_float() { &[to] } else { &[DType::F64, DType::F32] };
                assert!(floats.contains(&found.dtype()), "{what} is {}", found.dtype());
                let whole = |value: f64| if to.is_integer() { value.trunc() } else { value };
                let divided =
                    |(k, value): (usize, &f64)| whole(*value) / scales[k / 2].unwrap_or(1.0);
                let expected: Vec<f64> = read.iter().enumerate().map(divided).collect();
                expect_near(&found, &[3, 2], &expected, tolerance(found.dtype()), &what);
                assert_eq!(bits_of::<L>(&source), crate::bits(&host), "{what}: the source");
            }
            let made = L::normalize_planes(&source, DType::F32, &[None]);
            let error = refused::<L>(made, "normalize_planes");
            assert!(matches!(error, None | Some(Error::InvalidArgument { .. })), "{error:?}");
        }
    }
}

/// The values of an integer dtype that 0, a half and 1 of a range become.
const ENDS: [(DType, [f64; 3]); 8] = [
    (DType::U8, [0.0, 127.0, 255.0]),
    (DType::U16, [0.0, 32767.0, 65535.0]),
    (DType::U32, [0.0, 2147483647.0, 4294967295.0]),
    (DType::U64, [0.0, 9223372036854775807.0, 18446744073709551615.0]),
    (DType::I8, [-128.0, 0.0, 127.0]),
    (DType::I16, [-32768.0, 0.0, 32767.0]),
    (DType::I32, [-2147483648.0, 0.0, 2147483647.0]),
    (DType::I64, [-9223372036854775808.0, 0.0, 9223372036854775807.0]),
];

/// `scale_dtype` takes the minimum to the lowest and the maximum to the highest value; NaN becomes 0,
/// infinities go to the ends; constant arrays and other dtypes are plain casts.
pub fn scale_dtype_reaches_the_ends_of_the_range<L: Subject>() {
    for (device, dtypes) in real_dtypes::<L>() {
        for &from in dtypes.iter().filter(|dtype| dtype.is_float()) {
            for (to, ends) in ENDS.iter().filter(|(to, _)| dtypes.contains(to)) {
                let what = format!("scale_dtype of {from} to {to}");
                let scaled = |values: &[f64]| {
                    let source = array::<L>(from, values, &[values.len()], device);
                    let found = done::<L>(L::scale_dtype(&source, *to), &what)?;
                    assert_eq!(found.dtype(), *to, "{what}");
                    Some(found)
                };
                let Some(found) = scaled(&[0.0, 0.5, 1.0]) else { continue };
                expect(&found, &[3], ends, &what);
                let found = scaled(&[-3.0, 1.0, 5.0]).unwrap();
                expect(&found, &[3], ends, &format!("{what} from -3 to 5"));
                let found = scaled(&[0.0, f64::NAN, 1.0]).unwrap();
                expect(&found, &[3], &[ends[0], 0.0, ends[2]], &format!("{what} with NaN"));
                let found = scaled(&[0.0, f64::INFINITY, f64::NEG_INFINITY, 1.0]).unwrap();
                let clamped = [ends[0], ends[2], ends[0], ends[2]];
                expect(&found, &[4], &clamped, &format!("{what} with infinities"));
                let found = scaled(&[3.5, 3.5]).unwrap();
                expect(&found, &[2], &[3.0, 3.0], &format!("{what} of a constant"));
                let found = scaled(&[]).unwrap();
                expect(&found, &[0], &[], &format!("{what} of nothing"));
            }
            if let Some(&to) = dtypes.iter().rfind(|dtype| dtype.is_float()) {
                let source = array::<L>(from, &[0.25, 3.0], &[2], device);
                if let Some(found) = done::<L>(L::scale_dtype(&source, to), "scale_dtype") {
                    expect(&found, &[2], &[0.25, 3.0], "a float target is a plain cast");
                }
            }
        }
        if dtypes.contains(&DType::I32) && dtypes.contains(&DType::U8) {
            let source = array::<L>(DType::I32, &[300.0, -1.0, 7.0], &[3], device);
            if let Some(found) = done::<L>(L::scale_dtype(&source, DType::U8), "scale_dtype") {
                expect(&found, &[3], &[44.0, 255.0, 7.0], "an integer source is a plain cast");
            }
        }
    }
}
