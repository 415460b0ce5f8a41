//! Counters as text.

use super::CounterRow;
use super::row::CounterTotals;

const HEADER: [&str; 8] =
    ["source", "target", "mechanism", "copied", "conversions", "bytes", "time", "declined"];
/// Which columns hold numbers, which are aligned at their right.
const NUMBERS: [bool; 8] = [false, false, false, false, true, true, true, false];

/// Returns the rows under a header, in aligned columns, and their totals.
pub(super) fn text(rows: &[CounterRow]) -> String {
    let mut all = CounterTotals::default();
    let mut lines = vec![HEADER.map(String::from)];
    for row in rows {
        let CounterRow { conversions, nbytes, seconds, .. } = *row;
        all.add(CounterTotals { conversions, nbytes, seconds });
        lines.push([
            format!("{} on {}", row.source_library, row.source_device),
            format!("{} on {}", row.target_library, row.target_device),
            row.mechanism.to_string(),
            (if row.copied { "yes" } else { "no" }).into(),
            conversions.to_string(),
            bytes(nbytes),
            time(seconds),
            declined(row),
        ]);
    }
    let none = String::new;
    lines.push([
        "all".into(),
        none(),
        none(),
        none(),
        all.conversions.to_string(),
        bytes(all.nbytes),
        time(all.seconds),
        none(),
    ]);
    aligned(&lines)
}

fn declined(row: &CounterRow) -> String {
    let each = row.declined.iter().map(|(mechanism, reason)| format!("{mechanism}: {reason}"));
    each.collect::<Vec<_>>().join(", ")
}

fn aligned(lines: &[[String; 8]]) -> String {
    let mut widths = [0; 8];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in lines {
        let mut whole = String::new();
        for ((cell, width), number) in line.iter().zip(widths).zip(NUMBERS) {
            whole +=
                &if number { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
        }
        text += whole.trim_end();
        text.push('\n');
    }
    text
}

/// Returns a size in the largest binary unit that leaves at least 1: `512 B`, `64.0 MiB`.
fn bytes(nbytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut size = nbytes as f64;
    let mut unit = None;
    for larger in units {
        // What would be shown as 1024.0 is shown as 1.0 of the next unit.
        if size < if unit.is_none() { 1024.0 } else { 1023.95 } {
            break;
        }
        size /= 1024.0;
        unit = Some(larger);
    }
    unit.map_or_else(|| format!("{nbytes} B"), |unit| format!("{size:.1} {unit}"))
}

/// Returns a time in the unit that suits it: `850 ns`, `12.5 us`, `3.20 ms`, `1.50 s`.
fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1e-6 => format!("{:.0} ns", seconds * 1e9),
        _ if seconds < 1e-3 => format!("{:.1} us", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, time};

    #[test]
    fn sizes_are_shown_in_the_unit_that_suits_them() {
        let shown = [0, 1, 1023, 1024, 1536, 67_108_864, 1_048_575, u64::MAX].map(bytes);
        let expected =
            ["0 B", "1 B", "1023 B", "1.0 KiB", "1.5 KiB", "64.0 MiB", "1.0 MiB", "16.0 EiB"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn times_are_shown_in_the_unit_that_suits_them() {
        let shown = [0.0, 8.5e-7, 1.25e-5, 3.2e-3, 1.5, 7200.0].map(time);
        assert_eq!(shown, ["0 ns", "850 ns", "12.5 us", "3.20 ms", "1.50 s", "7200.00 s"]);
    }
}
