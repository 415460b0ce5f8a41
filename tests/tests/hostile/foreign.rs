//! DLPack tensors as a careless or hostile C library might hand them over.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arraybridge::dlpack::DlpackPayload;
use arraybridge::{Access, Error, HostArray};

/// `DLManagedTensorVersioned` of dlpack.h 1.x, written down independently of the crate that core
/// uses.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

#[repr(C)]
struct Legacy {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

const READ_ONLY: u64 = 1;

/// What a tensor points to, and the count of its releases.
struct Memory {
    elements: Vec<u16>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    releases: Arc<AtomicUsize>,
}

unsafe extern "C" fn release(tensor: *mut Versioned) {
    // SAFETY: the tensor was boxed by `import`, and this is called once.
    let tensor = unsafe { Box::from_raw(tensor) };
    // SAFETY: so was its context.
    let memory = unsafe { Box::from_raw(tensor.context.cast::<Memory>()) };
    memory.releases.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn release_legacy(tensor: *mut Legacy) {
    // SAFETY: as in `release`.
    let tensor = unsafe { Box::from_raw(tensor) };
    // SAFETY: as in `release`.
    let memory = unsafe { Box::from_raw(tensor.context.cast::<Memory>()) };
    memory.releases.fetch_add(1, Ordering::SeqCst);
}

/// Makes a 2 x 3 array of u16, 0 to 5, with two elements more on either side.
fn memory(releases: &Arc<AtomicUsize>) -> (Box<Memory>, Tensor) {
    let mut memory = Box::new(Memory {
        elements: vec![100, 101, 0, 1, 2, 3, 4, 5, 102, 103],
        shape: vec![2, 3],
        strides: vec![3, 1],
        releases: Arc::clone(releases),
    });
    let tensor = Tensor {
        data: memory.elements.as_mut_ptr().wrapping_add(2).cast(),
        device_type: 1,
        device_id: 0,
        ndim: 2,
        code: 1,
        bits: 16,
        lanes: 1,
        shape: memory.shape.as_mut_ptr(),
        strides: memory.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    (memory, tensor)
}

/// Imports a tensor after `spoil` has had its way, and checks that it was released once.
fn import<R>(
    access: Access,
    spoil: impl FnOnce(&mut Versioned),
    then: impl FnOnce(Result<HostArray, Error>) -> R,
) -> R {
    let releases = Arc::new(AtomicUsize::new(0));
    let (memory, tensor) = memory(&releases);
    let context = Box::into_raw(memory).cast();
    let mut versioned = Box::new(Versioned {
        major: 1,
        minor: 1,
        context,
        deleter: Some(release),
        flags: 0,
        tensor,
    });
    spoil(&mut versioned);
    let raw = Box::into_raw(versioned).cast();
    // SAFETY: the tensor is given up; what `spoil` changed leaves its pointers readable or null.
    let payload = unsafe { DlpackPayload::from_versioned(raw, access) };
    let result = then(payload.and_then(HostArray::from_dlpack));
    assert_eq!(releases.load(Ordering::SeqCst), 1);
    result
}

fn elements(array: Result<HostArray, Error>) -> Vec<u16> {
    array.unwrap().gather().unwrap().as_slice().unwrap().to_vec()
}

#[test]
fn a_sound_tensor_is_taken_over_and_released_once() {
    let seen = import(Access::Exclusive, |_| {}, elements);
    assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn every_field_that_breaks_a_rule_is_refused_and_the_tensor_released() {
    type Spoil = fn(&mut Versioned);
    let spoils: [(&str, Spoil); 19] = [
        ("major version", |it| it.major = 2),
        ("no axes but negative", |it| it.tensor.ndim = -1),
        ("most negative rank", |it| it.tensor.ndim = i32::MIN),
        ("no shape", |it| it.tensor.shape = ptr::null_mut()),
        ("negative length", |it| spoil_shape(it, [2, -3])),
        ("most negative length", |it| spoil_shape(it, [i64::MIN, 1])),
        ("overflowing lengths", |it| spoil_shape(it, [1 << 32, 1 << 32])),
        ("overflowing bytes", |it| spoil_shape(it, [1 << 62, 1])),
        ("overflowing strides", |it| spoil_strides(it, [i64::MAX, 1])),
        ("negative overflow", |it| spoil_strides(it, [i64::MIN, -1])),
        ("no lanes", |it| it.tensor.lanes = 0),
        ("vector lanes", |it| it.tensor.lanes = 4),
        ("no bits", |it| it.tensor.bits = 0),
        ("sub-byte", |it| it.tensor.bits = 4),
        ("odd width", |it| it.tensor.bits = 24),
        ("opaque handle", |it| it.tensor.code = 3),
        ("unknown code", |it| it.tensor.code = 255),
        ("no data", |it| it.tensor.data = ptr::null_mut()),
        ("offset beyond the address space", |it| it.tensor.byte_offset = u64::MAX - 7),
    ];
    for (name, spoil) in spoils {
        let error = import(Access::Exclusive, spoil, |array| array.err());
        assert!(error.is_some(), "{name}");
    }
    let late = import(
        Access::Exclusive,
        |it| {
            it.minor = 2;
            it.tensor.strides = ptr::null_mut();
        },
        |array| array.err(),
    );
    assert!(late.unwrap().to_string().contains("strides"));
    // SAFETY: null is allowed, and refused.
    let null = unsafe { DlpackPayload::from_versioned(ptr::null_mut(), Access::Exclusive) };
    assert!(matches!(null, Err(Error::InvalidPayload { .. })));
}

fn spoil_shape(it: &mut Versioned, shape: [i64; 2]) {
    // SAFETY: the shape has two lengths.
    unsafe { it.tensor.shape.cast::<[i64; 2]>().write(shape) };
}

fn spoil_strides(it: &mut Versioned, strides: [i64; 2]) {
    // SAFETY: there are two strides.
    unsafe { it.tensor.strides.cast::<[i64; 2]>().write(strides) };
}

#[test]
fn what_the_rules_allow_is_read_as_they_say() {
    let backwards = |it: &mut Versioned| {
        spoil_strides(it, [-3, -1]);
        it.tensor.byte_offset = 10;
    };
    assert_eq!(import(Access::Exclusive, backwards, elements), [5, 4, 3, 2, 1, 0]);
    let column_major = |it: &mut Versioned| spoil_strides(it, [1, 2]);
    assert_eq!(import(Access::Immutable, column_major, elements), [0, 2, 4, 1, 3, 5]);
    let repeated = |it: &mut Versioned| spoil_strides(it, [0, 1]);
    assert_eq!(import(Access::Exclusive, repeated, elements), [0, 1, 2, 0, 1, 2]);
    let no_strides = |it: &mut Versioned| it.tensor.strides = ptr::null_mut();
    assert_eq!(import(Access::Exclusive, no_strides, elements), [0, 1, 2, 3, 4, 5]);
    let scalar = |it: &mut Versioned| {
        (it.tensor.ndim, it.tensor.byte_offset) = (0, 4);
        (it.tensor.shape, it.tensor.strides) = (ptr::null_mut(), ptr::null_mut());
    };
    assert_eq!(import(Access::Exclusive, scalar, elements), [2]);
    let empty = |it: &mut Versioned| {
        spoil_shape(it, [0, 3]);
        spoil_strides(it, [i64::MAX, i64::MIN]);
        (it.tensor.data, it.tensor.byte_offset) = (ptr::null_mut(), u64::MAX);
    };
    assert!(import(Access::Exclusive, empty, elements).is_empty());
}

#[test]
fn an_under_aligned_tensor_is_gathered_and_never_sliced() {
    let odd = |it: &mut Versioned| it.tensor.byte_offset = 1;
    import(Access::Exclusive, odd, |array| {
        let mut array = array.unwrap();
        assert!(!array.is_aligned());
        assert!(matches!(array.as_slice::<u16>(), Err(Error::LayoutUnsupported { .. })));
        assert!(matches!(array.as_slice_mut::<u16>(), Err(Error::LayoutUnsupported { .. })));
        // Little-endian: the high byte of one element and the low byte of the next.
        let gathered = array.to_contiguous().unwrap();
        assert_eq!(gathered.as_slice::<u16>().unwrap(), [256, 512, 768, 1024, 1280, 26112]);
    });
}

#[test]
fn bytes_that_are_no_bool_never_become_one() {
    let as_bool = |it: &mut Versioned| (it.tensor.code, it.tensor.bits) = (6, 8);
    for access in [Access::Exclusive, Access::Immutable, Access::SharedMutable] {
        // The six bytes are 0 0 1 0 2 0.
        let error = import(access, as_bool, |array| array.unwrap_err());
        assert_eq!(
            error.to_string(),
            "refused a foreign array: data: a bool array holds bytes other than 0 and 1"
        );
        let first_four = |it: &mut Versioned| {
            as_bool(it);
            spoil_shape(it, [2, 2]);
            spoil_strides(it, [2, 1]);
        };
        import(access, first_four, |array| {
            assert_eq!(array.unwrap().as_slice::<bool>().unwrap(), [false, false, true, false]);
        });
    }
}

#[test]
fn access_is_what_the_caller_knows_and_the_flags_lower_it() {
    let read_only = |it: &mut Versioned| it.flags = READ_ONLY;
    import(Access::Exclusive, read_only, |array| {
        let mut array = array.unwrap();
        assert!(matches!(array.as_mut_ptr(), Err(Error::Shared { .. })));
        assert!(array.make_mut().unwrap());
    });
    // Unknown flags of a later version change nothing.
    import(
        Access::Exclusive,
        |it| it.flags = !READ_ONLY,
        |array| {
            assert!(array.unwrap().as_mut_ptr().is_ok());
        },
    );
    // Memory that others may write is copied, and released at once.
    let releases = Arc::new(AtomicUsize::new(0));
    let (memory, tensor) = memory(&releases);
    let context = Box::into_raw(memory).cast();
    let legacy = Box::into_raw(Box::new(Legacy { tensor, context, deleter: Some(release_legacy) }));
    // SAFETY: the tensor is valid and given up; nobody writes it.
    let payload = unsafe { DlpackPayload::from_legacy(legacy.cast(), Access::SharedMutable) };
    let mut copy = HostArray::from_dlpack(payload.unwrap()).unwrap();
    assert_eq!(releases.load(Ordering::SeqCst), 1);
    copy.as_slice_mut::<u16>().unwrap().fill(7);
}

#[test]
fn memory_that_the_host_cannot_read_is_not_read() {
    for device_type in [2, 4, 7, 8, 10, 15, 99, -1] {
        let there = |it: &mut Versioned| {
            it.tensor.device_type = device_type;
            it.tensor.data = 16 as *mut c_void;
        };
        let error = import(Access::Exclusive, there, |array| array.unwrap_err());
        assert!(error.to_string().contains("not memory that the host can read"), "{error}");
    }
}
