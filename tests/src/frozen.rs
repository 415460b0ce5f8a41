//! A library whose arrays never change, as XLA's buffers.

use arraybridge_core::roles::{Duplicate, HostOffer, HostShare, HostVisible};
use arraybridge_core::{
    ArrayLibrary, Availability, Description, Device, DeviceKinds, Error, HOST, HostArray, HostView,
    Obstacle, Owner, register_library,
};

/// The library `frozen`.
#[derive(Clone, Copy, Debug)]
pub struct Frozen;

/// An array that is never written.
#[derive(Clone, Debug)]
pub struct FrozenArray(HostArray);

impl FrozenArray {
    /// Returns the elements.
    pub fn elements(&self) -> Vec<f32> {
        self.0.gather().and_then(|array| array.as_slice().map(<[f32]>::to_vec)).unwrap_or_default()
    }

    /// Returns the address of the first element.
    pub fn address(&self) -> usize {
        self.0.address()
    }
}

register_library!(Frozen);

impl ArrayLibrary for Frozen {
    type Array = FrozenArray;

    const INSTANCE: &'static Self = &Frozen;
    const NAME: &'static str = "frozen";
    const KINDS: DeviceKinds = DeviceKinds::HOST;

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        Ok(vec![HOST])
    }

    fn has_device(&self, device: Device) -> Result<bool, Error> {
        Ok(device.is_host())
    }

    fn describe(&self, array: &FrozenArray) -> Result<Description, Error> {
        let host = &array.0;
        Ok(Description::new(host.dtype(), host.layout().clone(), HOST, host.address()))
    }

    fn download(&self, array: &FrozenArray) -> Result<HostArray, Error> {
        Ok(array.0.clone())
    }

    fn upload(&self, array: &HostArray, _: Device) -> Result<FrozenArray, Error> {
        Ok(FrozenArray(array.clone()))
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        Some(self)
    }

    fn host_visible(&self) -> Option<&dyn HostVisible<Self>> {
        Some(self)
    }

    fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
        Some(self)
    }
}

impl HostShare<Frozen> for Frozen {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, slot: &mut Option<FrozenArray>) -> Result<HostArray, Obstacle> {
        slot.take().map(|array| array.0).ok_or_else(|| {
            let message = "the array was already taken".into();
            Error::InvalidArgument { operation: "lending an array", message }.into()
        })
    }

    fn adopt(&self, offer: HostOffer, _: Device) -> Result<FrozenArray, Obstacle> {
        Ok(FrozenArray(offer.into_array()))
    }

    fn reclaim(&self, array: HostArray) -> Result<FrozenArray, Owner> {
        Ok(FrozenArray(array))
    }
}

impl HostVisible<Frozen> for Frozen {
    fn view<'a>(&self, array: &'a FrozenArray) -> Result<HostView<'a>, Error> {
        Ok(array.0.view())
    }
}

impl Duplicate<Frozen> for Frozen {
    fn shares(&self) -> bool {
        true
    }

    fn duplicate(&self, array: &FrozenArray) -> Result<FrozenArray, Error> {
        Ok(array.clone())
    }
}
