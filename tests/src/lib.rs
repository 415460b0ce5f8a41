//! What only several crates together can show.
//!
//! The tests are in `tests/`; here is what they share: two libraries that are as awkward as real
//! ones, and an allocator that counts.

mod counting;

use arraybridge_testkit::mock::{Character, Mock, MockArray, Storage, Traits};

pub use counting::{Counting, Tally, tally};

/// The library `frozen`: its arrays share memory with others that do not write it either.
pub type Frozen = Mock<FrozenKind>;

/// An array of [`Frozen`].
pub type FrozenArray = MockArray<FrozenKind>;

/// The character of [`Frozen`].
#[derive(Debug)]
pub enum FrozenKind {}

impl Character for FrozenKind {
    const TRAITS: Traits =
        Traits { name: "frozen", storage: Storage::CopyOnWrite, ..Traits::HOST_ONLY };
}

/// The library `writer`: its arrays are written in place and share storage behind the scenes, as
/// torch's do, so that whoever lends it memory that others still reach sees it change.
pub type Writer = Mock<WriterKind>;

/// An array of [`Writer`].
pub type WriterArray = MockArray<WriterKind>;

/// The character of [`Writer`].
#[derive(Debug)]
pub enum WriterKind {}

impl Character for WriterKind {
    const TRAITS: Traits = Traits { name: "writer", storage: Storage::Shared, ..Traits::HOST_ONLY };
}
