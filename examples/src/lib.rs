//! What the example programs share: reading image stacks.

mod dimensions;
mod read;

pub use read::{read_stack, sample};

/// The README's programs, which need what this package depends on.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
