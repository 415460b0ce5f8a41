#![doc = include_str!("../README.md")]

mod array;
mod context;
mod driver;
mod error;
mod exchange;
mod faults;
mod library;
mod memory;
mod ops;
mod program;
mod runtime;
mod stream;

pub use array::CudaArray;
pub use cudarc;
pub use driver::Grid;
pub use error::CudaError;
pub use exchange::ShapedSlice;
pub use faults::failed_releases;
pub use library::Cuda;
pub use memory::pinned;
pub use program::{Launch, Program, ProgramKernel};
pub use stream::{current_stream, use_stream};

arraybridge_core::register_library!(Cuda);

/// Registers the library at run time, for programs that link-time registration does not reach.
pub fn register() {
    arraybridge_core::register::<Cuda>();
}
