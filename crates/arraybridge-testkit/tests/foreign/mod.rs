//! Hand-made DLPack tensors, as another program would pass them, with a deleter that counts.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::{Access, Error, HostArray};
use dlpark::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned,
    DLPackVersion, DLTensor,
};

/// What a foreign producer hands over: fields as it pleases, over memory of its own.
pub(crate) struct Foreign {
    pub(crate) memory: Vec<f32>,
    pub(crate) data: Data,
    pub(crate) byte_offset: u64,
    pub(crate) shape: Vec<i64>,
    pub(crate) strides: Option<Vec<i64>>,
    /// `None`: as many as the shape has.
    pub(crate) ndim: Option<i32>,
    pub(crate) null_shape: bool,
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
    pub(crate) device: (u32, i32),
    pub(crate) version: (u32, u32),
    pub(crate) flags: u64,
}

pub(crate) enum Data {
    Memory,
    MemoryPlus(usize),
    Null,
    Wild(usize),
}

/// Counts how often the deleter was called.
#[derive(Clone, Default)]
pub(crate) struct Deleted(Arc<AtomicUsize>);

impl Deleted {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

struct Context {
    _memory: Vec<f32>,
    _shape: Vec<i64>,
    _strides: Option<Vec<i64>>,
    deleted: Deleted,
}

impl Foreign {
    /// A compact array of `f32`: 0, 1, 2, ...
    pub(crate) fn of(shape: &[i64]) -> Foreign {
        let count = shape.iter().product::<i64>().max(0) as usize;
        Foreign {
            memory: (0..count.max(8) as u16 + 64).map(f32::from).collect(),
            data: Data::Memory,
            byte_offset: 0,
            shape: shape.to_vec(),
            strides: Some(compact(shape)),
            ndim: None,
            null_shape: false,
            code: 2,
            bits: 32,
            lanes: 1,
            device: (1, 0),
            version: (1, 3),
            flags: 0,
        }
    }

    pub(crate) fn strides(self, strides: &[i64]) -> Foreign {
        Foreign { strides: Some(strides.to_vec()), ..self }
    }

    fn parts(self, deleted: &Deleted) -> (DLTensor, *mut c_void) {
        let mut context = Box::new(Context {
            _memory: self.memory,
            _shape: self.shape,
            _strides: self.strides,
            deleted: deleted.clone(),
        });
        let start: *mut c_void = context._memory.as_mut_ptr().cast();
        let tensor = DLTensor {
            data: match self.data {
                Data::Memory => start,
                Data::MemoryPlus(bytes) => start.wrapping_byte_add(bytes),
                Data::Null => ptr::null_mut(),
                Data::Wild(address) => ptr::without_provenance_mut(address),
            },
            device: DLDevice { device_type: DLDeviceType(self.device.0), device_id: self.device.1 },
            ndim: self.ndim.unwrap_or(context._shape.len() as i32),
            dtype: DLDataType {
                code: DLDataTypeCode(self.code),
                bits: self.bits,
                lanes: self.lanes,
            },
            shape: if self.null_shape { ptr::null_mut() } else { context._shape.as_mut_ptr() },
            strides: context._strides.as_mut().map_or(ptr::null_mut(), |all| all.as_mut_ptr()),
            byte_offset: self.byte_offset,
        };
        (tensor, Box::into_raw(context).cast())
    }

    pub(crate) fn legacy(self, deleted: &Deleted) -> *mut c_void {
        let (dl_tensor, manager_ctx) = self.parts(deleted);
        let tensor = DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete_legacy) };
        Box::into_raw(Box::new(tensor)).cast()
    }

    pub(crate) fn versioned(self, deleted: &Deleted) -> *mut c_void {
        let (version, flags) = (self.version, self.flags);
        let (dl_tensor, manager_ctx) = self.parts(deleted);
        let tensor = DLManagedTensorVersioned {
            version: DLPackVersion { major: version.0, minor: version.1 },
            manager_ctx,
            deleter: Some(delete_versioned),
            flags: dlpark::DlpackFlags::from_bits_retain(flags),
            dl_tensor,
        };
        Box::into_raw(Box::new(tensor)).cast()
    }

    /// Imports as main memory, in the versioned form.
    pub(crate) fn import(self, access: Access) -> (Result<HostArray, Error>, Deleted) {
        let deleted = Deleted::default();
        let tensor = self.versioned(&deleted);
        // SAFETY: made above and given up here; its memory lives until the deleter is called, and
        // nobody else reaches it.
        let payload = unsafe { DlpackPayload::from_versioned(tensor, access) };
        (payload.and_then(HostArray::from_dlpack), deleted)
    }

    /// Imports as main memory, in the legacy form.
    pub(crate) fn import_legacy(self, access: Access) -> (Result<HostArray, Error>, Deleted) {
        let deleted = Deleted::default();
        let tensor = self.legacy(&deleted);
        // SAFETY: as in `import`.
        let payload = unsafe { DlpackPayload::from_legacy(tensor, access) };
        (payload.and_then(HostArray::from_dlpack), deleted)
    }

    /// Imports what must be refused, in both forms, and returns the message: the deleter has then
    /// been called exactly once.
    #[track_caller]
    pub(crate) fn refused(make: impl Fn() -> Foreign) -> String {
        let (array, deleted) = make().import(Access::Exclusive);
        let error = array.expect_err("versioned").to_string();
        assert_eq!(deleted.count(), 1, "versioned: {error}");
        let (array, deleted) = make().import_legacy(Access::Exclusive);
        let legacy = array.expect_err("legacy").to_string();
        assert_eq!(deleted.count(), 1, "legacy: {legacy}");
        assert_eq!(error, legacy);
        error
    }
}

fn compact(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis].max(1));
    }
    strides
}

fn release(context: *mut c_void) {
    // SAFETY: `parts` made it of a box, and the deleters call this once.
    let context = unsafe { Box::from_raw(context.cast::<Context>()) };
    context.deleted.0.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn delete_legacy(tensor: *mut DLManagedTensor) {
    // SAFETY: `legacy` made it of a box, and DLPack calls the deleter once.
    let tensor = unsafe { Box::from_raw(tensor) };
    release(tensor.manager_ctx);
}

unsafe extern "C" fn delete_versioned(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: as in `delete_legacy`.
    let tensor = unsafe { Box::from_raw(tensor) };
    release(tensor.manager_ctx);
}

/// A tensor that was exported, read as C would, and deleted when dropped.
pub(crate) struct Exported(*mut DLManagedTensorVersioned);

impl Exported {
    pub(crate) fn of(array: HostArray) -> Exported {
        Exported(array.into_dlpack().unwrap().into_versioned().unwrap().cast())
    }

    fn tensor(&self) -> &DLManagedTensorVersioned {
        // SAFETY: `into_versioned` returned a valid tensor, which lives until `drop`.
        unsafe { &*self.0 }
    }

    pub(crate) fn flags(&self) -> u64 {
        self.tensor().flags.bits()
    }

    pub(crate) fn dtype(&self) -> (u8, u8, u16) {
        let dtype = self.tensor().dl_tensor.dtype;
        (dtype.code.0, dtype.bits, dtype.lanes)
    }

    pub(crate) fn data(&self) -> usize {
        self.tensor().dl_tensor.data as usize + self.tensor().dl_tensor.byte_offset as usize
    }

    pub(crate) fn shape(&self) -> Vec<i64> {
        self.axes(self.tensor().dl_tensor.shape)
    }

    pub(crate) fn strides(&self) -> Vec<i64> {
        self.axes(self.tensor().dl_tensor.strides)
    }

    fn axes(&self, of: *const i64) -> Vec<i64> {
        let rank = self.tensor().dl_tensor.ndim as usize;
        if rank == 0 {
            return Vec::new();
        }
        assert!(!of.is_null(), "shape and strides are always written");
        // SAFETY: a valid tensor has as many as it has axes.
        unsafe { std::slice::from_raw_parts(of, rank) }.to_vec()
    }

    /// Hands the tensor to an importer.
    pub(crate) fn into_raw(self) -> *mut c_void {
        let raw = self.0.cast();
        std::mem::forget(self);
        raw
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        let delete = self.tensor().deleter.unwrap();
        // SAFETY: called once, here, as a consumer does.
        unsafe { delete(self.0) };
    }
}
