//! Platforms and devices.

use std::ptr;

use cl3::{context, device, platform};

use super::{Context, OpenClError, checked};

/// A platform: a driver.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlatformId(platform_handle::Raw);

/// A device of a platform.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceId(platform_handle::Raw);

mod platform_handle {
    /// A handle that the driver keeps for the life of the process.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) struct Raw(pub(super) *mut std::ffi::c_void);

    // SAFETY: root devices and platforms live as long as the process and belong to no thread.
    unsafe impl Send for Raw {}
    // SAFETY: see above.
    unsafe impl Sync for Raw {}
}

/// Returns whether OpenCL's loader is there, loading it.
pub(crate) fn is_loaded() -> bool {
    cl3::is_opencl_runtime_available()
}

/// Returns all platforms.
pub(crate) fn platforms() -> Result<Vec<PlatformId>, OpenClError> {
    let ids = checked("clGetPlatformIDs", platform::get_platform_ids())?;
    Ok(ids.into_iter().map(|id| PlatformId(platform_handle::Raw(id))).collect())
}

impl PlatformId {
    /// Returns all devices.
    pub(crate) fn devices(self) -> Result<Vec<DeviceId>, OpenClError> {
        let ids = device::get_device_ids(self.0.0, device::CL_DEVICE_TYPE_ALL);
        let ids = checked("clGetDeviceIDs", ids)?;
        Ok(ids.into_iter().map(|id| DeviceId(platform_handle::Raw(id))).collect())
    }

    /// Returns the platform's name and version.
    pub(crate) fn name(self) -> Result<String, OpenClError> {
        let read = |what| platform::get_platform_data(self.0.0, what).map(|data| text(&data));
        let name = checked("clGetPlatformInfo", read(platform::CL_PLATFORM_NAME))?;
        let version = checked("clGetPlatformInfo", read(platform::CL_PLATFORM_VERSION))?;
        Ok(format!("{name}, {version}"))
    }
}

impl DeviceId {
    /// Returns the handle, which is valid for the life of the process.
    pub(crate) fn raw(self) -> *mut std::ffi::c_void {
        self.0.0
    }

    /// Reads a text.
    pub(crate) fn text(self, what: u32) -> Result<String, OpenClError> {
        checked("clGetDeviceInfo", device::get_device_data(self.0.0, what)).map(|data| text(&data))
    }

    /// Reads a number of 4 or 8 bytes.
    pub(crate) fn number(self, what: u32) -> Result<u64, OpenClError> {
        let data = checked("clGetDeviceInfo", device::get_device_data(self.0.0, what))?;
        number(&data)
            .ok_or_else(|| OpenClError::new("clGetDeviceInfo", cl3::error_codes::CL_INVALID_VALUE))
    }
}

/// Makes a context of one device.
pub(crate) fn create_context(device: DeviceId) -> Result<Context, OpenClError> {
    let made = context::create_context(&[device.raw()], ptr::null(), None, ptr::null_mut());
    let raw = checked("clCreateContext", made)?;
    // SAFETY: the context was just made for us.
    Ok(unsafe { Context::from_raw(raw) })
}

/// Reads a number of 4 or 8 bytes.
pub(super) fn number(data: &[u8]) -> Option<u64> {
    if let Ok(bytes) = <[u8; 8]>::try_from(data) {
        return Some(u64::from_ne_bytes(bytes));
    }
    <[u8; 4]>::try_from(data).ok().map(|bytes| u64::from(u32::from_ne_bytes(bytes)))
}

/// Reads a text up to its end.
pub(super) fn text(data: &[u8]) -> String {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    String::from_utf8_lossy(&data[..end]).trim().to_owned()
}
