//! What a tensor is, and who else may reach its memory.

use std::ffi::c_void;
use std::ptr::NonNull;

use arraybridge_core::{DType, Decline, DeclineReason, Device, Error, Layout};
use tch::Tensor;

use super::error::call;
use super::kept::Kept;
use super::sys;
use crate::dtype;
use crate::library::{NAME, foreign};

/// Who else may reach a tensor's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Nobody.
    Exclusive,
    /// Whoever holds the tensor too: a shallow clone, a model, an autograd graph.
    SharedTensor,
    /// Whoever holds another tensor over the storage: a view, a detached tensor.
    SharedStorage,
    /// Nobody knows: it is neither torch's own memory nor arraybridge's.
    Foreign,
}

impl Reach {
    /// Returns who that is, in words.
    pub(crate) fn holders(self) -> &'static str {
        match self {
            Reach::Exclusive => "nobody else holds the tensor",
            Reach::SharedTensor => {
                "the tensor has other holders, such as a shallow clone, a view, a model or an \
                 autograd graph"
            }
            Reach::SharedStorage => "other tensors, such as views, lie in the same storage",
            Reach::Foreign => {
                "the memory is not torch's own, such as a mapped file, a lazy clone or a blob"
            }
        }
    }
}

/// What a tensor is.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) dtype: DType,
    pub(crate) layout: Layout,
    pub(crate) device: Device,
    /// Element `[0, 0, ...]`, null where there are no elements. In main memory or on the device.
    pub(crate) pointer: *mut u8,
    /// Whether the elements are the conjugates or negatives of what is in memory.
    pub(crate) is_lazy: bool,
    pub(crate) requires_grad: bool,
    pub(crate) reach: Reach,
    /// What keeps memory that was wrapped.
    pub(super) kept: Option<NonNull<Kept>>,
}

impl Seen {
    /// Describes a tensor.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for tensors that are no strided memory on the host or a CUDA device.
    pub(crate) fn of(tensor: &Tensor) -> Result<Seen, Error> {
        let raw = describe(tensor)?;
        let device = device(raw.kind, raw.device_type, raw.device_index)?;
        let dtype = dtype::of_scalar_type(raw.scalar_type).ok_or(Error::Unsupported {
            library: NAME,
            operation: "tensors of this element type (quantised or narrower than a byte)",
            remedy: "dequantize it or cast it with `to_kind`",
        })?;
        // SAFETY: the shim points to the numbers inside the tensor, which is borrowed meanwhile.
        let shape = unsafe { axes(raw.sizes, raw.rank) };
        // SAFETY: as above.
        let strides = unsafe { axes(raw.strides, raw.rank) };
        Ok(Seen {
            dtype,
            layout: Layout::new(shape, strides)?,
            device,
            pointer: raw.data.cast_mut().cast(),
            is_lazy: raw.flags & (sys::CONJUGATED | sys::NEGATED) != 0,
            requires_grad: raw.flags & sys::REQUIRES_GRAD != 0,
            reach: match raw.reach {
                0 => Reach::Exclusive,
                1 => Reach::SharedTensor,
                2 => Reach::SharedStorage,
                _ => Reach::Foreign,
            },
            kept: NonNull::new(raw.kept.cast()),
        })
    }

    /// Returns the device that a tensor is on, and looks at nothing else.
    ///
    /// # Errors
    /// As [`Seen::of`], where it is the kind of tensor or the device.
    pub(crate) fn device_of(tensor: &Tensor) -> Result<Device, Error> {
        let (kind, device_type, index) = place(tensor)?;
        device(kind, device_type, index)
    }

    /// Returns why the memory cannot be handed to another library as it is, if it cannot.
    pub(crate) fn obstacle(&self) -> Option<Decline> {
        if self.layout.is_empty() {
            let note = "there are no elements to share";
            return Some(Decline::new(DeclineReason::Layout).note(note));
        }
        if self.is_lazy {
            let note = "the tensor is lazily conjugated or negated";
            return Some(Decline::new(DeclineReason::Layout).note(note));
        }
        (self.reach != Reach::Exclusive)
            .then(|| Decline::new(DeclineReason::Shared).note(self.reach.holders()))
    }
}

/// Returns the device of a tensor of a kind, if it is plain strided memory on one of ours.
fn device(kind: i32, device_type: i32, index: i32) -> Result<Device, Error> {
    if let Some((operation, remedy)) = exotic(kind) {
        return Err(Error::Unsupported { library: NAME, operation, remedy });
    }
    match (device_type, u32::try_from(index)) {
        (sys::CPU, _) => Ok(Device::Host),
        (sys::CUDA, Ok(index)) => Ok(Device::Accelerator(index)),
        _ => Err(Error::Unsupported {
            library: NAME,
            operation: "tensors on devices other than the CPU and CUDA devices",
            remedy: "move it to one with `to_device`",
        }),
    }
}

/// Returns a tensor's kind, and the type and index of its device, as the shim numbers them.
fn place(tensor: &Tensor) -> Result<(i32, i32, i32), Error> {
    call((0, -1, -1), |(kind, device_type, index), message| {
        // SAFETY: the handle is a live tensor's, which the call only reads; it fills in three
        // numbers.
        unsafe { sys::abt_place(tensor.as_ptr(), kind, device_type, index, message) }
    })
    .map_err(|error| foreign("finding the device of a tensor", error))
}

fn describe(tensor: &Tensor) -> Result<sys::Description, Error> {
    let nothing = sys::Description {
        kind: 0,
        scalar_type: -1,
        device_type: -1,
        device_index: -1,
        flags: 0,
        reach: -1,
        rank: 0,
        sizes: std::ptr::null(),
        strides: std::ptr::null(),
        data: std::ptr::null::<c_void>(),
        kept: std::ptr::null_mut(),
    };
    // SAFETY: the handle is a live tensor's, which the call only reads.
    call(nothing, |out, message| unsafe { sys::abt_describe(tensor.as_ptr(), out, message) })
        .map_err(|error| foreign("describing a tensor", error))
}

/// Borrows the sizes or strides of a tensor.
///
/// # Safety
/// Unless null, `first` points to `rank` numbers that stay as they are for as long as the result is
/// used.
unsafe fn axes<'a, T: Copy>(first: *const T, rank: usize) -> &'a [T] {
    if first.is_null() || rank == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(first, rank) }
}

/// Names a kind of tensor that is not plain strided memory (`abt_kind`), with what to do.
fn exotic(kind: i32) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        0 => return None,
        1 => ("undefined tensors", "check `defined()` first"),
        2 => ("sparse tensors", "make it dense with `to_dense`"),
        3 => ("mkldnn tensors", "make it dense with `to_dense`"),
        4 => ("quantised tensors", "convert it with `dequantize`"),
        5 => ("nested tensors", "pad it with `nested_to_padded_tensor`"),
        6 => ("zero tensors without memory", "give it memory with `zeros_like`"),
        7 => ("tensors of symbolic sizes", "run the graph with real sizes"),
        9 => ("tensors that reach beyond their memory", "make it anew: a resize of it has failed"),
        _ => ("tensors without a storage", "make a plain tensor of it"),
    })
}
