//! Counters as JSON and back.

#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod records_mock;

use arraybridge_core::{
    ConversionCounters, Convert, CounterRow, DType, DeclineReason, Device, HOST, Mechanism,
};
use serde_json::{Value, json};

use records_mock::{Writable, convert, frozen};

fn counted() -> ConversionCounters {
    let counters = ConversionCounters::new();
    let _watch = counters.install();
    for _ in 0..3 {
        convert(1000);
    }
    let array = frozen(10);
    let _ = array.alias().convert_to::<Writable>(HOST).unwrap();
    counters
}

fn row() -> Value {
    json!({
        "source_library": "torch",
        "source_device": "accelerator:1",
        "target_library": "ndarray",
        "target_device": "host",
        "mechanism": "host copy",
        "copied": true,
        "declined": [["dlpack", "device"]],
        "conversions": 2,
        "nbytes": u64::MAX,
        "seconds": 0.1,
    })
}

fn document(rows: &[Value]) -> String {
    json!({"version": 1, "rows": rows}).to_string()
}

/// Returns the message that a document with this change to its third row is refused with.
fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut rows = [row(), row(), row(), row()];
    change(&mut rows[3]);
    ConversionCounters::from_json(&document(&rows)).unwrap_err().to_string()
}

#[test]
fn what_is_written_is_read_back_to_the_last_bit() {
    let counters = counted();
    let text = counters.to_json().unwrap();
    assert!(text.starts_with(r#"{"version":1,"rows":[{"source_library":"frozen","#), "{text}");
    let back = ConversionCounters::from_json(&text).unwrap();
    assert_eq!(back.rows(), counters.rows());
    assert_eq!(back.to_json().unwrap(), text);
}

#[test]
fn counters_that_were_read_merge_with_live_ones() {
    let live = counted();
    let read = ConversionCounters::from_json(&live.to_json().unwrap()).unwrap();
    live.merge(&read);
    let counts: Vec<u64> = live.rows().iter().map(|row| row.conversions).collect();
    // The names that were read and those that are compiled in are one key.
    assert_eq!(counts, [6, 2]);
}

#[test]
fn libraries_that_are_not_compiled_in_and_fields_that_are_not_known_are_read() {
    let mut row = row();
    row["later"] = json!("field");
    row["seconds"] = json!(f64::MAX);
    let counters = ConversionCounters::from_json(&document(&[row.clone(), row])).unwrap();
    let rows = counters.rows();
    // Rows of one key add up, without overflow.
    assert_eq!((rows.len(), rows[0].conversions, rows[0].nbytes), (1, 4, u64::MAX));
    assert_eq!(rows[0].source_device, Device::Accelerator(1));
    assert_eq!(counters.to_json().unwrap().matches("null").count(), 0);
    assert_eq!(rows[0].declined, [(Mechanism::Dlpack, DeclineReason::Device)]);
    assert!(counters.table().starts_with("source"));
}

#[test]
fn a_wrong_field_is_named_with_what_was_expected_and_found() {
    let prefix = "not counters of arraybridge: ";
    let cases = [
        (
            refused(|row| row["nbytes"] = json!("12")),
            "rows[3].nbytes: expected an unsigned integer, found a string",
        ),
        (
            refused(|row| row["nbytes"] = json!(-1)),
            "rows[3].nbytes: expected an unsigned integer, found -1",
        ),
        (
            refused(|row| row["conversions"] = json!(1.5)),
            "rows[3].conversions: expected an unsigned integer, found 1.5",
        ),
        (
            refused(|row| row["seconds"] = json!(-0.5)),
            "rows[3].seconds: expected a number of seconds, found -0.5",
        ),
        (
            refused(|row| row["copied"] = json!(null)),
            "rows[3].copied: expected true or false, found null",
        ),
        (
            refused(|row| row["source_library"] = json!([])),
            "rows[3].source_library: expected a string, found an array",
        ),
        (
            refused(|row| row["declined"] = json!({})),
            "rows[3].declined: expected an array, found an object",
        ),
        (
            refused(|row| row["declined"] = json!([["dlpack"]])),
            "rows[3].declined[0]: expected a mechanism and a reason, found 1 items",
        ),
        (
            refused(|row| row["declined"][0][1] = json!("mood")),
            "rows[3].declined[0][1]: `mood` is not a decline reason; expected `dtype`, `layout`, `alignment`, `read-only`, `shared`, `device` or `version`",
        ),
        (
            refused(|row| row["mechanism"] = json!("teleport")),
            "rows[3].mechanism: `teleport` is not a mechanism; expected `stays in place`, `device move`, `dlpack`, `shared host buffer` or `host copy`",
        ),
        (
            refused(|row| row["target_device"] = json!("gpu")),
            "rows[3].target_device: `gpu` is not a device; expected `host`, `accelerator:N` or `device:NAME`",
        ),
        (refused(|row| *row = json!(true)), "rows[3]: expected an object, found true"),
    ];
    for (found, expected) in cases {
        assert_eq!(found, format!("{prefix}{expected}"));
    }
}

#[test]
fn every_missing_field_is_named() {
    let fields: Vec<String> = row().as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields.len(), 10);
    for field in fields {
        let message = refused(|row| drop(row.as_object_mut().unwrap().remove(&field)));
        assert_eq!(message, format!("not counters of arraybridge: rows[3].{field}: missing"));
    }
}

#[test]
fn a_document_that_is_none_is_refused() {
    let message = |text: &str| ConversionCounters::from_json(text).unwrap_err().to_string();
    let prefix = "not counters of arraybridge: ";
    assert_eq!(message("[]"), format!("{prefix}the document: expected an object, found an array"));
    assert_eq!(message(r#"{"rows": []}"#), format!("{prefix}version: missing"));
    assert_eq!(message(r#"{"version": 1}"#), format!("{prefix}rows: missing"));
    let newer = format!("{prefix}version: written as version 2; this crate reads version 1");
    assert_eq!(message(r#"{"version": 2, "lines": 0}"#), newer);
    assert!(message("{").starts_with(&format!("{prefix}the document: not JSON: ")));
}

#[test]
fn value_types_are_serialised_by_their_labels() {
    let values = (Device::named("pocl").unwrap(), DType::BF16, Mechanism::HostCopy);
    let text = serde_json::to_string(&values).unwrap();
    assert_eq!(text, r#"["device:pocl","bfloat16","host copy"]"#);
    assert_eq!(serde_json::from_str::<(Device, DType, Mechanism)>(&text).unwrap(), values);
    let wrong = serde_json::from_str::<DType>(r#""float31""#).unwrap_err().to_string();
    assert!(wrong.contains("`float31` is not a dtype"), "{wrong}");

    let reasons = ["dtype", "layout", "alignment", "read-only", "shared", "device", "version"];
    let parsed: Vec<DeclineReason> = serde_json::from_value(json!(reasons)).unwrap();
    assert_eq!(serde_json::to_value(parsed).unwrap(), json!(reasons));
}

#[test]
fn a_row_alone_is_serialised_as_in_the_document() {
    let read: CounterRow = serde_json::from_value(row()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), row());
    let whole = ConversionCounters::from_json(&document(&[row()])).unwrap();
    assert_eq!(whole.rows(), [read]);
}

#[test]
fn a_damaged_document_is_read_or_refused() {
    let text = document(&[row(), row()]);
    let (mut read, mut refused) = (0, 0);
    for place in 0..text.len() {
        for damage in [&b""[..], b"\0", b"9", b"\"", b"]", b"-", b"e9"] {
            let damaged = [&text.as_bytes()[..place], damage, &text.as_bytes()[place + 1..]];
            let damaged = String::from_utf8(damaged.concat()).unwrap();
            match ConversionCounters::from_json(&damaged) {
                Ok(counters) => {
                    read += 1;
                    assert_eq!(counters.table().lines().count(), counters.rows().len() + 2);
                    counters.to_json().unwrap();
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().starts_with("not counters of arraybridge: "));
                }
            }
        }
    }
    // Names and numbers may be damaged without a trace; most else may not.
    assert!(read > 100 && refused > 1000, "{read} read, {refused} refused");
}
