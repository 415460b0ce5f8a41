//! The required part of the library trait, for every mock.

use std::marker::PhantomData;

use arraybridge_core::ops::ArrayOps;
use arraybridge_core::roles::{
    Accelerator, DeviceMove, DlpackExport, DlpackImport, Duplicate, HostShare, HostVisible,
};
use arraybridge_core::{
    ArrayLibrary, Availability, Description, Device, DeviceKind, DeviceKinds, Error, HOST,
    HostArray, require_device,
};

use super::array::Memory;
use super::script::{Step, enter_or_fail};
use super::{Character, Mock, MockArray, Storage};

/// Returns the role if the mock has it somewhere.
fn where_any<T: ?Sized>(kinds: DeviceKinds, role: &T) -> Option<&T> {
    (kinds != DeviceKinds::NONE).then_some(role)
}

impl<C: Character> ArrayLibrary for Mock<C> {
    type Array = MockArray<C>;

    const INSTANCE: &'static Self = &Mock(PhantomData);
    const NAME: &'static str = C::TRAITS.name;
    const ALIASES: &'static [&'static str] = C::TRAITS.aliases;
    const KINDS: DeviceKinds = C::TRAITS.kinds;

    fn availability(&self) -> Availability {
        if C::TRAITS.absent {
            return Availability::Absent { remedy: "nothing brings a mock's runtime".into() };
        }
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        let mut devices = Vec::new();
        if C::TRAITS.absent {
            return Ok(devices);
        }
        for kind in C::TRAITS.kinds.iter() {
            match kind {
                DeviceKind::Host => devices.push(HOST),
                DeviceKind::Accelerator => {
                    devices.extend([Device::Accelerator(0), Device::Accelerator(1)]);
                }
                _ => devices.push(Device::named("mock")?),
            }
        }
        Ok(devices)
    }

    fn has_device(&self, device: Device) -> Result<bool, Error> {
        let there = match device {
            Device::Host => true,
            Device::Accelerator(index) => index < 2,
            named => named == Device::named("mock")?,
        };
        Ok(there && !C::TRAITS.absent && C::TRAITS.kinds.contains(device.kind()))
    }

    fn describe(&self, array: &MockArray<C>) -> Result<Description, Error> {
        enter_or_fail::<C>(Step::Describe, 0)?;
        let device = array.device();
        Ok(array.memory().with(|host| {
            Description::new(host.dtype(), host.layout().clone(), device, host.address())
        }))
    }

    fn device_of(&self, array: &MockArray<C>) -> Result<Device, Error> {
        Ok(array.device())
    }

    fn download(&self, array: &MockArray<C>) -> Result<HostArray, Error> {
        enter_or_fail::<C>(Step::Download, array.address())?;
        match array.memory().as_own() {
            Some(host) if C::TRAITS.storage == Storage::CopyOnWrite => Ok(host.clone()),
            _ => array.to_host(),
        }
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<MockArray<C>, Error> {
        enter_or_fail::<C>(Step::Upload, array.address())?;
        require_device::<Self>(device)?;
        let memory = Memory::new(array.gather()?, device, C::TRAITS.storage)?;
        Ok(MockArray::from_memory(memory))
    }

    fn dlpack_export(&self) -> Option<&dyn DlpackExport<Self>> {
        where_any(C::TRAITS.dlpack_export, self)
    }

    fn dlpack_import(&self) -> Option<&dyn DlpackImport<Self>> {
        where_any(C::TRAITS.dlpack_import, self)
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        where_any(C::TRAITS.host_share, self)
    }

    fn host_visible(&self) -> Option<&dyn HostVisible<Self>> {
        where_any(C::TRAITS.host_share, self)
    }

    fn device_move(&self) -> Option<&dyn DeviceMove<Self>> {
        C::TRAITS.moves.then_some(self)
    }

    fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
        Some(self)
    }

    fn accelerator(&self) -> Option<&dyn Accelerator> {
        C::TRAITS.accelerator.then_some(self)
    }

    fn ops(&self) -> Option<&dyn ArrayOps<Self>> {
        Some(self)
    }
}
