//! Who else may reach an array's memory.

use std::fmt;

/// Who may read and write an array's memory besides the array itself.
///
/// This is the value that decides whether memory may cross between libraries without a copy: an
/// [`Exclusive`](Access::Exclusive) array may go anywhere and stays writable, an
/// [`Immutable`](Access::Immutable) one may go where nobody writes, a
/// [`SharedMutable`](Access::SharedMutable) one is copied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Access {
    /// Nobody else can reach the memory, down to the bytes, and no two elements overlap.
    Exclusive,
    /// Others may read the memory; nobody, this array included, writes it while it is shared.
    Immutable,
    /// Others may read and write the memory.
    SharedMutable,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Access::Exclusive => "exclusive",
            Access::Immutable => "immutable",
            Access::SharedMutable => "shared and mutable",
        })
    }
}
