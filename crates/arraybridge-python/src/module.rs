//! The Python module `arraybridge_rs._native`, which the package `arraybridge_rs` is made of.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use arraybridge_core::{
    AnyArray, Availability, ConversionCounters, CopyPolicy, Device, ObserverGuard, libraries,
};
use pyo3::exceptions::{PyImportError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::class::Target;
use crate::{Array, PyArray, PyLibrary, exception};

// Each is named, so that the linker keeps what registers it. OpenCL is not among them: its drivers
// bring compilers of their own, which crash where TensorFlow has offered its own to the process.
use {arraybridge_cuda as _, arraybridge_ndarray as _, arraybridge_xla as _};

/// Converts an array object of any Python library, or an `Array`, to a library on a device.
///
/// `copy=False` refuses to copy elements; with `copy=True` no write to the object shows in the array,
/// nor the other way round, also between Python's libraries. Python code that calls this holds the
/// object, so most are copied once; an `Array` is shared where neither library ever writes.
#[pyfunction]
#[pyo3(signature = (object, library, device = "host", *, copy = None))]
fn convert(
    object: &Bound<'_, PyAny>,
    library: &str,
    device: &str,
    copy: Option<bool>,
) -> PyResult<Array> {
    let py = object.py();
    if let Ok(array) = object.cast::<Array>() {
        return array.get().to(py, library, device, copy);
    }
    let target = Target::named(library)?;
    let device: Device = device.parse().map_err(exception)?;
    let policy = if copy == Some(false) { CopyPolicy::Never } else { CopyPolicy::Allow };
    let array = AnyArray::of::<PyLibrary>(PyArray::from_object(object).map_err(exception)?);
    let made = py.detach(|| {
        // Between Python's libraries nothing else copies.
        let shares = target.library().is::<PyLibrary>();
        let array = if copy == Some(true) && shares { array.duplicate()? } else { array };
        target.place(array, device, policy)
    });
    made.and_then(Array::new).map_err(exception)
}

/// Says what a conversion would do, from declarations alone.
#[pyfunction]
fn plan(source: &str, source_device: &str, target: &str, target_device: &str) -> PyResult<String> {
    let from: Device = source_device.parse().map_err(exception)?;
    let to: Device = target_device.parse().map_err(exception)?;
    let plan = arraybridge_core::plan(source, from, target, to).map_err(exception)?;
    Ok(plan.to_string())
}

/// Returns the libraries by name: whether each can be used here, and on which devices.
#[pyfunction(name = "libraries")]
fn known(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let listed = PyDict::new(py);
    for library in libraries() {
        let (availability, devices) = py.detach(|| {
            let availability = library.availability();
            let devices = library.available_devices();
            (availability, devices.unwrap_or_default())
        });
        let told = PyDict::new(py);
        told.set_item("available", availability == Availability::Available)?;
        told.set_item("why", availability.to_string())?;
        let devices: Vec<String> = devices.iter().map(Device::to_string).collect();
        told.set_item("devices", devices)?;
        listed.set_item(library.name(), told)?;
    }
    Ok(listed)
}

thread_local! {
    /// What this thread's counters have installed, by their number.
    static INSTALLED: RefCell<BTreeMap<u64, ObserverGuard>> = const { RefCell::new(BTreeMap::new()) };
}

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Totals the conversions of a `with` block, on the thread that runs it.
#[pyclass(frozen, module = "arraybridge_rs")]
struct Counters {
    number: u64,
    counters: ConversionCounters,
}

#[pymethods]
impl Counters {
    #[new]
    fn new() -> Counters {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Counters { number, counters: ConversionCounters::new() }
    }

    fn __enter__(slf: Py<Self>) -> PyResult<Py<Self>> {
        let this = slf.get();
        let fresh = INSTALLED.with_borrow_mut(|installed| {
            if installed.contains_key(&this.number) {
                return false;
            }
            installed.insert(this.number, this.counters.install());
            true
        });
        match fresh {
            true => Ok(slf),
            false => Err(PyRuntimeError::new_err("these counters are counting already")),
        }
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<bool> {
        let guard = INSTALLED.with_borrow_mut(|installed| installed.remove(&self.number));
        match guard {
            Some(_) => Ok(false),
            None => Err(PyRuntimeError::new_err("counters end on the thread that began them")),
        }
    }

    /// One dictionary per kind of conversion: libraries, devices, mechanism, whether it copied, and
    /// the totals.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = self.counters.rows().into_iter().map(|row| {
            let told = PyDict::new(py);
            told.set_item("source_library", &*row.source_library)?;
            told.set_item("source_device", row.source_device.to_string())?;
            told.set_item("target_library", &*row.target_library)?;
            told.set_item("target_device", row.target_device.to_string())?;
            told.set_item("mechanism", row.mechanism.to_string())?;
            told.set_item("copied", row.copied)?;
            told.set_item("conversions", row.conversions)?;
            told.set_item("nbytes", row.nbytes)?;
            told.set_item("seconds", row.seconds)?;
            Ok(told)
        });
        rows.collect()
    }

    /// The rows as JSON, with a version.
    fn to_json(&self) -> PyResult<String> {
        self.counters.to_json().map_err(exception)
    }

    fn __str__(&self) -> String {
        self.counters.table()
    }
}

#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    if !crate::interpreter::in_main_interpreter() {
        return Err(PyImportError::new_err(
            "arraybridge_rs does not support subinterpreters; import it in the main one",
        ));
    }
    // Whether the interpreter is fit for arrays is said when one is asked for.
    let _ = crate::interpreter::availability();
    module.add_class::<Array>()?;
    module.add_class::<Counters>()?;
    module.add_function(wrap_pyfunction!(convert, module)?)?;
    module.add_function(wrap_pyfunction!(plan, module)?)?;
    module.add_function(wrap_pyfunction!(known, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
