//! The kernels against core's own casts and scales and against ndarray, on random elements and odd
//! shapes. They run here as they are compiled for the host from the source that the PTX is made of;
//! none has barriers, so none is left out. What the PTX itself does on a GPU is shown by
//! `cargo xtask gpu-check cuda` alone.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Math, Ops, cast, scale};
use arraybridge_core::{AxisSlice, DType, DTypeKind, HostArray, Layout, Owner};
use arraybridge_cuda::{Cuda, CudaArray};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_testkit::{bits, dtypes, numbers};
use common::GPU;

/// A small generator, so that every run has the same elements.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Returns an array of random bits, which for floats are every kind of number, NaN and infinity.
fn random(dtype: DType, shape: &[usize], seed: u64) -> HostArray {
    let count: usize = shape.iter().product();
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let bytes: Vec<u8> = (0..count * dtype.size()).map(|_| (random.next() >> 24) as u8).collect();
    let bytes = if dtype == DType::Bool { bytes.iter().map(|b| b & 1).collect() } else { bytes };
    HostArray::from_slice(&bytes, &[bytes.len()]).unwrap().reinterpret(dtype, shape).unwrap()
}

/// Returns numbers that no sum or product of a few takes to infinity.
fn moderate(dtype: DType, shape: &[usize], seed: u64) -> HostArray {
    let whole = random(DType::I16, shape, seed);
    let small = cast::cast(&whole, DType::F64).unwrap();
    let mut values = small.as_slice::<f64>().unwrap().to_vec();
    let unsigned = matches!(dtype.kind(), DTypeKind::Unsigned | DTypeKind::Bool);
    for value in &mut values {
        *value = if unsigned { (*value / 512.0).abs() } else { *value / 512.0 };
        if dtype.size() == 1 {
            *value = value.trunc();
        }
    }
    cast::cast(&HostArray::from_slice(&values, shape).unwrap(), dtype).unwrap()
}

fn there(host: &HostArray) -> CudaArray {
    Cuda::from_host(host, GPU).unwrap()
}

fn back(array: &CudaArray) -> HostArray {
    Cuda::to_host(array).unwrap()
}

/// Asserts that two arrays have the same elements, NaN being as good as another.
#[track_caller]
fn same(found: &HostArray, expected: &HostArray, what: &str) {
    assert_eq!((found.dtype(), found.shape()), (expected.dtype(), expected.shape()), "{what}");
    let size = found.dtype().size();
    let (found, expected) = (bits(found), bits(expected));
    if found == expected {
        return;
    }
    for (place, (one, other)) in found.chunks(size).zip(expected.chunks(size)).enumerate() {
        assert_eq!(one, other, "{what}: element {place}");
    }
}

/// Returns the elements with every NaN as the same one.
fn one_nan(array: &HostArray) -> HostArray {
    let (dtype, shape) = (array.dtype(), array.shape().to_vec());
    let part = match dtype {
        DType::Complex32 => DType::F16,
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        other => other,
    };
    if !part.is_float() {
        return array.to_contiguous().unwrap();
    }
    let raw = bits(array);
    let count = raw.len() / part.size();
    let parts = HostArray::from_slice(&raw, &[raw.len()]).unwrap();
    let parts = parts.reinterpret(part, &[count]).unwrap();
    let wide = cast::cast(&parts, DType::F64).unwrap();
    let size = part.size();
    let mut raw = raw;
    for (place, value) in wide.as_slice::<f64>().unwrap().iter().enumerate() {
        if value.is_nan() {
            raw[place * size..(place + 1) * size].fill(0xff);
        }
    }
    let bytes = HostArray::from_slice(&raw, &[raw.len()]).unwrap();
    bytes.reinterpret(dtype, &shape).unwrap()
}

#[test]
fn every_cast_is_cores() {
    for (seed, from) in dtypes().enumerate() {
        let mut host = random(from, &[3, 7, 41], seed as u64 + 1);
        if from.is_float() || from == DType::F32 {
            // Numbers near the ends of integers too, which random bits hardly meet.
            let near = [0.0, -0.0, 0.5, -0.9, 127.5, 128.0, 255.5, 256.0, -128.5, 32767.5, 65535.9];
            let near = HostArray::from_slice(&near, &[11]).unwrap();
            let near = cast::cast(&near, from).unwrap();
            let (near, mut all) = (bits(&near), bits(&host));
            all[..near.len()].copy_from_slice(&near);
            let all = HostArray::from_slice(&all, &[all.len()]).unwrap();
            host = all.reinterpret(from, &[3, 7, 41]).unwrap();
        }
        // Permuted, so that the source is strided.
        let array = there(&host);
        let turned = host.clone().permute(&[2, 0, 1]).unwrap();
        let view = Cuda::plane(&Cuda::reshape(&array, &[1, 3, 7, 41]).unwrap(), 0).unwrap();
        for to in dtypes().filter(|to| cast::check(from, *to).is_ok()) {
            let what = format!("{from} to {to}");
            let expected = cast::cast(&host, to).unwrap();
            let found = back(&Cuda::astype(&view, to).unwrap());
            same(&one_nan(&found), &one_nan(&expected), &what);
            let expected = cast::cast(&turned.gather().unwrap(), to).unwrap();
            let found = back(&Cuda::astype(&there(&turned), to).unwrap());
            same(&one_nan(&found), &one_nan(&expected), &format!("{what}, permuted"));
        }
    }
    assert_eq!(common::take_violation(), "");
}

#[test]
fn every_wide_integer_rounds_once() {
    let mut random = Random(77);
    let mut values = vec![i64::MIN, i64::MAX, -1, 0, 1, (1 << 24) + 1, (1 << 53) + 1, 2049, 65519];
    values.extend((0..3000).map(|k| (random.next() as i64) >> (k % 64)));
    let signed = HostArray::from_slice(&values, &[values.len()]).unwrap();
    let unsigned: Vec<u64> = values.iter().map(|value| *value as u64).collect();
    let unsigned = HostArray::from_slice(&unsigned, &[unsigned.len()]).unwrap();
    let doubles: Vec<f64> = (0..3000)
        .map(|_| f64::from_bits(random.next()))
        .chain([65519.999, 65520.0, 5.96e-8, 2.98e-8, 2.99e-8, 1e-45, 7e-46, 3.4e38, 3.41e38])
        .collect();
    let doubles = HostArray::from_slice(&doubles, &[doubles.len()]).unwrap();
    for host in [&signed, &unsigned, &doubles] {
        for to in dtypes() {
            let found = back(&Cuda::astype(&there(host), to).unwrap());
            let expected = cast::cast(host, to).unwrap();
            same(&one_nan(&found), &one_nan(&expected), &format!("{} to {to}", host.dtype()));
        }
    }
}

#[test]
fn reductions_are_ndarrays() {
    let shapes: [&[usize]; 5] = [&[1], &[257], &[3, 5, 7], &[2, 1, 3, 2, 5, 2], &[1000, 17]];
    for dtype in dtypes().filter(|dtype| !dtype.is_float8()) {
        for (seed, shape) in shapes.iter().enumerate() {
            let host = moderate(dtype, shape, seed as u64 + 3);
            let order: Vec<usize> = (0..shape.len()).rev().collect();
            for host in [host.clone(), host.permute(&order).unwrap()] {
                let (here, array) = (NdArray::from_host(host.clone()), there(&host));
                for axes in axes_of(host.shape().len()) {
                    reduce_like_ndarray(&here, &array, &axes);
                }
            }
        }
    }
    assert_eq!(common::take_violation(), "");
}

/// Returns some choices of axes: each one, every second, all.
fn axes_of(rank: usize) -> Vec<Vec<isize>> {
    let mut choices: Vec<Vec<isize>> = (0..rank as isize).map(|axis| vec![axis]).collect();
    choices.push((0..rank as isize).step_by(2).collect());
    choices.push((0..rank as isize).collect());
    choices
}

fn reduce_like_ndarray(here: &NdArray, there: &CudaArray, axes: &[isize]) {
    let dtype = there.dtype();
    let axes = || axes;
    let what = format!("{dtype} {:?} over {:?}", there.layout(), axes());
    if dtype.kind() != DTypeKind::Complex {
        let pairs = [
            (Ndarray::max(here, axes()).unwrap(), Cuda::max(there, axes()).unwrap()),
            (Ndarray::min(here, axes()).unwrap(), Cuda::min(there, axes()).unwrap()),
        ];
        for (expected, found) in pairs {
            same(&back(&found), &Ndarray::to_host(&expected).unwrap(), &what);
        }
    }
    let pairs = [
        (Ndarray::sum(here, axes()).unwrap(), Cuda::sum(there, axes()).unwrap()),
        (Ndarray::mean(here, axes()).unwrap(), Cuda::mean(there, axes()).unwrap()),
    ];
    let tolerance = match dtype {
        DType::F16 | DType::Complex32 => 2e-3,
        DType::BF16 => 1e-2,
        DType::F64 | DType::Complex128 => 1e-14,
        _ => 2e-6,
    };
    for (expected, found) in pairs {
        let (expected, found) = (Ndarray::to_host(&expected).unwrap(), back(&found));
        assert_eq!(expected.shape(), found.shape(), "{what}");
        for (one, other) in numbers(&found).iter().zip(numbers(&expected)) {
            let near = (one - other).abs() <= tolerance * other.abs().max(1.0);
            assert!(near, "{what}: {one} is not {other}");
        }
    }
}

#[test]
fn long_sums_are_compensated() {
    // One large number and many small ones, each of which is lost on the large one alone.
    let mut values = vec![0.001f32; 1 << 20];
    values[77] = 1e6;
    let sum =
        back(&Cuda::sum(&there(&HostArray::from_slice(&values, &[1 << 20]).unwrap()), 0).unwrap());
    let exact: f64 = values.iter().map(|value| f64::from(*value)).sum();
    let found = f64::from(sum.as_slice::<f32>().unwrap()[0]);
    assert!((found - exact).abs() / exact < 2e-7, "{found} is not {exact}");
    for value in [f32::INFINITY, f32::NEG_INFINITY] {
        values[5] = value;
        let host = HostArray::from_slice(&values, &[1 << 20]).unwrap();
        assert_eq!(back(&Cuda::sum(&there(&host), 0).unwrap()).as_slice::<f32>().unwrap(), [value]);
    }
    values[6] = f32::INFINITY;
    let host = HostArray::from_slice(&values, &[1 << 20]).unwrap();
    assert!(back(&Cuda::sum(&there(&host), 0).unwrap()).as_slice::<f32>().unwrap()[0].is_nan());
}

#[test]
fn scales_are_cores() {
    for from in dtypes().filter(|dtype| dtype.is_float()) {
        for to in dtypes().filter(|dtype| dtype.is_integer()) {
            for (seed, host) in
                [moderate(from, &[11, 13], 5), random(from, &[7, 9], 6)].into_iter().enumerate()
            {
                let expected = scale::scale(&host, to).unwrap();
                let found = back(&Cuda::scale_dtype(&there(&host), to).unwrap());
                same(&found, &expected, &format!("{from} to {to}, {seed}"));
            }
        }
    }
}

#[test]
fn many_axes_that_do_not_merge_are_walked() {
    // Twelve axes, every second one repeated: no two of them merge, which is more than one kernel walks.
    let shape = [2usize; 12];
    let host = moderate(DType::F32, &[64], 9);
    let strides: Vec<isize> =
        (0..12).map(|axis| if axis % 2 == 0 { 0 } else { 1 << ((11 - axis) / 2) }).collect();
    let layout = Layout::new(&shape, &strides).unwrap();
    let pointer = host.as_ptr().cast_mut();
    let owner = Owner::new(host.clone());
    // SAFETY: the layout reaches 64 elements, which the owner keeps; nobody writes them.
    let host = unsafe {
        HostArray::from_raw(owner, pointer, DType::F32, layout, arraybridge_core::Access::Immutable)
    }
    .unwrap();
    let narrow: Vec<usize> = (0..12).map(|axis| if axis % 2 == 0 { 1 } else { 2 }).collect();
    let base = there(&moderate(DType::F32, &[64], 9));
    let base = Cuda::reshape(&base, &narrow).unwrap();
    let array = Cuda::broadcast_to(&base, &shape).unwrap();
    assert_eq!(array.layout().strides().iter().filter(|stride| **stride == 0).count(), 6);
    same(&back(&array), &host.gather().unwrap(), "a gather");
    let expected = cast::cast(&host.gather().unwrap(), DType::I16).unwrap();
    same(&back(&Cuda::astype(&array, DType::I16).unwrap()), &expected, "a cast");
    let here = NdArray::from_host(host.gather().unwrap());
    let axes: Vec<isize> = (0..12).step_by(3).collect();
    reduce_like_ndarray(&here, &array, &axes);
    let both = Cuda::logical_and(&array, &array).unwrap();
    let expected = Ndarray::logical_and(&here, &here).unwrap();
    same(&back(&both), &Ndarray::to_host(&expected).unwrap(), "a pair");
    assert_eq!(common::take_violation(), "");
}

#[test]
fn parts_and_products_are_ndarrays() {
    for dtype in dtypes().filter(|dtype| !dtype.is_float8()) {
        let (left, right) = (moderate(dtype, &[13], 21), moderate(dtype, &[5], 22));
        if dtype.kind() != DTypeKind::Complex || dtype.size() > 4 {
            let found = back(&Cuda::outer(&there(&left), &there(&right)).unwrap());
            let here =
                Ndarray::outer(&NdArray::from_host(left), &NdArray::from_host(right)).unwrap();
            same(&found, &Ndarray::to_host(&here).unwrap(), &format!("outer of {dtype}"));
        }
        let host = moderate(dtype, &[9, 4, 3], 23);
        let values = moderate(dtype, &[4, 1], 24);
        for slice in [
            AxisSlice::new(Some(1), Some(-1), 2),
            AxisSlice::new(None, None, -3),
            AxisSlice::new(Some(20), None, 1),
        ] {
            let found = Cuda::assign(there(&host), slice, &there(&values)).unwrap();
            let here = NdArray::from_host(host.gather().unwrap());
            let here = Ndarray::assign(here, slice, &NdArray::from_host(values.clone())).unwrap();
            same(&back(&found), &Ndarray::to_host(&here).unwrap(), &format!("assign {dtype}"));
        }
    }
}

#[test]
fn lines_are_ndarrays() {
    for (start, stop) in [(0.0, 1.0), (-3.5, 1e6), (-1e308, 1e308), (f64::MAX, f64::MIN)] {
        for (count, endpoint) in [(1, true), (2, false), (3, true), (1001, true), (500, false)] {
            for dtype in dtypes().filter(|dtype| dtype.is_float()) {
                let line = Cuda::linspace(start, stop, count, endpoint, Some(dtype)).unwrap();
                let here = Ndarray::linspace(start, stop, count, endpoint, Some(dtype)).unwrap();
                let (found, expected) = (back(&line), Ndarray::to_host(&here).unwrap());
                let what = format!("{start} to {stop} in {count} of {dtype}");
                same(&one_nan(&found), &one_nan(&expected), &what);
            }
        }
    }
}
