#![doc = include_str!("../README.md")]

mod array;
mod dtype;
mod exchange;
mod library;
mod ops;
mod pjrt;
mod plugin;
mod program;
mod runtime;

pub use array::XlaArray;
pub use library::Xla;
pub use pjrt::PjrtError;
pub use program::{CacheStatistics, Program, TensorSpec, cache_statistics, set_cache_limit};
pub use runtime::{PluginReport, plugins};

arraybridge_core::register_library!(Xla);

/// Registers the library at run time, for programs that link-time registration does not reach.
pub fn register() {
    arraybridge_core::register::<Xla>();
}
