//! The driver's errors.

use std::fmt;

use cudarc::driver::DriverError;

/// An error of NVIDIA's driver, by its code (`CUresult`).
///
/// ```
/// use arraybridge_cuda::CudaError;
///
/// let error = CudaError::from_code(2);
/// assert!(error.is_out_of_memory() && !error.is_sticky());
/// assert_eq!(error.to_string(), "CUDA_ERROR_OUT_OF_MEMORY (2)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CudaError {
    code: u32,
}

/// The codes that people meet, with what the driver calls them.
const NAMES: &[(u32, &str)] = &[
    (1, "CUDA_ERROR_INVALID_VALUE"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY"),
    (3, "CUDA_ERROR_NOT_INITIALIZED"),
    (4, "CUDA_ERROR_DEINITIALIZED"),
    (34, "CUDA_ERROR_STUB_LIBRARY"),
    (46, "CUDA_ERROR_DEVICE_UNAVAILABLE"),
    (100, "CUDA_ERROR_NO_DEVICE"),
    (101, "CUDA_ERROR_INVALID_DEVICE"),
    (200, "CUDA_ERROR_INVALID_IMAGE"),
    (201, "CUDA_ERROR_INVALID_CONTEXT"),
    (209, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
    (214, "CUDA_ERROR_ECC_UNCORRECTABLE"),
    (217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"),
    (218, "CUDA_ERROR_INVALID_PTX"),
    (221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"),
    (222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    (400, "CUDA_ERROR_INVALID_HANDLE"),
    (500, "CUDA_ERROR_NOT_FOUND"),
    (600, "CUDA_ERROR_NOT_READY"),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    (701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
    (702, "CUDA_ERROR_LAUNCH_TIMEOUT"),
    (709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"),
    (710, "CUDA_ERROR_ASSERT"),
    (714, "CUDA_ERROR_HARDWARE_STACK_ERROR"),
    (715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"),
    (716, "CUDA_ERROR_MISALIGNED_ADDRESS"),
    (717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"),
    (718, "CUDA_ERROR_INVALID_PC"),
    (719, "CUDA_ERROR_LAUNCH_FAILED"),
    (801, "CUDA_ERROR_NOT_SUPPORTED"),
    (802, "CUDA_ERROR_SYSTEM_NOT_READY"),
    (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    (900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
    (999, "CUDA_ERROR_UNKNOWN"),
];

impl CudaError {
    /// Makes the error of a code, which is not 0.
    pub const fn from_code(code: u32) -> CudaError {
        CudaError { code }
    }

    /// Returns the driver's code.
    pub const fn code(self) -> u32 {
        self.code
    }

    /// Returns whether the device's memory ran out.
    pub const fn is_out_of_memory(self) -> bool {
        self.code == 2
    }

    /// Returns whether the context is lost: every later call in this process answers the same.
    pub const fn is_sticky(self) -> bool {
        matches!(self.code, 214 | 700 | 702 | 709 | 710 | 714..=719)
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(code, _)| *code == self.code) {
            Some((code, name)) => write!(f, "{name} ({code})")?,
            None => write!(f, "CUDA error {}", self.code)?,
        }
        if self.is_sticky() {
            f.write_str("; the device cannot be used again by this process")?;
        }
        Ok(())
    }
}

impl std::error::Error for CudaError {}

impl From<DriverError> for CudaError {
    fn from(error: DriverError) -> CudaError {
        CudaError { code: error.0 as u32 }
    }
}

/// Turns a call's code into a result.
pub(crate) fn check(code: u32) -> Result<(), CudaError> {
    if code == 0 { Ok(()) } else { Err(CudaError { code }) }
}
