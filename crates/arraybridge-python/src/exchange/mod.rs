//! How arrays get in and out of Python.

mod claim;
mod devices;
mod dlpack;
mod host;

use arraybridge_core::dlpack::DlpackDevice;
use arraybridge_core::roles::Duplicate;
use arraybridge_core::{Description, Device, Error, HOST, HostArray, Layout, require_device};
use pyo3::prelude::*;

use crate::library::NAME;
use crate::read::{Wish, accelerator, ask, look};
use crate::{Maker, PyArray, PyLibrary as Library, interpreter, make};

pub(crate) use devices::devices;

/// Returns the device that DLPack's names.
fn device_of(device: DlpackDevice) -> Result<Device, Error> {
    match accelerator(device) {
        Some(index) => Some(Device::Accelerator(index)),
        None if device.is_host_readable() => Some(HOST),
        None => None,
    }
    .ok_or_else(|| Error::InvalidPayload {
        field: "device",
        message: format!("{device} is no device that is understood here"),
    })
}

/// Describes an array.
pub(crate) fn describe(array: &PyArray) -> Result<Description, Error> {
    interpreter::attach(|py| {
        let object = array.object(py);
        let described = match array.maker() {
            Maker::Dask => lazy(&object)?,
            _ => {
                let seen = look(&object)?;
                let address = if seen.layout().is_empty() { 0 } else { seen.address() };
                let device = device_of(seen.device())?;
                Description::new(seen.dtype(), seen.into_layout(), device, address)
            }
        };
        Ok(described.labelled(array.maker().label()))
    })
}

/// Describes a lazy array, which has no elements yet.
fn lazy(object: &Bound<'_, PyAny>) -> Result<Description, Error> {
    let py = object.py();
    let failed = |error| crate::error::raised(py, "describing a lazy array", error);
    let shape: Vec<usize> =
        object.getattr("shape").and_then(|shape| shape.extract()).map_err(|_| {
            Error::Unsupported {
                library: NAME,
                operation: "a lazy array of unknown shape",
                remedy: "call `compute_chunk_sizes()` on it first",
            }
        })?;
    let name: String = object
        .getattr("dtype")
        .and_then(|dtype| dtype.getattr("name"))
        .and_then(|name| name.extract())
        .map_err(failed)?;
    Ok(Description::new(name.parse()?, Layout::row_major(&shape)?, HOST, 0))
}

/// Reads an array to the host: always a copy, because Python code may write the array later.
pub(crate) fn download(array: &PyArray) -> Result<HostArray, Error> {
    interpreter::attach(|py| copy_to_host(&array.object(py)))
}

/// Copies an object's elements to the host.
fn copy_to_host(object: &Bound<'_, PyAny>) -> Result<HostArray, Error> {
    let seen = look(object)?;
    if seen.device() == DlpackDevice::CPU {
        // Attached: nobody writes the elements meanwhile who keeps Python's rules.
        return HostArray::from_dlpack(seen.into_payload()?);
    }
    drop(seen);
    // Also of memory that an accelerator shares with the host: only its library knows when the work is
    // done that is queued on it.
    let wish = Wish { copy: true, to_host: true, stream: None };
    let brought = match ask(object, wish) {
        Ok(seen) if seen.device().is_host_readable() => seen,
        _ => look(&devices::to_host(object)?)?,
    };
    HostArray::from_dlpack(brought.into_payload()?)
}

/// Makes an array of a copy of a host array's elements.
pub(crate) fn upload(array: &HostArray, device: Device) -> Result<PyArray, Error> {
    require_device::<Library>(device)?;
    let copy = array.gather()?;
    interpreter::attach(|py| {
        let object = make::memory::over(py, copy)?;
        place(object, device)
    })
}

/// Makes an array on a device of a NumPy array.
fn place(object: Bound<'_, PyAny>, device: Device) -> Result<PyArray, Error> {
    match device {
        Device::Accelerator(index) => devices::send(&object, index),
        _ => Ok(PyArray::new(object, Maker::Numpy)),
    }
}

impl Duplicate<Library> for Library {
    fn shares(&self) -> bool {
        false
    }

    fn duplicate(&self, array: &PyArray) -> Result<PyArray, Error> {
        interpreter::attach(|py| {
            let object = array.object(py);
            if let Some(copy) = devices::copied(&object, array.maker())? {
                return Ok(PyArray::new(copy, array.maker()));
            }
            let device = device_of(look(&object)?.device())?;
            place(make::memory::over(py, copy_to_host(&object)?)?, device)
        })
    }
}
