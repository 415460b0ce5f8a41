//! Records as metrics.

#![cfg(feature = "metrics")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod records_mock;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arraybridge_core::{Convert, HOST, MetricsObserver, install};
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

use records_mock::{Writable, convert, frozen};

/// Keeps sums by name and labels, and descriptions by name.
#[derive(Clone, Default)]
struct Sums {
    values: Arc<Mutex<BTreeMap<String, u64>>>,
    units: Arc<Mutex<BTreeMap<String, Option<Unit>>>>,
}

/// One metric of it.
struct Sum(Sums, String);

impl Sum {
    fn add(&self, value: u64) {
        *self.0.values.lock().unwrap().entry(self.1.clone()).or_default() += value;
    }
}

impl CounterFn for Sum {
    fn increment(&self, value: u64) {
        self.add(value);
    }

    fn absolute(&self, _: u64) {
        unreachable!("conversions only add");
    }
}

impl HistogramFn for Sum {
    fn record(&self, seconds: f64) {
        assert!(seconds > 0.0);
        self.add(1);
    }
}

impl Sums {
    fn metric(&self, key: &Key) -> Arc<Sum> {
        let label = |label: &metrics::Label| format!("{}={}", label.key(), label.value());
        let labels: Vec<String> = key.labels().map(label).collect();
        Arc::new(Sum(self.clone(), format!("{}{{{}}}", key.name(), labels.join(","))))
    }
}

impl Recorder for Sums {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.units.lock().unwrap().insert(name.as_str().into(), unit);
    }

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.units.lock().unwrap().insert(name.as_str().into(), unit);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.metric(key))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.metric(key))
    }
}

#[test]
fn conversions_feed_counters_and_a_histogram_by_label() {
    let sums = Sums::default();
    metrics::with_local_recorder(&sums, || {
        let _watch = install(Arc::new(MetricsObserver::new()));
        convert(4);
        convert(4);
        let array = frozen(8);
        let _ = array.alias().convert_to::<Writable>(HOST).unwrap();
    });
    let libraries =
        "source_library=frozen,source_device=host,target_library=writable,target_device=host";
    let shared = format!("{libraries},mechanism=shared host buffer,copied=false");
    let copied = format!("{libraries},mechanism=host copy,copied=true");
    let declined = "source_library=frozen,target_library=writable,mechanism=shared host buffer,reason=read-only";
    let expected = BTreeMap::from([
        (format!("arraybridge_conversions_total{{{shared}}}"), 2),
        (format!("arraybridge_conversions_total{{{copied}}}"), 1),
        (format!("arraybridge_conversion_bytes_total{{{shared}}}"), 32),
        (format!("arraybridge_conversion_bytes_total{{{copied}}}"), 32),
        (format!("arraybridge_conversion_seconds{{{shared}}}"), 2),
        (format!("arraybridge_conversion_seconds{{{copied}}}"), 1),
        (format!("arraybridge_declined_total{{{declined}}}"), 1),
    ]);
    assert_eq!(*sums.values.lock().unwrap(), expected);
    let units = sums.units.lock().unwrap();
    assert_eq!(units["arraybridge_conversion_bytes_total"], Some(Unit::Bytes));
    assert_eq!(units["arraybridge_conversion_seconds"], Some(Unit::Seconds));
    assert_eq!(units.len(), 4);
}
