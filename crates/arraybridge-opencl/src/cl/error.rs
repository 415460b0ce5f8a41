//! OpenCL's error codes.

use std::fmt;

use cl3::error_codes::{
    CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY,
    CL_OUT_OF_RESOURCES, DLOPEN_FUNCTION_NOT_AVAILABLE, error_text,
};

/// A failed call of OpenCL: which one, with its code, and what the driver said besides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenClError {
    call: &'static str,
    code: i32,
    detail: Option<String>,
}

impl OpenClError {
    pub(crate) fn new(call: &'static str, code: i32) -> OpenClError {
        OpenClError { call, code, detail: None }
    }

    pub(crate) fn with_detail(self, detail: String) -> OpenClError {
        OpenClError { detail: Some(detail), ..self }
    }

    /// A function of a later OpenCL version than that of the loader.
    pub(crate) fn is_missing_function(&self) -> bool {
        self.code == DLOPEN_FUNCTION_NOT_AVAILABLE
    }

    /// Returns the function of OpenCL that failed, such as `clBuildProgram`.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// Returns OpenCL's error code, which is negative.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Returns what the driver said besides, such as a compiler's messages.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Returns whether the code means that there was no memory (or no buffer of that size).
    pub fn is_out_of_memory(&self) -> bool {
        matches!(
            self.code,
            CL_MEM_OBJECT_ALLOCATION_FAILURE
                | CL_OUT_OF_RESOURCES
                | CL_OUT_OF_HOST_MEMORY
                | CL_INVALID_BUFFER_SIZE
        )
    }
}

impl fmt::Display for OpenClError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answered {} ({})", self.call, self.code, error_text(self.code))?;
        match &self.detail {
            Some(detail) => write!(f, ":\n{detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for OpenClError {}

/// Names the call that a code came from.
pub(crate) fn checked<T>(call: &'static str, result: Result<T, i32>) -> Result<T, OpenClError> {
    result.map_err(|code| OpenClError::new(call, code))
}
