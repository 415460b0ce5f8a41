//! DLPack, for other libraries in the process.

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::roles::{DlpackExport, DlpackImport};
use arraybridge_core::{Access, CopyPolicy, Decline, DeclineReason, DeviceKinds, Obstacle, Owner};

use super::host::in_slot;
use super::{Held, unfit, view};
use crate::{Xla, XlaArray, dtype, runtime};

fn no_such_device() -> Obstacle {
    Decline::new(DeclineReason::Device).note("XLA does not have the device of the memory").into()
}

impl DlpackExport<Xla> for Xla {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR)
    }

    fn device(&self, array: &XlaArray) -> Result<DlpackDevice, Obstacle> {
        array.known_device()?.dlpack().ok_or_else(no_such_device)
    }

    fn export(
        &self,
        slot: &mut Option<XlaArray>,
        _: CopyPolicy,
        // The elements are waited for, so that they are ready for every stream.
        _: Option<DlpackStream>,
    ) -> Result<DlpackPayload, Obstacle> {
        let array = in_slot(slot)?;
        let device = self.device(array)?;
        if array.layout().is_empty() {
            let note = "there are no elements to share";
            return Err(Decline::new(DeclineReason::Layout).note(note).into());
        }
        let (dtype, layout) = (array.dtype(), array.layout().clone());
        let (held, pointer) = Held::hold(array.clone())?;
        // SAFETY: the hold keeps the buffer's row-major elements where they are, on this device,
        // until the owner drops it; XLA never writes a buffer again, hence immutable.
        let payload = unsafe {
            let owner = Owner::new(held);
            DlpackPayload::new(owner, pointer, 0, dtype, layout, device, Access::Immutable)
        }?;
        slot.take();
        Ok(payload)
    }

    fn reclaim(&self, owner: Owner) -> Result<XlaArray, Owner> {
        owner.into_inner::<Held>().map(|held| held.0.clone())
    }
}

impl DlpackImport<Xla> for Xla {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR)
    }

    fn stream(&self, device: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle> {
        // PJRT does not tell its streams, so the producer finishes its work first.
        known(device).map(|_| None)
    }

    fn import(&self, payload: DlpackPayload) -> Result<XlaArray, Obstacle> {
        let known = known(payload.device())?;
        if dtype::element(payload.dtype(), "an array").is_err() {
            return Err(Decline::new(DeclineReason::Dtype).note("XLA does not have it").into());
        }
        if payload.access() == Access::SharedMutable {
            let note = "others may write the memory";
            return Err(Decline::new(DeclineReason::Shared).note(note).into());
        }
        if let Some(decline) = unfit(payload.layout(), payload.address()) {
            return Err(decline.into());
        }
        let (dtype, shape) = (payload.dtype(), payload.layout().shape().to_vec());
        let Ok(offset) = usize::try_from(payload.byte_offset()) else {
            let note = "the byte offset leaves the address space";
            return Err(Decline::new(DeclineReason::Layout).note(note).into());
        };
        let pointer = payload.data().cast::<u8>().wrapping_add(offset).cast();
        let owner = payload.into_owner();
        // SAFETY: the payload's maker vouched for the memory until its owner is dropped, which goes
        // along; with this access nobody else writes it, and XLA does not.
        Ok(unsafe { view(pointer, dtype, &shape, Box::new(owner), known) }?)
    }
}

/// Returns XLA's device of DLPack's name.
fn known(device: DlpackDevice) -> Result<&'static runtime::KnownDevice, Obstacle> {
    runtime::named_by_dlpack(device).ok_or_else(no_such_device)
}
