#![doc = include_str!("../README.md")]
#![deny(unused_crate_dependencies)]

pub use arraybridge_core::*;
#[cfg(any(feature = "ndarray", feature = "ndarray-0_16"))]
pub use arraybridge_ndarray as ndarray;
