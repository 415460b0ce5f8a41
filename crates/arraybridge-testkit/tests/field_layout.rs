//! How exchanging arrays fails in the field: layouts.
#![allow(clippy::unwrap_used, clippy::panic)]

mod foreign;

use std::mem::size_of;

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{
    Access, AxisSlice, Convert, DType, Error, HOST, HostArray, Layout, Mechanism,
};
use arraybridge_testkit::mock::{Immutable, MockArray, kinds::WrappingKind};
use arraybridge_testkit::{LAYOUTS, Sample, numbers, watch};
use foreign::{Data, Exported, Foreign};

fn values(count: u16) -> Vec<f64> {
    (0..count).map(f64::from).collect()
}

#[test]
fn null_strides_of_legacy_and_early_producers_mean_compact_row_major() {
    for legacy in [false, true] {
        let tensor = Foreign { strides: None, version: (1, 1), ..Foreign::of(&[2, 3, 2]) };
        let (array, deleted) = if legacy {
            tensor.import_legacy(Access::Exclusive)
        } else {
            tensor.import(Access::Exclusive)
        };
        let array = array.unwrap();
        assert_eq!(array.layout().strides(), [6, 2, 1]);
        assert_eq!(numbers(&array), values(12));
        assert_eq!(deleted.count(), 0);
        drop(array);
        assert_eq!(deleted.count(), 1);
    }
}

#[test]
fn null_strides_are_refused_since_dlpack_1_2_which_demands_them() {
    let (array, deleted) =
        Foreign { strides: None, ..Foreign::of(&[2, 3]) }.import(Access::Exclusive);
    let text = array.unwrap_err().to_string();
    assert!(text.contains("requires explicit strides"), "{text}");
    assert_eq!(deleted.count(), 1);
    let scalar = Foreign { strides: None, ..Foreign::of(&[]) };
    assert_eq!(numbers(&scalar.import(Access::Exclusive).0.unwrap()), [0.0]);
}

#[test]
fn strides_are_always_written_on_export() {
    let array = HostArray::from_vec(vec![1.0f32; 6], &[2, 3]).unwrap();
    let exported = Exported::of(array);
    assert_eq!((exported.shape(), exported.strides()), (vec![2, 3], vec![3, 1]));
    let turned = HostArray::from_vec(vec![1.0f32; 6], &[2, 3]).unwrap().transpose();
    assert_eq!(Exported::of(turned).strides(), [1, 3]);
    let empty = Exported::of(HostArray::zeros(DType::F32, &[0, 3]).unwrap());
    assert_eq!((empty.shape(), empty.strides()), (vec![0, 3], vec![3, 1]));
}

#[test]
fn a_one_dimensional_step_is_not_compact() {
    let tensor = Foreign::of(&[3]).strides(&[2]);
    let (array, _) = tensor.import(Access::Exclusive);
    let array = array.unwrap();
    assert_eq!(numbers(&array), [0.0, 2.0, 4.0]);
    let refused = array.as_slice::<f32>().unwrap_err();
    assert!(matches!(refused, Error::LayoutUnsupported { .. }), "{refused}");
    assert_eq!(array.gather().unwrap().as_slice::<f32>().unwrap(), [0.0, 2.0, 4.0]);
}

#[test]
fn a_transpose_is_read_by_its_strides_and_not_from_the_base_buffer() {
    let array = HostArray::from_vec((0..6).collect::<Vec<i32>>(), &[2, 3]).unwrap().transpose();
    assert!(array.as_slice::<i32>().is_err());
    let mock = MockArray::<WrappingKind>::new(array, HOST).unwrap();
    let there = mock.convert_to::<Immutable>(HOST).unwrap();
    assert_eq!(numbers(&there.to_host().unwrap()), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
}

#[test]
fn zero_strides_span_what_they_reach_and_are_never_written() {
    let layout = Layout::new(&[1 << 40, 3], &[0, 1]).unwrap();
    assert_eq!((layout.span(), layout.may_overlap()), (0..3, true));
    let (array, deleted) = Foreign::of(&[4, 3]).strides(&[0, 1]).import(Access::Exclusive);
    let mut array = array.unwrap();
    assert_eq!(array.claim(), Access::Immutable);
    assert!(matches!(array.as_mut_ptr(), Err(Error::Shared { .. })));
    assert_eq!(numbers(&array), [0.0, 1.0, 2.0].repeat(4));
    // A library that writes gets a copy.
    let mock = MockArray::<WrappingKind>::new(array, HOST).unwrap();
    let named = arraybridge_core::Device::named("mock").unwrap();
    let (made, records) =
        watch(|| mock.convert_to::<arraybridge_testkit::mock::NamedDevice>(named));
    drop(made.unwrap());
    assert!(records[0].copied, "{records:?}");
    assert_eq!(deleted.count(), 1);
}

#[test]
fn negative_strides_keep_their_order() {
    let tensor = Foreign { data: Data::MemoryPlus(5 * 4), ..Foreign::of(&[2, 3]) };
    let (array, _) = tensor.strides(&[-3, -1]).import(Access::Exclusive);
    let array = array.unwrap();
    assert_eq!(numbers(&array), [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
    assert_eq!(array.gather().unwrap().as_slice::<f32>().unwrap()[0], 5.0);
    assert!(array.as_slice::<f32>().is_err(), "it is not row-major");
}

#[test]
fn strides_of_axes_of_length_one_have_no_meaning() {
    let tensor = Foreign::of(&[1, 3, 1]).strides(&[i64::from(i32::MIN), 1, 1 << 40]);
    let (array, _) = tensor.import(Access::Exclusive);
    let array = array.unwrap();
    assert!(array.layout().is_row_major());
    assert_eq!(array.as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0]);
    let exported = Exported::of(array);
    assert_eq!(exported.strides()[1], 1);
    assert!(exported.strides().iter().all(|stride| *stride <= 3), "{:?}", exported.strides());
}

#[test]
fn an_array_without_elements_is_contiguous_with_any_strides_and_a_null_pointer() {
    for strides in [vec![7, -3], vec![i64::MAX, i64::MIN]] {
        let tensor = Foreign { data: Data::Null, ..Foreign::of(&[0, 3]) };
        let (array, deleted) = tensor.strides(&strides).import(Access::Exclusive);
        let mut array = array.unwrap_or_else(|error| panic!("{strides:?}: {error}"));
        assert!(array.layout().is_row_major() && array.layout().is_column_major());
        assert!(array.as_slice::<f32>().unwrap().is_empty());
        assert!(array.as_slice_mut::<f32>().unwrap().is_empty());
        assert_eq!(array.gather().unwrap().len(), 0);
        drop(array);
        assert_eq!(deleted.count(), 1, "its owner is released too");
    }
}

#[test]
fn a_null_pointer_with_elements_is_refused_and_its_owner_released() {
    let text = Foreign::refused(|| Foreign { data: Data::Null, ..Foreign::of(&[2]) });
    assert!(text.starts_with("refused a foreign array: "), "{text}");
    assert!(text.contains("null"), "{text}");
}

#[test]
fn a_0d_array_may_have_null_shape_and_strides() {
    for null_shape in [false, true] {
        let (array, _) = Foreign { null_shape, ..Foreign::of(&[]) }.import(Access::Exclusive);
        let array = array.unwrap();
        assert_eq!((array.shape(), numbers(&array)), (&[][..], vec![0.0]));
    }
    let scalar = HostArray::from_vec(vec![7u8], &[]).unwrap();
    let tensor = Exported::of(scalar).into_raw();
    // SAFETY: exported above and given up.
    let payload = unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) }.unwrap();
    assert_eq!(numbers(&HostArray::from_dlpack(payload).unwrap()), [7.0]);
}

#[test]
fn a_null_shape_of_axes_is_refused() {
    Foreign::refused(|| Foreign { null_shape: true, ..Foreign::of(&[2, 3]) });
}

#[test]
fn a_negative_number_of_axes_is_refused() {
    Foreign::refused(|| Foreign { ndim: Some(-1), ..Foreign::of(&[2]) });
}

#[test]
fn fortran_order_is_not_c_order() {
    let array = HostArray::from_vec_layout(
        (0..6).map(|k| k as f32).collect(),
        0,
        Layout::column_major(&[2, 3]).unwrap(),
    );
    let array = array.unwrap();
    assert_eq!(numbers(&array), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert!(array.as_slice::<f32>().is_err() && array.clone().into_vec::<f32>().is_err());
    assert_eq!(Exported::of(array).strides(), [1, 2]);
}

#[test]
fn the_offset_of_a_strided_view_is_kept() {
    let base = HostArray::from_vec((0..20u8).collect(), &[4, 5]).unwrap();
    let part = base.slice(&[AxisSlice::from(1..), AxisSlice::from(2..).with_step(2)]).unwrap();
    assert_eq!(numbers(&part), [7.0, 9.0, 12.0, 14.0, 17.0, 19.0]);
    assert_eq!(part.address() - base.address(), 7);
    let address = part.address();
    let exported = Exported::of(part);
    assert_eq!((exported.data(), exported.strides()), (address, vec![5, 2]));
}

#[test]
fn byte_offset_is_honoured_on_import() {
    for (legacy, data) in
        [(false, Data::Memory), (true, Data::Memory), (false, Data::MemoryPlus(4))]
    {
        let further = if matches!(data, Data::Memory) { 0.0 } else { 1.0 };
        let tensor =
            Foreign { byte_offset: 3 * size_of::<f32>() as u64, data, ..Foreign::of(&[2]) };
        let (array, _) = if legacy {
            tensor.import_legacy(Access::Exclusive)
        } else {
            tensor.import(Access::Exclusive)
        };
        assert_eq!(numbers(&array.unwrap()), [3.0 + further, 4.0 + further]);
    }
}

#[test]
fn an_offset_out_of_the_address_space_is_refused() {
    for byte_offset in [u64::MAX, u64::MAX - 64, 1 << 63] {
        let text = Foreign::refused(|| Foreign {
            byte_offset,
            data: Data::Wild(usize::MAX / 2 + 8),
            ..Foreign::of(&[2])
        });
        assert!(text.contains("byte_offset") || text.contains("offset"), "{text}");
    }
}

#[test]
fn a_byte_offset_of_an_opaque_handle_is_not_folded_into_it() {
    let deleted = foreign::Deleted::default();
    let tensor =
        Foreign { device: (4, 0), byte_offset: 12, ..Foreign::of(&[2]) }.versioned(&deleted);
    // SAFETY: made above and given up; nothing reads the elements.
    let payload = unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) }.unwrap();
    assert_eq!(payload.byte_offset(), 12);
    assert_eq!(payload.address() - payload.data() as usize, 12);
    let refused = HostArray::from_dlpack(payload).unwrap_err().to_string();
    assert!(refused.contains("OpenCL 0 is not memory that the host can read"), "{refused}");
    assert_eq!(deleted.count(), 1);
}

#[test]
fn an_under_aligned_array_is_gathered_and_never_a_slice() {
    let tensor = Foreign { byte_offset: 1, ..Foreign::of(&[2]) };
    let (array, deleted) = tensor.import(Access::Exclusive);
    match array {
        Ok(array) => {
            let refused = array.as_slice::<f32>().unwrap_err().to_string();
            assert!(refused.contains("is not a multiple of 4"), "{refused}");
            let own = array.to_contiguous().unwrap();
            assert_eq!(own.as_slice::<f32>().unwrap().len(), 2);
            drop(array);
        }
        Err(error) => panic!("realign it instead: {error}"),
    }
    assert_eq!(deleted.count(), 1);
}

#[test]
fn a_consumer_that_wants_64_bytes_and_copies_is_not_called_zero_copy() {
    for (offset, copied) in [(0, false), (1, true)] {
        let layout = arraybridge_testkit::SampleLayout { offset, ..LAYOUTS[2] };
        let (host, _) = Sample { dtype: DType::F32, layout }.make().unwrap();
        let mock = MockArray::<WrappingKind>::new(host, HOST).unwrap();
        let (made, records) = watch(|| mock.convert_to::<Immutable>(HOST));
        drop(made.unwrap());
        assert_eq!(records[0].copied, copied, "{records:?}");
        assert_eq!(records[0].mechanism == Mechanism::HostCopy, copied, "{records:?}");
    }
}

#[test]
fn more_than_two_to_the_31_elements_are_counted_right() {
    let many = 3_000_000_000usize;
    let one = HostArray::from_vec(vec![5u8], &[1]).unwrap();
    let wide = one.broadcast_to(&[many]).unwrap();
    assert_eq!((wide.len(), wide.nbytes()), (many, many));
    let last = wide.slice(&[AxisSlice::from(-2..)]).unwrap();
    assert_eq!(numbers(&last), [5.0, 5.0]);
    assert_eq!(Exported::of(wide).shape(), [many as i64]);
}

#[test]
fn sizes_and_offsets_that_overflow_are_refused() {
    for shape in [[i64::MAX, 2], [1 << 32, 1 << 32], [1 << 62, 4]] {
        Foreign::refused(|| Foreign { shape: shape.to_vec(), ..Foreign::of(&[2, 2]) });
    }
    for strides in [[i64::MAX, 1], [i64::MIN, 1], [1 << 62, 1 << 62], [i64::MAX / 4, 1]] {
        Foreign::refused(|| Foreign::of(&[4, 2]).strides(&strides));
    }
    let text = Foreign::refused(|| Foreign { shape: vec![-1], ..Foreign::of(&[2]) });
    assert!(text.contains("shape"), "{text}");
}

#[test]
fn a_negative_offset_stays_negative() {
    let layout = Layout::row_major(&[5]).unwrap();
    let (backwards, offset) = layout.slice(&[AxisSlice::full().with_step(-1)]).unwrap();
    assert_eq!((backwards.span(), offset), (-4..1, 4));
    let host = HostArray::from_vec(vec![1u8, 2, 3, 4, 5], &[5]).unwrap();
    let error = host.with_layout(backwards, 3).unwrap_err();
    assert!(matches!(error, Error::InvalidLayout { .. }), "one element before the first: {error}");
}
