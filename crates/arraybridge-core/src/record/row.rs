//! One line of counters: what was done, how often, how much and how long.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::ConversionRecord;
use crate::{DeclineReason, Device, Mechanism};

/// What conversions have in common that are totalled together: everything of a record but its
/// measurements and free text. Ordered by its fields, which is how ties in tables are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    source_library: Cow<'static, str>,
    source_device: Device,
    target_library: Cow<'static, str>,
    target_device: Device,
    mechanism: Mechanism,
    copied: bool,
    /// A record has at most one decline per mechanism, so this stays inline.
    declined: SmallVec<[(Mechanism, DeclineReason); 5]>,
}

impl Key {
    /// Returns the key of a record, allocating nothing.
    pub(super) fn of(record: &ConversionRecord<'_>) -> Key {
        let reason = |(mechanism, decline): &(Mechanism, crate::Decline)| {
            let reason: DeclineReason = decline.reason();
            (*mechanism, reason)
        };
        Key {
            source_library: Cow::Borrowed(record.source_library),
            source_device: record.source_device,
            target_library: Cow::Borrowed(record.target_library),
            target_device: record.target_device,
            mechanism: record.mechanism,
            copied: record.copied,
            declined: record.declined.iter().map(reason).collect(),
        }
    }
}

/// How many conversions there were, how many bytes they made and how long they took.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
#[non_exhaustive]
pub struct CounterTotals {
    /// The number of conversions.
    pub conversions: u64,
    /// The size of all results in bytes.
    pub nbytes: u64,
    /// The time that they took together, in seconds.
    pub seconds: f64,
}

impl CounterTotals {
    pub(super) fn of(record: &ConversionRecord<'_>) -> CounterTotals {
        CounterTotals { conversions: 1, nbytes: record.nbytes as u64, seconds: record.seconds }
    }

    pub(super) fn add(&mut self, other: CounterTotals) {
        self.conversions = self.conversions.saturating_add(other.conversions);
        self.nbytes = self.nbytes.saturating_add(other.nbytes);
        // Finite, as JSON has no other numbers.
        self.seconds = (self.seconds + other.seconds).min(f64::MAX);
    }
}

/// The totals of all conversions that did the same.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CounterRow {
    /// The canonical name of the library that had the arrays.
    pub source_library: Cow<'static, str>,
    /// Where the arrays were.
    pub source_device: Device,
    /// The canonical name of the library that received them.
    pub target_library: Cow<'static, str>,
    /// Where they are now.
    pub target_device: Device,
    /// What carried them.
    pub mechanism: Mechanism,
    /// Whether elements were copied.
    pub copied: bool,
    /// The mechanisms that declined before, each with its reason.
    pub declined: Vec<(Mechanism, DeclineReason)>,
    /// The number of conversions.
    pub conversions: u64,
    /// The size of all results in bytes.
    pub nbytes: u64,
    /// The time that they took together, in seconds.
    pub seconds: f64,
}

impl CounterRow {
    pub(super) fn new(key: Key, totals: CounterTotals) -> CounterRow {
        let CounterTotals { conversions, nbytes, seconds } = totals;
        CounterRow {
            source_library: key.source_library,
            source_device: key.source_device,
            target_library: key.target_library,
            target_device: key.target_device,
            mechanism: key.mechanism,
            copied: key.copied,
            declined: key.declined.into_vec(),
            conversions,
            nbytes,
            seconds,
        }
    }

    pub(super) fn into_parts(self) -> (Key, CounterTotals) {
        let CounterRow { conversions, nbytes, seconds, .. } = self;
        let key = Key {
            source_library: self.source_library,
            source_device: self.source_device,
            target_library: self.target_library,
            target_device: self.target_device,
            mechanism: self.mechanism,
            copied: self.copied,
            declined: self.declined.into(),
        };
        (key, CounterTotals { conversions, nbytes, seconds })
    }
}
