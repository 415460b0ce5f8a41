//! What most programs need: `use arraybridge::prelude::*;`.

pub use arraybridge_core::ops::{Math, Ops};
pub use arraybridge_core::{
    AnyArray, ConversionObserver, ConversionRecord, Convert, CopyPolicy, DType, Device, HOST,
    HostArray, HostViewExt, Library, Mechanism, NativeArray, ObserverScope, Plan, libraries,
    library, plan, register_library, to,
};
#[cfg(any(feature = "ndarray", feature = "ndarray-0_16"))]
pub use arraybridge_ndarray::{NdArray, Ndarray};
