//! Main memory, shared both ways.

use arraybridge_core::roles::{HostOffer, HostShare, HostVisible};
use arraybridge_core::{
    Access, Decline, DeclineReason, Device, DeviceKinds, Error, HostArray, HostView, Obstacle,
    Owner,
};

use super::{Held, unfit, wrap};
use crate::library::NAME;
use crate::{Xla, XlaArray, dtype, runtime};

/// Returns a host array over an array's memory.
pub(super) fn share(array: &XlaArray) -> Result<HostArray, Obstacle> {
    if !array.known_device()?.is_host_memory() {
        let note = "the host cannot read the device's memory";
        return Err(Decline::new(DeclineReason::Device).note(note).into());
    }
    if array.layout().is_empty() {
        let note = "there are no elements to share";
        return Err(Decline::new(DeclineReason::Layout).note(note).into());
    }
    let (dtype, layout) = (array.dtype(), array.layout().clone());
    let (held, pointer) = Held::hold(array.clone())?;
    // SAFETY: the hold keeps the buffer's row-major elements where they are until the owner drops
    // it; they are there (it waited), and XLA never writes a buffer again.
    let shared = unsafe {
        HostArray::from_raw(Owner::new(held), pointer.cast(), dtype, layout, Access::Immutable)
    };
    Ok(shared?)
}

/// Returns the array in a slot.
pub(super) fn in_slot(slot: &Option<XlaArray>) -> Result<&XlaArray, Error> {
    slot.as_ref().ok_or_else(|| Error::already_taken("exchanging an array"))
}

impl HostShare<Xla> for Xla {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST.and(DeviceKinds::NAMED)
    }

    fn lend(&self, slot: &mut Option<XlaArray>) -> Result<HostArray, Obstacle> {
        let lent = share(in_slot(slot)?)?;
        slot.take();
        Ok(lent)
    }

    fn adopt(&self, offer: HostOffer, device: Device) -> Result<XlaArray, Obstacle> {
        let known = runtime::device(device)?;
        let array = offer.into_array();
        if !known.is_host_memory() {
            let note = "the device does not use main memory";
            return Err(Decline::new(DeclineReason::Device).note(note).into());
        }
        if dtype::element(array.dtype(), "an array").is_err() {
            return Err(Decline::new(DeclineReason::Dtype).note("XLA does not have it").into());
        }
        match unfit(array.layout(), array.address()) {
            Some(decline) => Err(decline.into()),
            None => Ok(wrap(array, known)?),
        }
    }

    fn reclaim(&self, array: HostArray) -> Result<XlaArray, Owner> {
        array.into_owner().into_inner::<Held>().map(|held| held.0.clone())
    }
}

impl HostVisible<Xla> for Xla {
    fn view<'a>(&self, array: &'a XlaArray) -> Result<HostView<'a>, Error> {
        let known = array.known_device()?;
        if !known.is_host_memory() {
            return Err(Error::Unsupported {
                library: NAME,
                operation: "views of an accelerator's memory",
                remedy: "convert the array to a library on the host",
            });
        }
        let (pointer, guard): (_, Option<Box<dyn Send + Sync>>) = if array.layout().is_empty() {
            (std::ptr::null(), None)
        } else {
            let (held, pointer) = Held::hold(array.clone())?;
            (pointer.cast_const().cast(), Some(Box::new(held)))
        };
        // SAFETY: the hold keeps the elements where they are until the view drops it, they are there
        // (it waited), and XLA never writes a buffer again.
        unsafe { HostView::new(pointer, array.dtype(), array.layout().clone(), guard) }
    }
}
