//! DLPack out of the class: `__dlpack__` and `__dlpack_device__`.

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::{Access, AnyArray, CopyPolicy, Owner};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use super::Array;
use crate::attached::Attached;
use crate::make::capsule;
use crate::read::{Wish, look};
use crate::{exception, outside};

#[pymethods]
impl Array {
    /// DLPack's capsule: over the same memory of an array on the host, with the elements shared as
    /// Python's libraries share them. An array elsewhere is copied on its device.
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
        let mut object = self.shared(py)?;
        if copy {
            object = object.call_method0(pyo3::intern!(py, "copy"))?;
        }
        let writable: bool = object
            .getattr(pyo3::intern!(py, "flags"))?
            .getattr(pyo3::intern!(py, "writeable"))?
            .extract()?;
        let seen = look(&object, Wish::default()).map_err(exception)?;
        let (data, offset) = (seen.data(), seen.byte_offset());
        let (dtype, layout) = (seen.dtype(), seen.layout().clone());
        // Exclusive says in a capsule that the consumer may write, and nothing else.
        let access = if writable { Access::Exclusive } else { Access::Immutable };
        let owner = Owner::new(Attached::new(object.unbind()));
        // SAFETY: the memory of an array that the owner holds. It is Python's: Rust code reaches it
        // by copies that it makes attached, and Python code by rules of its own, to which the
        // capsule's consumer belongs. The payload goes into a capsule and nowhere else.
        let payload = unsafe {
            DlpackPayload::new(owner, data, offset, dtype, layout, DlpackDevice::CPU, access)
        };
        let payload = payload.map_err(exception)?;
        Ok(if copy { payload.mark_copied() } else { payload })
    }
}

/// Reads the stream that a consumer names on a CUDA device; none lets the producer wait.
fn cuda_stream(stream: &Bound<'_, PyAny>) -> PyResult<Option<DlpackStream>> {
    let Some(value) = stream.extract::<Option<i64>>()? else { return Ok(None) };
    // SAFETY: the consumer names a stream of its own, as `__dlpack__` demands, which lives for as
    // long as the call.
    unsafe { DlpackStream::from_cuda_value(value) }.map(Some).map_err(exception)
}
