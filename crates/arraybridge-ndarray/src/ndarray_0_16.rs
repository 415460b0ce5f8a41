//! The native types of ndarray 0.16.

use ndarray_0_16 as ndarray;

#[path = "native/mod.rs"]
mod native;
