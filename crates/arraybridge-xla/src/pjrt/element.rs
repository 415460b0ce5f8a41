//! Element types by their PJRT codes.

/// An element type of whole bytes (`PJRT_Buffer_Type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ElementType {
    pub(super) code: u32,
    pub(super) size: usize,
}

impl ElementType {
    /// Joins a code and its size in bytes.
    pub(crate) const fn new(code: u32, size: usize) -> ElementType {
        ElementType { code, size }
    }
}
