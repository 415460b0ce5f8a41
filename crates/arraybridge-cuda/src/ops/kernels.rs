//! The crate's own kernels: loaded once per context, when first needed.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::Mutex;

use cudarc::driver::CudaStream;

use super::arguments::Arguments;
use crate::CudaError;
use crate::context::{Context, lock};
use crate::driver::{Bound, Grid, Kernel, Module};

/// PTX for every GPU since Maxwell (sm_50), which the driver compiles for the one that is there.
const PTX: &str = concat!(include_str!("../../kernels/kernels.ptx"), "\0");

/// The most threads of a launch: kernels step through what is beyond.
const THREADS: usize = 1 << 24;

/// What was loaded of the kernels.
pub(crate) struct Kernels(Mutex<Option<Loaded>>);

struct Loaded {
    module: Module,
    found: HashMap<String, Kernel>,
}

impl Kernels {
    pub(crate) fn new() -> Kernels {
        Kernels(Mutex::new(None))
    }

    /// Takes the module out, to be unloaded once its kernels are done.
    pub(crate) fn take(&self) -> Option<Module> {
        lock(&self.0).take().map(|loaded| loaded.module)
    }

    fn get(&self, context: &Context, name: &str) -> Result<Kernel, CudaError> {
        let mut kernels = lock(&self.0);
        let loaded = match &mut *kernels {
            Some(loaded) => loaded,
            empty => {
                // CUDA_ERROR_INVALID_IMAGE, though the text is the crate's own and ends so.
                let ptx = std::ffi::CStr::from_bytes_with_nul(PTX.as_bytes());
                let ptx = ptx.map_err(|_| CudaError::from_code(200))?;
                let module = Module::load(&context.cuda, ptx)?;
                empty.insert(Loaded { module, found: HashMap::new() })
            }
        };
        if let Some(kernel) = loaded.found.get(name) {
            return Ok(*kernel);
        }
        let c_name = CString::new(name).map_err(|_| CudaError::from_code(500))?;
        let kernel = loaded.module.kernel(&c_name)?;
        loaded.found.insert(name.to_owned(), kernel);
        Ok(kernel)
    }
}

/// Queues a kernel for so many elements.
///
/// # Safety
/// The kernel of this name takes these arguments, and with them stays within memory that lives until
/// it is done; the stream is ordered after all work that conflicts with its reads and writes.
pub(super) unsafe fn launch<A: Arguments>(
    context: &Context,
    bound: &Bound,
    name: &str,
    arguments: &A,
    count: usize,
    stream: &CudaStream,
) -> Result<(), CudaError> {
    if count == 0 {
        return Ok(());
    }
    let kernel = context.kernels.get(context, name)?;
    let grid = Grid::for_count(count.min(THREADS));
    let mut value = *arguments;
    let mut parameters = [(&raw mut value).cast::<c_void>()];
    // SAFETY: as the caller says; the one parameter is the structure, and the context keeps the module
    // until all its work is done.
    unsafe { kernel.launch(bound, grid, &mut parameters, stream) }
}
