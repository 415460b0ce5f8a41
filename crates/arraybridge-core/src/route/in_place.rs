//! "Stays in place": the array is already what was asked for.

use super::{Carry, Journey, Mechanism, Route};

pub(super) const ROUTE: Route =
    Route { mechanism: Mechanism::StaysInPlace, applies, carry: Carry::Nothing };

fn applies(journey: &Journey) -> bool {
    journey.same_library && journey.from == journey.to
}
