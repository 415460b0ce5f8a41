//! Modules and kernels.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use cudarc::driver::sys::{CUfunction, CUmodule};
use cudarc::driver::{CudaContext, CudaStream};

use super::{Bound, entries};
use crate::CudaError;
use crate::error::check;
use crate::faults::report;

/// Loaded code of a context. Dropping it unloads it, which whoever has queued a kernel of it must not
/// do before that is done.
pub(crate) struct Module {
    raw: CUmodule,
    context: Arc<CudaContext>,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// A kernel of a module, which has to stay loaded.
#[derive(Clone, Copy)]
pub(crate) struct Kernel(CUfunction);

// SAFETY: the driver's functions may be used from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// How many threads a kernel runs in: blocks, and threads of each, in up to three dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The number of blocks along x, y and z.
    pub blocks: [u32; 3],
    /// The number of threads of each block along x, y and z.
    pub threads: [u32; 3],
    /// Bytes of shared memory of each block whose size the launch chooses.
    pub shared_bytes: u32,
}

impl Grid {
    /// Returns a grid of at least so many threads in one dimension, 256 per block.
    pub fn for_count(count: usize) -> Grid {
        const THREADS: u32 = 256;
        let blocks = count.div_ceil(THREADS as usize).clamp(1, i32::MAX as usize) as u32;
        Grid { blocks: [blocks, 1, 1], threads: [THREADS, 1, 1], shared_bytes: 0 }
    }
}

impl Module {
    /// Loads PTX text.
    pub(crate) fn load(context: &Arc<CudaContext>, ptx: &CStr) -> Result<Module, CudaError> {
        let entries = entries()?;
        let _bound = Bound::to(context)?;
        let mut raw: CUmodule = std::ptr::null_mut();
        // SAFETY: the image is a C string, and the call writes a handle.
        check(unsafe { (entries.cuModuleLoadData)(&mut raw, ptx.as_ptr().cast()) })?;
        Ok(Module { raw, context: Arc::clone(context) })
    }

    /// Finds a kernel by its name.
    pub(crate) fn kernel(&self, name: &CStr) -> Result<Kernel, CudaError> {
        let entries = entries()?;
        let _bound = Bound::to(&self.context)?;
        let mut raw: CUfunction = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name is a C string, and the call writes a handle.
        check(unsafe { (entries.cuModuleGetFunction)(&mut raw, self.raw, name.as_ptr()) })?;
        Ok(Kernel(raw))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let unloaded = entries().and_then(|entries| {
            let _bound = Bound::to(&self.context)?;
            // SAFETY: unloaded once; its kernels are done, by the contract of `Kernel::launch`.
            check(unsafe { (entries.cuModuleUnload)(self.raw) })
        });
        if let Err(error) = unloaded {
            report("a module was not unloaded", error);
        }
    }
}

impl Kernel {
    /// Queues the kernel.
    ///
    /// # Safety
    /// The module stays loaded until the kernel is done. `parameters` points to a value of each of the kernel's parameters, of their types; with them
    /// the kernel stays within memory that lives until it is done, and the stream is ordered after
    /// all work that conflicts with its reads and writes.
    pub(crate) unsafe fn launch(
        &self,
        _: &Bound,
        grid: Grid,
        parameters: &mut [*mut c_void],
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        let ([x, y, z], [a, b, c]) = (grid.blocks, grid.threads);
        let (entries, raw, shared) = (entries()?, stream.cu_stream(), grid.shared_bytes);
        let (values, none) = (parameters.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: as the caller says; the stream is alive, and the values are read before
        // this returns.
        check(unsafe {
            (entries.cuLaunchKernel)(self.0, x, y, z, a, b, c, shared, raw, values, none)
        })
    }
}
