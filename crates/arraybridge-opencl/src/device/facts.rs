//! What a device says about itself.

use cl3::device::{
    CL_DEVICE_AVAILABLE, CL_DEVICE_COMPILER_AVAILABLE, CL_DEVICE_DOUBLE_FP_CONFIG,
    CL_DEVICE_EXTENSIONS, CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_HOST_UNIFIED_MEMORY,
    CL_DEVICE_LOCAL_MEM_SIZE, CL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
    CL_DEVICE_MAX_WORK_GROUP_SIZE, CL_DEVICE_MEM_BASE_ADDR_ALIGN, CL_DEVICE_NAME,
    CL_DEVICE_SINGLE_FP_CONFIG, CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CUSTOM,
    CL_DEVICE_TYPE_GPU, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT,
};

use crate::cl::{DeviceId, OpenClError};

/// Names what devices have and this library is not to use: `unified` memory, `fp64`. It shows on one
/// machine what happens on others.
const WITHOUT_VARIABLE: &str = "ARRAYBRIDGE_OPENCL_WITHOUT";

/// Returns what a platform lacks without which its driver ends the process when a kernel first runs.
pub(super) fn lack(platform: &str) -> Option<&'static str> {
    // PoCL makes shared libraries of kernels.
    let links = platform.starts_with("Portable Computing Language");
    let has_linker = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join("ld").is_file())
    };
    (links && !has_linker()).then_some(
        "it compiles kernels with the linker `ld`, which is not in a folder of PATH; install it \
         (Debian: binutils)",
    )
}

/// What hardware a device is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Hardware {
    /// The host's own processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Any other processor.
    Accelerator,
}

/// What a device says about itself. Sizes are in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceFacts {
    /// The device's name.
    pub name: String,
    /// Who made it.
    pub vendor: String,
    /// The driver's name and version.
    pub platform: String,
    /// The OpenCL version that the device has.
    pub version: String,
    /// The driver's own version.
    pub driver: String,
    /// What it is.
    pub hardware: Hardware,
    /// Whether it works in the host's memory, so that arrays are shared with the host.
    pub unified_memory: bool,
    /// Whether it computes in `f64`. Without, arrays of `f64` and `complex128` move and are not
    /// computed with.
    pub fp64: bool,
    /// Whether it computes in `f16`. Operations do not need it: they load halves as floats.
    pub half: bool,
    /// What the start of a sub-buffer is a multiple of. Views of arrays do not need it.
    pub alignment: usize,
    /// The device's memory.
    pub memory: usize,
    /// The largest buffer.
    pub largest_buffer: usize,
    /// The memory that a work-group shares.
    pub local_memory: usize,
    /// How many work-groups run at once.
    pub compute_units: usize,
    /// The most work items of a work-group.
    pub work_group: usize,
    pub(crate) rounds_division: bool,
}

impl DeviceFacts {
    /// Asks the device. The inner error says why it cannot be used.
    pub(super) fn ask(
        device: DeviceId,
        platform: &str,
    ) -> Result<Result<DeviceFacts, String>, OpenClError> {
        let kind = device.number(CL_DEVICE_TYPE)?;
        let name = device.text(CL_DEVICE_NAME)?;
        if kind & CL_DEVICE_TYPE_CUSTOM != 0 {
            return Ok(Err(format!("{name} runs no programs")));
        }
        if device.number(CL_DEVICE_AVAILABLE)? == 0 {
            return Ok(Err(format!("{name} is not available")));
        }
        if device.number(CL_DEVICE_COMPILER_AVAILABLE)? == 0 {
            return Ok(Err(format!("{name} has no compiler")));
        }
        let hardware = match kind {
            kind if kind & CL_DEVICE_TYPE_CPU != 0 => Hardware::Cpu,
            kind if kind & CL_DEVICE_TYPE_GPU != 0 => Hardware::Gpu,
            _ => Hardware::Accelerator,
        };
        let without = std::env::var(WITHOUT_VARIABLE).unwrap_or_default();
        let with = |feature: &str| !without.split(',').any(|left_out| left_out.trim() == feature);
        let size =
            |what| device.number(what).map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        // Devices before OpenCL 1.2 do not know the question.
        let doubles = device.number(CL_DEVICE_DOUBLE_FP_CONFIG).unwrap_or(0);
        let singles = device.number(CL_DEVICE_SINGLE_FP_CONFIG)?;
        let extensions = device.text(CL_DEVICE_EXTENSIONS)?;
        Ok(Ok(DeviceFacts {
            name,
            vendor: device.text(CL_DEVICE_VENDOR)?,
            platform: platform.to_owned(),
            version: device.text(CL_DEVICE_VERSION)?,
            driver: device.text(CL_DRIVER_VERSION)?,
            hardware,
            unified_memory: device.number(CL_DEVICE_HOST_UNIFIED_MEMORY)? != 0 && with("unified"),
            fp64: doubles != 0 && with("fp64"),
            half: extensions.split(' ').any(|name| name == "cl_khr_fp16"),
            alignment: size(CL_DEVICE_MEM_BASE_ADDR_ALIGN)? / 8,
            memory: size(CL_DEVICE_GLOBAL_MEM_SIZE)?,
            largest_buffer: size(CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
            local_memory: size(CL_DEVICE_LOCAL_MEM_SIZE)?,
            compute_units: size(CL_DEVICE_MAX_COMPUTE_UNITS)?.max(1),
            work_group: size(CL_DEVICE_MAX_WORK_GROUP_SIZE)?.max(1),
            rounds_division: singles & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0,
        }))
    }
}
