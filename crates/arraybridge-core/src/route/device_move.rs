//! "Device move": the library moves the array between its own devices.

use std::any::Any;

use super::{Carried, Carry, Journey, Keep, Mechanism, Passage, Route};
use crate::Obstacle;

pub(super) const ROUTE: Route =
    Route { mechanism: Mechanism::DeviceMove, applies, carry: Carry::Reading(carry) };

fn applies(journey: &Journey) -> bool {
    journey.same_library && journey.from != journey.to && journey.source.device_move
}

fn carry(passage: &Passage, source: &dyn Any, out: &mut dyn Any) -> Result<Carried, Obstacle> {
    passage.target.move_to(source, passage.to, out)?;
    Ok(Carried { copied: true, keep: Keep::InSlot })
}
