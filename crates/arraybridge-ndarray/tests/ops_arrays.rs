//! Shapes, parts, stacks, planes and arrays made of nothing.

#![allow(clippy::unwrap_used)] // Helpers of tests, too.

mod support;

use arraybridge_core::ops::cast::{self, Castable};
use arraybridge_core::ops::{Math, Ops};
use arraybridge_core::{Access, AxisSlice, DType, Error, HostArray, with_element};
use arraybridge_ndarray::{NdArray, Ndarray};
use half::f16;
use num_complex::Complex;
use support::*;

fn claim(array: &mut NdArray) -> Access {
    array.host_mut().claim()
}

#[test]
fn reshape_shares_memory_where_strides_can_express_it() {
    for case in cases::<u32>(|at| at as u32) {
        let flat = Ndarray::reshape(&case.array, &[60]).unwrap();
        assert_eq!(elements::<u32>(&flat), case.values, "{}", case.name);
        let wide = Ndarray::reshape(&case.array, &[2, 30]).unwrap();
        assert_eq!(elements::<u32>(&wide), case.values, "{}", case.name);
        let shares = flat.host().address() == case.array.host().address();
        let expressible = ["row-major", "backwards", "under-aligned", "every second"];
        assert_eq!(shares, expressible.contains(&case.name), "{}", case.name);
    }
    let error = Ndarray::reshape(&array(&[1u8, 2], &[2]), &[3]).unwrap_err();
    assert_eq!(error.to_string(), "reshape: expected shape [3], found [2]");
}

#[test]
fn a_view_that_is_written_leaves_the_array_as_it_was() {
    let original = array(&[1u8, 2, 3, 4], &[2, 2]);
    let view = Ndarray::reshape(&original, &[4]).unwrap();
    let written = Ndarray::assign(view, 0..1, &array(&[9u8], &[1])).unwrap();
    assert_eq!(elements::<u8>(&written), [9, 2, 3, 4]);
    assert_eq!(elements::<u8>(&original), [1, 2, 3, 4]);
}

#[test]
fn broadcast_repeats_without_memory_and_is_never_exclusive() {
    let row = array(&[1u16, 2, 3], &[3]);
    let mut image = Ndarray::broadcast_to(&row, &[2, 3]).unwrap();
    assert_eq!(image.host().address(), row.host().address());
    assert_eq!(image.host().layout().strides()[0], 0);
    drop(row);
    assert_eq!(claim(&mut image), Access::Immutable);
    let written = Ndarray::assign(image, 1.., &array(&[7u16], &[1])).unwrap();
    assert_eq!(elements::<u16>(&written), [1, 2, 3, 7, 7, 7]);
    let error = Ndarray::broadcast_to(&array(&[1u8, 2], &[2]), &[3]).unwrap_err();
    assert_eq!(error.to_string(), "broadcast: expected shape [3], found [2]");
    let scalar = Ndarray::prepend_axis(&array(&[5i8], &[])).unwrap();
    assert_eq!(scalar.host().shape(), [1]);
}

#[test]
fn ones_are_ones_of_every_dtype() {
    let reference = array(&[0u8; 6], &[2, 3]);
    for dtype in DType::all() {
        let ones = Ndarray::ones_like(&reference, None, dtype).unwrap();
        assert_fresh(&ones, &[2, 3]);
        assert_eq!(ones.host().dtype(), dtype);
        let made = Ndarray::ones(&[4], dtype).unwrap();
        with_element!(dtype, T => {
            let complex = cast::element::<T, Complex<f64>>(elements::<T>(&ones)[5]).unwrap();
            assert_eq!(complex, Complex::new(1.0, 0.0), "{dtype}");
            assert_eq!(elements::<T>(&made), [elements::<T>(&ones)[0]; 4], "{dtype}");
        });
    }
    let other = Ndarray::ones_like(&reference, Some(&[]), DType::Bool).unwrap();
    assert_eq!(elements::<bool>(&other), [true]);
    let error = Ndarray::ones(&[usize::MAX, 2], DType::F64).unwrap_err();
    assert!(matches!(error, Error::SizeOverflow { .. }), "{error}");
}

#[test]
fn assign_writes_a_sole_owner_in_place_and_copies_for_others() {
    let data = array(&[0i32; 6], &[3, 2]);
    let address = data.host().address();
    let row = array(&[1i32, 2], &[2]);
    let data = Ndarray::assign(data, -1.., &row).unwrap();
    assert_eq!(data.host().address(), address);
    assert_eq!(elements::<i32>(&data), [0, 0, 0, 0, 1, 2]);
    let held = data.clone();
    let copy = Ndarray::assign(data, AxisSlice::full().with_step(-2), &row).unwrap();
    assert_ne!(copy.host().address(), address);
    assert_eq!(elements::<i32>(&copy), [1, 2, 0, 0, 1, 2]);
    assert_eq!(elements::<i32>(&held), [0, 0, 0, 0, 1, 2]);
}

#[test]
fn assign_takes_values_of_the_array_itself() {
    let data = array(&[1u8, 2, 3, 4], &[4]);
    let reversed =
        NdArray::from_host(data.host().slice(&[AxisSlice::full().with_step(-1)]).unwrap());
    let result = Ndarray::assign(data, .., &reversed).unwrap();
    assert_eq!(elements::<u8>(&result), [4, 3, 2, 1]);
}

#[test]
fn assign_reaches_every_layout() {
    for case in cases::<f64>(|at| at as f64) {
        let values = array(&[-1.0f64, -2.0, -3.0, -4.0, -5.0], &[5]);
        let result = Ndarray::assign(case.array, 1..3, &values).unwrap();
        let mut wanted = case.values;
        for (place, value) in wanted[15..45].iter_mut().enumerate() {
            *value = -1.0 - (place % 5) as f64;
        }
        assert_eq!(elements::<f64>(&result), wanted, "{}", case.name);
    }
}

#[test]
fn a_refused_assignment_gives_the_array_back_unchanged() {
    let data = array(&[1u8, 2, 3], &[3]);
    let address = data.host().address();
    let error = Ndarray::assign(data, .., &array(&[1u16], &[1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected dtype uint8, found uint16; cast with `astype` where a cast is meant"
    );
    let data = error.into_array().unwrap();
    let error = Ndarray::assign(data, 0..2, &array(&[9u8; 3], &[3])).unwrap_err();
    assert_eq!(error.to_string(), "assign: expected shape [2], found [3]");
    let mut data = error.into_array().unwrap();
    assert_eq!((data.host().address(), claim(&mut data)), (address, Access::Exclusive));
    assert_eq!(elements::<u8>(&data), [1, 2, 3]);
}

#[test]
fn logical_and_takes_any_dtypes_and_broadcasts() {
    let column = array(&[0.0f32, f32::NAN], &[2, 1]);
    let row = array(&[0i64, -5, 3], &[3]);
    let both = Ndarray::logical_and(&column, &row).unwrap();
    assert_fresh(&both, &[2, 3]);
    assert_eq!(elements::<bool>(&both), [false, false, false, false, true, true]);
    for case in cases::<u8>(|at| (at % 3) as u8) {
        let truth = Ndarray::astype(&case.array, DType::Bool).unwrap();
        let result = Ndarray::logical_and(&truth, &truth).unwrap();
        let wanted: Vec<bool> = case.values.iter().map(|&value| value != 0).collect();
        assert_eq!(elements::<bool>(&result), wanted, "{}", case.name);
        assert_eq!(elements::<bool>(&truth), wanted, "{}", case.name);
    }
    let error = Ndarray::logical_and(&row, &array(&[true, false], &[2])).unwrap_err();
    assert_eq!(error.to_string(), "logical_and: expected shape [3], found [2]");
}

#[test]
fn stacks_hold_every_layout_in_order() {
    let cases = cases::<i64>(|at| at as i64);
    let arrays: Vec<&NdArray> = cases.iter().map(|case| &case.array).collect();
    let mut stack = Ndarray::stack(&arrays).unwrap();
    assert_fresh(&stack, &[cases.len(), 4, 3, 5]);
    assert_eq!(claim(&mut stack), Access::Exclusive);
    let wanted: Vec<i64> = cases.iter().flat_map(|case| case.values.clone()).collect();
    assert_eq!(elements::<i64>(&stack), wanted);
    for (place, case) in cases.iter().enumerate() {
        let plane = Ndarray::plane(&stack, place).unwrap();
        assert_eq!(elements::<i64>(&plane), case.values);
        // A plane is a view, so the stack is not copied to be cut.
        let offset = plane.host().address() - stack.host().address();
        assert_eq!(offset, place * 60 * 8);
    }
    let bools = array(&[true], &[1]);
    assert_eq!(elements::<bool>(&Ndarray::stack(&[&bools, &bools]).unwrap()), [true, true]);
    let empty = array::<f32>(&[], &[0]);
    assert_fresh(&Ndarray::stack(&[&empty, &empty]).unwrap(), &[2, 0]);
}

#[test]
fn stacks_of_what_does_not_match_say_what_was_seen() {
    let (a, b) = (array(&[1u8, 2], &[2]), array(&[1u8], &[1]));
    let error = Ndarray::stack(&[&a, &b]).unwrap_err();
    assert_eq!(error.to_string(), "stack: expected shape [2], found [1]");
    let error = Ndarray::stack(&[]).unwrap_err();
    assert_eq!(error.to_string(), "stack: no arrays were given");
    let error = Ndarray::plane(&a, 2).unwrap_err();
    assert_eq!(error.to_string(), "index: index 2 on axis 0, which has 2 elements");
}

#[test]
fn planes_are_cast_and_divided_each_by_its_scale() {
    let scales = [Some(2.0), None, Some(0.0), Some(-4.0)];
    for case in cases::<u16>(|at| at as u16) {
        let result = Ndarray::normalize_planes(&case.array, DType::F32, &scales).unwrap();
        assert_fresh(&result, &SHAPE);
        let wanted: Vec<f32> = case
            .values
            .iter()
            .enumerate()
            .map(|(at, &value)| match scales[at / 15] {
                Some(scale) => f32::from(value) / scale as f32,
                None => f32::from(value),
            })
            .collect();
        let pairs = elements::<f32>(&result).into_iter().zip(&wanted);
        assert!(pairs.into_iter().all(|(a, &b)| same(f64::from(a), f64::from(b))), "{}", case.name);
        // Cast to u8 first, which wraps, then divided as doubles.
        let result = Ndarray::normalize_planes(&case.array, DType::U8, &[Some(8.0); 4]).unwrap();
        let wanted: Vec<f64> =
            case.values.iter().map(|&value| f64::from(value as u8) / 8.0).collect();
        assert_eq!(elements::<f64>(&result), wanted, "{}", case.name);
    }
}

#[test]
fn planes_of_every_dtype_are_divided_and_never_shared() {
    for dtype in DType::all() {
        let source = Ndarray::ones(&[2, 3], dtype).unwrap();
        let result = Ndarray::normalize_planes(&source, dtype, &[None, Some(0.5)]).unwrap();
        assert_ne!(result.host().address(), source.host().address());
        let float = dtype.is_float() || is_complex(dtype);
        assert_eq!(result.host().dtype(), if float { dtype } else { DType::F64 });
        with_element!(result.host().dtype(), T => {
            let found = elements::<T>(&result)
                .into_iter()
                .map(|value| cast::element::<T, Complex<f64>>(value).unwrap().re)
                .collect::<Vec<_>>();
            assert_eq!(found, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0], "{dtype}");
        });
    }
    // A single rounding of the quotient, and longer planes than a chunk.
    let long = array(&vec![f16::from_f32(10.0); 3000], &[1, 3000]);
    let result = Ndarray::normalize_planes(&long, DType::F16, &[Some(3.0)]).unwrap();
    assert_eq!(elements::<f16>(&result), vec![f16::from_f32(10.0 / 3.0); 3000]);
    let empty = array::<u8>(&[], &[2, 0]);
    let result = Ndarray::normalize_planes(&empty, DType::F32, &[None, None]).unwrap();
    assert_fresh(&result, &[2, 0]);
    let error = Ndarray::normalize_planes(&long, DType::F32, &[]).unwrap_err();
    assert_eq!(error.to_string(), "normalize_planes: 0 scales for 1 planes");
}

#[test]
fn linspace_is_even_and_ends_where_it_should() {
    let line = Ndarray::linspace(0.0, 1.0, 5, true, None).unwrap();
    assert_eq!(elements::<f64>(&line), [0.0, 0.25, 0.5, 0.75, 1.0]);
    let open = Ndarray::linspace(0.0, 1.0, 4, false, Some(DType::F32)).unwrap();
    assert_eq!(elements::<f32>(&open), [0.0, 0.25, 0.5, 0.75]);
    let thirds = elements::<f64>(&Ndarray::linspace(-1.0, 0.1, 12, true, None).unwrap());
    assert_eq!((thirds[0], thirds[11]), (-1.0, 0.1));
    let wide = Ndarray::linspace(f64::MIN, f64::MAX, 3, true, None).unwrap();
    assert_eq!(elements::<f64>(&wide), [f64::MIN, 0.0, f64::MAX]);
    assert_eq!(elements::<f64>(&Ndarray::linspace(2.0, 9.0, 1, true, None).unwrap()), [2.0]);
    assert_fresh(&Ndarray::linspace(2.0, 9.0, 0, true, None).unwrap(), &[0]);
    let error = Ndarray::linspace(0.0, 1.0, 2, true, Some(DType::I32)).unwrap_err();
    assert_eq!(error.to_string(), "ndarray does not support dtype int32 for linspace");
}

#[test]
fn outer_multiplies_all_pairs_of_every_dtype() {
    for dtype in DType::all() {
        with_element!(dtype, T => {
            let number = |value: u8| cast::element::<u8, T>(value).unwrap();
            let left = array(&[number(1), number(2)], &[2]);
            let right = array(&[number(4), number(2), number(1)], &[3]);
            let table = Ndarray::outer(&left, &right).unwrap();
            assert_fresh(&table, &[2, 3]);
            let wanted: Vec<T> = [4, 2, 1, 8, 4, 2].map(number).to_vec();
            assert_eq!(elements::<T>(&table), wanted, "{dtype}");
        });
    }
    let wrapped = Ndarray::outer(&array(&[100u8], &[1]), &array(&[3u8], &[1])).unwrap();
    assert_eq!(elements::<u8>(&wrapped), [44]);
    let turned = array(&[Complex::new(0.0f32, 1.0)], &[1]);
    let product = Ndarray::outer(&turned, &turned).unwrap();
    assert_eq!(elements::<Complex<f32>>(&product), [Complex::new(-1.0, 0.0)]);
    let backwards = array(&[1i16, 2, 3], &[3]).into_host();
    let backwards = backwards.slice(&[AxisSlice::full().with_step(-1)]).unwrap();
    let one = array(&[1i16], &[1]);
    let table = Ndarray::outer(&one, &NdArray::from_host(backwards)).unwrap();
    assert_eq!(elements::<i16>(&table), [3, 2, 1]);
    let empty = array::<i16>(&[], &[0]);
    assert_fresh(&Ndarray::outer(&one, &empty).unwrap(), &[1, 0]);
}

#[test]
fn floor_is_a_0d_double() {
    let floor = Ndarray::floor(-1.5).unwrap();
    assert_eq!((floor.host().shape(), elements::<f64>(&floor)), (&[][..], vec![-2.0]));
}

#[test]
fn rows_are_refused_where_they_have_gaps() {
    fn rows<T: Castable>(array: &HostArray) -> String {
        array.rows::<T>().unwrap_err().to_string()
    }
    let image = array(&[1u16, 2, 3, 4], &[2, 2]).into_host();
    assert_eq!(
        rows::<u8>(&image),
        "expected dtype uint8, found uint16; cast with `astype` where a cast is meant"
    );
    assert!(rows::<u16>(&image.transpose()).contains("`to_contiguous` copies it"));
    let rows_of = image.rows::<u16>().unwrap();
    assert_eq!((rows_of.get(&[1]), rows_of.get(&[2])), (Some(&[3, 4][..]), None));
    assert_eq!(rows_of.get(&[0, 0]), None);
}
