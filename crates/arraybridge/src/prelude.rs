//! What most programs need: `use arraybridge::prelude::*;`.

pub use arraybridge_core::ops::{HostExchange, Math, Ops};
pub use arraybridge_core::{
    AnyArray, ArrayFunction, ArrayGeometry, ArrayPayload, ConversionCounters, ConversionObserver,
    ConversionRecord, Convert, ConvertPayload, CopyPolicy, DType, Device, HOST, HostArray,
    HostViewExt, Library, Mechanism, NativeArray, ObserverScope, OutputDtype, Outputs, Plan,
    libraries, library, plan, register_library, stack_slices, to, unstack_slices,
};
#[cfg(feature = "cuda")]
pub use arraybridge_cuda::{Cuda, CudaArray};
#[cfg(any(feature = "ndarray", feature = "ndarray-0_16"))]
pub use arraybridge_ndarray::{NdArray, Ndarray};
#[cfg(feature = "opencl")]
pub use arraybridge_opencl::{ClArray, OpenCl};
#[cfg(feature = "python")]
pub use arraybridge_python::{PyArray, PyLibrary};
#[cfg(feature = "tch")]
pub use arraybridge_tch::Tch;
#[cfg(feature = "xla")]
pub use arraybridge_xla::{Xla, XlaArray};
