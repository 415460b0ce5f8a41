//! Kernels of a program's own: PTX text, or CUDA source where NVIDIA's compiler library is there.

use std::ffi::{CString, c_void};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arraybridge_core::{Device, Element, Error};
use cudarc::nvrtc::{self, CompileOptions};

use crate::context::Context;
use crate::driver::{Grid, Kernel, Module};
use crate::library::{NAME, foreign};
use crate::memory::{Waits, What};
use crate::ops::Task;
use crate::{CudaArray, CudaError, runtime};

/// Compiled kernels on a device.
///
/// ```no_run
/// use arraybridge_core::{Device, HostArray, ops::HostExchange};
/// use arraybridge_cuda::{Cuda, Grid, Program};
///
/// # fn run() -> Result<(), arraybridge_core::Error> {
/// let gpu = Device::Accelerator(0);
/// let program = Program::from_source(gpu, r#"
///     extern "C" __global__ void triple(float *array, unsigned long long count) {
///         unsigned long long at = blockIdx.x * blockDim.x + threadIdx.x;
///         if (at < count) array[at] *= 3;
///     }
/// "#)?;
/// let triple = program.kernel("triple")?;
/// let mut array = Cuda::from_host(&HostArray::from_slice(&[1f32; 1000], &[1000])?, gpu)?;
/// let mut launch = triple.launch(Grid::for_count(1000));
/// launch.writes(&mut array)?.value(1000u64);
/// // SAFETY: the kernel takes a pointer and a 64-bit count, and stays within that many floats.
/// unsafe { launch.run() }?;
/// # Ok(())
/// # }
/// ```
pub struct Program(Arc<Loaded>);

/// A module that is unloaded once all work of its context is done, kernels that are queued included.
struct Loaded {
    context: Arc<Context>,
    /// `None` only while dropped.
    module: Option<Module>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            self.context.reaper.post(Waits::Everything, What::Drop(Box::new(module)));
        }
    }
}

/// A kernel of a [`Program`].
#[derive(Clone)]
pub struct ProgramKernel {
    loaded: Arc<Loaded>,
    kernel: Kernel,
    name: String,
}

/// A launch that is put together: the kernel's arguments in their order.
#[must_use = "nothing runs before `run`"]
pub struct Launch<'a> {
    kernel: &'a ProgramKernel,
    grid: Grid,
    arguments: Vec<Argument<'a>>,
}

enum Argument<'a> {
    Reads(&'a CudaArray),
    Writes(&'a mut CudaArray),
    /// At most sixteen bytes, aligned for all of them.
    Value([u64; 2]),
}

impl Program {
    /// Loads PTX text, which the driver compiles for the device.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`]; the driver's refusal of the text.
    pub fn from_ptx(device: Device, ptx: &str) -> Result<Program, Error> {
        let context = runtime::context(device)?;
        let text = CString::new(ptx).map_err(|_| Error::InvalidArgument {
            operation: "loading PTX",
            message: "the text has a zero byte in it".into(),
        })?;
        let module = Module::load(&context.cuda, &text);
        let module = module.map_err(|error| foreign("loading PTX", error))?;
        Ok(Program(Arc::new(Loaded { context, module: Some(module) })))
    }

    /// Compiles CUDA source with NVIDIA's compiler library (libnvrtc), for the device.
    ///
    /// # Errors
    /// [`Error::LibraryUnavailable`] if the library is not installed; [`Error::InvalidArgument`] with
    /// the compiler's messages; those of [`Program::from_ptx`].
    pub fn from_source(device: Device, source: &str) -> Result<Program, Error> {
        let context = runtime::context(device)?;
        // SAFETY: loading the library runs its initialisers and nothing else.
        if !unsafe { nvrtc::sys::is_culib_present() } {
            return Err(Error::LibraryUnavailable {
                library: NAME,
                cause: "CUDA source is compiled by libnvrtc, which is not installed; install the \
                        CUDA toolkit's or the Python package nvidia-cuda-nvrtc, or load PTX"
                    .into(),
            });
        }
        let invalid =
            |message| Error::InvalidArgument { operation: "compiling CUDA source", message };
        if source.contains('\0') {
            return Err(invalid("the text has a zero byte in it".into()));
        }
        let capability = context.cuda.compute_capability();
        let (major, minor) =
            capability.map_err(|error| foreign("asking for the device", error.into()))?;
        let options = CompileOptions {
            options: vec![format!("--gpu-architecture=compute_{major}{minor}")],
            ..CompileOptions::default()
        };
        // cudarc panics on a library that lacks what it expects.
        let compiled = catch_unwind(AssertUnwindSafe(|| {
            nvrtc::compile_ptx_with_opts(source, options).map(|ptx| ptx.to_src())
        }));
        match compiled {
            Ok(Ok(ptx)) => Program::from_ptx(device, ptx.trim_end_matches('\0')),
            Ok(Err(error)) => Err(invalid(error.to_string())),
            Err(_) => Err(invalid("this libnvrtc cannot be used".into())),
        }
    }

    /// Finds a kernel by its name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is none; the driver's failure.
    pub fn kernel(&self, name: &str) -> Result<ProgramKernel, Error> {
        let none = || Error::InvalidArgument {
            operation: "finding a kernel",
            message: format!("the program has no kernel `{name}` (is it `extern \"C\"`?)"),
        };
        let text = CString::new(name).map_err(|_| none())?;
        let module = self.0.module.as_ref().ok_or_else(none)?;
        match module.kernel(&text) {
            Ok(kernel) => {
                let loaded = Arc::clone(&self.0);
                Ok(ProgramKernel { loaded, kernel, name: name.to_owned() })
            }
            // CUDA_ERROR_NOT_FOUND
            Err(error) if error.code() == 500 => Err(none()),
            Err(error) => Err(foreign("finding a kernel", error)),
        }
    }
}

impl ProgramKernel {
    /// Begins a launch in this many threads.
    pub fn launch(&self, grid: Grid) -> Launch<'_> {
        Launch { kernel: self, grid, arguments: Vec::new() }
    }

    fn check(&self, array: &CudaArray) -> Result<(), Error> {
        if array.context().is(&self.loaded.context) {
            return Ok(());
        }
        let (here, there) = (self.loaded.context.device(), array.device());
        Err(Error::InvalidArgument {
            operation: "launching a kernel",
            message: format!(
                "`{}` is on `{here}`, an array on `{there}` or in another context",
                self.name
            ),
        })
    }
}

impl<'a> Launch<'a> {
    /// Adds the address of an array's first element, for reading.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an array of another device or context.
    pub fn reads(&mut self, array: &'a CudaArray) -> Result<&mut Launch<'a>, Error> {
        self.kernel.check(array)?;
        self.arguments.push(Argument::Reads(array));
        Ok(self)
    }

    /// Adds the address of an array's first element, for reading and writing.
    ///
    /// # Errors
    /// As [`Launch::reads`]; [`Error::Shared`] if others reach the array's memory.
    pub fn writes(&mut self, array: &'a mut CudaArray) -> Result<&mut Launch<'a>, Error> {
        self.kernel.check(array)?;
        if array.memory().is_exported() || array.exclusive().is_none() {
            return Err(Error::Shared {
                operation: "a kernel that writes",
                message: "other arrays share this one's memory; give it a copy".into(),
            });
        }
        self.arguments.push(Argument::Writes(array));
        Ok(self)
    }

    /// Adds a number, by value.
    pub fn value<T: Element>(&mut self, value: T) -> &mut Launch<'a> {
        let mut bytes = [0u64; 2];
        let target = bytes.as_mut_ptr().cast::<T>();
        // SAFETY: elements have at most sixteen bytes, and at most the alignment of a word.
        unsafe { target.write(value) };
        self.arguments.push(Argument::Value(bytes));
        self
    }

    /// Queues the kernel on this thread's stream, after all work that made its arrays.
    ///
    /// # Errors
    /// The driver's refusal of the launch.
    ///
    /// # Safety
    /// - The arguments are those of the kernel, in its order and of its types.
    /// - The kernel stays within the elements of the arrays that it is given, writes only those that
    ///   are given for writing, and leaves valid elements (0 and 1 in those of bool).
    /// - Blocks and threads do not race with each other.
    pub unsafe fn run(self) -> Result<(), Error> {
        let failed = |error: CudaError| foreign("launching a kernel", error);
        let task = Task::new(&self.kernel.loaded.context)?;
        let mut values: Vec<[u64; 2]> = Vec::with_capacity(self.arguments.len());
        for argument in self.arguments {
            values.push(match argument {
                Argument::Reads(array) => [task.read(array)?.address(), 0],
                Argument::Writes(array) => {
                    let address = array.address();
                    if let Some(memory) = array.exclusive() {
                        memory.write_on(&task.stream).map_err(failed)?;
                    }
                    [address, 0]
                }
                Argument::Value(value) => value,
            });
        }
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
        let kernel = &self.kernel.kernel;
        // SAFETY: as the caller says; the stream waits for the arrays, whose memory is let go of after
        // this work, and so is the module.
        unsafe { kernel.launch(&task.bound, self.grid, &mut pointers, &task.stream) }
            .map_err(failed)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("device", &self.0.context.device()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ProgramKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramKernel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("kernel", &self.kernel)
            .field("grid", &self.grid)
            .field("arguments", &self.arguments.len())
            .finish()
    }
}
