//! DLPack, for other libraries in the process.

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::roles::{DlpackExport, DlpackImport};
use arraybridge_core::{
    Access, CopyPolicy, Decline, DeclineReason, Device, DeviceKinds, HOST, Obstacle,
};
use arraybridge_core::{Layout, Owner};
use tch::Tensor;

use super::host::{check_bools, in_slot, positive};
use super::{copy, streams, unfit};
use crate::torch::{self, Memory, Seen};
use crate::{Tch, runtime};

/// DLPack's code of CUDA devices.
const CUDA: u32 = 2;
/// DLPack's code of main memory.
const CPU: u32 = 1;

fn no_such_device() -> Obstacle {
    Decline::new(DeclineReason::Device).note("torch does not have the device of the memory").into()
}

/// Returns DLPack's name of a device: torch numbers CUDA devices as CUDA does.
fn named(device: Device) -> Result<DlpackDevice, Obstacle> {
    match device {
        Device::Host => Ok(DlpackDevice::CPU),
        Device::Accelerator(index) => {
            i32::try_from(index).map(DlpackDevice::cuda).map_err(|_| no_such_device())
        }
        _ => Err(no_such_device()),
    }
}

/// Returns torch's device of DLPack's name.
fn known(device: DlpackDevice) -> Result<Device, Obstacle> {
    let found = match (device.device_type, u32::try_from(device.device_id)) {
        (CPU, _) => HOST,
        (CUDA, Ok(index)) => Device::Accelerator(index),
        _ => return Err(no_such_device()),
    };
    if runtime::has(found) { Ok(found) } else { Err(no_such_device()) }
}

impl DlpackExport<Tch> for Tch {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR)
    }

    fn device(&self, array: &Tensor) -> Result<DlpackDevice, Obstacle> {
        named(Seen::device_of(array)?)
    }

    fn export(
        &self,
        slot: &mut Option<Tensor>,
        policy: CopyPolicy,
        stream: Option<DlpackStream>,
    ) -> Result<DlpackPayload, Obstacle> {
        let tensor = in_slot(slot)?;
        let mut seen = Seen::of(tensor)?;
        let device = named(seen.device)?;
        seen.layout.nbytes(seen.dtype)?;
        let copied = match seen.obstacle() {
            None => None,
            Some(decline) if seen.layout.is_empty() || policy != CopyPolicy::Allow => {
                return Err(decline.into());
            }
            Some(_) => Some(copy(tensor)?),
        };
        let is_copied = copied.is_some();
        if let Some(copied) = &copied {
            seen = Seen::of(copied)?;
        }
        if seen.device.is_host() {
            check_bools(&seen)?;
        }
        streams::hand_over(seen.device, stream)?;
        let tensor = slot.take();
        let (data, dtype, layout) = (seen.pointer.cast(), seen.dtype, seen.layout);
        let owner = match copied.or(tensor) {
            Some(tensor) => Owner::new(tensor),
            None => return Err(arraybridge_core::Error::already_taken("exporting").into()),
        };
        // SAFETY: the owner holds the tensor, and with it the memory, which nothing else reaches: its
        // claim found no other holder, or it is a new copy. The work that makes the elements is done
        // or comes before what the consumer queues on `stream`.
        let payload = unsafe {
            DlpackPayload::new(owner, data, 0, dtype, layout, device, Access::Exclusive)
        }?;
        Ok(if is_copied { payload.mark_copied() } else { payload })
    }
}

impl DlpackImport<Tch> for Tch {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR)
    }

    fn stream(&self, device: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle> {
        Ok(streams::current(known(device)?)?)
    }

    fn import(&self, payload: DlpackPayload) -> Result<Tensor, Obstacle> {
        let device = known(payload.device())?;
        let (dtype, access) = (payload.dtype(), payload.access());
        if let Some(decline) = unfit(dtype, payload.layout(), payload.address(), access) {
            return Err(decline.into());
        }
        let Ok(offset) = usize::try_from(payload.byte_offset()) else {
            let note = "the byte offset leaves the address space";
            return Err(Decline::new(DeclineReason::Layout).note(note).into());
        };
        let layout: Layout = positive(payload.layout());
        let pointer = payload.data().cast::<u8>().wrapping_add(offset);
        let memory = Memory { pointer, dtype, layout: &layout, device };
        // SAFETY: the payload's maker vouched for the memory until its owner is dropped, which goes
        // along, and that nothing else reaches it; `unfit` found the elements aligned.
        Ok(unsafe { torch::wrap(memory, payload.into_owner()) }?)
    }
}
