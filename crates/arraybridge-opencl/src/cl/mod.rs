//! OpenCL's C API under types that cannot be misused: each handle is released once, by its owner,
//! and each call's error code is kept.

mod device;
mod error;
mod handles;
mod program;
mod queue;

pub(crate) use device::{DeviceId, create_context, is_loaded, platforms};
pub use error::OpenClError;
pub(crate) use error::checked;
pub(crate) use handles::{Context, Event, Kernel, Mem, Program};
pub(crate) use program::ArgumentKind;
pub(crate) use queue::Queue;
