//! Operations against values written down.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Math, Ops};
use arraybridge_core::{AxisSlice, DType, Element, HOST, HostArray};
use arraybridge_xla::{Xla, XlaArray};

fn array<T: Element>(values: &[T], shape: &[usize]) -> XlaArray {
    Xla::from_host(&HostArray::from_slice(values, shape).unwrap(), HOST).unwrap()
}

fn values<T: Element>(array: &XlaArray) -> Vec<T> {
    Xla::to_host(array).unwrap().as_slice::<T>().unwrap().to_vec()
}

#[test]
fn reductions() {
    if !common::plugin() {
        return;
    }
    let x = array(&[1.0f32, -2.0, 3.0, 4.0, 5.0, -6.0], &[2, 3]);
    assert_eq!(values::<f32>(&Xla::max(&x, 0).unwrap()), [4.0, 5.0, 3.0]);
    assert_eq!(values::<f32>(&Xla::min(&x, -1).unwrap()), [-2.0, -6.0]);
    assert_eq!(values::<f32>(&Xla::sum(&x, [0, 1]).unwrap()), [5.0]);
    assert_eq!(values::<f32>(&Xla::mean(&x, 1).unwrap()), [2.0 / 3.0, 1.0]);
    let n = array(&[1.0f32, f32::NAN, 3.0, 4.0], &[2, 2]);
    assert!(values::<f32>(&Xla::max(&n, 1).unwrap())[0].is_nan());
    let small = array(&[200u8, 100, 50, 7], &[2, 2]);
    assert_eq!(values::<u64>(&Xla::sum(&small, 0).unwrap()), [250, 107]);
    assert_eq!(values::<f32>(&Xla::mean(&small, 0).unwrap()), [125.0, 53.5]);
    let truth = array(&[true, false, true, true], &[2, 2]);
    assert_eq!(values::<u64>(&Xla::sum(&truth, 0).unwrap()), [2, 1]);
    assert_eq!(values::<bool>(&Xla::min(&truth, 1).unwrap()), [false, true]);
    let none = array::<f32>(&[], &[0, 2]);
    assert_eq!(values::<f32>(&Xla::sum(&none, 0).unwrap()), [0.0, 0.0]);
    assert!(values::<f32>(&Xla::mean(&none, 0).unwrap())[0].is_nan());
    assert!(Xla::max(&none, 0).is_err());
    let many = array(&vec![0.1f32; 3_000_000], &[3_000_000]);
    let sum = values::<f32>(&Xla::sum(&many, 0).unwrap())[0];
    assert!((sum - 300_000.0).abs() < 0.1, "{sum}");
}

#[test]
fn casts() {
    if !common::plugin() {
        return;
    }
    let x = array(&[1.9f32, -1.9, 300.0, -300.0, f32::NAN, f32::INFINITY], &[6]);
    assert_eq!(values::<u8>(&Xla::astype(&x, DType::U8).unwrap()), [1, 0, 255, 0, 0, 255]);
    assert_eq!(values::<i8>(&Xla::astype(&x, DType::I8).unwrap()), [1, -1, 127, -128, 0, 127]);
    let cast = values::<i64>(&Xla::astype(&x, DType::I64).unwrap());
    assert_eq!(cast, [1, -1, 300, -300, 0, i64::MAX]);
    let truth = values::<bool>(&Xla::astype(&x, DType::Bool).unwrap());
    assert_eq!(truth, [true; 6]);
    let wide = array(&[300i32, -1, 65_536], &[3]);
    assert_eq!(values::<u8>(&Xla::astype(&wide, DType::U8).unwrap()), [44, 255, 0]);
    assert_eq!(values::<f64>(&Xla::astype(&wide, DType::F64).unwrap()), [300.0, -1.0, 65_536.0]);
    let complex = Xla::astype(&wide, DType::Complex64).unwrap();
    assert!(Xla::astype(&complex, DType::F32).is_err());
}

#[test]
fn shapes_stacks_and_assignment() {
    if !common::plugin() {
        return;
    }
    let x = array(&[1i32, 2, 3, 4, 5, 6], &[3, 2]);
    assert_eq!(Xla::reshape(&x, &[2, 3]).unwrap().shape(), [2, 3]);
    assert_eq!(Xla::prepend_axis(&x).unwrap().shape(), [1, 3, 2]);
    let wide = Xla::broadcast_to(&array(&[7i32, 8], &[2]), &[2, 2]).unwrap();
    assert_eq!(values::<i32>(&wide), [7, 8, 7, 8]);
    assert_eq!(values::<i32>(&Xla::plane(&x, 2).unwrap()), [5, 6]);
    let stacked = Xla::stack(&[&x, &x]).unwrap();
    assert_eq!((stacked.shape(), values::<i32>(&stacked)[6]), (&[2, 3, 2][..], 1));
    let given = array(&[10i32, 20], &[2]);
    let step = AxisSlice::new(None, None, 2);
    let changed = Xla::assign(x.clone(), step, &given).unwrap();
    assert_eq!(values::<i32>(&changed), [10, 20, 3, 4, 10, 20]);
    let rows = array(&[1i32, 1, 2, 2], &[2, 2]);
    let back = Xla::assign(x.clone(), AxisSlice::new(None, Some(0), -1), &rows).unwrap();
    assert_eq!(values::<i32>(&back), [1, 2, 2, 2, 1, 1]);
    assert_eq!(values::<i32>(&x), [1, 2, 3, 4, 5, 6]);
    let ones = Xla::ones_like(&x, None, DType::Bool).unwrap();
    assert_eq!(values::<bool>(&ones), [true; 6]);
    let both = Xla::logical_and(&x, &array(&[0i32, 1], &[2])).unwrap();
    assert_eq!(values::<bool>(&both), [false, true, false, true, false, true]);
}

#[test]
fn scaling_and_normalising() {
    if !common::plugin() {
        return;
    }
    let x = array(&[0.0f32, 0.5, 1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY], &[6]);
    let u8s = values::<u8>(&Xla::scale_dtype(&x, DType::U8).unwrap());
    assert_eq!(u8s, [0, 127, 255, 0, 255, 0]);
    let i16s = values::<i16>(&Xla::scale_dtype(&x, DType::I16).unwrap());
    assert_eq!(i16s, [i16::MIN, 0, i16::MAX, 0, i16::MAX, i16::MIN]);
    let u32s = values::<u32>(&Xla::scale_dtype(&x, DType::U32).unwrap());
    assert_eq!(u32s[2], u32::MAX);
    let flat = array(&[2.0f32, 2.0], &[2]);
    assert_eq!(values::<u8>(&Xla::scale_dtype(&flat, DType::U8).unwrap()), [2, 2]);
    let planes = array(&[2u16, 4, 6, 8], &[2, 2]);
    let scaled = Xla::normalize_planes(&planes, DType::F32, &[Some(2.0), None]).unwrap();
    assert_eq!(values::<f32>(&scaled), [1.0, 2.0, 6.0, 8.0]);
    let whole = Xla::normalize_planes(&planes, DType::U8, &[Some(4.0), None]).unwrap();
    assert_eq!((whole.dtype(), values::<f32>(&whole)[0]), (DType::F32, 0.5));
}

#[test]
fn arrays_made_of_nothing() {
    if !common::plugin() {
        return;
    }
    let line = Xla::linspace(0.0, 1.0, 5, true, None).unwrap();
    assert_eq!(values::<f32>(&line), [0.0, 0.25, 0.5, 0.75, 1.0]);
    let open = Xla::linspace(0.0, 1.0, 4, false, Some(DType::F64)).unwrap();
    assert_eq!(values::<f64>(&open), [0.0, 0.25, 0.5, 0.75]);
    assert_eq!(values::<u8>(&Xla::ones(&[2], DType::U8).unwrap()), [1, 1]);
    let outer = Xla::outer(&array(&[1i32, 2], &[2]), &array(&[3i32, 4], &[2])).unwrap();
    assert_eq!(values::<i32>(&outer), [3, 4, 6, 8]);
    let floor = Xla::floor(-1.5).unwrap();
    assert_eq!((floor.shape().len(), values::<f32>(&floor)[0]), (0, -2.0));
}
