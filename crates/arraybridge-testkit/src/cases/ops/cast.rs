//! Plain casts.

use arraybridge_core::ops::Ops;
use arraybridge_core::{DType, DTypeKind, Error};

use super::super::{Subject, devices, dtypes_of};
use super::{array, done, expect, real_dtypes, refused};
use crate::{numbers, of_numbers};

const VALUES: [f64; 14] = [
    0.0,
    1.0,
    -1.0,
    1.9,
    -1.9,
    127.0,
    200.0,
    300.7,
    -300.7,
    40000.0,
    -70000.0,
    4294967301.0,
    1099511627781.0,
    -1099511627781.0,
];

/// Returns what an element becomes, by the rules of the documentation.
pub(super) fn cast(from: DType, value: f64, to: DType) -> f64 {
    if to == DType::Bool {
        return f64::from(u8::from(value != 0.0));
    }
    if !to.is_integer() || from.is_float() {
        // `of_numbers` rounds to the nearest float, and truncates and saturates to integers.
        return value;
    }
    let whole = value as i128;
    match to {
        DType::I8 => f64::from(whole as i8),
        DType::I16 => f64::from(whole as i16),
        DType::I32 => f64::from(whole as i32),
        DType::I64 => whole as i64 as f64,
        DType::U8 => f64::from(whole as u8),
        DType::U16 => f64::from(whole as u16),
        DType::U32 => f64::from(whole as u32),
        _ => whole as u64 as f64,
    }
}

/// `astype` is a plain cast: floats into integers truncate toward zero and saturate, NaN becomes 0;
/// integers wrap; anything but 0 is true; complex numbers do not become real.
pub fn astype_is_a_plain_cast<L: Subject>() {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e20, -1e20, 65504.0];
    for (device, dtypes) in real_dtypes::<L>() {
        for &from in &dtypes {
            let mut values = VALUES.to_vec();
            values.extend(special.iter().filter(|_| from.is_float()));
            let host = of_numbers(from, &values, &[values.len()]).unwrap();
            let values = numbers(&host);
            let source = L::INSTANCE.upload(&host, device).unwrap();
            for &to in &dtypes {
                let what = format!("{from} to {to}");
                let Some(found) = done::<L>(L::astype(&source, to), &what) else { continue };
                assert_eq!(found.dtype(), to, "{what}");
                let cast: Vec<f64> = values.iter().map(|&value| cast(from, value, to)).collect();
                let expected = numbers(&of_numbers(to, &cast, &[cast.len()]).unwrap());
                expect(&found, &[cast.len()], &expected, &what);
            }
            assert_eq!(super::super::bits_of::<L>(&source), crate::bits(&host), "the source");
        }
    }
    for device in devices::<L>() {
        let complex = dtypes_of::<L>(device);
        for from in complex.into_iter().filter(|dtype| dtype.kind() == DTypeKind::Complex) {
            let source = array::<L>(from, &[0.0, 2.0], &[2], device);
            let error = refused::<L>(L::astype(&source, DType::F32), "complex to real");
            assert!(matches!(error, None | Some(Error::DtypeUnsupported { .. })), "{error:?}");
            if let Some(found) = done::<L>(L::astype(&source, DType::Bool), "complex to bool") {
                expect(&found, &[2], &[0.0, 1.0], "complex to bool");
            }
        }
    }
}
