#![doc = include_str!("../README.md")]
// `native` is one implementation, compiled once against each version of ndarray.
#![allow(clippy::duplicate_mod)]

#[cfg(not(any(feature = "ndarray-0_16", feature = "ndarray-0_17")))]
compile_error!("arraybridge-ndarray needs one of its features `ndarray-0_17` and `ndarray-0_16`");

mod array;
mod borrowed;
mod dlpack;
mod lent;
mod library;
mod ops;
mod types;
mod vec_fit;

#[cfg(feature = "ndarray-0_16")]
#[path = "ndarray_0_16.rs"]
mod native_0_16;
#[cfg(feature = "ndarray-0_17")]
#[path = "ndarray_0_17.rs"]
mod native_0_17;

pub use array::{IntoArray, NdArray};
pub use borrowed::{NdView, NdViewMut};
pub use library::Ndarray;
pub use types::{OwnedType, ViewMutType, ViewType};

#[cfg(feature = "ndarray-0_16")]
pub use ndarray_0_16;
#[cfg(feature = "ndarray-0_17")]
pub use ndarray_0_17;

/// The newest version of ndarray that is enabled.
#[cfg(all(feature = "ndarray-0_16", not(feature = "ndarray-0_17")))]
pub use ndarray_0_16 as ndarray;
/// The newest version of ndarray that is enabled.
#[cfg(feature = "ndarray-0_17")]
pub use ndarray_0_17 as ndarray;

arraybridge_core::register_library!(Ndarray);

/// Registers the library at run time, for programs that link-time registration does not reach.
pub fn register() {
    arraybridge_core::register::<Ndarray>();
}
