//! Records as metrics of the crate `metrics`.

use metrics::{Label, Unit, counter, describe_counter, describe_histogram, histogram};

use super::{ConversionObserver, ConversionRecord};

const CONVERSIONS: &str = "arraybridge_conversions_total";
const BYTES: &str = "arraybridge_conversion_bytes_total";
const SECONDS: &str = "arraybridge_conversion_seconds";
const DECLINED: &str = "arraybridge_declined_total";

/// An observer that feeds the process's metrics recorder.
///
/// | name | kind | labels |
/// |---|---|---|
/// | `arraybridge_conversions_total` | counter | `source_library`, `source_device`, `target_library`, `target_device`, `mechanism`, `copied` |
/// | `arraybridge_conversion_bytes_total` | counter | the same |
/// | `arraybridge_conversion_seconds` | histogram | the same |
/// | `arraybridge_declined_total` | counter | `source_library`, `target_library`, `mechanism` (the one that declined), `reason` |
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct MetricsObserver;

impl MetricsObserver {
    /// Returns the observer, and describes its metrics to the recorder that is there.
    pub fn new() -> MetricsObserver {
        describe_counter!(CONVERSIONS, "Conversions of arrays between libraries");
        describe_counter!(BYTES, Unit::Bytes, "Sizes of the arrays that conversions made");
        describe_histogram!(SECONDS, Unit::Seconds, "Times that conversions took");
        describe_counter!(
            DECLINED,
            "Mechanisms that did not suit an array, so that another did it"
        );
        MetricsObserver
    }
}

impl ConversionObserver for MetricsObserver {
    fn record(&self, record: &ConversionRecord<'_>) {
        let source = Label::from_static_parts("source_library", record.source_library);
        let target = Label::from_static_parts("target_library", record.target_library);
        let labels = vec![
            source.clone(),
            Label::new("source_device", record.source_device.to_string()),
            target.clone(),
            Label::new("target_device", record.target_device.to_string()),
            Label::from_static_parts("mechanism", record.mechanism.label()),
            Label::from_static_parts("copied", if record.copied { "true" } else { "false" }),
        ];
        counter!(CONVERSIONS, labels.clone()).increment(1);
        counter!(BYTES, labels.clone()).increment(record.nbytes as u64);
        histogram!(SECONDS, labels).record(record.seconds);
        for (mechanism, decline) in record.declined {
            let labels = vec![
                source.clone(),
                target.clone(),
                Label::from_static_parts("mechanism", mechanism.label()),
                Label::from_static_parts("reason", decline.reason().label()),
            ];
            counter!(DECLINED, labels).increment(1);
        }
    }
}
