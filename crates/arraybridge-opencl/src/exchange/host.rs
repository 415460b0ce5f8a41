//! Main memory, shared both ways with devices that work in it.

use std::sync::Arc;

use arraybridge_core::roles::{HostOffer, HostShare, HostVisible};
use arraybridge_core::{
    Access, Decline, DeclineReason, Device, DeviceKinds, Error, HostArray, HostView, Layout,
    Obstacle, Owner,
};

use crate::library::NAME;
use crate::memory::{Mapped, Memory};
use crate::place::Place;
use crate::{ClArray, OpenCl, device};

/// Returns a host array over an array's memory, which holds the array. With exclusive access this
/// must be the only array over its memory.
pub(super) fn share(array: ClArray, access: Access) -> Result<HostArray, Obstacle> {
    if array.memory().host_address().is_none() {
        let note = "the host cannot read the device's memory in place";
        return Err(Decline::new(DeclineReason::Device).note(note).into());
    }
    if array.layout().is_empty() {
        let note = "there are no elements to share";
        return Err(Decline::new(DeclineReason::Layout).note(note).into());
    }
    let (dtype, layout) = (array.dtype(), array.layout().clone());
    let mapped = Mapped::new(array, access == Access::Exclusive)?;
    let first = mapped.first();
    // SAFETY: the mapping, which the owner holds, keeps the elements where they are, initialised
    // and readable; while it is there no command writes them, and none reads them if it is one for
    // writing, which `access` says.
    Ok(unsafe { HostArray::from_raw(Owner::new(mapped), first, dtype, layout, access) }?)
}

/// Returns why a host array's memory cannot be used in place, if it cannot.
pub(super) fn unfit(array: &HostArray, place: &Place) -> Option<Decline> {
    if !place.known.facts.unified_memory {
        let note = "the device does not work in main memory";
        return Some(Decline::new(DeclineReason::Device).note(note));
    }
    if array.is_empty() {
        return Some(Decline::new(DeclineReason::Layout).note("there are no elements to share"));
    }
    if !is_gapless(array.layout()) {
        // The runtime may move a buffer's bytes, and those of a gap may be somebody else's.
        return Some(Decline::new(DeclineReason::Layout).note("there are gaps between elements"));
    }
    if !array.is_aligned() {
        let beyond = array.address() % array.dtype().align();
        let note = "elements must lie at multiples of their alignment; the remainder is";
        return Some(Decline::new(DeclineReason::Alignment).note(note).value(beyond as i64));
    }
    None
}

/// Returns whether elements fill the memory that they span; some may lie at one place.
fn is_gapless(layout: &Layout) -> bool {
    let repeated = layout.shape().iter().zip(layout.strides());
    let once: Vec<usize> =
        repeated.map(|(length, stride)| if *stride == 0 { 1 } else { *length }).collect();
    Layout::new(&once, layout.strides()).is_ok_and(|layout| layout.is_dense())
}

/// Makes an array over a host array's memory, which it keeps; with exclusive access nobody else
/// reaches that.
pub(super) fn wrap(array: HostArray, place: &Arc<Place>, access: Access) -> Result<ClArray, Error> {
    let (dtype, layout) = (array.dtype(), array.layout().clone());
    let span = layout.span();
    let nbytes = span.len() * dtype.size();
    let memory = Memory::over_host(place, array, nbytes, access)?;
    ClArray::new(Arc::new(memory), span.start.unsigned_abs(), dtype, layout)
}

impl HostShare<OpenCl> for OpenCl {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::NAMED
    }

    fn lend(&self, slot: &mut Option<ClArray>) -> Result<HostArray, Obstacle> {
        let array = slot.as_mut().ok_or_else(|| Error::already_taken("lending an array"))?;
        let access = if array.is_exclusive() { Access::Exclusive } else { Access::Immutable };
        let lent = share(array.clone(), access)?;
        slot.take();
        Ok(lent)
    }

    fn adopt(&self, offer: HostOffer, device: Device) -> Result<ClArray, Obstacle> {
        let place = device::known(device)?.place()?;
        let access = offer.access();
        let array = offer.into_array();
        match unfit(&array, place) {
            Some(decline) => Err(decline.into()),
            None => Ok(wrap(array, place, access)?),
        }
    }

    fn reclaim(&self, array: HostArray) -> Result<ClArray, Owner> {
        array.into_owner().into_inner::<Mapped>().map(Mapped::into_array)
    }
}

impl HostVisible<OpenCl> for OpenCl {
    fn view<'a>(&self, array: &'a ClArray) -> Result<HostView<'a>, Error> {
        let (dtype, layout) = (array.dtype(), array.layout().clone());
        if layout.is_empty() {
            // SAFETY: there are no elements.
            return unsafe { HostView::new(std::ptr::null(), dtype, layout, None) };
        }
        if array.memory().host_address().is_none() {
            return Err(Error::Unsupported {
                library: NAME,
                operation: "views of memory that is not the host's",
                remedy: "convert the array to a library on the host",
            });
        }
        let mapped = Mapped::new(array.clone(), false)?;
        let first = mapped.first().cast_const();
        // SAFETY: the mapping, which the view keeps, keeps the elements where they are, initialised
        // and readable, and while it is there no command writes them.
        unsafe { HostView::new(first, dtype, layout, Some(Box::new(mapped))) }
    }
}
