//! The native types of ndarray 0.17.

use ndarray_0_17 as ndarray;

#[path = "native/mod.rs"]
mod native;
