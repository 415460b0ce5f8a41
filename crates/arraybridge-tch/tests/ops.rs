//! Operations: against values written down, and against core's casts for every pair of dtypes.

#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge_core::ops::cast::{self, Castable};
use arraybridge_core::ops::{HostExchange, Math, Ops};
use arraybridge_core::{AxisSlice, DType, DTypeKind, Error, HOST, HostArray, Library};
use arraybridge_tch::Tch;
use arraybridge_tch::tch::Tensor;
use arraybridge_testkit::{bits, numbers};

fn array<T: Castable>(values: &[T], shape: &[usize]) -> Tensor {
    Tch::from_host(&HostArray::from_slice(values, shape).unwrap(), HOST).unwrap()
}

fn values<T: Castable>(tensor: &Tensor) -> Vec<T> {
    Tch::to_host(tensor).unwrap().as_slice::<T>().unwrap().to_vec()
}

#[test]
fn reductions() {
    let x = array(&[1.0f32, -2.0, 3.0, 4.0, 5.0, -6.0], &[2, 3]);
    assert_eq!(values::<f32>(&Tch::max(&x, 0).unwrap()), [4.0, 5.0, 3.0]);
    assert_eq!(values::<f32>(&Tch::min(&x, -1).unwrap()), [-2.0, -6.0]);
    assert_eq!(values::<f32>(&Tch::sum(&x, [0, 1]).unwrap()), [5.0]);
    assert_eq!(values::<f32>(&Tch::mean(&x, 1).unwrap()), [2.0 / 3.0, 1.0]);
    let small = array(&[200u8, 100, 50, 7], &[2, 2]);
    assert_eq!(values::<i64>(&Tch::sum(&small, 0).unwrap()), [250, 107]);
    assert_eq!(values::<f32>(&Tch::mean(&small, 0).unwrap()), [125.0, 53.5]);
    assert!(matches!(Tch::max(&array::<f32>(&[], &[0, 2]), 0), Err(Error::InvalidArgument { .. })));
}

#[test]
fn unsigned_integers_of_16_to_64_bits() {
    let x = array(&[u64::MAX, 3, 1 << 63, 7], &[2, 2]);
    assert_eq!(values::<u64>(&Tch::max(&x, 0).unwrap()), [u64::MAX, 7]);
    assert_eq!(values::<u64>(&Tch::min(&x, 1).unwrap()), [3, 7]);
    assert_eq!(values::<u64>(&Tch::sum(&x, 1).unwrap()), [2, (1 << 63) + 7]);
    assert_eq!(values::<f32>(&Tch::mean(&x, 0).unwrap()), [13835058055282163712.0, 5.0]);
    let x = array(&[60000u16, 3, 5, 7], &[2, 2]);
    assert_eq!(values::<u16>(&Tch::max(&x, 0).unwrap()), [60000, 7]);
    assert_eq!(values::<i64>(&Tch::sum(&x, 0).unwrap()), [60005, 10]);
    let stacked = Tch::stack(&[&x, &x]).unwrap();
    assert_eq!(values::<u16>(&Tch::plane(&stacked, 1).unwrap()), [60000, 3, 5, 7]);
    let x = array(&[4_000_000_000u32, 3], &[2]);
    assert_eq!(
        values::<u32>(&Tch::outer(&x, &x).unwrap())[..2],
        [4_000_000_000u32.wrapping_mul(4_000_000_000), 4_000_000_000u32.wrapping_mul(3)]
    );
    assert_eq!(
        values::<bool>(&Tch::logical_and(&x, &array(&[0u32, 1], &[2])).unwrap()),
        [false, true]
    );
    let data = Tch::assign(
        array(&[1u16, 2, 3, 4], &[4]),
        AxisSlice::full().with_step(-2),
        &array(&[9u16, 8], &[2]),
    );
    assert_eq!(values::<u16>(&data.unwrap()), [1, 8, 3, 9]);
}

#[test]
fn half_precision_is_accumulated_in_single() {
    use arraybridge_core::half::f16;
    // The sum is beyond f16, the mean is not.
    let x = array(&vec![f16::from_f32(100.0); 10_000], &[10_000]);
    assert_eq!(values::<f16>(&Tch::mean(&x, 0).unwrap()), [f16::from_f32(100.0)]);
    let x = array(&vec![f16::from_f32(1.0); 4096], &[4096]);
    assert_eq!(values::<f16>(&Tch::sum(&x, 0).unwrap()), [f16::from_f32(4096.0)]);
}

#[test]
fn means_of_wide_integers_are_not_those_of_rounded_ones() {
    let x = array(&[(1i64 << 24) + 1, -(1 << 24)], &[2]);
    assert_eq!(values::<f32>(&Tch::mean(&x, 0).unwrap()), [0.5]);
}

#[test]
fn no_axes_reduce_nothing() {
    let x = array(&[1u8, 2, 3, 4], &[2, 2]);
    let none: &[isize] = &[];
    assert_eq!(values::<u8>(&Tch::max(&x, none).unwrap()), [1, 2, 3, 4]);
    assert_eq!(values::<i64>(&Tch::sum(&x, none).unwrap()), [1, 2, 3, 4]);
    assert_eq!(values::<f32>(&Tch::mean(&x, none).unwrap()), [1.0, 2.0, 3.0, 4.0]);
}

/// Values at and beside the ends of ranges, ties of roundings, and what is none.
fn awkward() -> Vec<f64> {
    let mut values = vec![0.0, -0.0, 0.5, 1.0, 1.5, -1.5, 2.5, 127.5, 255.5, f64::NAN];
    values.extend([f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324, 1e-40, 6e-8, 448.0, 480.0]);
    for power in [3, 4, 7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64] {
        let end = 2f64.powi(power);
        for scale in [1.0, 1.0 + 2f64.powi(-8), 1.0 + 2f64.powi(-11), 1.0 + 2f64.powi(-30)] {
            values.extend([end * scale, -end * scale, end * scale - 1.0, end * scale + 0.5]);
        }
    }
    // Between a tie of the narrow format and what f32 can tell from it.
    values.extend([1.0 + 2f64.powi(-8) + 2f64.powi(-40), 1.0 + 2f64.powi(-11) - 2f64.powi(-40)]);
    values
}

#[test]
fn every_cast_is_cores() {
    let doubles = HostArray::from_slice(&awkward(), &[awkward().len()]).unwrap();
    let (mut tried, mut different) = (0, Vec::new());
    for from in DType::all() {
        let Ok(source) = cast::cast(&doubles, from) else { continue };
        let Ok(tensor) = Tch::from_host(&source, HOST) else { continue };
        for to in DType::all() {
            let expected = cast::cast(&source, to);
            let found = match Tch::astype(&tensor, to) {
                Ok(found) => Tch::to_host(&found).unwrap(),
                Err(Error::DtypeUnsupported { .. }) => {
                    let torch = Tch::from_host(&HostArray::zeros(to, &[1]).unwrap(), HOST).is_ok();
                    assert!(!torch || expected.is_err(), "{from} to {to} is refused");
                    continue;
                }
                Err(error) => panic!("{from} to {to}: {error}"),
            };
            let expected = expected.unwrap();
            assert_eq!(found.dtype(), to);
            different.extend(differences(
                &expected,
                &found,
                &format!("{from} to {to}"),
                &awkward(),
            ));
            tried += 1;
        }
        assert_eq!(bits(&Tch::to_host(&tensor).unwrap()), bits(&source), "the source of {from}");
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(tried > 300, "{tried}");
}

/// Describes the elements that differ: in any bit where they are integers, else in value.
fn differences(
    expected: &HostArray,
    found: &HostArray,
    what: &str,
    sources: &[f64],
) -> Vec<String> {
    let wide = match expected.dtype().kind() {
        DTypeKind::Complex => DType::Complex128,
        _ => DType::F64,
    };
    let exact = expected.dtype().is_integer();
    let size = expected.dtype().size();
    let (expected_bits, found_bits) = (bits(expected), bits(found));
    let expected = numbers(&cast::cast(expected, wide).unwrap());
    let found = numbers(&cast::cast(found, wide).unwrap());
    let same = |place: usize| {
        let range = place * size..(place + 1) * size;
        let (one, other) = (expected[place], found[place]);
        match exact {
            true => expected_bits[range.clone()] == found_bits[range],
            false => one == other || (one.is_nan() && other.is_nan()),
        }
    };
    let places = (0..expected.len()).filter(|&place| !same(place));
    places
        .map(|place| {
            format!("{what} of {}: {} and not {}", sources[place], found[place], expected[place])
        })
        .collect()
}

#[test]
fn rescaling_reaches_both_ends_also_of_the_widest_range() {
    let x = array(&[-f64::MAX, 0.0, f64::MAX, f64::NAN], &[4]);
    assert_eq!(values::<u8>(&Tch::scale_dtype(&x, DType::U8).unwrap()), [0, 127, 255, 0]);
    let x = array(&[f32::NAN, f32::INFINITY], &[2]);
    assert_eq!(values::<u8>(&Tch::scale_dtype(&x, DType::U8).unwrap()), [0, 255], "a plain cast");
}

#[test]
fn rescaling_and_normalizing_agree_with_core() {
    let x: Vec<f32> = (0..1000).map(|k| ((k * 7919) % 1000) as f32 * 0.37 - 11.0).collect();
    let host = HostArray::from_slice(&x, &[10, 100]).unwrap();
    let tensor = Tch::from_host(&host, HOST).unwrap();
    for dtype in [DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I64, DType::U64]
    {
        let expected = arraybridge_core::ops::scale::scale(&host, dtype).unwrap();
        let found = Tch::to_host(&Tch::scale_dtype(&tensor, dtype).unwrap()).unwrap();
        assert_eq!(bits(&found), bits(&expected), "{dtype}");
    }
}

#[test]
fn a_plane_is_no_view_and_a_reshape_is() {
    let stack = array(&[1f32, 2.0, 3.0, 4.0], &[2, 2]);
    let mut plane = Tch::plane(&stack, 0).unwrap();
    let _ = plane.fill_(9.0);
    assert_eq!(values::<f32>(&stack), [1.0, 2.0, 3.0, 4.0]);
    let flat = Tch::reshape(&stack, &[4]).unwrap();
    assert_eq!(flat.data_ptr(), stack.data_ptr());
}

#[test]
fn ones_of_every_dtype() {
    for dtype in DType::all() {
        match Tch::ones(&[2], dtype) {
            Ok(ones) => {
                let ones = Tch::to_host(&ones).unwrap();
                assert_eq!(ones.dtype(), dtype);
                let ones = if dtype.kind() == DTypeKind::Complex {
                    ones
                } else {
                    cast::cast(&ones, DType::F64).unwrap()
                };
                assert_eq!(numbers(&ones), [1.0, 1.0], "{dtype}");
            }
            Err(error) => assert!(matches!(error, Error::DtypeUnsupported { .. }), "{error}"),
        }
    }
    let large = Tch::ones(&[1 << 40, 1 << 18], DType::F32).unwrap_err();
    assert!(Library::of::<Tch>().is_out_of_memory(&large), "{large}");
}

#[test]
fn gradients_flow_through_operations() {
    let x = array(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).set_requires_grad(true);
    let mean = Tch::mean(&x, [0, 1]).unwrap();
    mean.backward();
    assert_eq!(values::<f32>(&x.grad()), [0.25; 4]);
}

#[test]
fn a_line_between_the_largest_doubles_stays_finite() {
    let line = Tch::linspace(-1e308, 1e308, 3, true, Some(DType::F64)).unwrap();
    assert_eq!(values::<f64>(&line), [-1e308, 0.0, 1e308]);
}
