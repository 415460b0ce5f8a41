//! Tensors in and out: what is shared, by address, what is released and when.

#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge_core::ops::HostExchange;
use arraybridge_core::{
    Access, AnyArray, ArrayLibrary, ConversionCounters, Convert, CopyPolicy, DType, DeclineReason,
    Device, Error, HOST, HostArray, HostViewExt, Layout, Obstacle, Owner, library,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_tch::Tch;
use arraybridge_tch::tch::{self, Kind, Tensor};
use arraybridge_testkit::{Releases, bits};
use ndarray::Array3;

fn address(tensor: &Tensor) -> usize {
    Tch.describe(tensor).unwrap().address
}

#[test]
fn sixty_four_mebibytes_go_there_and_back_into_the_array_that_they_were() {
    let mut image = Array3::<f32>::zeros((16, 1024, 1024));
    image[[15, 1023, 1023]] = 7.0;
    let before = image.as_ptr() as usize;
    let counters = ConversionCounters::new();
    let watch = counters.install();
    let tensor: Tensor = image.convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!((address(&tensor), tensor.size()), (before, vec![16, 1024, 1024]));
    assert_eq!(tensor.double_value(&[15, 1023, 1023]), 7.0);
    let array: NdArray = tensor.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    let image: Array3<f32> = array.into_array().unwrap();
    drop(watch);
    assert_eq!(image.as_ptr() as usize, before);
    assert_eq!(image[[15, 1023, 1023]], 7.0);
    let table = counters.table().to_string();
    assert!(table.contains("shared host buffer") && !table.contains("host copy"), "{table}");
}

/// Memory with a counted owner, and its count.
fn counted(values: &[f32]) -> (HostArray, Releases) {
    let releases = Releases::new();
    let mut memory = HostArray::from_slice(values, &[values.len()]).unwrap();
    let pointer = memory.as_mut_ptr().unwrap();
    let owner = Owner::new(releases.guard(memory));
    let layout = Layout::row_major(&[values.len()]).unwrap();
    // SAFETY: the owner holds the memory, which nobody else reaches.
    let array =
        unsafe { HostArray::from_raw(owner, pointer, DType::F32, layout, Access::Exclusive) };
    (array.unwrap(), releases)
}

#[test]
fn an_owner_is_released_once_from_whichever_side_holds_it_last() {
    // By torch, on another thread, after a view that outlived the tensor.
    let (host, releases) = counted(&[1.0, 2.0, 3.0, 4.0]);
    let tensor: Tensor = NdArray::from_host(host).convert_to::<Tch>(HOST).unwrap();
    let view = tensor.view([2, 2]);
    drop(tensor);
    releases.assert_none("a view holds it");
    std::thread::spawn(move || drop(view)).join().unwrap();
    releases.assert_once("by torch");

    // By ndarray, after torch handed it back.
    let (host, releases) = counted(&[1.0, 2.0]);
    let tensor: Tensor = NdArray::from_host(host).convert_to::<Tch>(HOST).unwrap();
    let array: NdArray = tensor.convert_to::<Ndarray>(HOST).unwrap();
    releases.assert_none("ndarray holds it");
    std::thread::spawn(move || drop(array)).join().unwrap();
    releases.assert_once("by ndarray");

    // Once, though torch keeps other tensors over the same storage.
    let (host, releases) = counted(&[1.0, 2.0]);
    let tensor: Tensor = NdArray::from_host(host).convert_to::<Tch>(HOST).unwrap();
    let clone = tensor.shallow_clone();
    let copy: NdArray = tensor.convert_to::<Ndarray>(HOST).unwrap();
    releases.assert_none("the clone holds it");
    drop(clone);
    releases.assert_once("the copy is another memory");
    assert_eq!(copy.host().as_slice::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn an_owner_that_panics_when_it_is_dropped_does_not_unwind_into_torch() {
    struct Panics(Releases);
    impl Drop for Panics {
        fn drop(&mut self) {
            drop(self.0.guard(()));
            std::panic::panic_any("an owner that panics");
        }
    }
    let releases = Releases::new();
    let mut memory = vec![0u8; 16];
    let pointer = memory.as_mut_ptr();
    let owner = Owner::new((Panics(releases.clone()), memory));
    let layout = Layout::row_major(&[16]).unwrap();
    // SAFETY: the owner holds the memory, which nobody else reaches.
    let host = unsafe { HostArray::from_raw(owner, pointer, DType::U8, layout, Access::Exclusive) };
    let tensor: Tensor = NdArray::from_host(host.unwrap()).convert_to::<Tch>(HOST).unwrap();
    drop(tensor);
    releases.assert_once("and the process lives");
}

#[test]
fn memory_goes_in_and_out_several_times() {
    let (host, releases) = counted(&[1.0, 2.0, 3.0]);
    let before = host.address();
    let mut array = NdArray::from_host(host);
    for round in 0..4 {
        let mut tensor: Tensor = array.convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
        let _ = tensor.f_add_(&Tensor::from(1f32)).unwrap();
        array = tensor.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
        assert_eq!(array.host().address(), before, "round {round}");
    }
    assert_eq!(array.host().as_slice::<f32>().unwrap(), [5.0, 6.0, 7.0]);
    releases.assert_none("it is in use");
    drop(array);
    releases.assert_once("after the rounds");
}

#[test]
fn strided_tensors_are_shared_with_their_strides() {
    let tensor = Tensor::arange(24, (Kind::Int64, tch::Device::Cpu)).view([2, 3, 4]);
    let turned = tensor.permute([2, 0, 1]);
    drop(tensor);
    let before = address(&turned);
    let array: NdArray = turned.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(array.host().address(), before);
    assert_eq!(array.host().layout().strides(), [1, 12, 4]);
    assert_eq!(array.view::<ndarray::ArrayView3<i64>>().unwrap()[[3, 1, 2]], 23);
    // And back, strides and all.
    let back: Tensor = array.convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!((address(&back), back.stride()), (before, vec![1, 12, 4]));
    assert_eq!(back.int64_value(&[3, 1, 2]), 23);
}

#[test]
fn what_torch_cannot_express_is_copied_once_and_the_record_says_why() {
    let host = HostArray::from_vec((0..12i32).collect(), &[3, 4]).unwrap();
    for array in [host.broadcast_to(&[2, 3, 4]).unwrap(), host.transpose(), host.clone()] {
        let expected = bits(&array);
        let (tensor, records) =
            arraybridge_testkit::watch(|| NdArray::from_host(array).convert_to::<Tch>(HOST));
        let tensor: Tensor = tensor.unwrap();
        let declined: Vec<_> = records[0].declined.iter().map(|(_, d)| d.reason()).collect();
        assert_eq!((records[0].copied, declined), (true, vec![DeclineReason::ReadOnly]));
        assert_eq!(bits(&Tch::to_host(&tensor).unwrap()), expected);
    }
    let layout = Layout::new(&[2, 2], &[-2, -1]).unwrap();
    let negative = HostArray::from_vec_layout(vec![1i16, 2, 3, 4], 3, layout).unwrap();
    let (tensor, records) =
        arraybridge_testkit::watch(|| NdArray::from_host(negative).convert_to::<Tch>(HOST));
    let tensor: Tensor = tensor.unwrap();
    assert_eq!(records[0].declined[0].1.to_string(), "layout (torch has no negative strides)");
    assert_eq!(Tch::to_host(&tensor).unwrap().as_slice::<i16>().unwrap(), [4, 3, 2, 1]);
}

#[test]
fn every_dtype_of_torch_round_trips_and_the_others_are_refused() {
    let refused = [DType::F8E3M4, DType::F8E4M3, DType::F8E4M3B11Fnuz];
    for dtype in DType::all() {
        // Odd bit patterns, NaN payloads among them.
        let bytes: Vec<u8> = (0..6 * dtype.size())
            .map(|byte| if dtype == DType::Bool { byte as u8 % 2 } else { 0xff - byte as u8 })
            .collect();
        let host = HostArray::from_slice(&bytes, &[bytes.len()]).unwrap();
        let host = host.reinterpret(dtype, &[2, 3]).unwrap();
        match Tch::from_host(&host, HOST) {
            Ok(tensor) => {
                assert_eq!(Tch.describe(&tensor).unwrap().dtype, dtype);
                assert_eq!(Tch::to_host(&tensor).unwrap().as_bytes().unwrap(), bytes, "{dtype}");
                let before = address(&tensor);
                let array: NdArray =
                    tensor.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
                assert_eq!(array.host().address(), before, "{dtype}");
                let tensor: Tensor = array.convert_with::<Tch>(HOST, CopyPolicy::Never).unwrap();
                assert_eq!(address(&tensor), before, "{dtype}");
            }
            Err(error) => {
                assert!(refused.contains(&dtype), "{error}");
                assert!(matches!(error, Error::DtypeUnsupported { .. }), "{error}");
            }
        }
    }
}

#[test]
fn no_axes_and_no_elements() {
    for shape in [&[][..], &[0], &[3, 0, 2], &[1, 1]] {
        let count = shape.iter().product();
        let host = HostArray::from_slice(&vec![2.5f64; count], shape).unwrap();
        let tensor = Tch::from_host(&host, HOST).unwrap();
        assert_eq!(tensor.size(), shape.iter().map(|&n| n as i64).collect::<Vec<_>>());
        let back: NdArray = tensor.convert_to::<Ndarray>(HOST).unwrap();
        assert_eq!((back.host().shape(), back.host().len()), (shape, count));
        let mut tensor: Tensor = back.convert_to::<Tch>(HOST).unwrap();
        assert_eq!(tensor.host_view().unwrap().as_slice::<f64>().unwrap(), vec![2.5; count]);
    }
}

/// Offers memory through DLPack, as a library in the process would.
fn import(
    host: HostArray,
    layout: Layout,
    device: DlpackDevice,
    access: Access,
) -> Result<Tensor, Obstacle> {
    let (data, dtype) = (host.as_ptr().cast_mut().cast(), host.dtype());
    // SAFETY: the cases below say less than the memory has, or are refused before it is used.
    let payload =
        unsafe { DlpackPayload::new(host.into_owner(), data, 0, dtype, layout, device, access) };
    Tch.dlpack_import().unwrap().import(payload.unwrap())
}

#[track_caller]
fn declined(result: Result<Tensor, Obstacle>) -> DeclineReason {
    match result {
        Err(Obstacle::Declined(decline)) => decline.reason(),
        other => panic!("not declined: {other:?}"),
    }
}

/// What libtorch ends the process on, or takes without a word, is refused before the call.
#[test]
fn payloads_that_torch_would_abort_on_or_misread_are_declined() {
    let host = || HostArray::zeros(DType::F32, &[64]).unwrap();
    let row = || Layout::row_major(&[4]).unwrap();
    let (cpu, mine) = (DlpackDevice::CPU, Access::Exclusive);
    assert_eq!(import(host(), row(), cpu, mine).unwrap().size(), [4]);

    let negative = Layout::new(&[4], &[-1]).unwrap();
    assert_eq!(declined(import(host(), negative, cpu, mine)), DeclineReason::Layout);
    let overlapping = Layout::new(&[4, 4], &[1, 1]).unwrap();
    assert_eq!(declined(import(host(), overlapping, cpu, mine)), DeclineReason::ReadOnly);
    let zero = Layout::new(&[4], &[0]).unwrap();
    assert_eq!(declined(import(host(), zero, cpu, mine)), DeclineReason::ReadOnly);
    let far = Layout::new(&[1, 4], &[isize::MAX, 1]).unwrap();
    assert_eq!(import(host(), far, cpu, mine).unwrap().size(), [1, 4]);
    // Axes of length 1 may have any stride, negative ones too.
    let odd = Layout::new(&[1, 4], &[-7, 1]).unwrap();
    assert_eq!(import(host(), odd, cpu, mine).unwrap().size(), [1, 4]);

    for access in [Access::Immutable, Access::SharedMutable] {
        let reason = declined(import(host(), row(), cpu, access));
        assert!(matches!(reason, DeclineReason::ReadOnly | DeclineReason::Shared));
    }
    // A libtorch without CUDA takes these, and the first read ends the process.
    if !arraybridge_tch::cuda_availability().is_available() {
        for device in [DlpackDevice::cuda(0), DlpackDevice::cuda(300), DlpackDevice::cuda(-1)] {
            assert_eq!(declined(import(host(), row(), device, mine)), DeclineReason::Device);
        }
    }
    let metal = DlpackDevice { device_type: 8, device_id: 0 };
    assert_eq!(declined(import(host(), row(), metal, mine)), DeclineReason::Device);
    let exotic = HostArray::zeros(DType::F8E4M3, &[64]).unwrap();
    assert_eq!(declined(import(exotic, row(), cpu, mine)), DeclineReason::Dtype);

    let bytes = HostArray::zeros(DType::U8, &[64]).unwrap();
    let pointer = bytes.as_ptr().cast_mut().wrapping_add(1).cast();
    // SAFETY: four floats lie in the 64 bytes.
    let payload =
        unsafe { DlpackPayload::new(bytes.into_owner(), pointer, 0, DType::F32, row(), cpu, mine) };
    let result = Tch.dlpack_import().unwrap().import(payload.unwrap());
    assert_eq!(declined(result), DeclineReason::Alignment);
}

#[test]
fn more_elements_than_32_bits_count() {
    // Without the memory: strides of zero repeat one element.
    let one = Tensor::from_slice(&[7u8]);
    let many = one.expand([1 << 33], false);
    let seen = Tch.describe(&many).unwrap();
    assert_eq!((seen.layout.len(), seen.nbytes()), (1 << 33, 1 << 33));
    let part = many.narrow(0, 1 << 32, 2);
    drop((one, many));
    let array: NdArray = part.convert_to::<Ndarray>(HOST).unwrap();
    assert_eq!(array.host().to_contiguous().unwrap().as_slice::<u8>().unwrap(), [7, 7]);
}

#[test]
fn offset_views_begin_where_they_begin() {
    let tensor = Tensor::arange(10, (Kind::Float, tch::Device::Cpu));
    let part = tensor.slice(0, 3, 9, 2);
    drop(tensor);
    let array: NdArray = part.convert_with::<Ndarray>(HOST, CopyPolicy::Never).unwrap();
    assert_eq!(array.host().layout().strides(), [2]);
    assert_eq!(array.host().gather().unwrap().as_slice::<f32>().unwrap(), [3.0, 5.0, 7.0]);
}

#[test]
fn bytes_that_are_no_bool_are_refused() {
    let bools = || Tensor::from_slice(&[0u8, 1, 2]).view_dtype(Kind::Bool);
    let error = bools().convert_to::<Ndarray>(HOST).unwrap_err();
    assert!(matches!(error.error(), Error::InvalidPayload { .. }), "{error}");
    assert_eq!(error.into_array().unwrap().size(), [3], "the tensor comes back");
    assert!(Tch::to_host(&bools()).is_err());
    assert!(bools().host_view().is_err());
    let good = Tensor::from_slice(&[0u8, 1, 1]).view_dtype(Kind::Bool);
    let array: NdArray = good.convert_to::<Ndarray>(HOST).unwrap();
    assert_eq!(array.host().as_slice::<bool>().unwrap(), [false, true, true]);
}

#[test]
fn tensors_that_are_no_plain_memory_are_refused_by_name() {
    let dense = || Tensor::from_slice(&[1f32, 0.0, 0.0, 2.0]).view([2, 2]);
    let mkldnn = dense().to_mkldnn();
    let quantised = dense().quantize_per_tensor(0.1, 0, Kind::QInt8);
    let cases = [
        (Tensor::new(), "tch does not support undefined tensors: check `defined()` first"),
        (
            dense().to_sparse(None, None::<&[i64]>, None),
            "sparse tensors: make it dense with `to_dense`",
        ),
        (mkldnn, "mkldnn tensors: make it dense with `to_dense`"),
        (quantised, "quantised tensors: convert it with `dequantize`"),
    ];
    for (tensor, expected) in cases {
        let error = tensor.convert_to::<Ndarray>(HOST).unwrap_err();
        assert!(matches!(error.error(), Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        let tensor: Tensor = error.into_array().unwrap();
        let any = AnyArray::of::<Tch>(tensor);
        assert!(any.to_host().is_err() && any.max(0).is_err() && any.duplicate().is_err());
    }
}

#[test]
fn devices_that_are_not_there_are_errors_that_list_those_that_are() {
    let host = HostArray::zeros(DType::F32, &[2]).unwrap();
    let error = Tch::from_host(&host, Device::Accelerator(300)).unwrap_err();
    assert!(error.to_string().starts_with("tch has no device `accelerator:300`; it has `host`"));
    let tensor = Tch::from_host(&host, HOST).unwrap();
    let error = tensor.convert_to::<Tch>(Device::Accelerator(300)).unwrap_err();
    assert!(matches!(error.error(), Error::DeviceUnavailable { .. }), "{error}");
    assert_eq!(error.into_array().unwrap().size(), [2]);
    for name in ["tch", "torch", "pytorch"] {
        assert_eq!(library(name).unwrap().name(), "tch");
    }
}

#[test]
fn running_out_of_memory_is_told_and_the_array_comes_back() {
    // 4 EiB, of a tensor that repeats one element.
    let one = Tensor::from_slice(&[1f32]);
    let huge = one.expand([1 << 60], false);
    for result in [
        Tch::to_host(&huge).map(drop),
        AnyArray::of::<Tch>(huge.shallow_clone()).duplicate().map(drop),
    ] {
        let error = result.unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
    }
    let error = huge.convert_to::<Ndarray>(HOST).unwrap_err();
    assert!(error.error().is_out_of_memory(), "{error}");
    assert_eq!(error.into_array().unwrap().size(), [1 << 60]);
}
