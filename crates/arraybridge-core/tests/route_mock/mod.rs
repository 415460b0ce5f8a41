//! Libraries with accelerators that are main memory, and with every fault that a test asks for.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::roles::{DeviceMove, DlpackExport, DlpackImport, HostOffer, HostShare};
use arraybridge_core::{
    Access, ArrayLibrary, Availability, ConversionError, CopyPolicy, DType, DeclineReason,
    Description, Device, DeviceKinds, Error, HOST, HostArray, Layout, NativeArray, Obstacle, Owner,
};

/// What goes wrong in the importing library on this thread, where its roles are asked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Fault {
    Nothing,
    /// Declines for the dtype and lets go of the memory.
    Declines,
    /// Declines for the dtype and keeps a handle on the memory.
    DeclinesAndKeeps,
    /// Fails: out of memory.
    Fails,
    /// Imports, and then fails to move.
    FailsToMove,
    Panics,
    /// Exports a copy although copies are refused.
    CopiesInSecret,
    /// Does what it is asked, but arrays cannot be described afterwards.
    CannotDescribe,
}

thread_local! {
    pub(crate) static FAULT: Cell<Fault> = const { Cell::new(Fault::Nothing) };
    pub(crate) static KEPT: RefCell<Option<Owner>> = const { RefCell::new(None) };
    pub(crate) static UPLOADS: Cell<usize> = const { Cell::new(0) };
}

fn full(library: &'static str, device: Device) -> Error {
    Error::OutOfMemory { library, device, requested: Some(1024), available: Some(0) }
}

/// Answers what a role of the importing side does first; `owner` is what it was given.
fn fault(library: &'static str, device: Device, owner: &Owner) -> Result<(), Obstacle> {
    match FAULT.get() {
        Fault::Declines => Err(DeclineReason::Dtype.into()),
        Fault::DeclinesAndKeeps => {
            KEPT.set(Some(owner.clone()));
            Err(DeclineReason::Dtype.into())
        }
        Fault::Fails => Err(full(library, device).into()),
        Fault::Panics => panic!("in {library}"),
        _ => Ok(()),
    }
}

/// An array of one of the libraries: memory, and the device that it is said to be on.
#[derive(Debug)]
pub(crate) struct Placed<const LIBRARY: usize> {
    pub(crate) host: HostArray,
    pub(crate) device: Device,
}

/// Turns an array into a payload over its memory.
fn export<const LIBRARY: usize>(
    mut array: Placed<LIBRARY>,
    device: DlpackDevice,
) -> Result<DlpackPayload, Error> {
    let access = array.host.claim();
    let data = array.host.as_ptr().cast_mut().cast();
    let (dtype, layout) = (array.host.dtype(), array.host.layout().clone());
    let owner = Owner::new(array);
    // SAFETY: the owner holds the host array, whose memory and claim these are.
    unsafe { DlpackPayload::new(owner, data, 0, dtype, layout, device, access) }
}

/// Turns an array into a host array over its memory, whose owner is the array.
fn lend<const LIBRARY: usize>(mut array: Placed<LIBRARY>) -> Result<HostArray, Error> {
    let access = array.host.claim();
    let pointer = array.host.as_ptr().cast_mut();
    let (dtype, layout) = (array.host.dtype(), array.host.layout().clone());
    // SAFETY: the owner holds the host array, whose memory and claim these are.
    unsafe { HostArray::from_raw(Owner::new(array), pointer, dtype, layout, access) }
}

/// Makes a host array of a payload, which these tests make of main memory.
fn import(payload: DlpackPayload) -> Result<HostArray, Error> {
    let (dtype, layout) = (payload.dtype(), payload.layout().clone());
    let (pointer, access) = (payload.address() as *mut u8, payload.access());
    // SAFETY: all of it comes from the payload.
    unsafe { HostArray::from_raw(payload.into_owner(), pointer, dtype, layout, access) }
}

macro_rules! library {
    ($(#[$doc:meta])* $library:ident, $id:literal, $name:literal, imports: $imports:literal, moves: $moves:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $library;

        impl ArrayLibrary for $library {
            type Array = Placed<$id>;
            const INSTANCE: &'static Self = &$library;
            const NAME: &'static str = $name;
            const KINDS: DeviceKinds = DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR);

            fn availability(&self) -> Availability {
                Availability::Available
            }

            fn devices(&self) -> Result<Vec<Device>, Error> {
                Ok(vec![HOST, Device::Accelerator(0), Device::Accelerator(1)])
            }

            fn describe(&self, array: &Placed<$id>) -> Result<Description, Error> {
                if FAULT.get() == Fault::CannotDescribe && $imports {
                    let remedy = "make it dense";
                    return Err(Error::Unsupported { library: $name, operation: "describing", remedy });
                }
                let Placed { host, device } = array;
                Ok(Description::new(host.dtype(), host.layout().clone(), *device, host.address()))
            }

            fn device_of(&self, array: &Placed<$id>) -> Result<Device, Error> {
                Ok(array.device)
            }

            fn download(&self, array: &Placed<$id>) -> Result<HostArray, Error> {
                array.host.gather()
            }

            fn upload(&self, array: &HostArray, device: Device) -> Result<Placed<$id>, Error> {
                UPLOADS.set(UPLOADS.get() + 1);
                Ok(Placed { host: array.gather()?, device })
            }

            fn dlpack_export(&self) -> Option<&dyn DlpackExport<Self>> {
                (!$imports).then_some(self as _)
            }

            fn dlpack_import(&self) -> Option<&dyn DlpackImport<Self>> {
                $imports.then_some(self as _)
            }

            fn host_share(&self) -> Option<&dyn HostShare<Self>> {
                Some(self)
            }

            fn device_move(&self) -> Option<&dyn DeviceMove<Self>> {
                $moves.then_some(self as _)
            }
        }

        impl DlpackExport<$library> for $library {
            fn kinds(&self) -> DeviceKinds {
                DeviceKinds::ACCELERATOR
            }

            fn device(&self, array: &Placed<$id>) -> Result<DlpackDevice, Obstacle> {
                match array.device {
                    Device::Accelerator(index) => Ok(DlpackDevice::cuda(index as i32)),
                    _ => Err(DeclineReason::Device.into()),
                }
            }

            fn export(
                &self,
                slot: &mut Option<Placed<$id>>,
                _: CopyPolicy,
                _: Option<DlpackStream>,
            ) -> Result<DlpackPayload, Obstacle> {
                let array = slot.take().unwrap();
                let device = self.device(&array)?;
                if FAULT.get() == Fault::CopiesInSecret {
                    let copy = Placed { host: array.host.gather()?, ..array };
                    return Ok(export(copy, device)?.mark_copied());
                }
                Ok(export(array, device)?)
            }
        }

        impl DlpackImport<$library> for $library {
            fn kinds(&self) -> DeviceKinds {
                DeviceKinds::ACCELERATOR
            }

            fn stream(&self, _: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle> {
                Ok(None)
            }

            fn import(&self, payload: DlpackPayload) -> Result<Placed<$id>, Obstacle> {
                let device = Device::Accelerator(payload.device().device_id as u32);
                let host = import(payload)?;
                fault($name, device, host.owner())?;
                Ok(Placed { host, device })
            }
        }

        impl HostShare<$library> for $library {
            fn kinds(&self) -> DeviceKinds {
                DeviceKinds::HOST
            }

            fn lend(&self, slot: &mut Option<Placed<$id>>) -> Result<HostArray, Obstacle> {
                Ok(lend(slot.take().unwrap())?)
            }

            fn adopt(&self, offer: HostOffer, device: Device) -> Result<Placed<$id>, Obstacle> {
                fault($name, device, offer.array().owner())?;
                Ok(Placed { host: offer.into_array(), device })
            }
        }

        impl DeviceMove<$library> for $library {
            fn move_to(&self, array: &Placed<$id>, device: Device) -> Result<Placed<$id>, Error> {
                if FAULT.get() == Fault::FailsToMove {
                    return Err(full($name, device));
                }
                Ok(Placed { host: array.host.gather()?, device })
            }
        }

        impl NativeArray<$library> for Placed<$id> {
            fn into_library(self) -> Result<Self, ConversionError<Self>> {
                Ok(self)
            }

            fn from_library(array: Self) -> Result<Self, ConversionError<Self>> {
                Ok(array)
            }
        }
    };
}

library!(
    /// Exports from its accelerators.
    Giver, 0, "giver", imports: false, moves: true
);
library!(
    /// Imports on its accelerators and moves arrays between them.
    Taker, 1, "taker", imports: true, moves: true
);
library!(
    /// Imports on its accelerators, where they then stay.
    Fixed, 2, "fixed", imports: true, moves: false
);
library!(
    /// Another crate's library of the name `giver`.
    Twin, 3, "giver", imports: true, moves: true
);

/// Counts how often memory is released.
#[derive(Clone, Default, Debug)]
pub(crate) struct Releases(Arc<AtomicUsize>);

impl Releases {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

struct Memory(Vec<f32>, Releases);

impl Drop for Memory {
    fn drop(&mut self) {
        self.1.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns an array of `Giver` with the elements 0, 1, 2, 3, whose release is counted.
pub(crate) fn given(device: Device) -> (Placed<0>, Releases) {
    let releases = Releases::default();
    let memory = Memory(vec![0.0, 1.0, 2.0, 3.0], releases.clone());
    let pointer = memory.0.as_ptr().cast_mut().cast();
    let layout = Layout::row_major(&[4]).unwrap();
    let owner = Owner::new(memory);
    // SAFETY: the vector's elements, which nothing else reaches; moving the vector into its owner
    // does not move them.
    let host =
        unsafe { HostArray::from_raw(owner, pointer, DType::F32, layout, Access::Exclusive) };
    (Placed { host: host.unwrap(), device }, releases)
}

/// Sets what goes wrong on this thread.
pub(crate) fn with_fault<R>(fault: Fault, body: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            FAULT.set(Fault::Nothing);
        }
    }
    let _reset = Reset;
    FAULT.set(fault);
    UPLOADS.set(0);
    body()
}
