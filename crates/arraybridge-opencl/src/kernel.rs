//! The door for kernels of one's own.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use arraybridge_core::Error;

use crate::cl::{ArgumentKind, Kernel};
use crate::library::foreign;
use crate::ops::Task;
use crate::place::Place;
use crate::program::Built;
use crate::{ClArray, ClContext};

/// An argument of a kernel.
#[derive(Debug)]
#[non_exhaustive]
pub enum KernelArgument<'a> {
    /// An array that the kernel reads: a pointer to its first element.
    Read(&'a ClArray),
    /// An array that the kernel may write, which is copied first while others share its memory.
    Write(&'a mut ClArray),
    /// A signed integer of 32 bits (`int`).
    I32(i32),
    /// An unsigned integer of 32 bits (`uint`).
    U32(u32),
    /// A signed integer of 64 bits (`long`).
    I64(i64),
    /// An unsigned integer of 64 bits (`ulong`).
    U64(u64),
    /// A float of 32 bits (`float`).
    F32(f32),
    /// A float of 64 bits (`double`).
    F64(f64),
    /// Any other value as it lies in memory: a structure, a vector.
    Bytes(&'a [u8]),
    /// So many bytes of memory that a work-group shares.
    Local(usize),
}

impl KernelArgument<'_> {
    fn kind(&self) -> ArgumentKind {
        match self {
            KernelArgument::Read(_) | KernelArgument::Write(_) => ArgumentKind::Buffer,
            KernelArgument::Local(_) => ArgumentKind::Local,
            _ => ArgumentKind::Value,
        }
    }
}

/// A program of your own, compiled for a context and kept there.
///
/// ```no_run
/// use arraybridge_core::{ArrayLibrary, DType, HostArray};
/// use arraybridge_opencl::{ClContext, ClProgram, KernelArgument, OpenCl};
///
/// let context = ClContext::of(OpenCl.devices()?[0])?;
/// let program = ClProgram::compile(
///     &context,
///     "kernel void twice(global const float* from, global float* to) {
///          size_t i = get_global_id(0);
///          to[i] = 2 * from[i];
///      }",
///     "",
/// )?;
/// let from = context.upload(&HostArray::from_slice(&[1.0f32, 2.0], &[2])?)?;
/// let mut to = context.upload(&HostArray::zeros(DType::F32, &[2])?)?;
/// let mut arguments = [KernelArgument::Read(&from), KernelArgument::Write(&mut to)];
/// // SAFETY: two work items stay within two arrays of two elements.
/// unsafe { program.run("twice", &mut arguments, &[2], None) }?;
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
pub struct ClProgram {
    place: Arc<Place>,
    built: Arc<Built>,
}

impl ClProgram {
    /// Compiles OpenCL C with the compiler's options (`-D NAME=VALUE` and others), or finds what was
    /// compiled from the same before.
    ///
    /// # Errors
    /// The driver's failures; the compiler's messages are in the source's
    /// [`detail`](crate::OpenClError::detail).
    pub fn compile(context: &ClContext, source: &str, options: &str) -> Result<ClProgram, Error> {
        let place = context.place();
        // With it the driver tells where arguments live, which `run` checks.
        let options = format!("-cl-kernel-arg-info {options}");
        let built = place.programs.get(place, source, source, &options);
        let built = built.map_err(|error| foreign("compiling a program", error))?;
        Ok(ClProgram { place: Arc::clone(place), built })
    }

    /// Returns the names of the kernels, in no order.
    ///
    /// # Errors
    /// The driver's failures.
    pub fn kernels(&self) -> Result<Vec<String>, Error> {
        let names = self.built.program.kernel_names();
        names.map_err(|error| foreign("listing kernels", error))
    }

    /// Queues a kernel over `global` work items in one to three dimensions, in work-groups of
    /// `local` or of the driver's choice. What it writes is there when the arrays are next read.
    ///
    /// The kernel is given pointers to the arrays' first elements: arrays are row-major and begin
    /// their buffers ([`ClArray::to_contiguous`] makes such).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a kernel that is not there, another number or another kind of
    /// arguments than it takes, arrays of another context, and sizes that are none;
    /// [`Error::LayoutUnsupported`] for arrays of another layout; [`Error::OutOfMemory`] of a copy
    /// before writing; the driver's failures, such as a value of the wrong size. Nothing was queued
    /// then.
    ///
    /// # Safety
    /// - Over these work items the kernel reads and writes within the arrays that it was given, and
    ///   within its local memory; it writes those alone that are given as [`KernelArgument::Write`].
    /// - The elements' types are what the kernel takes them for. Arrays of `bool` hold 0 and 1
    ///   afterwards.
    /// - Work items do not race.
    pub unsafe fn run(
        &self,
        kernel: &str,
        arguments: &mut [KernelArgument<'_>],
        global: &[usize],
        local: Option<&[usize]>,
    ) -> Result<(), Error> {
        check_sizes(global, local)?;
        let name = self.name_of(kernel)?;
        let taken = self.built.take(&name).map_err(|error| foreign("making a kernel", error))?;
        if let Err(error) = self.check(kernel, &taken, arguments) {
            self.built.give_back(&name, taken);
            return Err(error);
        }
        for argument in arguments.iter_mut() {
            if let KernelArgument::Write(array) = argument {
                array.make_mut()?;
            }
        }
        if global.contains(&0) {
            return Ok(());
        }
        let mut task = Task::of(&self.place, &self.built, name, taken);
        for argument in arguments.iter() {
            task = match argument {
                KernelArgument::Read(array) => task.read_whole(array),
                KernelArgument::Write(array) => task.write(array.memory()),
                KernelArgument::I32(value) => task.value(*value),
                KernelArgument::U32(value) => task.value(*value),
                KernelArgument::I64(value) => task.value(*value),
                KernelArgument::U64(value) => task.value(*value),
                KernelArgument::F32(value) => task.value(*value),
                KernelArgument::F64(value) => task.value(*value),
                KernelArgument::Bytes(bytes) => task.bytes(bytes),
                KernelArgument::Local(nbytes) => task.local(*nbytes),
            };
        }
        // SAFETY: the caller vouches for the kernel; what it writes was made exclusive above, by
        // arrays that are borrowed mutably.
        unsafe { task.run(global, local) }
    }

    fn name_of(&self, kernel: &str) -> Result<CString, Error> {
        let names = self.kernels()?;
        if !names.iter().any(|name| name == kernel) {
            let message = format!("there is no kernel `{kernel}`; there is: {}", names.join(", "));
            return Err(refused(message));
        }
        CString::new(kernel).map_err(|_| refused("the kernel's name has a NUL in it".into()))
    }

    /// Compares arguments with what the kernel takes.
    fn check(
        &self,
        name: &str,
        kernel: &Kernel,
        arguments: &[KernelArgument<'_>],
    ) -> Result<(), Error> {
        let wrap = |error| foreign("asking a kernel for its arguments", error);
        let wanted = kernel.arguments().map_err(wrap)?;
        if wanted as usize != arguments.len() {
            let given = arguments.len();
            return Err(refused(format!("`{name}` takes {wanted} arguments, not {given}")));
        }
        for (index, argument) in arguments.iter().enumerate() {
            let kind = kernel.argument_kind(index as u32).map_err(wrap)?;
            if let Some(kind) = kind.filter(|kind| *kind != argument.kind()) {
                let message = format!(
                    "argument {index} of `{name}` is {}, and {} is given",
                    words(kind),
                    words(argument.kind())
                );
                return Err(refused(message));
            }
            match argument {
                KernelArgument::Read(array) => self.check_array(index, array)?,
                KernelArgument::Write(array) => self.check_array(index, array)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_array(&self, index: usize, array: &ClArray) -> Result<(), Error> {
        if !self.place.is(array.place()) {
            let message = format!(
                "argument {index} is an array of another context; `ClContext::bring` brings it"
            );
            return Err(refused(message));
        }
        if !array.layout().is_row_major() || array.offset() != 0 {
            return Err(Error::LayoutUnsupported {
                operation: "a kernel",
                message: format!(
                    "argument {index} has {:?} from element {} of its buffer on; \
                     `to_contiguous` copies it",
                    array.layout(),
                    array.offset()
                ),
            });
        }
        Ok(())
    }
}

fn words(kind: ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Buffer => "an array",
        ArgumentKind::Local => "memory of a work-group",
        ArgumentKind::Value => "a value",
    }
}

fn check_sizes(global: &[usize], local: Option<&[usize]>) -> Result<(), Error> {
    let fits = (1..=3).contains(&global.len())
        && local.is_none_or(|local| local.len() == global.len() && !local.contains(&0));
    if fits {
        return Ok(());
    }
    Err(refused(format!(
        "{global:?} work items in work-groups of {local:?}: both have the same one to three \
         dimensions, and work-groups are not empty"
    )))
}

fn refused(message: String) -> Error {
    Error::InvalidArgument { operation: "running a kernel", message }
}

impl fmt::Debug for ClProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClProgram").field("device", &self.place.device()).finish_non_exhaustive()
    }
}
