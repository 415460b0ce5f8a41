#![doc = include_str!("../README.md")]

pub mod cases;
mod conformance;
pub mod mock;
mod releases;
mod sample;
mod values;
mod watch;

pub use releases::Releases;
pub use sample::{LAYOUTS, Reach, Sample, SampleLayout, dtypes, samples};
pub use values::{bits, numbers, of_numbers};
pub use watch::{Seen, watch};

#[doc(hidden)]
pub use arraybridge_core as core;
