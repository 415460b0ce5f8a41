//! Arrays of every layout with the values that they ought to show.

#![allow(dead_code)] // Each test file uses a part.

use arraybridge_core::ops::cast::{self, Castable};
use arraybridge_core::{Access, DType, HostArray, Layout, Owner, with_element};
use arraybridge_ndarray::NdArray;

pub(crate) const SHAPE: [usize; 3] = [4, 3, 5];

/// An array and its values in row-major order.
pub(crate) struct Case<T> {
    pub(crate) name: &'static str,
    pub(crate) array: NdArray,
    pub(crate) values: Vec<T>,
}

/// Every index of a shape in row-major order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &length in shape {
        all = all
            .into_iter()
            .flat_map(|index: Vec<usize>| {
                (0..length).map(move |place| {
                    let mut longer = index.clone();
                    longer.push(place);
                    longer
                })
            })
            .collect();
    }
    all
}

/// `SHAPE` in every kind of layout, filled with `value(0)`, `value(1)`, ... in memory order.
pub(crate) fn cases<T: Castable>(value: impl Fn(usize) -> T) -> Vec<Case<T>> {
    let layouts: [(&'static str, usize, [isize; 3]); 9] = [
        ("row-major", 0, [15, 5, 1]),
        ("column-major", 0, [1, 4, 12]),
        ("middle axis fastest", 0, [15, 1, 3]),
        ("backwards", 59, [-15, -5, -1]),
        ("backwards in part", 14, [15, -5, 1]),
        ("offset with gaps", 7, [40, 10, 1]),
        ("every second", 1, [30, 10, 2]),
        ("repeated inside", 0, [3, 1, 0]),
        ("repeated outside", 2, [0, 5, 1]),
    ];
    let mut cases = Vec::new();
    for (name, first, strides) in layouts {
        let base: Vec<T> = (0..200).map(&value).collect();
        let values = indices(&SHAPE)
            .iter()
            .map(|index| {
                let offset: isize =
                    index.iter().zip(strides).map(|(&at, stride)| at as isize * stride).sum();
                base[first.checked_add_signed(offset).unwrap()]
            })
            .collect();
        let layout = Layout::new(&SHAPE, &strides).unwrap();
        let array = HostArray::from_vec_layout(base, first, layout).unwrap();
        cases.push(Case { name, array: NdArray::from_host(array), values });
    }
    let values: Vec<T> = (0..60).map(&value).collect();
    cases.push(Case { name: "under-aligned", array: under_aligned(&values), values });
    cases
}

/// A row-major array that starts one byte after an aligned address.
fn under_aligned<T: Castable>(values: &[T]) -> NdArray {
    let bytes = size_of_val(values);
    let mut memory = vec![0u128; bytes / 16 + 2];
    let start = memory.as_mut_ptr().cast::<u8>().wrapping_add(1);
    // SAFETY: `memory` has room for one byte more than the values have, which do not overlap it.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), start, bytes) };
    let layout = Layout::row_major(&SHAPE).unwrap();
    // SAFETY: the owner keeps the bytes, which were just written, and nobody else has them.
    let array = unsafe {
        HostArray::from_raw(Owner::new(memory), start, T::DTYPE, layout, Access::Exclusive)
    };
    NdArray::from_host(array.unwrap())
}

/// An array of these values.
pub(crate) fn array<T: Castable>(values: &[T], shape: &[usize]) -> NdArray {
    NdArray::from_host(HostArray::from_slice(values, shape).unwrap())
}

/// The elements in row-major order.
pub(crate) fn elements<T: Castable>(array: &NdArray) -> Vec<T> {
    array.host().to_contiguous().unwrap().as_slice::<T>().unwrap().to_vec()
}

/// The elements of an array of real numbers as doubles.
pub(crate) fn doubles(array: &NdArray) -> Vec<f64> {
    with_element!(array.host().dtype(), T => elements::<T>(array)
        .into_iter()
        .map(|value| cast::element::<T, f64>(value).unwrap())
        .collect())
}

/// Whether two doubles are equal, or both NaN.
pub(crate) fn same(left: f64, right: f64) -> bool {
    left == right || (left.is_nan() && right.is_nan())
}

pub(crate) fn is_complex(dtype: DType) -> bool {
    matches!(dtype, DType::Complex32 | DType::Complex64 | DType::Complex128)
}

/// Checks that an array is what an operation makes: row-major, 64-byte aligned, of this shape.
pub(crate) fn assert_fresh(array: &NdArray, shape: &[usize]) {
    assert_eq!(array.host().shape(), shape);
    assert!(array.host().layout().is_row_major());
    assert!(array.host().is_empty() || array.host().address().is_multiple_of(64));
}
