//! Conversions in the middle of which Python code runs, on this thread and on others.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};
use std::thread;

use arraybridge_core::{
    AnyArray, ArrayLibrary, Availability, ConversionObserver, ConversionRecord, CopyPolicy, DType,
    Description, Device, DeviceKinds, Error, HOST, HostArray, install,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_python::pyo3::{ffi, prelude::*};
use arraybridge_python::{Array, CapsuleForm, PyArray, PyLibrary, to_capsule, to_python};

/// Uses an array while it is being converted, as Python code that runs meanwhile may.
struct Meddling(Mutex<(Option<Py<Array>>, Vec<String>)>);

impl ConversionObserver for Meddling {
    fn record(&self, _: &ConversionRecord<'_>) {
        let Some(array) = self.0.lock().unwrap().0.take() else { return };
        Python::attach(|py| {
            let array = array.bind(py);
            let shape: Vec<usize> = array.getattr("shape").unwrap().extract().unwrap();
            assert_eq!(shape, [3]);
            for name in ["__array__", "__dlpack__", "__array_interface__"] {
                let used = array.getattr(name).and_then(|method| method.call0());
                self.0.lock().unwrap().1.push(used.unwrap_err().to_string());
            }
        });
    }
}

#[test]
fn an_array_that_is_used_inside_of_its_own_conversion_is_an_error_and_no_deadlock() {
    if !common::python() {
        return;
    }
    let host = HostArray::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
    let array = AnyArray::of::<Ndarray>(NdArray::from_host(host));
    let array = Array::new(array).unwrap();
    let array = Python::attach(|py| Py::new(py, array).unwrap());
    let held = Python::attach(|py| array.clone_ref(py));
    let meddling = Arc::new(Meddling(Mutex::new((Some(held), Vec::new()))));
    let observer: Arc<dyn ConversionObserver> = Arc::<Meddling>::clone(&meddling);
    let guard = install(observer);
    Python::attach(|py| {
        array.bind(py).call_method1("to", ("python",)).unwrap();
        drop(guard);
        let texts = std::mem::take(&mut meddling.0.lock().unwrap().1);
        assert_eq!(texts.len(), 3);
        for text in texts {
            assert!(text.starts_with("RuntimeError: this array is in use"), "{text}");
        }
        array.bind(py).call_method0("__array__").unwrap();
    });
}

/// A library whose arrays are read by a thread that has to do with Python, for which it waits.
#[derive(Debug)]
struct Waiting;

fn wait_for_python() {
    thread::spawn(|| Python::attach(|_| ())).join().unwrap();
}

impl ArrayLibrary for Waiting {
    type Array = HostArray;

    const INSTANCE: &'static Self = &Waiting;
    const NAME: &'static str = "waiting";
    const KINDS: DeviceKinds = DeviceKinds::HOST;

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        Ok(vec![HOST])
    }

    fn describe(&self, array: &HostArray) -> Result<Description, Error> {
        Ok(Description::new(array.dtype(), array.layout().clone(), HOST, array.address()))
    }

    fn download(&self, array: &HostArray) -> Result<HostArray, Error> {
        wait_for_python();
        array.gather()
    }

    fn upload(&self, array: &HostArray, _: Device) -> Result<HostArray, Error> {
        wait_for_python();
        array.gather()
    }
}

#[test]
fn libraries_may_wait_for_threads_that_need_the_interpreter() {
    if !common::python() {
        return;
    }
    let array = || AnyArray::of::<Waiting>(HostArray::zeros(DType::F32, &[3]).unwrap());
    Python::attach(|py| {
        let object = to_python(py, array(), "numpy").unwrap();
        assert_eq!(object.len().unwrap(), 3);
        to_capsule(py, array(), CapsuleForm::Versioned, CopyPolicy::Allow).unwrap();
        let object = Bound::new(py, Array::new(array()).unwrap()).unwrap();
        assert_eq!(object.call_method0("__array__").unwrap().len().unwrap(), 3);
    });
}

#[test]
fn a_thread_that_first_releases_an_object_has_a_state_from_then_on() {
    if !common::python() {
        return;
    }
    let array = Python::attach(|py| {
        let object = py.eval(c"__import__('numpy').arange(3)", None, None).unwrap();
        PyArray::from_object(&object).unwrap()
    });
    // The interpreter has been used here.
    PyLibrary.describe(&array).unwrap();
    let release = move || {
        drop(array);
        // SAFETY: may be called on any thread while there is an interpreter.
        unsafe { ffi::PyGILState_GetThisThreadState() }.is_null()
    };
    assert!(!thread::spawn(release).join().unwrap());
}
