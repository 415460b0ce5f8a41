//! Programs and kernels.

use std::ffi::{CStr, c_void};
use std::ptr;

use cl3::error_codes::CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
use cl3::{kernel, program};

use super::device::{number, text};
use super::{Context, DeviceId, Kernel, OpenClError, Program, checked};

/// Where a kernel's argument lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArgumentKind {
    /// A pointer to global or constant memory: a buffer.
    Buffer,
    /// A pointer to memory of a work-group.
    Local,
    /// A value.
    Value,
}

impl Program {
    /// Compiles a source; the compiler's messages are the error's detail.
    pub(crate) fn from_source(
        context: &Context,
        device: DeviceId,
        source: &str,
        options: &CStr,
    ) -> Result<Program, OpenClError> {
        // One source alone: the wrapper below misreads a list of several.
        let made = program::create_program_with_source(context.raw(), &[source]);
        let raw = checked("clCreateProgramWithSource", made)?;
        // SAFETY: the program was just made for us.
        let program = unsafe { Program::from_raw(raw) };
        program.build(device, options).map(|()| program)
    }

    /// Makes a program of a binary that [`Program::binary`] returned.
    ///
    /// # Safety
    /// The binary is one that the same driver made for the same device: drivers trust them.
    pub(crate) unsafe fn from_binary(
        context: &Context,
        device: DeviceId,
        binary: &[u8],
        options: &CStr,
    ) -> Result<Program, OpenClError> {
        // SAFETY: the device is the context's; the rest is as the caller says.
        let made = unsafe {
            program::create_program_with_binary(context.raw(), &[device.raw()], &[binary])
        };
        let raw = checked("clCreateProgramWithBinary", made)?;
        // SAFETY: the program was just made for us.
        let program = unsafe { Program::from_raw(raw) };
        program.build(device, options).map(|()| program)
    }

    fn build(&self, device: DeviceId, options: &CStr) -> Result<(), OpenClError> {
        let devices = [device.raw()];
        let built = program::build_program(self.raw(), &devices, options, None, ptr::null_mut());
        checked("clBuildProgram", built).map_err(|error| match self.log(device) {
            Some(log) => error.with_detail(log),
            None => error,
        })
    }

    fn log(&self, device: DeviceId) -> Option<String> {
        let what = program::CL_PROGRAM_BUILD_LOG;
        let log = program::get_program_build_data(self.raw(), device.raw(), what).ok()?;
        Some(text(&log)).filter(|log| !log.is_empty())
    }

    /// Returns the program as the device's compiler made it.
    pub(crate) fn binary(&self) -> Result<Vec<u8>, OpenClError> {
        let what = program::CL_PROGRAM_BINARIES;
        match checked("clGetProgramInfo", program::get_program_info(self.raw(), what))? {
            cl3::info_type::InfoType::VecVecUchar(binaries) => {
                Ok(binaries.into_iter().next().unwrap_or_default())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Makes a kernel of the program.
    pub(crate) fn kernel(&self, name: &CStr) -> Result<Kernel, OpenClError> {
        let raw = checked("clCreateKernel", kernel::create_kernel(self.raw(), name))?;
        // SAFETY: the kernel was just made for us.
        Ok(unsafe { Kernel::from_raw(raw) })
    }

    /// Returns the names of the program's kernels.
    pub(crate) fn kernel_names(&self) -> Result<Vec<String>, OpenClError> {
        let names = program::get_program_data(self.raw(), program::CL_PROGRAM_KERNEL_NAMES);
        let names = text(&checked("clGetProgramInfo", names)?);
        Ok(names.split(';').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }
}

impl Kernel {
    /// Sets an argument from `size` bytes, or says how much local memory it has (null).
    ///
    /// # Safety
    /// The bytes are readable, and for a buffer they are a valid handle.
    pub(crate) unsafe fn set(
        &self,
        index: u32,
        size: usize,
        value: *const c_void,
    ) -> Result<(), OpenClError> {
        // SAFETY: the kernel is valid and no other thread's (it is no `Sync`); the rest is as the
        // caller says. OpenCL checks the size.
        let set = unsafe { kernel::set_kernel_arg(self.raw(), index, size, value) };
        checked("clSetKernelArg", set)
    }

    /// Returns how many arguments the kernel takes.
    pub(crate) fn arguments(&self) -> Result<u32, OpenClError> {
        let data = kernel::get_kernel_data(self.raw(), kernel::CL_KERNEL_NUM_ARGS);
        let data = checked("clGetKernelInfo", data)?;
        Ok(number(&data).unwrap_or(0) as u32)
    }

    /// Returns where an argument lives; `None` if the driver does not tell.
    pub(crate) fn argument_kind(&self, index: u32) -> Result<Option<ArgumentKind>, OpenClError> {
        let what = kernel::CL_KERNEL_ARG_ADDRESS_QUALIFIER;
        match checked("clGetKernelArgInfo", kernel::get_kernel_arg_data(self.raw(), index, what)) {
            Ok(data) => Ok(number(&data).map(|space| match space as u32 {
                kernel::CL_KERNEL_ARG_ADDRESS_GLOBAL | kernel::CL_KERNEL_ARG_ADDRESS_CONSTANT => {
                    ArgumentKind::Buffer
                }
                kernel::CL_KERNEL_ARG_ADDRESS_LOCAL => ArgumentKind::Local,
                _ => ArgumentKind::Value,
            })),
            Err(error) if error.code() == CL_KERNEL_ARG_INFO_NOT_AVAILABLE => Ok(None),
            Err(error) if error.is_missing_function() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the largest work-group that the kernel runs with on a device.
    pub(crate) fn work_group_size(&self, device: DeviceId) -> Result<usize, OpenClError> {
        let what = kernel::CL_KERNEL_WORK_GROUP_SIZE;
        let data = kernel::get_kernel_work_group_data(self.raw(), device.raw(), what);
        let data = checked("clGetKernelWorkGroupInfo", data)?;
        Ok(number(&data).unwrap_or(1) as usize)
    }
}
