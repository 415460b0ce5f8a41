//! `__dlpack__`: what is asked for, and what is left out for producers that do not know it.

use arraybridge_core::Error;
use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Wish, attribute, capsule};
use crate::error::raised;

/// The newest version that is understood.
const MAX_VERSION: (u32, u32) = (1, 3);

/// CUDA's devices and its managed memory, whose streams are spoken of here: the numbers of the default
/// ones are others elsewhere.
const CUDA: [u32; 2] = [2, 13];

/// CUDA's devices and managed memory in DLPack's codes, and ROCm's devices.
const ACCELERATORS: [u32; 3] = [2, 13, 10];

/// Returns the number of an accelerator.
pub(crate) fn accelerator(device: DlpackDevice) -> Option<u32> {
    let known = ACCELERATORS.contains(&device.device_type);
    u32::try_from(device.device_id).ok().filter(|_| known)
}

/// Exports an object through `__dlpack__`; `None` if it has no such method, cannot do what is wished,
/// or is on a device that is not known here (OpenCL's) and has its own way to main memory.
pub(super) fn export(
    object: &Bound<'_, PyAny>,
    wish: Wish,
) -> Result<Option<DlpackPayload>, Error> {
    let py = object.py();
    let Some(method) = attribute(object, pyo3::intern!(py, "__dlpack__"))? else {
        return Ok(None);
    };
    // The device comes first: what may be asked for depends on it.
    let device = device(object)?;
    let is_known = device.is_host_readable() || accelerator(device).is_some();
    if !is_known && attribute(object, pyo3::intern!(py, "__array__"))?.is_some() {
        return Ok(None);
    }
    let arguments = PyDict::new(py);
    let failed = |error: PyErr| raised(py, "exporting through `__dlpack__`", error);
    let set = |name: &str, value: Bound<'_, PyAny>| arguments.set_item(name, value);
    set("max_version", MAX_VERSION.into_pyobject(py).map_err(failed)?.into_any())
        .map_err(failed)?;
    if wish.copy {
        set(
            "copy",
            true.into_pyobject(py).map_err(|error| failed(error.into()))?.to_owned().into_any(),
        )
        .map_err(failed)?;
    }
    if wish.to_host && device != DlpackDevice::CPU {
        set("dl_device", (1, 0).into_pyobject(py).map_err(failed)?.into_any()).map_err(failed)?;
    } else if CUDA.contains(&device.device_type)
        && let Some(stream) = stream_value(wish.stream)
    {
        set("stream", stream.into_pyobject(py).map_err(|error| failed(error.into()))?.into_any())
            .map_err(failed)?;
    }
    let needed: &[&str] = match (wish.copy, wish.to_host) {
        (false, false) => &[],
        (true, false) => &["copy"],
        (false, true) => &["dl_device"],
        (true, true) => &["copy", "dl_device"],
    };
    loop {
        match method.call((), Some(&arguments)) {
            Ok(taken) => {
                return capsule::take(&taken, wish.copy).map(Some);
            }
            Err(error) => {
                let Some(unknown) = unknown_keyword(py, &error, &arguments)? else {
                    if error.is_instance_of::<PyBufferError>(py) && !needed.is_empty() {
                        return Ok(None);
                    }
                    return Err(failed(error));
                };
                if needed.contains(&unknown.as_str()) {
                    return Ok(None);
                }
                arguments.del_item(unknown).map_err(failed)?;
            }
        }
    }
}

/// Returns the device of an object's memory.
pub(super) fn device(object: &Bound<'_, PyAny>) -> Result<DlpackDevice, Error> {
    let failed = |error: PyErr| raised(object.py(), "asking `__dlpack_device__`", error);
    let told = object.call_method0(pyo3::intern!(object.py(), "__dlpack_device__"));
    let (device_type, device_id): (Bound<'_, PyAny>, i32) =
        told.and_then(|told| told.extract()).map_err(failed)?;
    // An enumeration of integers in most libraries.
    let device_type = device_type.call_method0("__int__").and_then(|code| code.extract());
    Ok(DlpackDevice { device_type: device_type.map_err(failed)?, device_id })
}

/// Returns the argument that a producer does not know, if that is why a call failed; the last one
/// where it does not say which.
///
/// A `TypeError` that the producer's own code raises is not taken for that: such an error has a
/// traceback (or, from C, does not speak of keyword arguments).
fn unknown_keyword(
    py: Python<'_>,
    error: &PyErr,
    arguments: &Bound<'_, PyDict>,
) -> Result<Option<String>, Error> {
    if !error.is_instance_of::<PyTypeError>(py) || error.traceback(py).is_some() {
        return Ok(None);
    }
    let text = error.value(py).to_string();
    if !(text.contains("keyword") || text.contains("no arguments") || text.contains("incompatible"))
    {
        return Ok(None);
    }
    let mut names = Vec::new();
    for name in arguments.keys().iter() {
        let name = name.extract::<String>();
        names.push(name.map_err(|error| raised(py, "reading an argument's name", error))?);
    }
    let named = names.iter().find(|name| text.contains(&format!("'{name}'")));
    Ok(named.or(names.last()).cloned())
}

/// Returns the value of `stream` on CUDA devices; none stands for the legacy default stream.
fn stream_value(stream: Option<DlpackStream>) -> Option<i64> {
    match stream? {
        DlpackStream::NoSynchronisation => Some(-1),
        DlpackStream::LegacyDefault => Some(1),
        DlpackStream::PerThreadDefault => Some(2),
        DlpackStream::Handle(handle) => i64::try_from(handle.get()).ok(),
        _ => None,
    }
}
