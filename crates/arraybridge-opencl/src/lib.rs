#![doc = include_str!("../README.md")]

mod array;
mod cl;
mod context;
mod device;
mod exchange;
mod exit;
mod kernel;
mod library;
mod memory;
mod ops;
mod place;
mod program;
mod reaper;

pub use array::ClArray;
pub use cl::OpenClError;
pub use context::ClContext;
pub use device::{DeviceFacts, Hardware, device_facts};
pub use kernel::{ClProgram, KernelArgument};
pub use library::OpenCl;
pub use memory::{MemoryUse, memory_use, set_memory_budget};
pub use program::set_program_folder;

arraybridge_core::register_library!(OpenCl);

/// Registers the library at run time, for programs that link-time registration does not reach.
pub fn register() {
    arraybridge_core::register::<OpenCl>();
}
