//! DLPack tensors with any metadata: refused, or in bounds by arithmetic of this file's own, and
//! released once in any case.

#![no_main]

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use arbitrary::Arbitrary;
use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{Access, HostArray};
use libfuzzer_sys::fuzz_target;

/// `DLManagedTensorVersioned` of dlpack.h 1.x.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

static RELEASES: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn release(tensor: *mut Versioned) {
    // SAFETY: boxed below, and released once (which is counted).
    drop(unsafe { Box::from_raw(tensor) });
    RELEASES.fetch_add(1, Ordering::SeqCst);
}

#[derive(Arbitrary, Debug)]
struct Input {
    version: (u8, u8),
    flags: u64,
    device: (u8, i32),
    dtype: (u8, u8, u8),
    axes: Vec<(i64, i64)>,
    has_shape: bool,
    has_strides: bool,
    has_data: bool,
    negative_rank: bool,
    byte_offset: u64,
    access: u8,
    memory: Vec<u8>,
}

/// Returns whether every byte of every element lies in the memory.
fn in_bounds(payload: &DlpackPayload, length: usize) -> bool {
    let layout = payload.layout();
    if layout.is_empty() {
        return true;
    }
    let size = payload.dtype().size() as i128;
    let (mut low, mut high) =
        (i128::from(payload.byte_offset()), i128::from(payload.byte_offset()));
    for (&count, &stride) in layout.shape().iter().zip(layout.strides()) {
        let reach = (count as i128 - 1) * stride as i128 * size;
        if reach < 0 { low += reach } else { high += reach }
    }
    low >= 0 && high + size <= length as i128
}

fuzz_target!(|input: Input| {
    let mut memory = input.memory;
    let (shape, strides): (Vec<i64>, Vec<i64>) = input.axes.into_iter().unzip();
    let rank = shape.len() as i32;
    let tensor = Box::new(Versioned {
        major: u32::from(input.version.0 % 3),
        minor: u32::from(input.version.1),
        context: std::ptr::null_mut(),
        deleter: Some(release),
        flags: input.flags,
        data: if input.has_data { memory.as_mut_ptr().cast() } else { std::ptr::null_mut() },
        device_type: i32::from(input.device.0 % 16),
        device_id: input.device.1,
        ndim: if input.negative_rank { -rank } else { rank },
        code: input.dtype.0,
        bits: input.dtype.1,
        lanes: u16::from(input.dtype.2 % 3),
        shape: if input.has_shape { shape.as_ptr() } else { std::ptr::null() },
        strides: if input.has_strides { strides.as_ptr() } else { std::ptr::null() },
        byte_offset: input.byte_offset,
    });
    let access = [Access::Exclusive, Access::Immutable, Access::SharedMutable]
        [usize::from(input.access % 3)];
    let before = RELEASES.load(Ordering::SeqCst);
    // SAFETY: shape and strides are readable for as many axes as are named, or null; the elements
    // are read below only if they lie in the memory, which outlives the payload.
    let payload = unsafe { DlpackPayload::from_versioned(Box::into_raw(tensor).cast(), access) };
    if let Ok(payload) = payload
        && in_bounds(&payload, memory.len())
        && payload.layout().len() < 1 << 20
        && let Ok(mut array) = HostArray::from_dlpack(payload)
    {
        let gathered = array.gather().unwrap();
        assert_eq!(gathered.shape(), array.shape());
        if array.make_mut().is_ok() {
            gathered.copy_into(&mut array).unwrap();
        }
        if let Ok(bools) = gathered.as_slice::<bool>() {
            assert!(bools.iter().all(|value| u8::from(*value) <= 1));
        }
    }
    assert_eq!(RELEASES.load(Ordering::SeqCst), before + 1);
});
