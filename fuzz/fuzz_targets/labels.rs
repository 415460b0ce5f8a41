//! Text from outside: labels and the JSON of counters.

#![no_main]

use arraybridge_core::{ConversionCounters, DType, Device};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(device) = text.parse::<Device>() {
        assert_eq!(device.to_string().parse::<Device>().ok(), Some(device));
    }
    if let Ok(dtype) = text.parse::<DType>() {
        assert_eq!(dtype.name().parse::<DType>().ok(), Some(dtype));
    }
    if let Ok(counters) = ConversionCounters::from_json(text) {
        let written = counters.to_json().unwrap();
        let again = ConversionCounters::from_json(&written).unwrap();
        assert_eq!(again.to_json().unwrap(), written);
        let _ = counters.table();
        counters.merge(&again);
        let _ = counters.totals();
    }
});
