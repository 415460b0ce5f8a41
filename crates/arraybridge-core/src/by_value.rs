//! A cell whose content can only be moved out or dropped.

/// A value that is only ever moved out or dropped, never lent.
pub(crate) struct ByValue<T>(T);

// SAFETY: a `&ByValue<T>` gives no access to the `T`, which can only be moved out with ownership of
// the cell. So sharing the reference between threads shares nothing, and that the cell is finally
// dropped or emptied on another thread is what `T: Send` allows (the argument of the standard
// library's unstable `std::sync::Exclusive`).
unsafe impl<T: Send> Sync for ByValue<T> {}

impl<T> ByValue<T> {
    pub(crate) fn new(value: T) -> ByValue<T> {
        ByValue(value)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}
