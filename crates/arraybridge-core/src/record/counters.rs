//! Totals of conversions.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::row::Key;
use super::{
    ConversionObserver, ConversionRecord, CounterRow, CounterTotals, ObserverGuard, install, table,
};

/// An observer that totals conversions by what they did.
///
/// A clone is a handle on the same totals, so counters can be kept while they are installed, and
/// installed on several threads at once.
///
/// ```
/// use arraybridge_core::ConversionCounters;
///
/// let counters = ConversionCounters::new();
/// {
///     let _watch = counters.install();
///     // convert here
/// }
/// println!("{}", counters.table());
/// assert_eq!(counters.totals().conversions, 0);
/// ```
#[derive(Clone, Default)]
pub struct ConversionCounters(Arc<Mutex<BTreeMap<Key, CounterTotals>>>);

impl ConversionCounters {
    /// Returns counters that have seen nothing.
    pub fn new() -> ConversionCounters {
        ConversionCounters::default()
    }

    /// Installs these counters on this thread until the guard is dropped ([`install`]).
    pub fn install(&self) -> ObserverGuard {
        install(Arc::new(self.clone()))
    }

    /// Returns the totals by what was done: largest byte total first, ties in the order of the
    /// other fields.
    pub fn rows(&self) -> Vec<CounterRow> {
        let entries: Vec<(Key, CounterTotals)> =
            self.lock().iter().map(|(key, totals)| (key.clone(), *totals)).collect();
        let mut rows: Vec<CounterRow> =
            entries.into_iter().map(|(key, totals)| CounterRow::new(key, totals)).collect();
        rows.sort_by_key(|row| Reverse(row.nbytes));
        rows
    }

    /// Returns the totals of all conversions.
    pub fn totals(&self) -> CounterTotals {
        let mut all = CounterTotals::default();
        self.lock().values().for_each(|totals| all.add(*totals));
        all
    }

    /// Adds what other counters have seen, which keep it; the same counters count double.
    pub fn merge(&self, other: &ConversionCounters) {
        // The rows are a copy: two locks are never held together.
        for row in other.rows() {
            self.add(row);
        }
    }

    /// Adds one row.
    pub(super) fn add(&self, row: CounterRow) {
        let (key, totals) = row.into_parts();
        self.lock().entry(key).or_default().add(totals);
    }

    /// Forgets everything, for every handle on these counters.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Returns the rows as text in aligned columns, with a last line for all together.
    pub fn table(&self) -> String {
        table::text(&self.rows())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, CounterTotals>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConversionObserver for ConversionCounters {
    fn record(&self, record: &ConversionRecord<'_>) {
        let (key, totals) = (Key::of(record), CounterTotals::of(record));
        self.lock().entry(key).or_default().add(totals);
    }
}

impl fmt::Display for ConversionCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table())
    }
}

impl fmt::Debug for ConversionCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversionCounters").field("totals", &self.totals()).finish()
    }
}
