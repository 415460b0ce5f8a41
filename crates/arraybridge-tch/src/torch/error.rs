//! Torch's failures.

use std::error::Error as StdError;
use std::ffi::{CStr, c_char, c_int};

use arraybridge_core::causes;
use tch::TchError;

use super::sys;

/// A failure of libtorch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text}")]
pub struct TorchError {
    text: String,
    out_of_memory: bool,
}

impl TorchError {
    fn new(text: &str, out_of_memory: bool) -> TorchError {
        // What follows is a stack of C++ frames.
        let text = text.split("\nException raised from").next().unwrap_or(text).trim();
        let out_of_memory = out_of_memory || says_out_of_memory(text);
        TorchError { text: text.to_owned(), out_of_memory }
    }

    /// Returns whether memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        self.out_of_memory
    }
}

impl From<TchError> for TorchError {
    fn from(error: TchError) -> TorchError {
        match error {
            TchError::Torch(text) => TorchError::new(&text, false),
            other => TorchError::new(&other.to_string(), false),
        }
    }
}

/// Returns whether a message of torch's means that memory ran out: its errors have no code for it
/// by the time that they get to Rust.
fn says_out_of_memory(text: &str) -> bool {
    const SIGNS: [&str; 6] = [
        "out of memory",
        "DefaultCPUAllocator: can't allocate memory",
        "DefaultCPUAllocator: not enough memory",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "CUDNN_STATUS_ALLOC_FAILED",
        "std::bad_alloc",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// Returns whether an error is one of torch's, or is caused by one, that means that memory ran out.
pub(crate) fn is_out_of_memory(error: &(dyn StdError + 'static)) -> bool {
    causes(error).any(|cause| {
        let own = cause.downcast_ref::<TorchError>().is_some_and(TorchError::is_out_of_memory);
        let raw = match cause.downcast_ref() {
            Some(TchError::Torch(text)) => says_out_of_memory(text),
            _ => false,
        };
        own || raw
    })
}

/// Calls a function of the shim, which fills in the result, or a message that is taken over.
pub(super) fn call<T>(
    initial: T,
    function: impl FnOnce(&mut T, *mut *mut c_char) -> c_int,
) -> Result<T, TorchError> {
    let (mut result, mut message) = (initial, std::ptr::null_mut());
    match function(&mut result, &mut message) {
        0 => Ok(result),
        code => Err(TorchError::new(&take_text(message), code == sys::OUT_OF_MEMORY)),
    }
}

/// Copies and frees a message of the shim.
fn take_text(message: *mut c_char) -> String {
    if message.is_null() {
        return "no memory for the message of a failure".into();
    }
    // SAFETY: a message of the shim is a C string, valid until it is freed below.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: the message came from the shim and is not used after this.
    unsafe { sys::abt_message_free(message) };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torch_says_in_words_that_memory_ran_out() {
        let full = [
            "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 16 GiB",
            "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
            "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate \
             memory: you tried to allocate 4611686018427387904 bytes.",
            "HIP out of memory. Tried to allocate 2.00 GiB",
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        ];
        for text in full {
            assert!(TorchError::from(TchError::Torch(text.into())).is_out_of_memory(), "{text}");
            assert!(is_out_of_memory(&TchError::Torch(text.into())), "{text}");
        }
        let others = [
            "The size of tensor a (3) must match the size of tensor b (4)",
            "CUDA error: device-side assert triggered",
            "CUDA error: an illegal memory access was encountered",
        ];
        for text in others {
            assert!(!TorchError::from(TchError::Torch(text.into())).is_out_of_memory(), "{text}");
        }
        let wrapped =
            arraybridge_core::Error::foreign("tch", "test", TchError::Torch(full[0].into()));
        assert!(is_out_of_memory(&wrapped));
    }

    #[test]
    fn the_stack_of_c_frames_is_left_out() {
        let text =
            "expected 3\nException raised from f at g.cpp:1 (most recent call first):\nframe";
        assert_eq!(TorchError::from(TchError::Torch(text.into())).to_string(), "expected 3");
    }
}
