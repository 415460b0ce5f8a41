//! "Host copy": the source is read to the host, the target makes an array of that. Always applies.

use std::any::Any;

use super::{Carried, Carry, Journey, Keep, Mechanism, Passage, Route};
use crate::{Device, Obstacle};

pub(super) const ROUTE: Route =
    Route { mechanism: Mechanism::HostCopy, applies, carry: Carry::Reading(carry) };

fn applies(_: &Journey) -> bool {
    true
}

fn carry(passage: &Passage, source: &dyn Any, out: &mut dyn Any) -> Result<Carried, Obstacle> {
    let host = passage.source.download(source)?;
    passage.target.upload(&host, passage.to, out)?;
    // Two libraries that never write may have shared the memory in both halves: addresses tell.
    let from_host = passage.source.device_of(source).is_ok_and(Device::is_host);
    let copied = !(from_host && passage.to.is_host());
    Ok(Carried { copied, keep: Keep::InSlot })
}
