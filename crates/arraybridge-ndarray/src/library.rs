//! The library trait and its roles.

use arraybridge_core::ops::{ArrayMath, ArrayOps};
use arraybridge_core::roles::{Duplicate, HostOffer, HostShare, HostVisible};
use arraybridge_core::{
    ArrayLibrary, Availability, Description, Device, DeviceKinds, Error, HOST, HostArray, HostView,
    Obstacle, Owner, require_device,
};

use crate::NdArray;

/// The library `ndarray`: arrays in main memory, with the names `ndarray` and `numpy`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ndarray;

impl ArrayLibrary for Ndarray {
    type Array = NdArray;

    const INSTANCE: &'static Self = &Ndarray;
    const NAME: &'static str = "ndarray";
    const ALIASES: &'static [&'static str] = &["numpy"];
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

    fn describe(&self, array: &NdArray) -> Result<Description, Error> {
        let host = array.host();
        Ok(Description::new(host.dtype(), host.layout().clone(), HOST, host.address()))
    }

    fn device_of(&self, _: &NdArray) -> Result<Device, Error> {
        Ok(HOST)
    }

    fn download(&self, array: &NdArray) -> Result<HostArray, Error> {
        Ok(array.host().clone())
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<NdArray, Error> {
        require_device::<Ndarray>(device)?;
        Ok(NdArray::from_host(array.clone()))
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

    fn ops(&self) -> Option<&dyn ArrayOps<Self>> {
        Some(self)
    }

    fn math(&self) -> Option<&dyn ArrayMath<Self>> {
        Some(self)
    }
}

impl HostShare<Ndarray> for Ndarray {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, slot: &mut Option<NdArray>) -> Result<HostArray, Obstacle> {
        let array = slot.take().ok_or_else(|| Error::already_taken("lending an array"))?;
        Ok(array.into_host())
    }

    fn adopt(&self, offer: HostOffer, _: Device) -> Result<NdArray, Obstacle> {
        Ok(NdArray::from_host(offer.into_array()))
    }

    fn reclaim(&self, array: HostArray) -> Result<NdArray, Owner> {
        Ok(NdArray::from_host(array))
    }
}

impl HostVisible<Ndarray> for Ndarray {
    fn view<'a>(&self, array: &'a NdArray) -> Result<HostView<'a>, Error> {
        Ok(array.host().view())
    }
}

impl Duplicate<Ndarray> for Ndarray {
    fn shares(&self) -> bool {
        true
    }

    fn duplicate(&self, array: &NdArray) -> Result<NdArray, Error> {
        Ok(array.clone())
    }
}
