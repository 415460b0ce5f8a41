//! The library trait without its type parameter: one blanket implementation, written once.

use std::any::{Any, TypeId, type_name};

use smallvec::SmallVec;

use super::roles::{Accelerator, HostOffer};
use super::{
    ArrayLibrary, Availability, Declaration, Decline, DeclineReason, Description, Obstacle,
};
use crate::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use crate::ops::{self, Operation};
use crate::{AxisSlice, CopyPolicy, DType, Device, Error, HostArray, HostView, Owner};

/// [`ArrayLibrary`] with arrays in slots of any type: what routes and [`AnyArray`](crate::AnyArray)
/// work on.
///
/// A slot is an `Option<L::Array>` behind `dyn Any`: on the caller's stack in a typed conversion,
/// in the box of an `AnyArray` in an erased one. Implemented for every library; users hold a
/// [`Library`](super::Library) instead.
pub(crate) trait DynArrayLibrary: Send + Sync + 'static {
    fn declaration(&self) -> Declaration;
    fn name(&self) -> &'static str;
    fn aliases(&self) -> &'static [&'static str];
    fn library_type(&self) -> TypeId;
    fn library_type_name(&self) -> &'static str;
    fn availability(&self) -> Availability;
    fn devices(&self) -> Result<Vec<Device>, Error>;
    fn require_device(&self, device: Device) -> Result<(), Error>;
    fn accelerator(&self) -> Option<&dyn Accelerator>;
    fn child_environment(&self) -> Vec<(String, String)>;
    fn empty_slot(&self) -> Box<dyn Any + Send>;
    fn is_filled(&self, slot: &dyn Any) -> bool;
    fn clear(&self, slot: &mut dyn Any) -> Result<(), Error>;
    fn swap(&self, one: &mut dyn Any, other: &mut dyn Any) -> Result<(), Error>;
    fn describe(&self, slot: &dyn Any) -> Result<Description, Error>;
    fn device_of(&self, slot: &dyn Any) -> Result<Device, Error>;
    fn download(&self, slot: &dyn Any) -> Result<HostArray, Error>;
    fn upload(&self, array: &HostArray, device: Device, out: &mut dyn Any) -> Result<(), Error>;
    fn dlpack_device(&self, slot: &dyn Any) -> Result<DlpackDevice, Obstacle>;
    fn dlpack_stream(&self, device: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle>;
    fn export(
        &self,
        slot: &mut dyn Any,
        policy: CopyPolicy,
        stream: Option<DlpackStream>,
    ) -> Result<DlpackPayload, Obstacle>;
    fn import(&self, payload: DlpackPayload, out: &mut dyn Any) -> Result<(), Obstacle>;
    fn reclaim_export(&self, owner: Owner, slot: &mut dyn Any);
    fn lend(&self, slot: &mut dyn Any) -> Result<HostArray, Obstacle>;
    fn adopt(&self, offer: HostOffer, device: Device, out: &mut dyn Any) -> Result<(), Obstacle>;
    fn reclaim_lent(&self, array: HostArray, slot: &mut dyn Any);
    fn move_to(&self, slot: &dyn Any, device: Device, out: &mut dyn Any) -> Result<(), Error>;
    fn shares(&self) -> bool;
    fn second(&self, slot: &dyn Any, out: &mut dyn Any) -> Result<Second, Error>;
    fn view<'a>(&self, slot: &'a dyn Any) -> Result<HostView<'a>, Error>;
    fn view_exclusive<'a>(&self, slot: &'a mut dyn Any) -> Result<HostView<'a>, Error>;
    fn operate(
        &self,
        operation: Operation<'_>,
        slots: &[&dyn Any],
        out: &mut dyn Any,
    ) -> Result<(), Error>;
    fn assign(
        &self,
        data: &mut dyn Any,
        index: AxisSlice,
        values: &dyn Any,
        out: &mut dyn Any,
    ) -> Result<(), Error>;
    fn default_float(&self) -> Option<DType>;
}

/// How [`DynArrayLibrary::second`] made a second array of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Second {
    Shared,
    Copied,
}

fn wrong<L: ArrayLibrary>() -> Error {
    Error::WrongLibrary { expected: L::NAME, found: "another library or an array already moved" }
}

fn slot<L: ArrayLibrary>(slot: &mut dyn Any) -> Result<&mut Option<L::Array>, Error> {
    slot.downcast_mut().ok_or_else(wrong::<L>)
}

/// Reads a slot, or a bare array that somebody else owns.
fn array<L: ArrayLibrary>(slot: &dyn Any) -> Result<&L::Array, Error> {
    let in_slot = slot.downcast_ref::<Option<L::Array>>().and_then(Option::as_ref);
    in_slot.or_else(|| slot.downcast_ref()).ok_or_else(wrong::<L>)
}

fn fill<L: ArrayLibrary>(out: &mut dyn Any, made: L::Array) -> Result<(), Error> {
    *slot::<L>(out)? = Some(made);
    Ok(())
}

fn no_role() -> Obstacle {
    Decline::new(DeclineReason::Device).note("the library has no such exchange").into()
}

fn unsupported<L: ArrayLibrary>(operation: &'static str, remedy: &'static str) -> Error {
    Error::Unsupported { library: L::NAME, operation, remedy }
}

#[deny(clippy::missing_trait_methods)]
impl<L: ArrayLibrary> DynArrayLibrary for L {
    fn declaration(&self) -> Declaration {
        Declaration::of::<L>()
    }

    fn name(&self) -> &'static str {
        L::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        L::ALIASES
    }

    fn library_type(&self) -> TypeId {
        TypeId::of::<L>()
    }

    fn library_type_name(&self) -> &'static str {
        type_name::<L>()
    }

    fn availability(&self) -> Availability {
        ArrayLibrary::availability(self)
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        ArrayLibrary::devices(self)
    }

    fn require_device(&self, device: Device) -> Result<(), Error> {
        super::require_device::<L>(device)
    }

    fn accelerator(&self) -> Option<&dyn Accelerator> {
        ArrayLibrary::accelerator(self)
    }

    fn child_environment(&self) -> Vec<(String, String)> {
        ArrayLibrary::child_environment(self)
    }

    fn empty_slot(&self) -> Box<dyn Any + Send> {
        Box::new(None::<L::Array>)
    }

    fn is_filled(&self, source: &dyn Any) -> bool {
        array::<L>(source).is_ok()
    }

    fn clear(&self, out: &mut dyn Any) -> Result<(), Error> {
        *slot::<L>(out)? = None;
        Ok(())
    }

    fn swap(&self, one: &mut dyn Any, other: &mut dyn Any) -> Result<(), Error> {
        std::mem::swap(slot::<L>(one)?, slot::<L>(other)?);
        Ok(())
    }

    fn describe(&self, source: &dyn Any) -> Result<Description, Error> {
        ArrayLibrary::describe(self, array::<L>(source)?)
    }

    fn device_of(&self, source: &dyn Any) -> Result<Device, Error> {
        ArrayLibrary::device_of(self, array::<L>(source)?)
    }

    fn download(&self, source: &dyn Any) -> Result<HostArray, Error> {
        ArrayLibrary::download(self, array::<L>(source)?)
    }

    fn upload(&self, host: &HostArray, device: Device, out: &mut dyn Any) -> Result<(), Error> {
        fill::<L>(out, ArrayLibrary::upload(self, host, device)?)
    }

    fn dlpack_device(&self, source: &dyn Any) -> Result<DlpackDevice, Obstacle> {
        self.dlpack_export().ok_or_else(no_role)?.device(array::<L>(source)?)
    }

    fn dlpack_stream(&self, device: DlpackDevice) -> Result<Option<DlpackStream>, Obstacle> {
        self.dlpack_import().ok_or_else(no_role)?.stream(device)
    }

    fn export(
        &self,
        source: &mut dyn Any,
        policy: CopyPolicy,
        stream: Option<DlpackStream>,
    ) -> Result<DlpackPayload, Obstacle> {
        let source = slot::<L>(source)?;
        self.dlpack_export().ok_or_else(no_role)?.export(source, policy, stream)
    }

    fn import(&self, payload: DlpackPayload, out: &mut dyn Any) -> Result<(), Obstacle> {
        let made = self.dlpack_import().ok_or_else(no_role)?.import(payload)?;
        Ok(fill::<L>(out, made)?)
    }

    fn reclaim_export(&self, owner: Owner, source: &mut dyn Any) {
        let back = self.dlpack_export().and_then(|role| role.reclaim(owner).ok());
        if let (Some(array), Ok(source)) = (back, slot::<L>(source)) {
            *source = Some(array);
        }
    }

    fn lend(&self, source: &mut dyn Any) -> Result<HostArray, Obstacle> {
        let source = slot::<L>(source)?;
        self.host_share().ok_or_else(no_role)?.lend(source)
    }

    fn adopt(&self, offer: HostOffer, device: Device, out: &mut dyn Any) -> Result<(), Obstacle> {
        let made = self.host_share().ok_or_else(no_role)?.adopt(offer, device)?;
        Ok(fill::<L>(out, made)?)
    }

    fn reclaim_lent(&self, host: HostArray, source: &mut dyn Any) {
        let back = self.host_share().and_then(|role| role.reclaim(host).ok());
        if let (Some(array), Ok(source)) = (back, slot::<L>(source)) {
            *source = Some(array);
        }
    }

    fn move_to(&self, source: &dyn Any, device: Device, out: &mut dyn Any) -> Result<(), Error> {
        let role = self.device_move().ok_or_else(|| {
            unsupported::<L>("moving between devices", "convert through another library")
        })?;
        fill::<L>(out, role.move_to(array::<L>(source)?, device)?)
    }

    fn shares(&self) -> bool {
        self.duplicate().is_some_and(|role| role.shares())
    }

    fn second(&self, source: &dyn Any, out: &mut dyn Any) -> Result<Second, Error> {
        let source = array::<L>(source)?;
        if let Some(role) = self.duplicate() {
            let how = if role.shares() { Second::Shared } else { Second::Copied };
            return fill::<L>(out, role.duplicate(source)?).map(|()| how);
        }
        // A library without the role is copied through the host.
        let device = ArrayLibrary::device_of(self, source)?;
        let own = ArrayLibrary::download(self, source)?.gather()?;
        fill::<L>(out, ArrayLibrary::upload(self, &own, device)?).map(|()| Second::Copied)
    }

    fn view<'a>(&self, source: &'a dyn Any) -> Result<HostView<'a>, Error> {
        self.host_visible().ok_or_else(no_view::<L>)?.view(array::<L>(source)?)
    }

    fn view_exclusive<'a>(&self, source: &'a mut dyn Any) -> Result<HostView<'a>, Error> {
        let source = slot::<L>(source)?.as_mut().ok_or_else(wrong::<L>)?;
        self.host_visible().ok_or_else(no_view::<L>)?.view_exclusive(source)
    }

    fn operate(
        &self,
        operation: Operation<'_>,
        slots: &[&dyn Any],
        out: &mut dyn Any,
    ) -> Result<(), Error> {
        let arrays: SmallVec<[&L::Array; 2]> =
            slots.iter().map(|slot| array::<L>(*slot)).collect::<Result<_, _>>()?;
        fill::<L>(out, ops::apply::<L>(operation, &arrays)?)
    }

    fn assign(
        &self,
        data: &mut dyn Any,
        index: AxisSlice,
        values: &dyn Any,
        out: &mut dyn Any,
    ) -> Result<(), Error> {
        let made = ops::assign::<L>(slot::<L>(data)?, index, array::<L>(values)?)?;
        fill::<L>(out, made)
    }

    fn default_float(&self) -> Option<DType> {
        self.math().map(|math| math.default_float())
    }
}

pub(crate) fn no_view<L: ArrayLibrary>() -> Error {
    unsupported::<L>("views from the host", "convert the array to ndarray on the host")
}
