//! What tch does not offer of libtorch: its memory, claims on it, streams. The only part of the crate
//! that calls C++.

mod cuda;
mod error;
mod kept;
mod library_file;
mod seen;
mod sys;
mod tensor;

pub(crate) use cuda::{Stream, current_device, device_count, empty_cache, set_device};
pub(crate) use error::is_out_of_memory;
pub(crate) use kept::take_owner;
pub(crate) use library_file::cuda_availability;
pub(crate) use seen::{Reach, Seen};
pub(crate) use tensor::{Memory, cast, copy, move_to, ones, read, reinterpret, wrap};

pub use error::TorchError;
