#![doc = include_str!("../README.md")]

mod array;
mod attached;
mod cells;
mod class;
mod depth;
mod dtype;
#[cfg(not(feature = "extension-module"))]
mod environment;
mod error;
mod exchange;
mod give;
mod interpreter;
mod library;
mod make;
mod maker;
#[cfg(feature = "extension-module")]
mod module;
mod numpy;
mod once;
mod outside;
mod per_type;
mod read;
mod thread_state;

pub use array::PyArray;
pub use cells::Cells;
pub use class::Array;
pub use error::{PythonError, exception};
pub use give::{CapsuleForm, to_capsule, to_python};
pub use library::PyLibrary;
pub use maker::Maker;
/// The version of PyO3 whose types the functions here take and give.
pub use pyo3;

arraybridge_core::register_library!(PyLibrary);

/// Registers the library at run time, for programs that link-time registration does not reach.
pub fn register() {
    arraybridge_core::register::<PyLibrary>();
}
