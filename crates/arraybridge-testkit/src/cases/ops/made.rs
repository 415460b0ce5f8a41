//! Arrays made of nothing.

use arraybridge_core::ops::Math;
use arraybridge_core::{DType, Error};

use super::super::{Subject, devices, skip};
use super::{array, done, expect, expect_near, refused, tolerance};

/// `linspace`, `ones`, `outer` and `floor` make arrays on the library's default device, of its
/// default float unless another is asked for.
pub fn math_makes_arrays_of_nothing<L: Subject>() {
    let Some(role) = L::INSTANCE.math() else {
        skip::<L>("arrays of nothing", &"it has no role `ArrayMath`");
        return;
    };
    let Some(&device) = devices::<L>().first() else { return };
    let float = role.default_float();
    assert!(matches!(float, DType::F32 | DType::F64), "{float} is no default float");

    let lines: [(usize, bool, &[f64]); 5] = [
        (5, true, &[0.0, 0.25, 0.5, 0.75, 1.0]),
        (5, false, &[0.0, 0.2, 0.4, 0.6, 0.8]),
        (1, true, &[0.0]),
        (1, false, &[0.0]),
        (0, true, &[]),
    ];
    for (count, endpoint, values) in lines {
        for dtype in [None, Some(DType::F32), Some(DType::F64)] {
            let made = L::linspace(0.0, 1.0, count, endpoint, dtype);
            let Some(found) = done::<L>(made, "linspace") else { continue };
            let expected = dtype.unwrap_or(float);
            assert_eq!(found.dtype(), expected);
            expect_near(&found, &[count], values, tolerance(expected), "linspace");
            if endpoint && count > 1 {
                assert_eq!(crate::numbers(&found)[count - 1], 1.0, "the last one is the end");
            }
        }
    }
    let error = refused::<L>(L::linspace(0.0, 1.0, 3, true, Some(DType::I32)), "linspace");
    assert!(matches!(error, Some(Error::DtypeUnsupported { .. })), "{error:?}");

    if let Some(found) = done::<L>(L::ones(&[2, 3], float), "ones") {
        assert_eq!(found.dtype(), float);
        expect(&found, &[2, 3], &[1.0; 6], "ones");
    }
    let left = array::<L>(float, &[1.0, 2.0, 3.0], &[3], device);
    let right = array::<L>(float, &[4.0, -1.0], &[2], device);
    if let Some(found) = done::<L>(L::outer(&left, &right), "outer") {
        expect(&found, &[3, 2], &[4.0, -1.0, 8.0, -2.0, 12.0, -3.0], "outer");
    }
    let square = array::<L>(float, &[0.0; 4], &[2, 2], device);
    let error = refused::<L>(L::outer(&left, &square), "outer");
    assert!(matches!(error, None | Some(Error::ShapeMismatch { .. })), "{error:?}");
    for (value, expected) in [(-1.5, -2.0), (2.9, 2.0), (3.0, 3.0)] {
        if let Some(found) = done::<L>(L::floor(value), "floor") {
            expect(&found, &[], &[expected], "floor");
        }
    }
}
