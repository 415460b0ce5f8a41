#![doc = include_str!("../README.md")]

mod any;
mod by_value;
mod convert;
mod copy;
mod device;
pub mod dlpack;
mod dtype;
mod error;
mod function;
mod geometry;
mod host;
pub mod host_pool;
mod layout;
mod library;
mod memory;
pub mod ops;
mod payload;
mod record;
mod registry;
mod route;
#[cfg(feature = "serde")]
mod serde_labels;
mod stack;

pub use any::AnyArray;
pub use convert::{Convert, HostViewExt, to};
pub use device::*;
pub use dtype::*;
pub use error::*;
pub use function::{
    ArrayFunction, BySlice, FunctionArguments, FunctionInput, FunctionOutput, OutputDtype, Outputs,
    SliceMode, Whole, process_slices,
};
pub use geometry::{ArrayGeometry, Geometry};
pub use host::*;
pub use layout::*;
pub use library::{
    ArrayLibrary, Availability, Declaration, Decline, DeclineReason, Description, DeviceScope,
    Library, NativeArray, Obstacle, require_device, roles,
};
pub use memory::{
    ReleaseReport, Released, child_environment, child_environment_in, is_out_of_memory,
    nvidia_library_folders, release_cached_memory_all, run_with_oom_recovery,
};
pub use payload::{ArrayPayload, ConvertPayload};
#[cfg(feature = "metrics")]
pub use record::MetricsObserver;
#[cfg(feature = "tracing")]
pub use record::TracingObserver;
pub use record::{
    ConversionCounters, ConversionObserver, ConversionRecord, CounterRow, CounterTotals, FanOut,
    ObserveFuture, Observed, ObserverGuard, ObserverScope, install, observe,
};
#[doc(hidden)]
pub use registry::Registration;
pub use registry::{KnownLibrary, declare, known_libraries, libraries, library, register};
pub use route::{CopyPolicy, Mechanism, Plan, plan};
pub use stack::{stack_slices, stack_slices_to, unstack_slices, unstack_slices_to};

#[doc(hidden)]
pub use {half, inventory, num_complex};

/// Stops on a dtype that `with_element!` does not list: the macro and the enum are of one crate, so
/// there is none.
#[doc(hidden)]
#[allow(clippy::unreachable)]
pub fn unknown_dtype(dtype: DType) -> ! {
    unreachable!("with_element! has no arm for {dtype}")
}
