#![doc = include_str!("../README.md")]
// An optional backend that nothing here names would register nothing, without a word.
#![cfg_attr(not(test), deny(unused_crate_dependencies))]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod declarations;
pub mod prelude;

pub use arraybridge_core::*;
#[cfg(feature = "cuda")]
pub use arraybridge_cuda as cuda;
#[cfg(any(feature = "ndarray", feature = "ndarray-0_16"))]
pub use arraybridge_ndarray as ndarray;
#[cfg(feature = "opencl")]
pub use arraybridge_opencl as opencl;
#[cfg(feature = "python")]
pub use arraybridge_python as python;
#[cfg(feature = "tch")]
pub use arraybridge_tch as tch;
#[cfg(feature = "xla")]
pub use arraybridge_xla as xla;

/// Registers every library that the enabled features bring, and makes the others known.
///
/// Rust programs need not call this: linking does it. A C program that links a Rust static library
/// calls it first, because there the linker drops what nothing refers to. A second call does
/// nothing.
pub fn register_all() {
    declare(declarations::ALL);
    #[cfg(feature = "cuda")]
    arraybridge_cuda::register();
    #[cfg(any(feature = "ndarray", feature = "ndarray-0_16"))]
    arraybridge_ndarray::register();
    #[cfg(feature = "opencl")]
    arraybridge_opencl::register();
    #[cfg(feature = "tch")]
    arraybridge_tch::register();
    #[cfg(feature = "python")]
    arraybridge_python::register();
    #[cfg(feature = "xla")]
    arraybridge_xla::register();
}
