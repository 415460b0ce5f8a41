//! "dlpack": exchange through the DLPack C ABI, then a move where the target device is another.

use std::any::Any;

use super::{Carried, Carry, Journey, Mechanism, Passage, Route};
use crate::{CopyPolicy, Decline, DeclineReason, Obstacle, Owner};

pub(super) const ROUTE: Route =
    Route { mechanism: Mechanism::Dlpack, applies, carry: Carry::Taking(carry) };

fn applies(journey: &Journey) -> bool {
    let there = journey.from.kind();
    let moves = journey.from.kind() == journey.to.kind() || journey.target.device_move;
    !journey.same_library()
        && journey.source.dlpack_export.contains(there)
        && journey.target.dlpack_import.contains(there)
        && moves
}

fn carry(passage: &Passage, source: &mut dyn Any, out: &mut dyn Any) -> Result<Carried, Obstacle> {
    let device = passage.source.dlpack_device(&*source)?;
    let stream = passage.target.dlpack_stream(device)?;
    let payload = passage.source.export(source, passage.policy, stream)?;
    let copied = payload.is_copied();
    let keep = payload.owner().clone();
    let landed = passage.target.import(payload, out).and_then(|()| land(passage, out));
    match landed {
        Ok(moved) => Ok(Carried { copied: copied || moved }),
        Err(obstacle) => {
            give_back(passage, keep, source, out);
            Err(obstacle)
        }
    }
}

/// Moves the imported array to the device that was asked for, if it is not there.
fn land(passage: &Passage, out: &mut dyn Any) -> Result<bool, Obstacle> {
    if passage.target.device_of(&*out)? == passage.to {
        return Ok(false);
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

/// Returns the exported array to its slot: the importer has let go of it, or is made to.
fn give_back(passage: &Passage, keep: Owner, source: &mut dyn Any, out: &mut dyn Any) {
    // A target array that was imported, but could not be moved, still holds the memory.
    let mut imported = passage.target.empty_slot();
    let _ = passage.target.swap(out, &mut *imported);
    drop(imported);
    passage.source.reclaim_export(keep, source);
}
