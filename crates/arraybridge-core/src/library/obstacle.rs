//! Why a route did not carry an array: it declined, or it failed.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// Why a mechanism does not carry an array, although both libraries declare it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum DeclineReason {
    /// The other side does not have the dtype.
    Dtype,
    /// The other side cannot express the layout.
    Layout,
    /// The address is not aligned as the other side wants it.
    Alignment,
    /// The memory may not be written, and the other side would write it.
    ReadOnly,
    /// Others can reach the memory.
    Shared,
    /// The device cannot be reached that way.
    Device,
    /// The exchange format's version is not understood.
    Version,
}

impl DeclineReason {
    const ALL: [DeclineReason; 7] = [
        DeclineReason::Dtype,
        DeclineReason::Layout,
        DeclineReason::Alignment,
        DeclineReason::ReadOnly,
        DeclineReason::Shared,
        DeclineReason::Device,
        DeclineReason::Version,
    ];

    /// Returns the reason in one or two words.
    pub fn label(self) -> &'static str {
        match self {
            DeclineReason::Dtype => "dtype",
            DeclineReason::Layout => "layout",
            DeclineReason::Alignment => "alignment",
            DeclineReason::ReadOnly => "read-only",
            DeclineReason::Shared => "shared",
            DeclineReason::Device => "device",
            DeclineReason::Version => "version",
        }
    }
}

impl fmt::Display for DeclineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

impl FromStr for DeclineReason {
    type Err = Error;

    fn from_str(text: &str) -> Result<DeclineReason, Error> {
        let known = DeclineReason::ALL.into_iter().find(|reason| reason.label() == text);
        known.ok_or_else(|| Error::InvalidLabel {
            what: "decline reason",
            text: text.chars().take(64).collect(),
            expected: "`dtype`, `layout`, `alignment`, `read-only`, `shared`, `device` or `version`",
        })
    }
}

/// A declined mechanism's reason, with a note whose text is made only when somebody looks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Decline {
    reason: DeclineReason,
    note: &'static str,
    value: Option<i64>,
}

impl Decline {
    /// Declines for a reason.
    pub const fn new(reason: DeclineReason) -> Decline {
        Decline { reason, note: "", value: None }
    }

    /// Adds what was met, such as "the array has other holders".
    pub const fn note(self, note: &'static str) -> Decline {
        Decline { note, ..self }
    }

    /// Adds a number to the note, such as the address modulo the alignment.
    pub const fn value(self, value: i64) -> Decline {
        Decline { value: Some(value), ..self }
    }

    /// Returns the reason.
    pub const fn reason(&self) -> DeclineReason {
        self.reason
    }
}

impl fmt::Display for Decline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.label())?;
        if !self.note.is_empty() {
            write!(f, " ({}", self.note)?;
            if let Some(value) = self.value {
                write!(f, ": {value}")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// Why a role did not do what it was asked: the next route is tried, or the conversion stops.
#[derive(Debug)]
#[non_exhaustive]
pub enum Obstacle {
    /// The mechanism does not suit this array; another may.
    Declined(Decline),
    /// Something went wrong, and no slower route may hide it.
    Failed(Error),
}

impl From<Decline> for Obstacle {
    fn from(decline: Decline) -> Obstacle {
        Obstacle::Declined(decline)
    }
}

impl From<DeclineReason> for Obstacle {
    fn from(reason: DeclineReason) -> Obstacle {
        Obstacle::Declined(Decline::new(reason))
    }
}

impl From<Error> for Obstacle {
    fn from(error: Error) -> Obstacle {
        Obstacle::Failed(error)
    }
}
