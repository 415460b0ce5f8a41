//! What counters total, and how they show it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod records_mock;

use std::thread;

use arraybridge_core::{
    ConversionCounters, Convert, CounterRow, DeclineReason, HOST, Mechanism, to,
};

use records_mock::{Copier, Frozen, Writable, convert, frozen, samples};

/// Counts three kinds of conversion: 2 x 16 bytes shared, 1 x 4000 bytes copied because of another
/// holder, 1 x 4000 bytes copied in secret.
fn counted() -> ConversionCounters {
    let counters = ConversionCounters::new();
    let _watch = counters.install();
    convert(4);
    convert(4);
    let array = frozen(1000);
    let _ = array.alias().convert_to::<Writable>(HOST).unwrap();
    let _ = samples(1000).convert_to::<Copier>(HOST).unwrap();
    counters
}

/// Returns what does not depend on the clock.
fn summary(rows: &[CounterRow]) -> Vec<(String, Mechanism, bool, u64, u64)> {
    let line = |row: &CounterRow| {
        assert!(row.seconds > 0.0);
        let target = row.target_library.to_string();
        (target, row.mechanism, row.copied, row.conversions, row.nbytes)
    };
    rows.iter().map(line).collect()
}

#[test]
fn rows_total_what_did_the_same_with_the_most_bytes_first() {
    let counters = counted();
    let rows = counters.rows();
    let expected = [
        // A tie in bytes goes by name.
        ("copier".to_owned(), Mechanism::HostCopy, true, 1, 4000),
        ("writable".to_owned(), Mechanism::HostCopy, true, 1, 4000),
        ("writable".to_owned(), Mechanism::SharedHostBuffer, false, 2, 32),
    ];
    assert_eq!(summary(&rows), expected);
    assert_eq!(rows[1].declined, [(Mechanism::SharedHostBuffer, DeclineReason::ReadOnly)]);
    assert_eq!(rows[2].declined, []);
    let totals = counters.totals();
    assert_eq!((totals.conversions, totals.nbytes), (4, 8032));
    let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
    assert!((totals.seconds - seconds).abs() < 1e-9);
}

#[test]
fn a_clone_is_a_handle_on_the_same_totals() {
    let counters = ConversionCounters::new();
    let handle = counters.clone();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let counters = counters.clone();
            thread::spawn(move || {
                let _watch = counters.install();
                for _ in 0..50 {
                    convert(1);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!((handle.totals().conversions, handle.totals().nbytes), (200, 800));
    counters.clear();
    assert_eq!(handle.rows(), []);
}

#[test]
fn merging_adds_and_leaves_the_other_as_it_was() {
    let (one, other) = (counted(), counted());
    one.merge(&other);
    let counts: Vec<(u64, u64)> =
        one.rows().iter().map(|row| (row.conversions, row.nbytes)).collect();
    assert_eq!(counts, [(2, 8000), (2, 8000), (4, 64)]);
    assert_eq!(other.totals().conversions, 4);
    one.merge(&one.clone());
    assert_eq!(one.totals().conversions, 16);
}

#[test]
fn merging_both_ways_at_once_does_not_deadlock() {
    let (one, other) = (counted(), counted());
    thread::scope(|scope| {
        for (into, from) in [(&one, &other), (&other, &one)] {
            scope.spawn(|| (0..5).for_each(|_| into.merge(from)));
        }
    });
    assert!(one.totals().conversions > 4);
}

#[test]
fn the_table_has_aligned_columns_units_and_a_last_line_for_all() {
    let counters = ConversionCounters::new();
    {
        let _watch = counters.install();
        let _ = samples(16 << 20).convert_to::<Writable>(HOST).unwrap();
        let array = frozen(100);
        let _ = to::<Frozen, Copier>(&array, HOST).unwrap();
    }
    let table = counters.table();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    // The columns begin, or for numbers end, where the header's do.
    let header = lines[0];
    let names = ["source", "target", "mechanism", "copied", "conversions", "bytes", "time"];
    for name in names {
        assert!(header.contains(name), "{table}");
    }
    let start = |name: &str| header.find(name).unwrap();
    let end = |name: &str| start(name) + name.len();
    let (first, second, all) = (lines[1], lines[2], lines[3]);
    assert!(first.starts_with("frozen on host"));
    assert!(first[start("target")..].starts_with("writable on host"));
    assert!(first[start("mechanism")..].starts_with("shared host buffer"));
    assert!(first[start("copied")..].starts_with("no "));
    assert!(first[..end("conversions")].ends_with(" 1"));
    assert!(first[..end("bytes")].ends_with(" 64.0 MiB"));
    assert!(second[start("target")..].starts_with("copier on host"));
    assert!(second[start("copied")..].starts_with("yes "));
    assert!(second[..end("bytes")].ends_with(" 400 B"));
    assert!(second[start("declined")..].starts_with("shared host buffer: alignment"));
    assert!(all.starts_with("all ") && all[..end("bytes")].ends_with(" 64.0 MiB"), "{table}");
    assert!(all[..end("conversions")].ends_with(" 2"));
    assert_eq!(counters.to_string(), table);
    assert!(lines.iter().all(|line| line.trim_end() == *line));
}

#[test]
fn the_table_of_nothing_says_so_in_its_last_line() {
    let expected = "source  target  mechanism  copied  conversions  bytes  time  declined\n\
                    all                                          0    0 B  0 ns\n";
    assert_eq!(ConversionCounters::new().table(), expected);
}

#[test]
fn debug_shows_the_totals() {
    let counters = ConversionCounters::new();
    let text = format!("{counters:?}");
    assert!(text.contains("conversions: 0"), "{text}");
}
