//! "Shared host buffer": exchange of main memory as a host array.

use std::any::Any;

use super::{Carried, Carry, Journey, Keep, Mechanism, Passage, Route};
use crate::Obstacle;
use crate::library::roles::HostOffer;

pub(super) const ROUTE: Route =
    Route { mechanism: Mechanism::SharedHostBuffer, applies, carry: Carry::Taking(carry) };

fn applies(journey: &Journey) -> bool {
    !journey.same_library
        && journey.source.host_share.contains(journey.from.kind())
        && journey.target.host_share.contains(journey.to.kind())
}

fn carry(passage: &Passage, source: &mut dyn Any, out: &mut dyn Any) -> Result<Carried, Obstacle> {
    let mut lent = passage.source.lend(source)?;
    // Claimed while this is the only handle; the second one only gives the array back.
    let access = lent.claim();
    let keep = Keep::Lent(lent.clone());
    match passage.target.adopt(HostOffer::new(lent, access), passage.to, out) {
        Ok(()) => Ok(Carried { copied: false, keep }),
        Err(obstacle) => {
            keep.give_back(passage, source, out)?;
            Err(obstacle)
        }
    }
}
