//! How exchanging arrays fails in the field: dtypes.
#![allow(clippy::unwrap_used, clippy::panic)]

mod foreign;

use arraybridge_core::{Access, Convert, DType, Device, Error, HOST, HostArray, with_element};
use arraybridge_testkit::mock::{Accelerated, MockArray, Wrapping, kinds::WrappingKind};
use arraybridge_testkit::{bits, dtypes, samples};
use foreign::{Exported, Foreign};

#[test]
fn nothing_is_cast_without_being_asked() {
    for dtype in dtypes() {
        for sample in samples(dtype) {
            let (host, _) = sample.make().unwrap();
            let mock = MockArray::<WrappingKind>::new(host, HOST).unwrap();
            let there = mock.convert_to::<Accelerated>(Device::Accelerator(0)).unwrap();
            let back = there.convert_to::<Wrapping>(HOST).unwrap().to_host().unwrap();
            assert_eq!((back.dtype(), bits(&back)), (dtype, sample.bits().unwrap()));
        }
    }
}

#[test]
fn a_view_of_another_dtype_is_an_error_that_names_both() {
    let array = HostArray::from_vec(vec![1.0f64], &[1]).unwrap();
    let error = array.as_slice::<f32>().unwrap_err();
    assert!(matches!(error, Error::DtypeMismatch { .. }));
    let text = "expected dtype float32, found float64; cast with `astype` where a cast is meant";
    assert_eq!(error.to_string(), text);
}

#[test]
fn the_same_width_is_not_the_same_dtype() {
    let array = HostArray::from_vec(vec![40000u16], &[1]).unwrap();
    assert!(array.as_slice::<i16>().is_err());
    assert!(array.into_vec::<i16>().is_err());
    for dtype in dtypes() {
        let array = HostArray::zeros(dtype, &[2]).unwrap();
        for other in dtypes().filter(|other| *other != dtype) {
            let refused = with_element!(other, T => array.as_slice::<T>().map(|_| ()));
            assert!(matches!(refused, Err(Error::DtypeMismatch { .. })), "{dtype} as {other}");
        }
    }
}

#[test]
fn bool_is_exported_as_bool_and_every_dtype_as_itself() {
    let array = HostArray::from_vec(vec![true, false], &[2]).unwrap();
    assert_eq!(Exported::of(array).dtype(), (6, 8, 1));
    for dtype in dtypes() {
        let exported = Exported::of(HostArray::zeros(dtype, &[2]).unwrap());
        let (code, width, lanes) = exported.dtype();
        assert_eq!(DType::from_dlpack(code, width, lanes).unwrap(), dtype);
    }
}

#[test]
fn a_byte_other_than_0_and_1_never_becomes_a_bool() {
    for (access, byte) in [(Access::Exclusive, 2u32), (Access::SharedMutable, 0xff)] {
        let word = f32::from_bits(byte << 8 | 1);
        let tensor = Foreign { code: 6, bits: 8, memory: vec![word; 4], ..Foreign::of(&[4]) };
        let (array, deleted) = tensor.import(access);
        let text = array.unwrap_err().to_string();
        assert!(text.contains("a bool array holds bytes other than 0 and 1"), "{text}");
        assert_eq!(deleted.count(), 1);
    }
    let word = f32::from_bits(0x0100_0001);
    let tensor = Foreign { code: 6, bits: 8, memory: vec![word], ..Foreign::of(&[4]) };
    let (array, _) = tensor.import(Access::Exclusive);
    assert_eq!(array.unwrap().as_slice::<bool>().unwrap(), [true, false, false, true]);
}

#[test]
fn lanes_sub_byte_types_and_opaque_handles_are_refused_by_name() {
    let cases = [
        ((2, 32, 4), "4 lanes per element"),
        ((0, 4, 1), "int of 4 bits"),
        ((1, 1, 1), "uint of 1 bits"),
        ((6, 1, 1), "bool of 1 bits"),
        ((15, 6, 1), "float6"),
        ((17, 4, 1), "float4"),
        ((3, 64, 1), "opaque handle"),
        ((2, 128, 1), "float of 128 bits"),
        ((4, 32, 1), "bfloat of 32 bits"),
        ((200, 8, 1), "unknown of 8 bits"),
    ];
    for ((code, width, lanes), named) in cases {
        let text = Foreign::refused(|| Foreign { code, bits: width, lanes, ..Foreign::of(&[2]) });
        assert!(text.starts_with("refused a foreign array: dtype: "), "{text}");
        assert!(text.contains(named), "{text}");
    }
    let text = Foreign::refused(|| Foreign { lanes: 0, ..Foreign::of(&[2]) });
    assert!(text.contains("lane count"), "{text}");
}

#[test]
fn bfloat16_and_8_bit_floats_keep_their_bits() {
    for dtype in dtypes().filter(|dtype| dtype.is_float8() || *dtype == DType::BF16) {
        for sample in samples(dtype) {
            let (host, releases) = sample.make().unwrap();
            let tensor = Exported::of(host).into_raw();
            // SAFETY: exported above and given up.
            let payload = unsafe {
                arraybridge_core::dlpack::DlpackPayload::from_versioned(tensor, Access::Exclusive)
            };
            let back = HostArray::from_dlpack(payload.unwrap()).unwrap();
            assert_eq!((back.dtype(), bits(&back)), (dtype, sample.bits().unwrap()));
            drop(back);
            releases.assert_once(&sample.name());
        }
    }
}
