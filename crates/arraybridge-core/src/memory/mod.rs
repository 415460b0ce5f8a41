//! Running out of memory, and what a child process needs to share a device with this one.

mod child_environment;
mod recovery;
mod release;

pub use child_environment::{child_environment, child_environment_in, nvidia_library_folders};
pub use recovery::{is_out_of_memory, run_with_oom_recovery};
pub use release::{ReleaseReport, Released, release_cached_memory_all};
