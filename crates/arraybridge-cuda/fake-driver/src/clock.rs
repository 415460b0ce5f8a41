//! Vector clocks: what is known to have happened before what.

use std::collections::BTreeMap;

/// For each stream, how many of its operations are known to be done.
#[derive(Clone, Default, Debug)]
pub(crate) struct Clock(BTreeMap<u64, u64>);

/// One operation: the tick-th of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    pub(crate) stream: u64,
    pub(crate) tick: u64,
}

impl Clock {
    /// Takes over what another clock knows.
    pub(crate) fn merge(&mut self, other: &Clock) {
        for (&stream, &tick) in &other.0 {
            let known = self.0.entry(stream).or_default();
            *known = (*known).max(tick);
        }
    }

    /// Notes that a stream's next operation is queued, and returns it.
    pub(crate) fn advance(&mut self, stream: u64) -> Moment {
        let tick = self.0.entry(stream).or_default();
        *tick += 1;
        Moment { stream, tick: *tick }
    }

    /// Returns whether an operation is known to be done.
    pub(crate) fn covers(&self, moment: Moment) -> bool {
        self.0.get(&moment.stream).is_some_and(|&tick| tick >= moment.tick)
    }
}
