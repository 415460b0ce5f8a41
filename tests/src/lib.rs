//! What only several crates together can show.
//!
//! The tests are in `tests/`; here is what they share: two libraries that are as awkward as real
//! ones, and an allocator that counts.

mod counting;
mod frozen;
mod writer;

pub use counting::{Counting, Tally, tally};
pub use frozen::{Frozen, FrozenArray};
pub use writer::{Writer, WriterArray};
