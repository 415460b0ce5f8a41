//! DLPack out of the class: `__dlpack__` and `__dlpack_device__`.

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::{AnyArray, CopyPolicy};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Array;
use crate::make::capsule;
use crate::numpy::Numpy;
use crate::read::{look, runs_backwards};
use crate::{Maker, exception, outside};

#[pymethods]
impl Array {
    /// DLPack's capsule: over the same memory of an array on the host, with the elements shared as
    /// Python's libraries share them. An array elsewhere is copied on its device, but for an object of
    /// a Python library, which is asked itself.
    ///
    /// `max_version` of 1.0 or more brings the versioned form.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(Bound<'py, PyAny>, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let device = self.dlpack_device(py)?;
        if self.home.maker.is_some() && device != DlpackDevice::CPU {
            let object = self.unwrap(py)?;
            let arguments = PyDict::new(py);
            arguments.set_item("stream", stream)?;
            arguments.set_item("max_version", max_version)?;
            arguments.set_item("dl_device", dl_device)?;
            arguments.set_item("copy", copy)?;
            for (name, value) in arguments.copy()?.iter() {
                // Older libraries know some of them, and none of them need be said.
                if value.is_none() {
                    arguments.del_item(name)?;
                }
            }
            return object.call_method(pyo3::intern!(py, "__dlpack__"), (), Some(&arguments));
        }
        let wanted = match dl_device {
            Some((kind, device_id)) => {
                let device_type = kind.call_method0("__int__")?.extract()?;
                DlpackDevice { device_type, device_id }
            }
            None => device,
        };
        if stream.is_some_and(|stream| !stream.is_none()) && device == DlpackDevice::CPU {
            return Err(PyBufferError::new_err("an array in main memory has no stream"));
        }
        let payload = if wanted == device && device == DlpackDevice::CPU {
            self.tensor(py, copy == Some(true))?
        } else if wanted == DlpackDevice::CPU && copy != Some(false) {
            let host = self.with(py, |array| array.to_host()?.gather()?.into_dlpack())?;
            host.mark_copied()
        } else if wanted == device && copy != Some(false) {
            let stream = stream.map(cuda_stream).transpose()?.flatten();
            self.with(py, move |array| {
                let payload = outside::payload(array.duplicate()?, CopyPolicy::Allow, stream)?;
                Ok(payload.mark_copied())
            })?
        } else {
            return Err(PyBufferError::new_err(format!(
                "the array is on {device} and cannot be had on {wanted}{}",
                if copy == Some(false) { " without a copy" } else { "" }
            )));
        };
        let made = match max_version {
            Some((major, _)) if major >= 1 => capsule::versioned(py, payload),
            _ => capsule::legacy(py, payload),
        };
        made.map_err(exception)
    }

    /// DLPack's device type and number.
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(u32, i32)> {
        let device = self.dlpack_device(py)?;
        Ok((device.device_type, device.device_id))
    }

    /// DLPack's table of C functions, version 1.3.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Py<PyAny>> {
        super::exchange_table(py)
    }
}

impl Array {
    fn dlpack_device(&self, py: Python<'_>) -> PyResult<DlpackDevice> {
        if self.home.device.is_host() {
            return Ok(DlpackDevice::CPU);
        }
        self.with(py, AnyArray::dlpack_device)
    }

    /// Describes the elements of an array on the host for a consumer in Python.
    pub(super) fn tensor(&self, py: Python<'_>, copy: bool) -> PyResult<DlpackPayload> {
        let (object, writable) = self.exported(py, copy)?;
        let seen = look(&object).map_err(exception)?;
        if runs_backwards(seen.layout()) {
            // PyTorch ends the process when it is handed such a tensor.
            return Err(PyBufferError::new_err(
                "an axis runs backwards in memory, which most consumers of DLPack cannot take; \
                 `copy=True` exports a copy, and `numpy.asarray` makes a view",
            ));
        }
        let payload = capsule::content(&object, &seen, writable).map_err(exception)?;
        Ok(if copy { payload.mark_copied() } else { payload })
    }

    /// Returns the object whose memory is exported, and whether its consumers may write it.
    fn exported<'py>(&self, py: Python<'py>, copy: bool) -> PyResult<(Bound<'py, PyAny>, bool)> {
        if self.home.maker == Some(Maker::Torch) {
            // As it is: NumPy lacks some of PyTorch's dtypes.
            let tensor = self.unwrap(py)?;
            let tensor = match copy {
                true => tensor.call_method0(pyo3::intern!(py, "clone"))?,
                false => tensor,
            };
            return Ok((tensor, true));
        }
        let array = self.kept(py)?;
        if copy {
            return Ok((array.call_method0(pyo3::intern!(py, "copy"))?, true));
        }
        let writable = Numpy::get(py).map_err(exception)?.is_writable(&array)?;
        Ok((array, writable))
    }
}

/// Reads the stream that a consumer names on a CUDA device; none lets the producer wait.
fn cuda_stream(stream: &Bound<'_, PyAny>) -> PyResult<Option<DlpackStream>> {
    let Some(value) = stream.extract::<Option<i64>>()? else { return Ok(None) };
    // SAFETY: the consumer names a stream of its own, as `__dlpack__` demands, which lives for as
    // long as the call.
    unsafe { DlpackStream::from_cuda_value(value) }.map(Some).map_err(exception)
}
