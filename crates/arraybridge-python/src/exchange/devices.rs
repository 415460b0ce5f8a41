//! Accelerators, as the Python libraries that have been imported know them.

use std::cell::Cell;
use std::error::Error as StdError;
use std::sync::{Mutex, PoisonError};

use arraybridge_core::dlpack::DlpackPayload;
use arraybridge_core::roles::Accelerator;
use arraybridge_core::{
    Decline, DeclineReason, Device, DeviceScope, Error, HOST, Obstacle, require_device,
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
        let count = accelerators(py).map_err(|error| raised(py, "counting devices", error))?;
        devices.extend((0..count).map(Device::Accelerator));
        Ok(devices)
    })
}

fn imported<'py>(py: Python<'py>, module: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let found = modules.call_method1("get", (module,))?;
    Ok((!found.is_none()).then_some(found))
}

fn accelerators(py: Python<'_>) -> PyResult<u32> {
    if let Some(torch) = imported(py, "torch")? {
        return torch.getattr("cuda")?.call_method0("device_count")?.extract();
    }
    if let Some(cupy) = imported(py, "cupy")? {
        let count = cupy.getattr("cuda")?.getattr("runtime")?.call_method0("getDeviceCount");
        // Without a driver it raises.
        return count.map_or(Ok(0), |count| count.extract());
    }
    Ok(0)
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
        if let Some(torch) = imported(py, "torch")? {
            let tensor = torch.call_method1("from_numpy", (object,))?;
            let tensor = tensor.call_method1("to", (format!("cuda:{index}"),))?;
            return Ok(Some((tensor, Maker::Torch)));
        }
        if let Some(cupy) = imported(py, "cupy")? {
            let device = cupy.getattr("cuda")?.getattr("Device")?.call1((index,))?;
            device.call_method0("__enter__")?;
            let array = cupy.call_method1("asarray", (object,));
            device.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
            return Ok(Some((array?, Maker::Cupy)));
        }
        Ok(None)
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
    for (module, maker) in [("torch", Maker::Torch), ("cupy", Maker::Cupy)] {
        if let Some(module) = imported(py, module).map_err(failed)? {
            let capsule = make::capsule::versioned(py, payload)?;
            let carrier = make::capsule::Carrier::new(capsule, device);
            let carrier = Bound::new(py, carrier).map_err(failed)?;
            let made = module.call_method1("from_dlpack", (carrier,)).map_err(failed)?;
            return Ok(PyArray::new(made, maker));
        }
    }
    let note = "no Python library with accelerators has been imported";
    Err(Decline::new(DeclineReason::Device).note(note).into())
}

thread_local! {
    /// The device that a scope chose for this thread.
    static SCOPE: Cell<Option<Device>> = const { Cell::new(None) };
}

/// The device that `activate` chose for the process.
static ACTIVE: Mutex<Option<Device>> = Mutex::new(None);

impl Accelerator for Library {
    fn current_device(&self) -> Result<Device, Error> {
        let active = *ACTIVE.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(SCOPE.get().or(active).unwrap_or(HOST))
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        require_device::<Library>(device)?;
        let previous = SCOPE.replace(Some(device));
        Ok(DeviceScope::new(move || SCOPE.set(previous)))
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        require_device::<Library>(device)?;
        *ACTIVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(device);
        Ok(())
    }

    fn release_cached_memory(&self, _: Option<Device>) -> Result<Option<usize>, Error> {
        if !interpreter::is_running() {
            return Ok(None);
        }
        interpreter::attach(|py| {
            let release = || -> PyResult<()> {
                if let Some(torch) = imported(py, "torch")? {
                    torch.getattr("cuda")?.call_method0("empty_cache")?;
                }
                if let Some(cupy) = imported(py, "cupy")? {
                    cupy.call_method0("get_default_memory_pool")?
                        .call_method0("free_all_blocks")?;
                }
                Ok(())
            };
            release().map_err(|error| raised(py, "releasing cached memory", error))?;
            Ok(None)
        })
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(python) = error.downcast_ref::<PythonError>() {
                return python.kind() == "OutOfMemoryError" || python.kind() == "MemoryError";
            }
            next = error.source();
        }
        false
    }
}
