//! "dlpack": exchange through the DLPack C ABI, then a move where the target device is another.

use std::any::Any;

use super::{Carried, Carry, Journey, Keep, Mechanism, Passage, Route};
use crate::{CopyPolicy, Decline, DeclineReason, Obstacle};

pub(super) const ROUTE: Route =
    Route { mechanism: Mechanism::Dlpack, applies, carry: Carry::Taking(carry) };

fn applies(journey: &Journey) -> bool {
    let there = journey.from.kind();
    let moves = journey.from.kind() == journey.to.kind() || journey.target.device_move;
    !journey.same_library
        && journey.source.dlpack_export.contains(there)
        && journey.target.dlpack_import.contains(there)
        && moves
}

fn carry(passage: &Passage, source: &mut dyn Any, out: &mut dyn Any) -> Result<Carried, Obstacle> {
    let device = passage.source.dlpack_device(&*source)?;
    let stream = passage.target.dlpack_stream(device)?;
    let payload = passage.source.export(source, passage.policy, stream)?;
    let copied = payload.is_copied();
    let keep = Keep::Exported(payload.owner().clone());
    match passage.target.import(payload, out).and_then(|()| land(passage, out)) {
        Ok(moved) => Ok(Carried { copied: copied || moved, keep }),
        Err(obstacle) => {
            keep.give_back(passage, source, out)?;
            Err(obstacle)
        }
    }
}

/// Moves the imported array to the device that was asked for, if it is not there.
fn land(passage: &Passage, out: &mut dyn Any) -> Result<bool, Obstacle> {
    if passage.target.device_of(&*out)? == passage.to {
        return Ok(false);
    }
    if !passage.target.declaration().device_move {
        let note = "it was imported on another device, and its library does not move arrays";
        return Err(Decline::new(DeclineReason::Device).note(note).into());
    }
    if passage.policy == CopyPolicy::Never {
        let decline = Decline::new(DeclineReason::Device).note("it would be moved to the device");
        return Err(decline.into());
    }
    let mut moved = passage.target.empty_slot();
    passage.target.move_to(&*out, passage.to, &mut *moved)?;
    passage.target.swap(out, &mut *moved)?;
    Ok(true)
}
