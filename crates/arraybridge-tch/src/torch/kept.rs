//! What keeps wrapped memory alive, and its release.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arraybridge_core::{DType, Owner};

use super::Seen;
use super::cuda;

/// The context of a storage over wrapped memory.
#[derive(Debug)]
pub(crate) struct Kept {
    /// `None` once the memory was handed on.
    owner: Option<Owner>,
    /// The CUDA device whose queued work may use the memory when torch lets go of it.
    cuda: Option<u32>,
    /// How many bytes were wrapped, if as bool.
    bools: Option<usize>,
}

impl Kept {
    pub(super) fn new(owner: Owner, cuda: Option<u32>, bools: Option<usize>) -> Box<Kept> {
        Box::new(Kept { owner: Some(owner), cuda, bools })
    }
}

/// Takes the owner out of a tensor's storage, so that the memory outlives the tensor: `None` if
/// the memory was not wrapped, or was as bool and may hold other bytes now.
///
/// # Safety
/// `seen` describes a live tensor in main memory whose reach is exclusive, whose elements lie in
/// places of their own and, if bool, were found valid, and which is dropped, and not used otherwise,
/// after this.
pub(crate) unsafe fn take_owner(seen: &Seen) -> Option<Owner> {
    let mut kept = seen.kept?;
    // SAFETY: the context of the storage, which is a `Kept` of `wrap`, lives as long as that, and
    // nobody else reaches the storage.
    let kept = unsafe { kept.as_mut() };
    // The owner may give Rust's bools out again. Torch writes any byte through a tensor of another
    // dtype, so each one must be an element that was read.
    let is_valid = |count| seen.dtype == DType::Bool && seen.layout.len() == count;
    if kept.bools.is_some_and(|count| !is_valid(count)) {
        return None;
    }
    kept.owner.take()
}

/// Drops what keeps wrapped memory alive: called by torch when it drops the storage, on any thread.
#[unsafe(no_mangle)]
extern "C" fn arraybridge_tch_release(kept: *mut c_void) {
    let released = AssertUnwindSafe(|| {
        // SAFETY: `wrap` made the pointer of a box, and torch gives it back once.
        let kept = unsafe { Box::from_raw(kept.cast::<Kept>()) };
        let Kept { owner, cuda, .. } = *kept;
        match (owner, cuda) {
            (Some(owner), Some(index)) => cuda::release_after_queued_work(index, owner),
            (owner, _) => drop(owner),
        }
    });
    // A panic of a foreign value's drop must not unwind into C++. What it carries is leaked:
    // dropping that could panic once more.
    if let Err(thrown) = catch_unwind(released) {
        std::mem::forget(thrown);
    }
}
