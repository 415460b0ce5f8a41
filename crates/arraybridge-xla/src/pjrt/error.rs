//! What a plugin answers when it fails.

/// A failure of a PJRT plugin, or of loading one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PjrtError {
    /// The plugin answered with a status (`absl::StatusCode`).
    #[error("{}: {message}", status_name(*code))]
    Status {
        /// The status code.
        code: u32,
        /// The plugin's message.
        message: String,
    },
    /// The plugin's table lacks a function.
    #[error("this PJRT plugin (API {major}.{minor}) has no {function}; use a newer plugin")]
    Missing {
        /// The function.
        function: &'static str,
        /// The major version of the plugin's API.
        major: i32,
        /// The minor version of the plugin's API.
        minor: i32,
    },
    /// The file could not be loaded as a plugin.
    #[error("{path} is not a usable PJRT plugin: {cause}")]
    Load {
        /// The file.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// An argument that plugins abort on was refused before the call.
    #[error("refused before the call: {0}")]
    Refused(String),
}

impl PjrtError {
    /// Returns whether memory ran out (status `RESOURCE_EXHAUSTED`).
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, PjrtError::Status { code: 8, .. })
    }
}

/// The names of `absl::StatusCode`.
fn status_name(code: u32) -> &'static str {
    match code {
        1 => "CANCELLED",
        3 => "INVALID_ARGUMENT",
        4 => "DEADLINE_EXCEEDED",
        5 => "NOT_FOUND",
        6 => "ALREADY_EXISTS",
        7 => "PERMISSION_DENIED",
        8 => "RESOURCE_EXHAUSTED",
        9 => "FAILED_PRECONDITION",
        10 => "ABORTED",
        11 => "OUT_OF_RANGE",
        12 => "UNIMPLEMENTED",
        13 => "INTERNAL",
        14 => "UNAVAILABLE",
        15 => "DATA_LOSS",
        16 => "UNAUTHENTICATED",
        _ => "UNKNOWN",
    }
}
