//! Arrays on their way out of the process's Rust side: payloads that nobody else reaches.

use std::cell::Cell;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::roles::{DlpackImport, HostOffer, HostShare};
use arraybridge_core::{
    Access, AnyArray, ArrayLibrary, Availability, ConversionError, CopyPolicy, Decline,
    DeclineReason, Description, Device, DeviceKinds, Error, HOST, HostArray, Layout, Library,
    Obstacle, Owner,
};

use crate::read::runs_backwards;

/// A target of conversions that stands for consumers unknown. They may write, so it takes memory
/// that nobody else reaches, and copies the rest, by the routes that every library takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Outside;

const NAME: &str = "dlpack";

/// What is on its way out.
struct Parcel {
    payload: DlpackPayload,
    device: Device,
}

thread_local! {
    /// The stream that the consumer named, for as long as it is converted for it.
    static STREAM: Cell<Option<DlpackStream>> = const { Cell::new(None) };
}

/// Turns an array into a payload for consumers that may write it: over its memory if nobody else
/// reaches that, else over a copy, which the payload says.
pub(crate) fn payload(
    array: AnyArray,
    policy: CopyPolicy,
    stream: Option<DlpackStream>,
) -> Result<DlpackPayload, ConversionError<AnyArray>> {
    let seen = match array.describe() {
        Ok(seen) => seen,
        Err(error) => return Err(ConversionError::new(error, Some(array))),
    };
    let before = STREAM.replace(stream);
    let made = array.convert_with(Library::of::<Outside>(), seen.device, policy);
    STREAM.set(before);
    let parcel: Parcel = made?.into_array_of::<Outside>()?;
    let payload = parcel.payload;
    let copied = payload.address() != seen.address && !payload.layout().is_empty();
    Ok(if copied { payload.mark_copied() } else { payload })
}

/// Declines what consumers that are not known may not be handed.
fn refuse(access: Access, layout: &Layout) -> Result<(), Obstacle> {
    if runs_backwards(layout) {
        // PyTorch ends the process when it is handed such a tensor.
        let note = "an axis runs backwards, which most consumers of DLPack cannot take";
        return Err(Decline::new(DeclineReason::Layout).note(note).into());
    }
    if access == Access::Exclusive {
        return Ok(());
    }
    let note = "the consumer may write, and others hold this memory";
    Err(Decline::new(DeclineReason::Shared).note(note).into())
}

impl ArrayLibrary for Outside {
    type Array = Parcel;

    const INSTANCE: &'static Self = &Outside;
    const NAME: &'static str = NAME;
    const KINDS: DeviceKinds = DeviceKinds::ALL;

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        Ok(vec![HOST])
    }

    fn has_device(&self, _: Device) -> Result<bool, Error> {
        // Whatever device an array is on, it leaves from there.
        Ok(true)
    }

    fn describe(&self, parcel: &Parcel) -> Result<Description, Error> {
        let payload = &parcel.payload;
        let layout = payload.layout().clone();
        Ok(Description::new(payload.dtype(), layout, parcel.device, payload.address()))
    }

    fn download(&self, _: &Parcel) -> Result<HostArray, Error> {
        Err(Error::Unsupported {
            library: NAME,
            operation: "reading an array that is on its way out",
            remedy: "read it before",
        })
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<Parcel, Error> {
        if !device.is_host() {
            return Err(Error::Unsupported {
                library: NAME,
                operation: "exporting from a device whose library does not speak DLPack",
                remedy: "convert the array to the host first",
            });
        }
        Ok(Parcel { payload: array.gather()?.into_dlpack()?, device })
    }

    fn dlpack_import(&self) -> Option<&dyn DlpackImport<Self>> {
        Some(self)
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        Some(self)
    }
}

impl DlpackImport<Outside> for Outside {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::ALL
    }

    fn stream(&self, _: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle> {
        Ok(STREAM.get())
    }

    fn import(&self, payload: DlpackPayload) -> Result<Parcel, Obstacle> {
        refuse(payload.access(), payload.layout())?;
        let place = payload.device();
        let device = match u32::try_from(place.device_id) {
            Ok(index) if !place.is_host_readable() => Device::Accelerator(index),
            _ => HOST,
        };
        Ok(Parcel { payload, device })
    }
}

impl HostShare<Outside> for Outside {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, _: &mut Option<Parcel>) -> Result<HostArray, Obstacle> {
        Err(DeclineReason::Shared.into())
    }

    fn adopt(&self, offer: HostOffer, device: Device) -> Result<Parcel, Obstacle> {
        refuse(offer.access(), offer.array().layout())?;
        let array = offer.into_array();
        let (dtype, layout) = (array.dtype(), array.layout().clone());
        let data = array.as_ptr().cast_mut().cast();
        let owner: Owner = array.into_owner();
        // SAFETY: a host array's memory under its own owner. The offer is exclusive, and the second
        // handle that core keeps during the conversion is gone when that has succeeded.
        let payload = unsafe {
            DlpackPayload::new(owner, data, 0, dtype, layout, DlpackDevice::CPU, Access::Exclusive)
        };
        Ok(Parcel { payload: payload?, device })
    }
}
