//! A Rust program that starts Python and uses a Python library on an array of its own: a Fourier
//! transform by NumPy, or a module of PyTorch where that is installed.
//!
//! `cargo run -p arraybridge-python --example embedding`

use arraybridge_core::{AnyArray, Convert, HOST, HostArray};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_python::pyo3::prelude::*;
use arraybridge_python::{PyArray, exception, to_python};

fn main() -> PyResult<()> {
    let values: Vec<f32> = (0..64).map(|step| (step as f32 / 4.0).sin()).collect();
    let signal = HostArray::from_vec(values, &[1, 64]).map_err(exception)?;
    let signal = AnyArray::of::<Ndarray>(NdArray::from_host(signal));
    let library = arraybridge_core::library("python").map_err(exception)?;
    println!("Python: {}", library.availability());

    Python::attach(|py| {
        let torch = py.import("torch");
        // Nobody else holds the array, so it crosses without a copy.
        let made = match &torch {
            Ok(torch) => {
                let tensor = to_python(py, signal, "torch").map_err(exception)?;
                let pool = torch.getattr("nn")?.getattr("AvgPool1d")?.call1((4,))?;
                pool.call1((tensor,))?
            }
            Err(_) => {
                let array = to_python(py, signal, "numpy").map_err(exception)?;
                py.import("numpy")?
                    .getattr("fft")?
                    .call_method1("rfft", (array,))?
                    .getattr("real")?
            }
        };
        let made = PyArray::from_object(&made).map_err(exception)?;
        println!("made by {}", made.maker());
        let made: NdArray = made.convert_to::<Ndarray>(HOST).map_err(exception)?;
        println!("{} {:?}", made.dtype(), made.shape());
        Ok(())
    })
}
