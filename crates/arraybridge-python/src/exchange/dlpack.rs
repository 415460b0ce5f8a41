//! DLPack, for other libraries in the process.

use std::ffi::c_void;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::roles::{DlpackExport, DlpackImport};
use arraybridge_core::{
    Access, CopyPolicy, DType, Decline, DeclineReason, DeviceKinds, Error, HostArray, Layout,
    Obstacle, Owner,
};

use super::claim::claim;
use super::host::{Held, attached, take_over};
use super::{copy_to_host, devices};
use crate::read::{Seen, Wish, ask, look};
use crate::{Maker, PyArray, PyLibrary as Library};

/// The array that a copy was made of, with that copy's owner.
struct Copied {
    array: PyArray,
    _copy: Owner,
}

impl DlpackExport<Library> for Library {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR)
    }

    fn device(&self, array: &PyArray) -> Result<DlpackDevice, Obstacle> {
        if array.maker() == Maker::Dask {
            return Ok(DlpackDevice::CPU);
        }
        attached(|py| Ok(look(&array.object(py))?.device()))
    }

    fn export(
        &self,
        slot: &mut Option<PyArray>,
        policy: CopyPolicy,
        stream: Option<DlpackStream>,
    ) -> Result<DlpackPayload, Obstacle> {
        attached(|py| {
            let array = slot.as_ref().ok_or_else(|| Error::already_taken("exporting an array"))?;
            match claim(py, array) {
                Ok(seen) => {
                    let (data, device) = (seen.address() as *mut c_void, seen.device());
                    let (dtype, layout) = (seen.dtype(), seen.into_layout());
                    let array =
                        slot.take().ok_or_else(|| Error::already_taken("exporting an array"))?;
                    let owner = Owner::new(Held(array));
                    // SAFETY: the array's memory, which it keeps and nothing but this handle on it
                    // reaches, which `claim` proved.
                    let payload = unsafe {
                        DlpackPayload::new(owner, data, 0, dtype, layout, device, Access::Exclusive)
                    };
                    return Ok(payload?);
                }
                Err(declined @ Obstacle::Declined(_)) if policy == CopyPolicy::Never => {
                    return Err(declined);
                }
                Err(Obstacle::Declined(_)) => {}
                Err(failed) => return Err(failed),
            }
            let object = array.object(py);
            let seen = look(&object)?;
            let copy = if seen.device().is_host_readable() {
                copy_to_host(&object)?.into_dlpack()?
            } else {
                // The library that holds it copies it, on its device and in its own order of work.
                let wish = Wish { copy: true, to_host: false, stream };
                apart(&seen, ask(&object, wish)?.into_payload()?)?
            };
            drop(seen);
            if copy.access() != Access::Exclusive && !copy.layout().is_empty() {
                let note = "the Python library makes no copy that is nobody else's";
                return Err(Decline::new(DeclineReason::Shared).note(note).into());
            }
            let (data, offset) = (copy.data(), copy.byte_offset());
            let (dtype, layout) = (copy.dtype(), copy.layout().clone());
            let (device, access) = (copy.device(), copy.access());
            drop(object);
            let array = slot.take().ok_or_else(|| Error::already_taken("exporting an array"))?;
            let owner = Owner::new(Copied { array, _copy: copy.into_owner() });
            // SAFETY: the copy's own description under an owner that holds the copy's.
            let payload =
                unsafe { DlpackPayload::new(owner, data, offset, dtype, layout, device, access) }?;
            Ok(payload.mark_copied())
        })
    }

    fn reclaim(&self, owner: Owner) -> Result<PyArray, Owner> {
        let owner = match owner.into_inner::<Held>() {
            Ok(held) => return Ok(held.0),
            Err(owner) => owner,
        };
        owner.into_inner::<Copied>().map(|copied| copied.array)
    }
}

/// Takes what a producer was asked to copy for the copy that it is, if it lies apart from the
/// producer's own memory: PyTorch copies and does not say so, and others ignore what they are asked.
fn apart(own: &Seen<'_>, copy: DlpackPayload) -> Result<DlpackPayload, Error> {
    let place = |first: usize, layout: &Layout, dtype: DType| -> Result<_, Error> {
        let span = layout.byte_span(dtype)?;
        Ok(first.wrapping_add_signed(span.start)..first.wrapping_add_signed(span.end))
    };
    let old = place(own.address(), own.layout(), own.dtype())?;
    let new = place(copy.address(), copy.layout(), copy.dtype())?;
    let apart = old.end <= new.start || new.end <= old.start;
    if !apart || own.device() != copy.device() {
        return Ok(copy);
    }
    let (data, offset) = (copy.data(), copy.byte_offset());
    let (dtype, layout) = (copy.dtype(), copy.layout().clone());
    let (device, owner) = (copy.device(), copy.into_owner());
    // SAFETY: the producer's own description, under its owner. It was asked for a copy and gave other
    // memory than the object's, so it made one.
    let payload = unsafe {
        DlpackPayload::new(owner, data, offset, dtype, layout, device, Access::Exclusive)
    };
    Ok(payload?.mark_copied())
}

impl DlpackImport<Library> for Library {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR)
    }

    fn stream(&self, _: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle> {
        // Which stream the Python library will use is not known before it has the array.
        Ok(None)
    }

    fn import(&self, payload: DlpackPayload) -> Result<PyArray, Obstacle> {
        if payload.access() != Access::Exclusive {
            let note = "Python code may write its arrays, and others hold this memory";
            return Err(Decline::new(DeclineReason::Shared).note(note).into());
        }
        attached(|py| {
            if payload.device().is_host_readable() {
                return take_over(py, HostArray::from_dlpack(payload)?);
            }
            devices::import(py, payload)
        })
    }
}
