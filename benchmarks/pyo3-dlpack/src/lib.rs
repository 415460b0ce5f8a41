//! What the crate pyo3-dlpack takes to read an array object, and to make a capsule.

use std::ffi::c_void;
use std::hint::black_box;

use pyo3::prelude::*;
use pyo3_dlpack::{DLDataType, DLDevice, IntoDLPack, PyTensor, TensorInfo};

/// Reads an object as often as told.
#[pyfunction]
fn read(object: &Bound<'_, PyAny>, calls: u32) -> PyResult<()> {
    for _ in 0..calls {
        black_box(PyTensor::from_pyany(object.py(), object)?);
    }
    Ok(())
}

/// Reads an object, and gives its memory to a function that takes a capsule, as often as told.
#[pyfunction]
fn there_and_back(object: &Bound<'_, PyAny>, take: &Bound<'_, PyAny>, calls: u32) -> PyResult<()> {
    for _ in 0..calls {
        let tensor = PyTensor::from_pyany(object.py(), object)?;
        black_box(take.call1((Again(tensor).into_dlpack(object.py())?,))?);
    }
    Ok(())
}

/// A tensor that was read, on its way out.
struct Again(PyTensor);

impl IntoDLPack for Again {
    fn tensor_info(&self) -> TensorInfo {
        let device: DLDevice = self.0.device();
        let dtype: DLDataType = self.0.dtype();
        let shape = self.0.shape().to_vec();
        let data: *mut c_void = self.0.data_ptr();
        match self.0.strides() {
            Some(strides) => TensorInfo::strided(data, device, dtype, shape, strides.to_vec()),
            None => TensorInfo::contiguous(data, device, dtype, shape),
        }
    }
}

#[pymodule]
fn pyo3_dlpack_peer(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(there_and_back, module)?)
}
