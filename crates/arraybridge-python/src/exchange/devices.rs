//! Accelerators, as the Python libraries that have been imported know them.

use std::error::Error as StdError;

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::roles::{Accelerator, DeviceChoice};
use arraybridge_core::{
    Decline, DeclineReason, Device, DeviceScope, Error, HOST, Obstacle, causes, require_device,
};
use pyo3::prelude::*;

use crate::error::{PythonError, raised};
use crate::library::NAME;
use crate::{Maker, PyArray, PyLibrary as Library, interpreter, make};

/// Returns main memory and the CUDA devices that PyTorch or CuPy see, if the program has imported
/// one of them. Importing them takes seconds and is left to the program.
pub(crate) fn devices() -> Result<Vec<Device>, Error> {
    if !interpreter::availability().is_available() {
        return Ok(Vec::new());
    }
    interpreter::attach(|py| {
        let mut devices = vec![HOST];
        let found = accelerators(py).map_err(|error| raised(py, "counting devices", error))?;
        let count = found.iter().map(|(_, _, count)| *count).max().unwrap_or(0);
        devices.extend((0..count).map(Device::Accelerator));
        Ok(devices)
    })
}

fn imported<'py>(py: Python<'py>, module: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let found = modules.call_method1("get", (module,))?;
    Ok((!found.is_none()).then_some(found))
}

/// Returns the libraries with accelerators that have been imported, PyTorch first, and how many each
/// sees. One that is being imported is not there yet.
fn accelerators(py: Python<'_>) -> PyResult<Vec<(Maker, Bound<'_, PyAny>, u32)>> {
    let mut found = Vec::new();
    if let Some(torch) = imported(py, "torch")?
        && let Some(cuda) = torch.getattr_opt("cuda")?
        && let Some(count) = cuda.getattr_opt("device_count")?
    {
        found.push((Maker::Torch, torch, count.call0()?.extract()?));
    }
    if let Some(cupy) = imported(py, "cupy")?
        && let Some(cuda) = cupy.getattr_opt("cuda")?
        && let Some(runtime) = cuda.getattr_opt("runtime")?
    {
        // Without a driver it raises.
        let count = runtime.call_method0("getDeviceCount");
        found.push((Maker::Cupy, cupy, count.map_or(Ok(0), |count| count.extract())?));
    }
    found.retain(|(_, _, count)| *count > 0);
    Ok(found)
}

/// Brings an object's elements to main memory by its own library's method.
pub(super) fn to_host<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Error> {
    let py = object.py();
    let brought = match Maker::of(object) {
        Maker::Torch => object.call_method0("detach").and_then(|tensor| tensor.call_method0("cpu")),
        Maker::Cupy | Maker::Pyclesperanto => object.call_method0("get"),
        _ => return make::as_numpy(object),
    };
    brought.map_err(|error| raised(py, "reading an accelerator's array", error))
}

/// Copies an array by its own library's method, where it is; `None` for libraries without one.
pub(super) fn copied<'py>(
    object: &Bound<'py, PyAny>,
    maker: Maker,
) -> Result<Option<Bound<'py, PyAny>>, Error> {
    let copy = match maker {
        Maker::Torch => object.call_method0("clone"),
        Maker::Jax | Maker::Cupy => object.call_method0("copy"),
        _ => return Ok(None),
    };
    copy.map(Some).map_err(|error| raised(object.py(), "copying an array", error))
}

/// Sends a NumPy array to an accelerator, as an array of PyTorch or CuPy.
pub(super) fn send(object: &Bound<'_, PyAny>, index: u32) -> Result<PyArray, Error> {
    let py = object.py();
    let sent = || -> PyResult<Option<(Bound<'_, PyAny>, Maker)>> {
        let sees = |found: &(Maker, Bound<'_, PyAny>, u32)| found.2 > index;
        let Some((maker, module, _)) = accelerators(py)?.into_iter().find(sees) else {
            return Ok(None);
        };
        if maker == Maker::Torch {
            let tensor = module.call_method1("from_numpy", (object,))?;
            let tensor = tensor.call_method1("to", (format!("cuda:{index}"),))?;
            return Ok(Some((tensor, maker)));
        }
        let device = module.getattr("cuda")?.getattr("Device")?.call1((index,))?;
        device.call_method0("__enter__")?;
        let array = module.call_method1("asarray", (object,));
        device.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        Ok(Some((array?, maker)))
    };
    let sent = sent().map_err(|error| raised(py, "sending an array to an accelerator", error))?;
    let (made, maker) = sent.ok_or(Error::DeviceUnavailable {
        library: NAME,
        device: Device::Accelerator(index),
        available: vec![HOST],
    })?;
    Ok(PyArray::new(made, maker))
}

/// Makes an array of an accelerator's memory, of PyTorch or CuPy.
pub(super) fn import(py: Python<'_>, payload: DlpackPayload) -> Result<PyArray, Obstacle> {
    let failed = |error| raised(py, "importing an accelerator's array", error);
    let device = payload.device();
    let found = accelerators(py).map_err(failed)?;
    if let Some((maker, module, _)) = found.into_iter().next() {
        let capsule = make::capsule::versioned(py, payload)?;
        let carrier = make::capsule::Carrier::new(capsule, device);
        let carrier = Bound::new(py, carrier).map_err(failed)?;
        let made = module.call_method1("from_dlpack", (carrier,)).map_err(failed)?;
        return Ok(PyArray::new(made, maker));
    }
    let note = "no Python library with accelerators has been imported";
    Err(Decline::new(DeclineReason::Device).note(note).into())
}

/// The device that the program chose.
fn choice() -> DeviceChoice {
    DeviceChoice::of::<Library>()
}

impl Accelerator for Library {
    fn current_device(&self) -> Result<Device, Error> {
        Ok(choice().current().unwrap_or(HOST))
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        require_device::<Library>(device)?;
        Ok(choice().scope(device))
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        require_device::<Library>(device)?;
        choice().activate(device);
        Ok(())
    }

    fn release_cached_memory(&self, _: Option<Device>) -> Result<Option<usize>, Error> {
        if !interpreter::is_running() {
            return Ok(None);
        }
        interpreter::attach(|py| {
            let release = || -> PyResult<()> {
                for (maker, module, _) in accelerators(py)? {
                    if maker == Maker::Torch {
                        module.getattr("cuda")?.call_method0("empty_cache")?;
                    } else {
                        module
                            .call_method0("get_default_memory_pool")?
                            .call_method0("free_all_blocks")?;
                    }
                }
                Ok(())
            };
            release().map_err(|error| raised(py, "releasing cached memory", error))?;
            Ok(None)
        })
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        let full = |cause: &PythonError| {
            cause.kind() == "OutOfMemoryError" || cause.kind() == "MemoryError"
        };
        causes(error).any(|cause| cause.downcast_ref().is_some_and(full))
    }
}
