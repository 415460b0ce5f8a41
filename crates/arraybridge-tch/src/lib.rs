#![doc = include_str!("../README.md")]

mod dtype;
mod exchange;
mod library;
mod ops;
mod reaper;
mod runtime;
mod torch;

pub use library::{Tch, cuda_availability};
pub use tch;
pub use torch::TorchError;

arraybridge_core::register_library!(Tch);

/// Registers the library at run time, for programs that link-time registration does not reach.
pub fn register() {
    arraybridge_core::register::<Tch>();
}
