//! Operations against ndarray's, for every dtype, on odd shapes and strided views.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::{HostExchange, Math, Ops};
use arraybridge_core::{AxisSlice, DType, DTypeKind, Device, Error, HostArray};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_opencl::{ClArray, OpenCl, device_facts};

/// The dtypes that operations have on a device.
fn dtypes(device: Device) -> Vec<DType> {
    let facts = device_facts(device).unwrap();
    let wide = |dtype: &DType| matches!(dtype, DType::F64 | DType::Complex128);
    DType::all().filter(|dtype| !dtype.is_float8() && (facts.fp64 || !wide(dtype))).collect()
}

/// Elements of a dtype in row-major order: small whole numbers and quarters, where it has them.
fn elements(dtype: DType, shape: &[usize]) -> HostArray {
    let count: usize = shape.iter().product();
    let value = |place: usize| ((place * 7919 + 13) % 101) as f64 / 4.0 - 5.0;
    let parts = if dtype.kind() == DTypeKind::Complex { 2 } else { 1 };
    let values: Vec<f64> = (0..count * parts).map(value).collect();
    let part = match dtype {
        DType::Complex32 => DType::F16,
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        dtype => dtype,
    };
    let values = HostArray::from_vec(values, &[count * parts]).unwrap();
    let values = arraybridge_core::ops::cast::cast(&values, part).unwrap();
    // Bytes of a cast are an array's own, so that they can be read as the whole's.
    let bytes = values.gather().unwrap().as_bytes().unwrap().to_vec();
    let bytes = HostArray::from_vec(bytes, &[count * dtype.size()]).unwrap();
    bytes.gather().unwrap().reinterpret(dtype, shape).unwrap()
}

/// The elements as numbers, the parts of complex ones apart.
fn numbers(host: &HostArray) -> Vec<f64> {
    let part = match host.dtype() {
        DType::Complex32 => DType::F16,
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        dtype => dtype,
    };
    let host = host.gather().unwrap();
    let count = host.nbytes() / part.size();
    let parts = host.reinterpret(part, &[count]).unwrap();
    let wide = arraybridge_core::ops::cast::cast(&parts, DType::F64).unwrap();
    wide.as_slice::<f64>().unwrap().to_vec()
}

/// How far a result may be off, relative to the largest number that went into it.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F16 | DType::Complex32 => 1e-3,
        DType::BF16 => 8e-3,
        DType::F32 | DType::Complex64 => 2.5e-7,
        DType::F64 | DType::Complex128 => 4e-16,
        _ => 0.0,
    }
}

#[track_caller]
fn agree(found: Result<ClArray, Error>, expected: Result<NdArray, Error>, what: &str) {
    let (found, expected) = match (found, expected) {
        (Ok(found), Ok(expected)) => (found, expected),
        (Err(found), Err(expected)) => {
            let kinds = [&found, &expected].map(std::mem::discriminant);
            assert_eq!(kinds[0], kinds[1], "{what}: {found}, where ndarray says {expected}");
            return;
        }
        (found, expected) => panic!("{what}: {found:?}, where ndarray says {expected:?}"),
    };
    let found = OpenCl::to_host(&found).unwrap();
    let expected = expected.host();
    assert_eq!(found.shape(), expected.shape(), "{what}: shape");
    let (found, numbers_expected) = ((found.dtype(), numbers(&found)), numbers(expected));
    let near = tolerance(found.0);
    // Means and quotients of integers are f64 in ndarray.
    let same =
        found.0 == expected.dtype() || (found.0, expected.dtype()) == (DType::F32, DType::F64);
    assert!(same, "{what}: {} and not {}", found.0, expected.dtype());
    for (place, (found, expected)) in found.1.iter().zip(&numbers_expected).enumerate() {
        let equal = found == expected || (found.is_nan() && expected.is_nan());
        let near = (found - expected).abs() <= near * expected.abs().max(1.0);
        assert!(equal || near, "{what}: element {place} is {found} and not {expected}");
    }
}

const SHAPES: [&[usize]; 6] = [&[], &[0], &[3, 0, 2], &[1], &[7, 5, 3], &[257]];

/// An array on the device and the same one in ndarray, in one layout.
fn layouts(dtype: DType, device: Device) -> Vec<(String, ClArray, NdArray)> {
    let mut all = Vec::new();
    let mut add = |what: String, cl: ClArray, host: HostArray| {
        all.push((format!("{dtype} {what}"), cl, NdArray::from_host(host)));
    };
    for shape in SHAPES {
        let host = elements(dtype, shape);
        add(format!("{shape:?}"), OpenCl::from_host(&host, device).unwrap(), host);
    }
    let host = elements(dtype, &[6, 4, 9]);
    let cl = OpenCl::from_host(&host, device).unwrap();
    let order = [2, 0, 1];
    add("permuted".into(), cl.permute(&order).unwrap(), host.permute(&order).unwrap());
    let slices = [AxisSlice::from(1..6), AxisSlice::full(), AxisSlice::full().with_step(-2)];
    add("with steps".into(), cl.slice(&slices).unwrap(), host.slice(&slices).unwrap());
    let row = host.slice(&[AxisSlice::from(0..1)]).unwrap();
    let repeated = OpenCl::broadcast_to(&OpenCl::from_host(&row, device).unwrap(), &[5, 4, 9]);
    add("repeated".into(), repeated.unwrap(), row.broadcast_to(&[5, 4, 9]).unwrap());
    all
}

/// Runs a body for every dtype and layout.
fn each(body: impl Fn(&str, &ClArray, &NdArray)) {
    let Some(device) = common::device() else { return };
    for dtype in dtypes(device) {
        for (what, cl, nd) in layouts(dtype, device) {
            body(&what, &cl, &nd);
        }
    }
}

#[test]
fn reductions_over_every_axis_and_all() {
    each(|what, cl, nd| {
        let rank = cl.shape().len() as isize;
        let mut axes: Vec<Vec<isize>> = (0..rank).map(|axis| vec![axis]).collect();
        axes.push((0..rank).collect());
        if rank == 3 {
            axes.extend([vec![0, 2], vec![-1, 1]]);
        }
        for axes in axes {
            let what = |by: &str| format!("{by} of {what} over {axes:?}");
            let axes = &axes[..];
            agree(OpenCl::max(cl, axes), Ndarray::max(nd, axes), &what("max"));
            agree(OpenCl::min(cl, axes), Ndarray::min(nd, axes), &what("min"));
            agree(OpenCl::sum(cl, axes), Ndarray::sum(nd, axes), &what("sum"));
            agree(OpenCl::mean(cl, axes), Ndarray::mean(nd, axes), &what("mean"));
        }
    });
}

#[test]
fn casts_to_every_dtype() {
    let Some(device) = common::device() else { return };
    each(|what, cl, nd| {
        // Strided arrays have programs of their own, which differ in how they find an element.
        let strided = !cl.layout().is_row_major();
        for to in dtypes(device).into_iter().filter(|to| !strided || *to == DType::F32) {
            let what = format!("{what} to {to}");
            agree(OpenCl::astype(cl, to), Ndarray::astype(nd, to), &what);
        }
    });
}

/// Numbers at which formats begin and end, and halves between two of a format's.
#[test]
fn casts_round_once_and_saturate() {
    let Some(device) = common::device() else { return };
    let whole = [
        0i64,
        1,
        -1,
        127,
        128,
        -129,
        255,
        256,
        257,
        32767,
        32768,
        65519,
        65520,
        65535,
        65536,
        2_147_483_647,
        2_147_483_648,
        4_294_967_295,
        i64::MAX,
        i64::MIN,
        // In bf16 (8 bits) and f16 (11 bits) just above, at and below the middle of two numbers.
        (1 << 30) + (1 << 22) + 1,
        (1 << 30) + (1 << 22),
        (1 << 30) + (1 << 22) - 1,
        (1 << 30) + (3 << 22),
        2049,
        2050,
        2051,
        4097 * 3,
        (1 << 40) + (1 << 32) + 1,
    ];
    let mut floats: Vec<f64> = whole.iter().map(|&x| x as f64).collect();
    floats.extend([
        0.5,
        1.5,
        -1.5,
        -0.0,
        1e-8,
        5.96e-8,
        2.98e-8,
        2.980_232_238_769_531_3e-8,
        6.1e-5,
        1e-40,
        1e300,
        -1e300,
        65519.99,
        65520.0,
        65504.0,
        3.4e38,
        3.402_823_5e38,
        1.0 + 1.0 / 256.0,
        1.0 + 1.0 / 256.0 + 1e-9,
        1.0 + 1.0 / 2048.0,
        1.0 + 1.0 / 2048.0 + 1e-12,
        9.2e18,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ]);
    let whole = HostArray::from_slice(&whole, &[whole.len()]).unwrap();
    let floats = HostArray::from_slice(&floats, &[floats.len()]).unwrap();
    let real = dtypes(device).into_iter().filter(|dtype| dtype.kind() != DTypeKind::Complex);
    let real: Vec<DType> = real.collect();
    for &from in &real {
        let source = if from.is_float() { &floats } else { &whole };
        let host = arraybridge_core::ops::cast::cast(source, from).unwrap();
        let cl = OpenCl::from_host(&host, device).unwrap();
        for &to in &real {
            let found = OpenCl::to_host(&OpenCl::astype(&cl, to).unwrap()).unwrap();
            let expected = arraybridge_core::ops::cast::cast(&host, to).unwrap();
            let (found, expected) = (numbers(&found), numbers(&expected));
            for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let equal = found == expected || (found.is_nan() && expected.is_nan());
                assert!(
                    equal,
                    "{from} {} to {to}: {found} and not {expected}",
                    numbers(&host)[place]
                );
            }
        }
    }
}

#[test]
fn shapes_parts_and_joins() {
    each(|what, cl, nd| {
        let count: usize = cl.shape().iter().product();
        agree(OpenCl::reshape(cl, &[count]), Ndarray::reshape(nd, &[count]), what);
        agree(OpenCl::prepend_axis(cl), Ndarray::prepend_axis(nd), what);
        let shape = [&[2], cl.shape()].concat();
        agree(OpenCl::broadcast_to(cl, &shape), Ndarray::broadcast_to(nd, &shape), what);
        agree(OpenCl::stack(&[cl, cl]), Ndarray::stack(&[nd, nd]), what);
        agree(
            OpenCl::ones_like(cl, None, cl.dtype()),
            Ndarray::ones_like(nd, None, cl.dtype()),
            what,
        );
        agree(OpenCl::logical_and(cl, cl), Ndarray::logical_and(nd, nd), what);
        if cl.shape().first().is_some_and(|rows| *rows > 1) {
            agree(OpenCl::plane(cl, 1), Ndarray::plane(nd, 1), what);
            let (row, expected) = (OpenCl::plane(cl, 0).unwrap(), Ndarray::plane(nd, 0).unwrap());
            let every_other = AxisSlice::full().with_step(-2);
            let made = OpenCl::assign(cl.clone(), every_other, &row).map_err(Error::from);
            let expected = Ndarray::assign(nd.clone(), every_other, &expected);
            agree(made, expected.map_err(Error::from), &format!("assign to {what}"));
        }
    });
}

#[test]
fn planes_and_ranges() {
    let Some(device) = common::device() else { return };
    each(|what, cl, nd| {
        let real = cl.dtype().kind() != DTypeKind::Complex;
        let planes = cl.shape().first().copied().unwrap_or(0);
        let scales: Vec<Option<f64>> =
            (0..planes).map(|plane| (plane % 3 != 1).then_some(plane as f64 + 0.5)).collect();
        for to in [cl.dtype(), DType::U8] {
            if cl.shape().is_empty() || (!real && to.kind() != DTypeKind::Complex) {
                continue;
            }
            let what = format!("{what} normalised to {to}");
            let expected = Ndarray::normalize_planes(nd, to, &scales);
            agree(OpenCl::normalize_planes(cl, to, &scales), expected, &what);
        }
        if !real {
            return;
        }
        let strided = !cl.layout().is_row_major();
        // Wide integers are computed in f64.
        let fp64 = device_facts(device).unwrap().fp64;
        let tried = |to: &DType| {
            to.is_integer() && (!strided || *to == DType::I16) && (fp64 || to.size() <= 2)
        };
        for to in dtypes(device).into_iter().filter(tried) {
            let what = format!("{what} scaled to {to}");
            let (found, expected) =
                (OpenCl::scale_dtype(cl, to).unwrap(), Ndarray::scale_dtype(nd, to).unwrap());
            let (found, expected) = (OpenCl::to_host(&found).unwrap(), expected.host().clone());
            assert_eq!((found.dtype(), found.shape()), (to, expected.shape()), "{what}");
            // Truncation turns the last bit of a float into a whole step.
            let near = 2f64.powi(to.size() as i32 * 8 - 52).max(1.0);
            for (found, expected) in numbers(&found).iter().zip(&numbers(&expected)) {
                assert!((found - expected).abs() <= near, "{what}: {found} and not {expected}");
            }
        }
    });
}

#[test]
fn long_reductions_are_made_of_pieces_and_lose_nothing() {
    let Some(device) = common::device() else { return };
    let values: Vec<f32> =
        (0..3_000_001u32).map(|place| (place % 1000) as f32 * 0.1 - 20.0).collect();
    let exact: f64 = values.iter().map(|value| f64::from(*value)).sum();
    let host = HostArray::from_vec(values.clone(), &[values.len()]).unwrap();
    let line = OpenCl::from_host(&host, device).unwrap();
    let read = |array: ClArray| OpenCl::to_host(&array).unwrap().as_slice::<f32>().unwrap()[0];
    // Pairwise summation is off by 22 roundings of the sum of magnitudes at most; this by one of the
    // sum itself.
    let sum = read(OpenCl::sum(&line, 0).unwrap());
    assert!((f64::from(sum) - exact).abs() <= exact.abs() * 6e-8, "{sum} and not {exact}");
    let mean = read(OpenCl::mean(&line, 0).unwrap());
    let expected = exact / values.len() as f64;
    assert!((f64::from(mean) - expected).abs() <= expected.abs() * 1.2e-7, "{mean}, {expected}");
    let tenth = HostArray::from_vec(vec![0.1f32; 3_000_000], &[3_000_000]).unwrap();
    let sum = read(OpenCl::sum(&OpenCl::from_host(&tenth, device).unwrap(), 0).unwrap());
    assert!((f64::from(sum) - 3_000_000.0 * f64::from(0.1f32)).abs() < 0.02, "{sum}");

    // A NaN and the extremes in the middle of pieces.
    let mut values = values;
    (values[2_222_222], values[1_111_111]) = (1e6, -1e6);
    let line = HostArray::from_vec(values.clone(), &[values.len()]).unwrap();
    let line = OpenCl::from_host(&line, device).unwrap();
    assert_eq!(read(OpenCl::max(&line, 0).unwrap()), 1e6);
    assert_eq!(read(OpenCl::min(&line, 0).unwrap()), -1e6);
    values[1_234_567] = f32::NAN;
    let line = HostArray::from_vec(values, &[3_000_001]).unwrap();
    let line = OpenCl::from_host(&line, device).unwrap();
    assert!(read(OpenCl::max(&line, 0).unwrap()).is_nan());
    assert!(read(OpenCl::min(&line, 0).unwrap()).is_nan());
}

#[test]
fn tall_and_wide_arrays_reduce_over_both_axes() {
    let Some(device) = common::device() else { return };
    for shape in [[3usize, 100_003], [100_003, 3], [1500, 701]] {
        for dtype in [DType::F32, DType::U16, DType::Complex64] {
            let host = elements(dtype, &shape);
            let cl = OpenCl::from_host(&host, device).unwrap();
            let nd = NdArray::from_host(host);
            for axis in 0..2isize {
                let what = format!("sum of {dtype} {shape:?} over {axis}");
                let (found, expected) = (OpenCl::sum(&cl, axis), Ndarray::sum(&nd, axis));
                let found = numbers(&OpenCl::to_host(&found.unwrap()).unwrap());
                let expected = numbers(expected.unwrap().host());
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(&expected) {
                    let near = (found - expected).abs() <= expected.abs().max(1e5) * 3e-7;
                    assert!(near, "{what}: {found} and not {expected}");
                }
                if dtype != DType::Complex64 {
                    agree(OpenCl::max(&cl, axis), Ndarray::max(&nd, axis), &what);
                }
            }
        }
    }
}

#[test]
fn infinities_and_nan_scale_to_the_ends_and_zero() {
    let Some(device) = common::device() else { return };
    let values = [0.0f32, 0.5, 1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let host = HostArray::from_slice(&values, &[6]).unwrap();
    let x = OpenCl::from_host(&host, device).unwrap();
    let to = |dtype| OpenCl::to_host(&OpenCl::scale_dtype(&x, dtype).unwrap()).unwrap();
    assert_eq!(to(DType::U8).as_slice::<u8>().unwrap(), [0, 127, 255, 0, 255, 0]);
    let ends = [i16::MIN, 0, i16::MAX, 0, i16::MAX, i16::MIN];
    assert_eq!(to(DType::I16).as_slice::<i16>().unwrap(), ends);
    if device_facts(device).unwrap().fp64 {
        let wide = to(DType::I32);
        let wide = wide.as_slice::<i32>().unwrap();
        assert_eq!((wide[0], wide[2], wide[3]), (i32::MIN, i32::MAX, 0));
    }
    // The widest floats have a span beyond themselves; nothing finite is a plain cast.
    let host = HostArray::from_slice(&[-3e38f32, 0.0, 3e38], &[3]).unwrap();
    let x = OpenCl::from_host(&host, device).unwrap();
    let bytes = OpenCl::to_host(&OpenCl::scale_dtype(&x, DType::U8).unwrap()).unwrap();
    assert_eq!(bytes.as_slice::<u8>().unwrap(), [0, 127, 255]);
    let host = HostArray::from_slice(&[f32::INFINITY, f32::NAN], &[2]).unwrap();
    let x = OpenCl::from_host(&host, device).unwrap();
    let bytes = OpenCl::to_host(&OpenCl::scale_dtype(&x, DType::U8).unwrap()).unwrap();
    assert_eq!(bytes.as_slice::<u8>().unwrap(), [255, 0]);
}

#[test]
fn arrays_made_of_nothing() {
    let Some(device) = common::device() else { return };
    let line = OpenCl::linspace(0.0, 1.0, 5, true, None).unwrap();
    let line = OpenCl::to_host(&line).unwrap();
    assert_eq!(line.as_slice::<f32>().unwrap(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    for dtype in dtypes(device) {
        let (left, right) = (elements(dtype, &[5]), elements(dtype, &[37]));
        let upload = |host: &HostArray| OpenCl::from_host(host, device).unwrap();
        let found = OpenCl::outer(&upload(&left), &upload(&right));
        let (left, right) = (NdArray::from_host(left), NdArray::from_host(right));
        agree(found, Ndarray::outer(&left, &right), &format!("outer of {dtype}"));
    }
    let many = OpenCl::linspace(-3.0, 7.0, 1001, true, Some(DType::F16)).unwrap();
    assert_eq!(numbers(&OpenCl::to_host(&many).unwrap())[1000], 7.0);
    assert_eq!(OpenCl::floor(-1.5).unwrap().shape().len(), 0);
}
