//! Measurements in pairs: ours and the peer's take turns, and each pair gives a ratio.

use std::time::Instant;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use crate::python::Peer;

/// The shortest time that one sample takes, in seconds: much longer than reading the clock.
const SAMPLE: f64 = 2e-3;

/// One comparison. Times are medians in seconds, of one call.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) ours: f64,
    pub(crate) peer: f64,
    /// What the peer is.
    pub(crate) against: String,
    /// The median of the pairs' ratios, ours to the peer's: below 1 is faster than the peer.
    pub(crate) ratio: f64,
    /// The distance between the quartiles of the pairs' ratios, divided by their median; for peers
    /// in another process, of the peer's times.
    pub(crate) spread: f64,
}

pub(crate) struct Bench {
    pairs: usize,
    /// What the names of the rows contain.
    only: String,
    rows: Vec<Row>,
}

impl Bench {
    pub(crate) fn new(quick: bool, only: String) -> Bench {
        Bench { pairs: if quick { 7 } else { 25 }, only, rows: Vec::new() }
    }

    /// Adds a row. Both functions return what they made, so that dropping it counts (where memory
    /// comes from is part of the cost).
    pub(crate) fn compare<A, B>(
        &mut self,
        name: &str,
        against: &str,
        mut ours: impl FnMut() -> Result<A>,
        mut peer: impl FnMut() -> Result<B>,
    ) -> Result<()> {
        let ours = |calls| repeat(&mut ours, calls);
        let peer = |calls| repeat(&mut peer, calls);
        self.compare_loops(name, against, ours, peer)
    }

    /// Adds a row of functions that call what is measured as often as they are told: for loops in
    /// another language.
    pub(crate) fn compare_loops(
        &mut self,
        name: &str,
        against: &str,
        mut ours: impl FnMut(u32) -> Result<()>,
        mut peer: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        if !name.contains(&self.only) {
            return Ok(());
        }
        eprintln!("{name} / {against}");
        let ours_calls = calls_per_sample(&mut ours)?;
        let peer_calls = calls_per_sample(&mut peer)?;
        let mut samples = Vec::with_capacity(self.pairs);
        for pair in 0..self.pairs {
            // Who goes first alternates: one must not always meet the other's caches.
            let (a, b);
            if pair % 2 == 0 {
                a = sample(&mut ours, ours_calls)?;
                b = sample(&mut peer, peer_calls)?;
            } else {
                b = sample(&mut peer, peer_calls)?;
                a = sample(&mut ours, ours_calls)?;
            }
            samples.push((a, b));
        }
        let (ours, _) = middle(samples.iter().map(|pair| pair.0));
        let (peer, _) = middle(samples.iter().map(|pair| pair.1));
        let (ratio, spread) = middle(samples.iter().map(|(ours, peer)| ours / peer));
        let (name, against) = (name.into(), against.into());
        self.rows.push(Row { name, ours, peer, against, ratio, spread });
        Ok(())
    }

    /// Returns all rows, and one more for every peer that another process measured under the name
    /// of a row.
    pub(crate) fn into_rows(self, peers: &[Peer]) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for row in self.rows {
            let ours = row.ours;
            let first = !rows.iter().any(|earlier| earlier.name == row.name);
            let theirs = peers.iter().filter(|peer| first && peer.name == row.name);
            let more = theirs.map(|peer| Row {
                name: peer.name.clone(),
                ours,
                peer: peer.seconds,
                against: peer.library.clone(),
                ratio: ours / peer.seconds,
                spread: peer.spread,
            });
            let more: Vec<Row> = more.collect();
            rows.push(row);
            rows.extend(more);
        }
        rows
    }
}

fn repeat<R>(function: &mut impl FnMut() -> Result<R>, calls: u32) -> Result<()> {
    for _ in 0..calls {
        std::hint::black_box(function()?);
    }
    Ok(())
}

fn sample(function: &mut impl FnMut(u32) -> Result<()>, calls: u32) -> Result<f64> {
    let start = Instant::now();
    function(calls)?;
    Ok(start.elapsed().as_secs_f64() / f64::from(calls))
}

/// Warms a function up, and finds how often to call it for one sample.
fn calls_per_sample(function: &mut impl FnMut(u32) -> Result<()>) -> Result<u32> {
    let mut calls = 1u32;
    loop {
        let seconds = sample(function, calls)? * f64::from(calls);
        if seconds >= SAMPLE || calls > 1 << 20 {
            return Ok(calls);
        }
        calls *= 2;
    }
}

/// Returns the median, and the distance between the quartiles divided by it.
fn middle(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize];
    (at(0.5), (at(0.75) - at(0.25)) / at(0.5))
}

/// Lays rows out for people.
pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["name", "ours", "peer", "against", "ratio", "spread"]);
    for row in rows {
        table.add_row([
            row.name.clone(),
            time(row.ours),
            time(row.peer),
            row.against.clone(),
            format!("{:.2}", row.ratio),
            format!("{:.0} %", row.spread * 100.0),
        ]);
    }
    for column in [1, 2, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn time(seconds: f64) -> String {
    if seconds >= 1e-3 {
        format!("{:.1} ms", seconds * 1e3)
    } else if seconds >= 1e-6 {
        format!("{:.1} us", seconds * 1e6)
    } else {
        format!("{:.0} ns", seconds * 1e9)
    }
}
