//! Every layout, of every element type, in both versions of ndarray: in and out without a copy.

#![allow(clippy::unwrap_used)]

use arraybridge_core::half::{bf16, f16};
use arraybridge_core::num_complex::Complex;
use arraybridge_core::{
    CopyPolicy, Element, Error, F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2,
    F8E5M2Fnuz, F8E8M0Fnu, HostArray, Layout, NativeArray,
};
use arraybridge_ndarray::NdArray;
use arraybridge_ndarray::ndarray::{Array2, ArrayView2, array};

/// Elements that differ from their neighbours, of any element type.
trait Sample: Element {
    fn sample(index: usize) -> Self;
}

macro_rules! samples {
    ($($type:ty: $make:expr;)+) => {$(
        impl Sample for $type {
            fn sample(index: usize) -> Self {
                let make: fn(u8) -> $type = $make;
                make(index as u8)
            }
        }
    )+};
}

samples! {
    bool: |k| k.is_power_of_two();
    i8: |k| k as i8; i16: i16::from; i32: i32::from; i64: i64::from;
    u8: |k| k; u16: u16::from; u32: u32::from; u64: u64::from;
    f16: f16::from; bf16: bf16::from; f32: f32::from; f64: f64::from;
    Complex<f16>: |k| Complex::new(k.into(), f16::ONE);
    Complex<f32>: |k| Complex::new(k.into(), 1.0);
    Complex<f64>: |k| Complex::new(k.into(), 1.0);
    F8E3M4: F8E3M4; F8E4M3: F8E4M3; F8E4M3B11Fnuz: F8E4M3B11Fnuz; F8E4M3Fn: F8E4M3Fn;
    F8E4M3Fnuz: F8E4M3Fnuz; F8E5M2: F8E5M2; F8E5M2Fnuz: F8E5M2Fnuz; F8E8M0Fnu: F8E8M0Fnu;
}

macro_rules! for_each_element {
    ($check:ident) => {
        $check::<bool>();
        $check::<i8>();
        $check::<i16>();
        $check::<i32>();
        $check::<i64>();
        $check::<u8>();
        $check::<u16>();
        $check::<u32>();
        $check::<u64>();
        $check::<f16>();
        $check::<bf16>();
        $check::<f32>();
        $check::<f64>();
        $check::<Complex<f16>>();
        $check::<Complex<f32>>();
        $check::<Complex<f64>>();
        $check::<F8E3M4>();
        $check::<F8E4M3>();
        $check::<F8E4M3B11Fnuz>();
        $check::<F8E4M3Fn>();
        $check::<F8E4M3Fnuz>();
        $check::<F8E5M2>();
        $check::<F8E5M2Fnuz>();
        $check::<F8E8M0Fnu>();
    };
}

macro_rules! version {
    ($module:ident, $ndarray:ident, $feature:literal) => {
        #[cfg(feature = $feature)]
        mod $module {
            use super::*;
            use arraybridge_ndarray::$ndarray as nd;
            use nd::{Array, ArrayD, ArrayView, ArrayViewD, ArrayViewMut, Dimension, IxDyn};
            use nd::{Array3, ShapeBuilder, s};

            fn base<T: Sample>() -> Array3<T> {
                Array::from_shape_vec((4, 5, 6), (0..120).map(T::sample).collect()).unwrap()
            }

            /// Sends an array in and out again; addresses prove that nothing is copied.
            fn round_trip<T: Sample, D: Dimension>(name: &str, array: Array<T, D>) {
                let (expected, address) = (array.clone(), array.as_ptr());
                let (shape, strides) = (array.shape().to_vec(), array.strides().to_vec());
                let mut inside = NdArray::from(array);
                assert_eq!(inside.shape(), shape, "{name}");
                assert_eq!(inside.strides(), strides, "{name}");
                {
                    let view: ArrayView<T, D> = inside.view().unwrap();
                    assert_eq!(view, expected, "{name}");
                    let any: ArrayViewD<T> = inside.view().unwrap();
                    assert_eq!(any, expected.clone().into_dyn(), "{name}");
                    if !view.is_empty() {
                        assert_eq!((view.as_ptr(), any.as_ptr()), (address, address), "{name}");
                        assert_eq!(view.strides(), strides, "{name}");
                    }
                }
                {
                    let mut view: ArrayViewMut<T, D> = inside.view_mut().unwrap();
                    view.overwrite_and_restore();
                    assert_eq!(view, expected, "{name}");
                }
                let into = inside.into_array_with::<Array<T, D>>(CopyPolicy::Never).unwrap();
                assert!(!into.copied, "{name}");
                assert_eq!(into.array, expected, "{name}");
                if !expected.is_empty() {
                    assert_eq!(into.array.as_ptr(), address, "{name}");
                    assert_eq!(into.array.strides(), strides, "{name}");
                }
                // Once more, through another rank type: the vector is still whole.
                let again = NdArray::from(into.array).into_array_with::<ArrayD<T>>(CopyPolicy::Never);
                assert_eq!(again.unwrap().array, expected.into_dyn(), "{name}");
            }

            /// Writes to every element of a view and undoes it.
            trait OverwriteAndRestore {
                fn overwrite_and_restore(&mut self);
            }

            impl<T: Sample, D: Dimension> OverwriteAndRestore for ArrayViewMut<'_, T, D> {
                fn overwrite_and_restore(&mut self) {
                    let before = self.to_owned();
                    self.fill(T::sample(99));
                    assert!(self.iter().all(|element| *element == T::sample(99)));
                    self.assign(&before);
                }
            }

            fn every_layout<T: Sample>() {
                round_trip("C order", base::<T>());
                let fortran = Array::from_shape_vec(
                    (4, 5, 6).f(),
                    (0..120).map(T::sample).collect::<Vec<_>>(),
                );
                round_trip("Fortran order", fortran.unwrap());
                round_trip("transposed", base::<T>().reversed_axes());
                round_trip("permuted", base::<T>().permuted_axes([1, 2, 0]));
                round_trip("inner slice", base::<T>().slice_move(s![1..3, 2..4, 3..5]));
                round_trip("steps", base::<T>().slice_move(s![1..;2, 1..;3, 1..;2]));
                round_trip("negative steps", base::<T>().slice_move(s![..;-1, 1..;-2, ..5;-3]));
                round_trip("one plane", base::<T>().slice_move(s![2, .., ..]));
                round_trip("one column", base::<T>().slice_move(s![1, 2.., 4]));
                round_trip("one element", base::<T>().slice_move(s![3, 4, 5]));
                let turned = base::<T>().slice_move(s![1.., ..;-1, 2..5]).permuted_axes([2, 0, 1]);
                round_trip("sliced, reversed and permuted", turned);
                round_trip("0-d", nd::arr0(T::sample(7)));
                round_trip("size 0", Array::<T, _>::from_elem((3, 0, 2), T::default()));
                round_trip("size 0 of a longer vector", base::<T>().slice_move(s![1..1, .., ..;2]));
                round_trip("axes of length 1", base::<T>().slice_move(s![1..2, .., 3..4]));
                let mut long = Vec::with_capacity(50);
                long.extend((0..9).map(T::sample));
                round_trip("spare capacity", Array::from(long).slice_move(s![4..]));
                let shape = IxDyn(&[2, 1, 2, 1, 2, 1, 2, 1]);
                let many = Array::from_shape_vec(shape, (0..16).map(T::sample).collect());
                round_trip("8 axes", many.unwrap());
            }

            #[test]
            fn owned_arrays_of_every_element_and_layout_pass_without_a_copy() {
                for_each_element!(every_layout);
            }

            fn broadcast<T: Sample>() {
                let row = Array::from(vec![T::sample(1), T::sample(2), T::sample(3)]);
                let wide = row.broadcast((4, 3)).unwrap();
                let borrowed = arraybridge_ndarray::NdView::try_from(wide).unwrap();
                assert_eq!(borrowed.layout().strides(), [0, 1]);
                assert_eq!(borrowed.view::<nd::ArrayView2<T>>().unwrap(), wide);
                let copy = borrowed.to_nd_array().unwrap();
                assert_eq!(copy.view::<nd::ArrayView2<T>>().unwrap(), wide);
            }

            #[test]
            fn broadcast_views_are_borrowed_and_copied_whole() {
                for_each_element!(broadcast);
            }

            #[test]
            fn the_native_trait_never_copies() {
                let array = base::<u16>().slice_move(s![1..;2, ..;-1, 2..]);
                let address = array.as_ptr();
                let inside = NativeArray::into_library(array).unwrap();
                let keep = inside.clone();
                let back = Array3::<u16>::from_library(inside).unwrap_err();
                assert!(back.to_string().contains("would copy"), "{back}");
                drop(keep);
                let back = Array3::<u16>::from_library(back.into_array().unwrap()).unwrap();
                assert_eq!(back.as_ptr(), address);
            }
        }
    };
}

version!(in_0_16, ndarray_0_16, "ndarray-0_16");
version!(in_0_17, ndarray_0_17, "ndarray-0_17");

#[cfg(all(feature = "ndarray-0_16", feature = "ndarray-0_17"))]
#[test]
fn an_array_passes_from_one_version_to_the_other() {
    use arraybridge_ndarray::{ndarray_0_16, ndarray_0_17};
    let old = ndarray_0_16::array![[1.0f64, 2.0], [3.0, 4.0]].reversed_axes();
    let address = old.as_ptr();
    let new: ndarray_0_17::Array2<f64> = NdArray::from(old).into_array().unwrap();
    assert_eq!(new, ndarray_0_17::array![[1.0, 3.0], [2.0, 4.0]]);
    assert_eq!(new.as_ptr(), address);
}

#[test]
fn a_stride_of_one_element_may_be_anything() {
    let layout = Layout::new(&[1, 2], &[isize::MIN, 1]).unwrap();
    let array = NdArray::from_host(HostArray::from_vec_layout(vec![1u8, 2], 0, layout).unwrap());
    assert_eq!(array.view::<ArrayView2<u8>>().unwrap(), array![[1, 2]]);
    assert_eq!(array.into_array::<Array2<u8>>().unwrap(), array![[1, 2]]);
    let error = Layout::new(&[2, 2], &[isize::MIN, 1]).unwrap_err();
    assert!(matches!(error, Error::SizeOverflow { .. }), "{error}");
}
