//! The shim's functions, as `shim/shim.cpp` defines them.

use std::ffi::{c_char, c_int, c_void};

use torch_sys::C_tensor;

pub(super) const OUT_OF_MEMORY: c_int = 2;

/// Torch's codes of device types (`c10::DeviceType`).
pub(super) const CPU: i32 = 0;
pub(super) const CUDA: i32 = 1;

/// Bits of [`Description::flags`].
pub(super) const CONJUGATED: i32 = 1;
pub(super) const NEGATED: i32 = 2;
pub(super) const REQUIRES_GRAD: i32 = 4;

#[repr(C)]
pub(super) struct Description {
    pub(super) kind: i32,
    pub(super) scalar_type: i32,
    pub(super) device_type: i32,
    pub(super) device_index: i32,
    pub(super) flags: i32,
    pub(super) reach: i32,
    pub(super) rank: usize,
    pub(super) sizes: *const usize,
    pub(super) strides: *const isize,
    pub(super) data: *const c_void,
    pub(super) kept: *mut c_void,
}

/// A `c10::Event`.
#[repr(C)]
pub(super) struct Event {
    _opaque: [u8; 0],
}

type Message = *mut *mut c_char;

unsafe extern "C" {
    pub(super) fn abt_describe(t: *const C_tensor, out: *mut Description, m: Message) -> c_int;
    pub(super) fn abt_place(
        t: *const C_tensor,
        kind: *mut i32,
        device_type: *mut i32,
        device_index: *mut i32,
        m: Message,
    ) -> c_int;
    pub(super) fn abt_wrap(
        data: *mut c_void,
        nbytes: usize,
        sizes: *const usize,
        strides: *const isize,
        rank: usize,
        scalar_type: i32,
        device_type: i32,
        device_index: i32,
        kept: *mut c_void,
        out: *mut *mut C_tensor,
        m: Message,
    ) -> c_int;
    pub(super) fn abt_copy(t: *const C_tensor, out: *mut *mut C_tensor, m: Message) -> c_int;
    pub(super) fn abt_move(
        t: *const C_tensor,
        device_type: i32,
        device_index: i32,
        out: *mut *mut C_tensor,
        m: Message,
    ) -> c_int;
    pub(super) fn abt_cast(
        t: *const C_tensor,
        scalar_type: i32,
        out: *mut *mut C_tensor,
        m: Message,
    ) -> c_int;
    pub(super) fn abt_reinterpret(
        t: *const C_tensor,
        scalar_type: i32,
        out: *mut *mut C_tensor,
        m: Message,
    ) -> c_int;
    pub(super) fn abt_read(
        t: *const C_tensor,
        data: *mut c_void,
        nbytes: usize,
        m: Message,
    ) -> c_int;
    pub(super) fn abt_ones(
        sizes: *const i64,
        rank: usize,
        scalar_type: i32,
        device_type: i32,
        device_index: i32,
        out: *mut *mut C_tensor,
        m: Message,
    ) -> c_int;

    pub(super) fn abt_cuda_count() -> i32;
    pub(super) fn abt_cuda_device(index: *mut i32, m: Message) -> c_int;
    pub(super) fn abt_cuda_set_device(index: i32, m: Message) -> c_int;
    pub(super) fn abt_cuda_empty_cache(count: i32, freed: *mut i64, m: Message) -> c_int;

    pub(super) fn abt_stream_current(
        index: i32,
        id: *mut i64,
        handle: *mut *mut c_void,
        m: Message,
    ) -> c_int;
    pub(super) fn abt_stream_take(index: i32, id: *mut i64, m: Message) -> c_int;
    pub(super) fn abt_stream_of_handle(
        index: i32,
        handle: *mut c_void,
        id: *mut i64,
        m: Message,
    ) -> c_int;
    pub(super) fn abt_stream_set(index: i32, id: i64, m: Message) -> c_int;
    pub(super) fn abt_stream_wait(index: i32, waiter: i64, on: i64, m: Message) -> c_int;
    pub(super) fn abt_stream_finish(index: i32, id: i64, m: Message) -> c_int;

    pub(super) fn abt_event_record(index: i32, id: i64, out: *mut *mut Event, m: Message) -> c_int;
    pub(super) fn abt_event_finish(event: *const Event, m: Message) -> c_int;
    pub(super) fn abt_event_free(event: *mut Event);

    pub(super) fn abt_message_free(m: *mut c_char);
}
