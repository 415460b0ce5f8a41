//! Exchange: DLPack with streams, pointers that are not where they are said to be, moves between
//! devices, cudarc's own arrays.

// The stand-in is a shared library of Linux.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::num::NonZeroUsize;
use std::sync::Arc;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream, StreamHandle};
use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::roles::{DlpackExport, DlpackImport};
use arraybridge_core::{
    Access, AnyArray, CopyPolicy, DType, Decline, DeclineReason, Error, HostArray, Layout,
    NativeArray, Obstacle, Owner,
};
use arraybridge_cuda::cudarc::driver::sys::CUmemAttach_flags;
use arraybridge_cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, result};
use arraybridge_cuda::{Cuda, CudaArray, ShapedSlice, current_stream, use_stream};
use arraybridge_testkit::Releases;
use common::{GPU, OTHER, alone, calls, eventually, live, ramp, values};

fn handle(stream: &CudaStream) -> DlpackStream {
    let handle = NonZeroUsize::new(stream.cu_stream() as usize).unwrap();
    // SAFETY: the stream is alive as long as the test.
    DlpackStream::Handle(unsafe { StreamHandle::new(handle) })
}

/// Copies elements on a consumer's own stream, as a library would that was given the payload.
fn consume(stream: &Arc<CudaStream>, payload: &DlpackPayload) -> CudaSlice<f32> {
    let count = payload.layout().len();
    let mut target = stream.alloc_zeros::<f32>(count).unwrap();
    let (address, used) = {
        use arraybridge_cuda::cudarc::driver::DevicePtrMut;
        target.device_ptr_mut(stream)
    };
    let (from, raw) = (payload.address() as u64, stream.cu_stream());
    // SAFETY: both have that many elements; the order is what is tested.
    unsafe { result::memcpy_dtod_async(address, from, count * 4, raw) }.unwrap();
    drop(used);
    target
}

fn exported(array: CudaArray, stream: Option<DlpackStream>) -> DlpackPayload {
    Cuda.export(&mut Some(array), CopyPolicy::Allow, stream).unwrap()
}

fn reason(result: Result<CudaArray, Obstacle>) -> DeclineReason {
    match result {
        Err(Obstacle::Declined(decline)) => Decline::reason(&decline),
        other => panic!("not declined: {other:?}"),
    }
}

#[test]
fn a_consumers_stream_waits_and_nobody_else() {
    // What other tests wait for is not to be counted.
    if common::case().is_none() {
        return common::in_a_child("a_consumers_stream_waits_and_nobody_else", "counted", &[]);
    }
    alone(|| {
        let context = CudaContext::new(0).unwrap();
        let consumer = context.new_stream().unwrap();
        let array = Cuda::from_host(&ramp(1000), GPU).unwrap();
        common::delay(400_000);
        let made = Cuda::astype(&Cuda::astype(&array, DType::F64).unwrap(), DType::F32).unwrap();
        let waits = calls("cuCtxSynchronize") + calls("cuStreamSynchronize");
        let started = std::time::Instant::now();
        let payload = exported(made, Some(handle(&consumer)));
        let got = consume(&consumer, &payload);
        assert!(started.elapsed().as_millis() < 300, "the export waited on the host");
        assert_eq!(calls("cuCtxSynchronize") + calls("cuStreamSynchronize"), waits);
        // The consumer lets go while its stream still reads.
        drop(payload);
        common::delay(0);
        assert_eq!(consumer.clone_dtoh(&got).unwrap()[999], 999.0);
        assert_eq!(common::take_violation(), "");
        // Without the wait the stand-in has something to say.
        common::delay(2000);
        let made = Cuda::astype(&array, DType::F64).unwrap();
        let made = Cuda::astype(&made, DType::F32).unwrap();
        let payload = exported(made, Some(DlpackStream::NoSynchronisation));
        let got = consume(&consumer, &payload);
        consumer.synchronize().unwrap();
        payload.into_owner().into_inner::<CudaArray>().unwrap().wait().unwrap();
        assert!(common::take_violation().contains("without waiting for it"));
        drop(got);
    });
}

#[test]
fn every_way_to_name_a_stream_makes_the_data_ready() {
    alone(|| {
        let context = CudaContext::new(0).unwrap();
        let names: [(Option<DlpackStream>, Arc<CudaStream>); 3] = [
            (Some(DlpackStream::LegacyDefault), context.default_stream()),
            (Some(DlpackStream::PerThreadDefault), context.per_thread_stream()),
            // Not named: the export waits.
            (None, context.new_stream().unwrap()),
        ];
        for (name, stream) in names {
            let array = Cuda::from_host(&ramp(100), GPU).unwrap();
            common::delay(1000);
            let made = Cuda::astype(&array, DType::F64).unwrap();
            let made = Cuda::astype(&made, DType::F32).unwrap();
            let payload = exported(made, name);
            let got = consume(&stream, &payload);
            common::delay(0);
            assert_eq!(stream.clone_dtoh(&got).unwrap()[99], 99.0);
            assert_eq!(common::take_violation(), "", "{name:?}");
        }
    });
}

#[test]
fn a_shared_array_is_exported_as_a_copy_or_read_only() {
    let array = Cuda::from_host(&ramp(4), GPU).unwrap();
    let other = array.clone();
    let payload = exported(array.clone(), None);
    assert!(payload.is_copied() && payload.access() == Access::Exclusive);
    assert_ne!(payload.address() as u64, array.address());
    drop(payload);
    let payload = Cuda.export(&mut Some(array), CopyPolicy::Never, None).unwrap();
    assert!(!payload.is_copied() && payload.access() == Access::Immutable);
    assert_eq!(payload.address() as u64, other.address());
    // What others may still read is not written in place.
    let zeros = Cuda::from_host(&HostArray::zeros(DType::F32, &[4]).unwrap(), GPU).unwrap();
    let written = Cuda::assign(other, .., &zeros).unwrap();
    assert_ne!(written.address(), payload.address() as u64);
}

/// Memory of the driver's, which is freed when its owner is dropped.
struct Foreign {
    address: u64,
    pinned: bool,
    context: Arc<CudaContext>,
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.context.bind_to_thread().unwrap();
        let freed = if self.pinned {
            // SAFETY: allocated below, and freed once.
            unsafe { result::free_host(self.address as *mut _) }
        } else {
            // SAFETY: as above.
            unsafe { result::free_sync(self.address) }
        };
        freed.unwrap();
    }
}

/// Returns a payload over new memory of a kind, filled with zeros, that says that it is `named`.
fn foreign(
    device: usize,
    kind: u32,
    named: DlpackDevice,
    access: Access,
) -> (DlpackPayload, Releases) {
    let context = CudaContext::new(device).unwrap();
    let address = match kind {
        // SAFETY: the memory is filled right away, and freed by its owner.
        3 => unsafe { result::malloc_host(64, 0) }.unwrap() as u64,
        13 => {
            let everybody = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
            // SAFETY: as above.
            unsafe { result::malloc_managed(64, everybody) }.unwrap()
        }
        // SAFETY: as above.
        _ => unsafe { result::malloc_sync(64) }.unwrap(),
    };
    let stream = context.default_stream();
    if kind == 3 {
        // SAFETY: sixty-four bytes of pinned memory.
        unsafe { (address as *mut u8).write_bytes(0, 64) };
    } else {
        // SAFETY: sixty-four bytes of the device's memory.
        unsafe { result::memset_d8_async(address, 0, 64, stream.cu_stream()) }.unwrap();
        stream.synchronize().unwrap();
    }
    let releases = Releases::new();
    let owner = Owner::new(releases.guard(Foreign { address, pinned: kind == 3, context }));
    let (data, layout) = (address as *mut _, Layout::row_major(&[16]).unwrap());
    // SAFETY: sixteen zeros that the owner keeps; `named` may be a lie, which is what is tested.
    let payload = unsafe { DlpackPayload::new(owner, data, 0, DType::F32, layout, named, access) };
    (payload.unwrap(), releases)
}

#[test]
fn foreign_memory_is_wrapped_and_released_once_after_its_last_use() {
    alone(|| {
        for (kind, named) in [
            (2, DlpackDevice::cuda(0)),
            (3, DlpackDevice::CUDA_HOST),
            (13, DlpackDevice::cuda_managed(0)),
        ] {
            let (payload, releases) = foreign(0, kind, named, Access::Exclusive);
            let address = payload.address() as u64;
            let array = CudaArray::from_dlpack(payload).unwrap();
            assert_eq!((array.address(), array.device()), (address, GPU));
            assert_eq!(values(&array), [0.0; 16]);
            // It goes out as what it came in.
            let mut slot = Some(array);
            assert_eq!(Cuda.device(slot.as_ref().unwrap()).unwrap(), named);
            let payload = Cuda.export(&mut slot, CopyPolicy::Never, None).unwrap();
            assert_eq!((payload.device(), payload.access()), (named, Access::Exclusive));
            let array = Cuda.import(payload).unwrap();
            common::delay(10_000);
            let sum = Cuda::sum(&array, 0).unwrap();
            drop(array);
            releases.assert_none("while a kernel may still read");
            common::delay(0);
            releases.assert_once("after it");
            assert_eq!(values(&sum), [0.0]);
            assert_eq!(common::take_violation(), "");
        }
    });
}

#[test]
fn a_pointer_that_is_not_where_it_is_said_to_be_is_refused() {
    let cases = [
        ("another device", foreign(1, 2, DlpackDevice::cuda(0), Access::Exclusive)),
        ("pinned as a device's", foreign(0, 3, DlpackDevice::cuda(0), Access::Exclusive)),
        ("a device's as pinned", foreign(0, 2, DlpackDevice::CUDA_HOST, Access::Exclusive)),
        ("managed as a device's", foreign(0, 13, DlpackDevice::cuda(0), Access::Exclusive)),
        ("no such device", foreign(0, 2, DlpackDevice::cuda(7), Access::Exclusive)),
        ("main memory", foreign(0, 3, DlpackDevice::CPU, Access::Exclusive)),
    ];
    for (what, (payload, releases)) in cases {
        assert_eq!(reason(Cuda.import(payload)), DeclineReason::Device, "{what}");
        releases.assert_once(what);
    }
    let bytes = Box::new([0u64; 8]);
    let (data, layout) = (bytes.as_ptr() as *mut _, Layout::row_major(&[8]).unwrap());
    // SAFETY: main memory, which the driver does not know: that it is refused is what is tested.
    let payload = unsafe {
        let (owner, device) = (Owner::new(bytes), DlpackDevice::cuda(0));
        DlpackPayload::new(owner, data, 0, DType::F64, layout, device, Access::Exclusive)
    };
    let error = CudaArray::from_dlpack(payload.unwrap()).unwrap_err();
    assert!(error.to_string().contains("the driver does not know the memory"), "{error}");
}

#[test]
fn memory_that_others_write_is_copied_and_let_go_of() {
    alone(|| {
        let named = DlpackDevice::cuda(0);
        let (payload, releases) = foreign(0, 2, named, Access::SharedMutable);
        assert_eq!(reason(Cuda.import(payload)), DeclineReason::Shared);
        releases.assert_once("declined");
        let (payload, releases) = foreign(0, 2, named, Access::SharedMutable);
        let address = payload.address() as u64;
        let array = CudaArray::from_dlpack(payload).unwrap();
        assert_ne!(array.address(), address);
        releases.assert_once("copied");
        assert_eq!(values(&array), [0.0; 16]);
    });
}

#[test]
fn under_aligned_memory_is_declined() {
    let (payload, _) = foreign(0, 2, DlpackDevice::cuda(0), Access::Exclusive);
    let (data, device) = (payload.data(), payload.device());
    let layout = Layout::row_major(&[3]).unwrap();
    // SAFETY: three doubles at an odd place of the payload's memory.
    let odd = unsafe {
        let owner = payload.into_owner();
        DlpackPayload::new(owner, data, 4, DType::F64, layout, device, Access::Exclusive)
    };
    assert_eq!(reason(Cuda.import(odd.unwrap())), DeclineReason::Alignment);
}

#[test]
fn moves_go_over_the_bus_or_through_main_memory() {
    let test = "moves_go_over_the_bus_or_through_main_memory";
    if common::case().is_none() {
        common::in_a_child(test, "bus", &[("PEER", "1")]);
        return common::in_a_child(test, "main memory", &[("PEER", "0")]);
    }
    let by_bus = common::case().as_deref() == Some("bus");
    let there = live(1);
    let array = Cuda::from_host(&ramp(3000), GPU).unwrap();
    common::delay(2000);
    let turned = Cuda::reshape(&Cuda::astype(&array, DType::F64).unwrap(), &[30, 100]).unwrap();
    let moved = AnyArray::of::<Cuda>(turned.clone()).move_to_device(OTHER).unwrap();
    assert_eq!(moved.device().unwrap(), OTHER);
    assert_eq!(calls("cuMemcpyPeerAsync"), u64::from(by_bus));
    // The source may go while the copy is queued.
    drop((array, turned));
    common::delay(0);
    let back = moved.move_to_device(GPU).unwrap().to_host().unwrap();
    assert_eq!((back.shape(), back.as_slice::<f64>().unwrap()[2999]), (&[30, 100][..], 2999.0));
    drop(moved);
    eventually("the release", || live(1) <= there);
    assert_eq!(common::take_violation(), "");
}

#[test]
fn a_slice_of_cudarc_comes_and_goes_without_a_copy() {
    alone(|| {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        common::delay(2000);
        let slice = stream.clone_htod(&(0..24).map(|v| v as f32).collect::<Vec<_>>()).unwrap();
        let address = slice.device_ptr(&stream).0;
        let array = ShapedSlice::new(slice, &[4, 6]).into_library().unwrap();
        assert_eq!((array.address(), array.shape()), (address, &[4, 6][..]));
        let doubled = Cuda::sum(&array, 0).unwrap();
        let zero = Cuda::from_host(&HostArray::zeros(DType::F32, &[]).unwrap(), GPU).unwrap();
        let array = Cuda::assign(array, 0..2, &zero).unwrap();
        assert_eq!(array.address(), address);
        let ShapedSlice { slice, shape } = ShapedSlice::<f32>::from_library(array).unwrap();
        assert_eq!((slice.device_ptr(&stream).0, shape), (address, vec![4, 6]));
        let read = stream.clone_dtoh(&slice).unwrap();
        assert_eq!((&read[..12], read[12], read[23]), (&[0.0; 12][..], 12.0, 23.0));
        assert_eq!(values(&doubled), [36.0, 40.0, 44.0, 48.0, 52.0, 56.0]);
        drop(slice);
        stream.synchronize().unwrap();
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn every_stream_of_cudarc_waits_for_what_was_done_with_a_slice_here() {
    alone(|| {
        let context = CudaContext::new(0).unwrap();
        let (stream, third) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let slice = stream.clone_htod(&[1f32; 24]).unwrap();
        let array = ShapedSlice::new(slice, &[4, 6]).into_library().unwrap();
        let zero = Cuda::from_host(&HostArray::zeros(DType::F32, &[]).unwrap(), GPU).unwrap();
        common::delay(2000);
        let array = Cuda::assign(array, 0..2, &zero).unwrap();
        let slice = ShapedSlice::<f32>::from_library(array).unwrap().slice;
        assert_eq!(third.clone_dtoh(&slice).unwrap()[11..13], [0.0, 1.0]);
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn a_slice_that_cannot_be_given_back_stays_with_its_array() {
    // What other tests let go of must not meet the failures.
    if common::case().is_none() {
        let test = "a_slice_that_cannot_be_given_back_stays_with_its_array";
        return common::in_a_child(test, "failures", &[]);
    }
    let given_and_taken = |array: CudaArray, call: &str, after: u32| {
        common::fail(call, 999, after, 1);
        let given = ShapedSlice::<f32>::from_library(array);
        common::fail(call, 0, 0, 0);
        match given {
            Ok(slice) => slice.into_library().unwrap(),
            Err(error) => error.into_array().unwrap(),
        }
    };
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let slice = stream.clone_htod(&[7f32; 24]).unwrap();
    let mut array = ShapedSlice::new(slice, &[4, 6]).into_library().unwrap();
    for call in ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"] {
        for after in 0..4 {
            array = given_and_taken(array, call, after);
            assert_eq!(values(&array), [7.0; 24]);
        }
    }
    // And an array of this crate's, until it has become a slice.
    for call in ["cuEventCreate", "cuEventRecord"] {
        for after in 0..4 {
            let array = Cuda::from_host(&ramp(10), GPU).unwrap();
            assert_eq!(values(&given_and_taken(array, call, after))[9], 9.0);
        }
    }
    // None of these failures is another call's.
    assert_eq!(stream.clone_htod(&[1f32]).unwrap().len(), 1);
    assert_eq!(common::take_violation(), "");
}

#[test]
fn failures_are_told_to_their_own_calls_while_other_slices_are_dropped() {
    if common::case().is_none() {
        let test = "failures_are_told_to_their_own_calls_while_other_slices_are_dropped";
        return common::in_a_child(test, "failures", &[]);
    }
    // Slices of this crate's streams, whose failures cudarc notes in one place.
    let array = || {
        let array = Cuda::from_host(&ramp(10), GPU).unwrap();
        ShapedSlice::<f32>::from_library(array).unwrap().into_library().unwrap()
    };
    // The last event of the way is cudarc's own, whose failure it only notes.
    let (first, before) = (array(), common::calls("cuEventRecord"));
    let taken = ShapedSlice::<f32>::from_library(first).unwrap();
    let events = (common::calls("cuEventRecord") - before) as u32;
    let mut kept = taken.into_library().unwrap();
    for _ in 0..20 {
        // A thread of their own drops them meanwhile.
        drop((0..200).map(|_| array()).collect::<Vec<_>>());
        for _ in 0..20 {
            common::fail("cuEventRecord", 999, events - 1, 1);
            let given = ShapedSlice::<f32>::from_library(kept);
            common::fail("cuEventRecord", 0, 0, 0);
            kept = given.unwrap_err().into_array().unwrap();
        }
    }
    assert_eq!(values(&kept)[9], 9.0);
    assert_eq!(common::take_violation(), "");
}

#[test]
fn an_array_becomes_a_slice_of_cudarc() {
    alone(|| {
        let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
        let array = Cuda::from_host(&ramp(10), GPU).unwrap();
        let address = array.address();
        common::delay(2000);
        let slice = ShapedSlice::<f32>::from_library(array).unwrap().slice;
        assert_eq!(slice.device_ptr(&stream).0, address);
        assert_eq!(stream.clone_dtoh(&slice).unwrap()[9], 9.0);
        drop(slice);
        // What is shared, or a part, is copied.
        let array = Cuda::reshape(&Cuda::from_host(&ramp(10), GPU).unwrap(), &[5, 2]).unwrap();
        let row = Cuda::plane(&array, 3).unwrap();
        let slice = ShapedSlice::<f32>::from_library(row).unwrap().slice;
        assert_eq!(stream.clone_dtoh(&slice).unwrap(), [6.0, 7.0]);
        assert_eq!(values(&array)[7], 7.0);
        let empty = Cuda::from_host(&ramp(0), GPU).unwrap();
        let error = ShapedSlice::<f32>::from_library(empty).unwrap_err();
        assert!(matches!(error.error(), Error::LayoutUnsupported { .. }), "{error}");
        let error = ShapedSlice::<i32>::from_library(array).unwrap_err();
        assert!(matches!(error.error(), Error::DtypeMismatch { .. }));
        assert_eq!(values(&error.into_array().unwrap())[7], 7.0);
        let wrong = ShapedSlice::new(stream.clone_htod(&[1f32; 3]).unwrap(), &[2, 2]);
        let error = wrong.into_library().unwrap_err();
        assert!(matches!(error.error(), Error::ShapeMismatch { .. }));
        assert_eq!(error.into_array().unwrap().slice.len(), 3);
    });
}

#[test]
fn a_context_of_ones_own_works_beside_the_devices_primary_one() {
    alone(|| {
        let own = CudaContext::new_non_primary(0, 0).unwrap();
        let stream = own.new_stream().unwrap();
        let slice = stream.clone_htod(&[1f32, 2.0, 3.0]).unwrap();
        let array = ShapedSlice::new(slice, &[3]).into_library().unwrap();
        assert_eq!(array.device(), GPU);
        assert!(array.stream().context().cu_ctx() == own.cu_ctx());
        let sum = Cuda::sum(&array, 0).unwrap();
        assert!(sum.stream().context().cu_ctx() == own.cu_ctx());
        assert_eq!(values(&sum), [6.0]);
        // Arrays of both contexts meet where the first one is.
        let primary = Cuda::from_host(&ramp(3), GPU).unwrap();
        let stacked = Cuda::stack(&[&primary, &array]).unwrap();
        assert_eq!(values(&stacked), [0.0, 1.0, 2.0, 1.0, 2.0, 3.0]);
        assert_eq!(common::take_violation(), "");
    });
}

#[test]
fn this_threads_context_stays_what_it_was() {
    alone(|| {
        let context = CudaContext::new(1).unwrap();
        context.bind_to_thread().unwrap();
        let array = Cuda::from_host(&ramp(10), GPU).unwrap();
        let _stream = current_stream(GPU).unwrap();
        let own = CudaContext::new(0).unwrap();
        context.bind_to_thread().unwrap();
        let scope = use_stream(&own.default_stream()).unwrap();
        drop((Cuda::sum(&array, 0).unwrap(), values(&array), array));
        drop(scope);
        let current = result::ctx::get_current().unwrap().unwrap();
        assert!(current == context.cu_ctx());
    });
}
