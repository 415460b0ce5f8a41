//! Main memory: given away where it is nobody else's, taken where it is exclusive.

use arraybridge_core::roles::{HostOffer, HostShare, HostVisible};
use arraybridge_core::{
    Access, Decline, DeclineReason, Device, DeviceKinds, Error, HostArray, HostView, Obstacle,
    Owner,
};
use pyo3::prelude::*;

use super::claim::{claim, unwrap};
use crate::library::NAME;
use crate::make::memory::over_claimed;
use crate::{Maker, PyArray, PyLibrary as Library, interpreter};

/// The array inside an owner whose memory was lent.
pub(super) struct Held(pub(super) PyArray);

/// Runs `body` attached, with errors that may be declines.
pub(super) fn attached<R>(
    body: impl FnOnce(Python<'_>) -> Result<R, Obstacle>,
) -> Result<R, Obstacle> {
    interpreter::attach(|py| Ok(body(py)))?
}

impl HostShare<Library> for Library {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, slot: &mut Option<PyArray>) -> Result<HostArray, Obstacle> {
        attached(|py| {
            let array = slot.as_ref().ok_or_else(|| Error::already_taken("lending an array"))?;
            let claimed = claim(py, array)?;
            if let Some(host) = unwrap(array, &claimed, py) {
                drop(slot.take());
                return Ok(host);
            }
            let (data, dtype) = (claimed.address(), claimed.dtype());
            // It holds a reference to the object, which is the handle's alone again then.
            let layout = claimed.into_layout();
            let array = slot.take().ok_or_else(|| Error::already_taken("lending an array"))?;
            let owner = Owner::new(Held(array));
            // SAFETY: the array's memory, which it keeps and nothing but this handle on it reaches,
            // which `claim` proved.
            let lent = unsafe {
                HostArray::from_raw(owner, data as *mut u8, dtype, layout, Access::Exclusive)
            };
            Ok(lent?)
        })
    }

    fn adopt(&self, offer: HostOffer, device: Device) -> Result<PyArray, Obstacle> {
        if !device.is_host() {
            let note = "the device does not use main memory";
            return Err(Decline::new(DeclineReason::Device).note(note).into());
        }
        if offer.access() != Access::Exclusive {
            let note = "Python code may write its arrays, and others hold this memory";
            return Err(Decline::new(DeclineReason::Shared).note(note).into());
        }
        attached(|py| take_over(py, offer.into_array()))
    }

    fn reclaim(&self, mut array: HostArray) -> Result<PyArray, Owner> {
        if array.owner().holds::<Held>() {
            return array.into_owner().into_inner::<Held>().map(|held| held.0);
        }
        if array.claim() != Access::Exclusive {
            return Err(array.into_owner());
        }
        let kept = array.owner().clone();
        attached(|py| take_over(py, array)).map_err(|_| kept)
    }
}

/// Makes a NumPy array of memory that was offered exclusively.
pub(super) fn take_over(py: Python<'_>, array: HostArray) -> Result<PyArray, Obstacle> {
    match over_claimed(py, array) {
        Ok(made) => Ok(PyArray::new(made, Maker::Numpy)),
        Err(Error::DtypeUnsupported { .. }) => {
            Err(Decline::new(DeclineReason::Dtype).note("NumPy does not have it").into())
        }
        Err(error) => Err(error.into()),
    }
}

impl HostVisible<Library> for Library {
    fn view<'a>(&self, _: &'a PyArray) -> Result<HostView<'a>, Error> {
        Err(Error::Shared {
            operation: "viewing a Python array",
            message: "Python code may write it; borrow it exclusively, or copy it".into(),
        })
    }

    fn view_exclusive<'a>(&self, array: &'a mut PyArray) -> Result<HostView<'a>, Error> {
        let seen = attached(|py| {
            let claimed = claim(py, array)?;
            Ok((claimed.address(), claimed.dtype(), claimed.into_layout()))
        });
        let (address, dtype, layout) = seen.map_err(|obstacle| match obstacle {
            Obstacle::Failed(error) => error,
            Obstacle::Declined(decline) => Error::Shared {
                operation: "viewing a Python array",
                message: format!("{decline}; copy it"),
            },
            _ => Error::Unsupported {
                library: NAME,
                operation: "viewing this array",
                remedy: "copy it to the host",
            },
        })?;
        // SAFETY: nothing but this handle reaches the memory, which `claim` proved, and the handle
        // is borrowed exclusively, so that nobody gets at the object through it meanwhile.
        unsafe { HostView::new(address as *const u8, dtype, layout, None) }
    }
}
