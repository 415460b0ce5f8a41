//! The roles of exchange, for every mock.
// Each role has kinds of its own.
#![allow(clippy::misnamed_getters)]

use std::ffi::c_void;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::roles::{
    DeviceMove, DlpackExport, DlpackImport, Duplicate, HostOffer, HostShare, HostVisible,
};
use arraybridge_core::{
    Access, ArrayLibrary, CopyPolicy, Decline, DeclineReason, Device, DeviceKind, DeviceKinds,
    Error, HOST, HostArray, HostView, Obstacle, Owner, require_device,
};

use super::array::Memory;
use super::script::{Act, Step, enter, enter_or_fail, keep};
use super::{Character, Mock, MockArray, Storage};

/// DLPack's `kDLExtDev`: the accelerators of mocks, whose memory is really main memory.
const EXTENSION: u32 = 12;

/// What immutable arrays are aligned to, lest they are copied.
const ALIGNMENT: usize = 64;

fn taken(operation: &'static str) -> Obstacle {
    Error::already_taken(operation).into()
}

fn shared() -> Obstacle {
    Decline::new(DeclineReason::Shared).note("the storage has other handles").into()
}

/// Returns whether a mock takes memory that others reach so, or why not.
fn takes<C: Character>(access: Access) -> Result<(), Obstacle> {
    let fits = match C::TRAITS.storage {
        Storage::Owned | Storage::Shared => access == Access::Exclusive,
        Storage::CopyOnWrite | Storage::Immutable => access != Access::SharedMutable,
    };
    if fits {
        return Ok(());
    }
    let reason =
        if access == Access::Immutable { DeclineReason::ReadOnly } else { DeclineReason::Shared };
    Err(Decline::new(reason).note("the mock would write it").into())
}

/// Takes memory that was offered, copied without a word if told to or not aligned; or keeps a
/// handle on it and declines.
fn settle<C: Character>(
    host: HostArray,
    device: Device,
    step: Step,
    act: Option<Act>,
) -> Result<MockArray<C>, Obstacle> {
    if act == Some(Act::Keep) {
        keep::<C>(step, host.owner());
        return Err(Decline::new(DeclineReason::Dtype).note("as scripted").into());
    }
    let unaligned =
        C::TRAITS.storage == Storage::Immutable && !host.address().is_multiple_of(ALIGNMENT);
    let host = if act == Some(Act::Copy) || unaligned { host.gather()? } else { host };
    Ok(MockArray::from_memory(Memory::new(host, device, C::TRAITS.storage)?))
}

fn dlpack_device(device: Device) -> Result<DlpackDevice, Obstacle> {
    match device {
        Device::Host => Ok(DlpackDevice::CPU),
        Device::Accelerator(index) => {
            let device_id = i32::try_from(index).map_err(|_| DeclineReason::Device)?;
            Ok(DlpackDevice { device_type: EXTENSION, device_id })
        }
        _ => Err(DeclineReason::Device.into()),
    }
}

fn device_of(device: DlpackDevice) -> Result<Device, Obstacle> {
    match (device, u32::try_from(device.device_id)) {
        (DlpackDevice::CPU, _) => Ok(HOST),
        (DlpackDevice { device_type: EXTENSION, .. }, Ok(index)) => Ok(Device::Accelerator(index)),
        _ => Err(DeclineReason::Device.into()),
    }
}

impl<C: Character> DlpackExport<Mock<C>> for Mock<C> {
    fn kinds(&self) -> DeviceKinds {
        C::TRAITS.dlpack_export
    }

    fn device(&self, array: &MockArray<C>) -> Result<DlpackDevice, Obstacle> {
        dlpack_device(array.device())
    }

    fn export(
        &self,
        slot: &mut Option<MockArray<C>>,
        policy: CopyPolicy,
        _: Option<DlpackStream>,
    ) -> Result<DlpackPayload, Obstacle> {
        let array = slot.as_ref().ok_or_else(|| taken("exporting an array"))?;
        let act = enter::<C>(Step::Export, array.address())?;
        let device = dlpack_device(array.device())?;
        let array = slot.take().ok_or_else(|| taken("exporting an array"))?;
        let place = array.device();
        let (mut host, copied) = match array.into_host() {
            Ok(host) if act == Some(Act::Copy) => (host.gather()?, true),
            Ok(host) => (host, false),
            Err(array) => {
                let copy = match policy {
                    CopyPolicy::Allow => array.to_host().map_err(Obstacle::from),
                    _ => Err(shared()),
                };
                match copy {
                    Ok(copy) => (copy, true),
                    Err(obstacle) => {
                        *slot = Some(array);
                        return Err(obstacle);
                    }
                }
            }
        };
        let access = host.claim();
        let (data, dtype) = (host.as_ptr().cast_mut().cast::<c_void>(), host.dtype());
        let layout = host.layout().clone();
        // What the owner holds is what `reclaim` gives back.
        let owner = Owner::new(Memory::of(host, place, C::TRAITS.storage));
        // SAFETY: the owner holds the host array, whose invariants are those of a payload; mocks'
        // accelerators keep their elements in main memory. `claim` found the access.
        let payload = unsafe { DlpackPayload::new(owner, data, 0, dtype, layout, device, access) }?;
        Ok(if copied { payload.mark_copied() } else { payload })
    }

    fn reclaim(&self, owner: Owner) -> Result<MockArray<C>, Owner> {
        owner.into_inner::<Memory>().map(MockArray::from_memory)
    }
}

impl<C: Character> DlpackImport<Mock<C>> for Mock<C> {
    fn kinds(&self) -> DeviceKinds {
        C::TRAITS.dlpack_import
    }

    fn stream(&self, device: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle> {
        let place = device_of(device)?;
        if self.has_device(place)? { Ok(None) } else { Err(DeclineReason::Device.into()) }
    }

    fn import(&self, payload: DlpackPayload) -> Result<MockArray<C>, Obstacle> {
        let act = enter::<C>(Step::Import, payload.address())?;
        let device = device_of(payload.device())?;
        takes::<C>(payload.access())?;
        if device.is_host() {
            return settle(HostArray::from_dlpack(payload)?, device, Step::Import, act);
        }
        let (address, access) = (payload.address(), payload.access());
        let (dtype, layout) = (payload.dtype(), payload.layout().clone());
        let pointer = payload.data().cast::<u8>().wrapping_add(address - payload.data() as usize);
        let owner = payload.into_owner();
        if !owner.holds::<Memory>() {
            // Another library's extension device: its memory may be anywhere.
            return Err(DeclineReason::Device.into());
        }
        // SAFETY: the payload's constructor demanded that the elements are valid with this access
        // as long as the owner lives. The owner is a mock's memory, so they are main memory.
        let host = unsafe { HostArray::from_raw(owner, pointer, dtype, layout, access) }?;
        settle(host, device, Step::Import, act)
    }
}

impl<C: Character> HostShare<Mock<C>> for Mock<C> {
    fn kinds(&self) -> DeviceKinds {
        C::TRAITS.host_share
    }

    fn lend(&self, slot: &mut Option<MockArray<C>>) -> Result<HostArray, Obstacle> {
        let array = slot.as_ref().ok_or_else(|| taken("lending an array"))?;
        enter::<C>(Step::Lend, array.address())?;
        if !C::TRAITS.host_share.contains(array.device().kind()) {
            return Err(DeclineReason::Device.into());
        }
        let array = slot.take().ok_or_else(|| taken("lending an array"))?;
        let device = array.device();
        let mut host = array.into_host().map_err(|array| {
            *slot = Some(array);
            shared()
        })?;
        if lends_itself::<C>() {
            return Ok(host);
        }
        let (access, dtype, layout) = (host.claim(), host.dtype(), host.layout().clone());
        let pointer = host.as_ptr().cast_mut();
        let owner = Owner::new(Memory::of(host, device, C::TRAITS.storage));
        // SAFETY: the owner holds the host array, whose memory and claim these are.
        Ok(unsafe { HostArray::from_raw(owner, pointer, dtype, layout, access) }?)
    }

    fn adopt(&self, offer: HostOffer, device: Device) -> Result<MockArray<C>, Obstacle> {
        let act = enter::<C>(Step::Adopt, offer.array().address())?;
        takes::<C>(offer.access())?;
        settle(offer.into_array(), device, Step::Adopt, act)
    }

    fn reclaim(&self, array: HostArray) -> Result<MockArray<C>, Owner> {
        if !lends_itself::<C>() {
            return array.into_owner().into_inner::<Memory>().map(MockArray::from_memory);
        }
        // The one place whose memory a mock lends.
        let named = C::TRAITS.host_share.contains(DeviceKind::Named);
        let device = if named { Device::named("mock").unwrap_or(HOST) } else { HOST };
        Ok(MockArray::from_memory(Memory::of(array, device, C::TRAITS.storage)))
    }
}

/// Returns whether what a mock lends is its host array, which others may hold too, and not an array
/// over memory of its own, which it gets back alone or not at all.
fn lends_itself<C: Character>() -> bool {
    matches!(C::TRAITS.storage, Storage::CopyOnWrite | Storage::Immutable)
}

impl<C: Character> HostVisible<Mock<C>> for Mock<C> {
    fn view<'a>(&self, array: &'a MockArray<C>) -> Result<HostView<'a>, Error> {
        visible::<C>(array.device())?;
        array.memory().as_own().map(HostArray::view).ok_or_else(|| Error::Shared {
            operation: "a view",
            message: "other handles may write the storage; borrow the array mutably".into(),
        })
    }

    fn view_exclusive<'a>(&self, array: &'a mut MockArray<C>) -> Result<HostView<'a>, Error> {
        visible::<C>(array.device())?;
        let exclusive = array.memory_mut().as_exclusive();
        exclusive.map(|host| host.view()).ok_or_else(|| Error::Shared {
            operation: "a view",
            message: "the storage has other handles; drop them or duplicate the array".into(),
        })
    }
}

fn visible<C: Character>(device: Device) -> Result<(), Error> {
    if C::TRAITS.host_share.contains(device.kind()) {
        return Ok(());
    }
    Err(Error::Unsupported {
        library: C::TRAITS.name,
        operation: "views from the host",
        remedy: "move the array to the host",
    })
}

impl<C: Character> DeviceMove<Mock<C>> for Mock<C> {
    fn move_to(&self, array: &MockArray<C>, device: Device) -> Result<MockArray<C>, Error> {
        enter_or_fail::<C>(Step::Move, array.address())?;
        require_device::<Mock<C>>(device)?;
        let memory = Memory::new(array.to_host()?, device, C::TRAITS.storage)?;
        Ok(MockArray::from_memory(memory))
    }
}

impl<C: Character> Duplicate<Mock<C>> for Mock<C> {
    fn shares(&self) -> bool {
        matches!(C::TRAITS.storage, Storage::CopyOnWrite | Storage::Immutable)
    }

    fn duplicate(&self, array: &MockArray<C>) -> Result<MockArray<C>, Error> {
        enter_or_fail::<C>(Step::Duplicate, array.address())?;
        let device = array.device();
        let memory = match array.memory().as_own() {
            Some(host) if self.shares() => Memory::of(host.clone(), device, C::TRAITS.storage),
            _ => Memory::new(array.to_host()?, device, C::TRAITS.storage)?,
        };
        Ok(MockArray::from_memory(memory))
    }
}
