//! Whether a library's runtime is there.

use std::fmt;

/// Whether a library can be used on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Availability {
    /// The runtime is there and works.
    Available,
    /// The runtime is not installed.
    Absent {
        /// What to install or set, in one sentence.
        remedy: String,
    },
    /// The runtime is installed and fails.
    Broken {
        /// How it fails.
        cause: String,
    },
}

impl Availability {
    /// Returns whether the library can be used.
    pub fn is_available(&self) -> bool {
        *self == Availability::Available
    }
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Availability::Available => f.pad("available"),
            Availability::Absent { remedy } => write!(f, "absent: {remedy}"),
            Availability::Broken { cause } => write!(f, "broken: {cause}"),
        }
    }
}
