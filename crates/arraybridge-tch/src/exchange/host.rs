//! Main memory, shared both ways.

use arraybridge_core::roles::{HostOffer, HostShare, HostVisible};
use arraybridge_core::{
    Access, DType, Decline, DeclineReason, Device, DeviceKinds, Error, HostArray, HostView,
    Obstacle, Owner,
};
use tch::Tensor;

use super::unfit;
use crate::Tch;
use crate::library::NAME;
use crate::torch::{self, Memory, Reach, Seen};

/// Returns the tensor in a slot.
pub(super) fn in_slot(slot: &Option<Tensor>) -> Result<&Tensor, Error> {
    slot.as_ref().ok_or_else(|| Error::already_taken("exchanging a tensor"))
}

impl HostShare<Tch> for Tch {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, slot: &mut Option<Tensor>) -> Result<HostArray, Obstacle> {
        let tensor = in_slot(slot)?;
        let seen = Seen::of(tensor)?;
        if !seen.device.is_host() {
            let note = "the host cannot read the device's memory";
            return Err(Decline::new(DeclineReason::Device).note(note).into());
        }
        if let Some(decline) = seen.obstacle() {
            return Err(decline.into());
        }
        // Before the tensor is taken: what can fail must leave it in its slot.
        seen.layout.nbytes(seen.dtype)?;
        check_bools(&seen)?;
        let tensor = slot.take().ok_or_else(|| Error::already_taken("lending a tensor"))?;
        let unwrapped = if is_wrapped_again(&seen) {
            // SAFETY: the tensor is in main memory, its reach is exclusive, its elements do not
            // overlap, `check_bools` read them, and the one thing that still happens to it is to be
            // dropped, or kept whole.
            unsafe { torch::take_owner(&seen) }
        } else {
            None
        };
        let owner = match unwrapped {
            Some(owner) => {
                drop(tensor);
                owner
            }
            None => Owner::new(tensor),
        };
        let Seen { pointer, dtype, layout, .. } = seen;
        if dtype == DType::Bool {
            // SAFETY: as below; `check_bools` read that every byte is 0 or 1.
            let lent = unsafe {
                HostArray::from_elements(owner, pointer.cast::<bool>(), layout, Access::Exclusive)
            };
            return Ok(lent?);
        }
        // SAFETY: the owner keeps the elements, which torch's or arraybridge's allocator
        // initialised or torch's operations wrote, and which nothing else reaches: the claim in
        // `seen` found no other holder, and the tensor is inside the owner or gone.
        let lent = unsafe { HostArray::from_raw(owner, pointer, dtype, layout, Access::Exclusive) };
        Ok(lent?)
    }

    fn adopt(&self, offer: HostOffer, device: Device) -> Result<Tensor, Obstacle> {
        if !device.is_host() {
            let note = "torch wraps main memory on the host only";
            return Err(Decline::new(DeclineReason::Device).note(note).into());
        }
        let access = offer.access();
        adopt(offer.into_array(), access)
    }

    fn reclaim(&self, mut array: HostArray) -> Result<Tensor, Owner> {
        if !array.owner().holds::<Tensor>() {
            // The memory was wrapped when it was lent, and is so again.
            let access = array.claim();
            let owner = array.owner().clone();
            return adopt(array, access).map_err(|_| owner);
        }
        let pointer = array.as_ptr().cast_mut();
        let (dtype, layout) = (array.dtype(), array.layout().clone());
        let tensor: Tensor = array.into_owner().into_inner()?;
        let is_lent =
            |seen: Seen| seen.pointer == pointer && seen.dtype == dtype && seen.layout == layout;
        if Seen::of(&tensor).is_ok_and(is_lent) {
            return Ok(tensor);
        }
        // A tensor that kept the memory of the one that was lent.
        let owner = Owner::new(tensor);
        let memory = Memory { pointer, dtype, layout: &layout, device: Device::Host };
        // SAFETY: `lend` found the memory exclusive and fit to be wrapped, its owner had no other
        // handle just now, and the second one here ends with this function.
        unsafe { torch::wrap(memory, owner.clone()) }.map_err(|_| owner)
    }
}

/// Returns whether the tensor could be made again of its memory, should nobody adopt that.
fn is_wrapped_again(seen: &Seen) -> bool {
    let address = seen.pointer as usize;
    !seen.requires_grad
        && !seen.layout.may_overlap()
        && unfit(seen.dtype, &seen.layout, address, Access::Exclusive).is_none()
}

/// Makes a tensor over main memory.
fn adopt(array: HostArray, access: Access) -> Result<Tensor, Obstacle> {
    let dtype = array.dtype();
    if let Some(decline) = unfit(dtype, array.layout(), array.address(), access) {
        return Err(decline.into());
    }
    let (layout, pointer) = (positive(array.layout()), array.as_ptr().cast_mut());
    let memory = Memory { pointer, dtype, layout: &layout, device: Device::Host };
    // SAFETY: with this access nothing else reaches the memory until the owner is dropped, which goes
    // along; a host array's elements are initialised, and `unfit` found them aligned.
    Ok(unsafe { torch::wrap(memory, array.into_owner()) }?)
}

/// Returns a layout of the same elements without the negative strides of axes of length 1, which
/// mean nothing to everybody but torch.
pub(super) fn positive(layout: &arraybridge_core::Layout) -> arraybridge_core::Layout {
    let negative = layout.strides().iter().any(|stride| stride.is_negative());
    if negative { layout.canonical() } else { layout.clone() }
}

/// Returns an error if a bool tensor in main memory holds bytes other than 0 and 1, which torch lets
/// it.
pub(super) fn check_bools(seen: &Seen) -> Result<(), Error> {
    if seen.dtype != DType::Bool {
        return Ok(());
    }
    let (pointer, layout) = (seen.pointer.cast_const(), seen.layout.clone());
    // SAFETY: the caller borrows the tensor, whose memory nobody else reaches.
    unsafe { HostView::new(pointer, DType::Bool, layout, None) }.map(|_| ())
}

impl HostVisible<Tch> for Tch {
    fn view<'a>(&self, array: &'a Tensor) -> Result<HostView<'a>, Error> {
        Seen::of(array)?;
        Err(Error::Shared {
            operation: "a view of a tensor under a shared borrow",
            message: "a shallow clone could be made and written meanwhile; borrow it as `&mut`"
                .into(),
        })
    }

    fn view_exclusive<'a>(&self, array: &'a mut Tensor) -> Result<HostView<'a>, Error> {
        let seen = Seen::of(array)?;
        let refused =
            |operation, remedy| Err(Error::Unsupported { library: NAME, operation, remedy });
        if !seen.device.is_host() {
            let remedy = "convert the tensor to a library on the host";
            return refused("views of an accelerator's memory", remedy);
        }
        if seen.is_lazy {
            let remedy = "resolve it first with `resolve_conj` and `resolve_neg`";
            return refused("views of lazily conjugated or negated tensors", remedy);
        }
        if seen.reach != Reach::Exclusive && !seen.layout.is_empty() {
            return Err(Error::Shared {
                operation: "a view of a tensor",
                message: format!("{}; `copy` it first", seen.reach.holders()),
            });
        }
        // SAFETY: for as long as the view the tensor is borrowed exclusively, and nothing else
        // reaches its elements.
        unsafe { HostView::new(seen.pointer, seen.dtype, seen.layout, None) }
    }
}
