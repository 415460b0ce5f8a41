#![doc = include_str!("../README.md")]

mod array;
mod library;
mod ops;

pub use array::NdArray;
pub use library::Ndarray;

arraybridge_core::register_library!(Ndarray);

/// Registers the library at run time, for programs that link-time registration does not reach.
pub fn register() {
    arraybridge_core::register::<Ndarray>();
}
