//! A cell whose content is never reached through a shared reference.

/// A value that is only ever moved out, dropped or borrowed exclusively, never shared.
pub(crate) struct ByValue<T>(T);

// SAFETY: a `&ByValue<T>` gives no access to the `T`, which is reached only with ownership or an
// exclusive borrow of the cell. So sharing the reference between threads shares nothing, and that
// the cell is finally dropped or emptied on another thread is what `T: Send` allows (the argument of
// the standard library's unstable `std::sync::Exclusive`).
unsafe impl<T: Send> Sync for ByValue<T> {}

impl<T> ByValue<T> {
    pub(crate) fn new(value: T) -> ByValue<T> {
        ByValue(value)
    }

    /// An exclusive borrow of the cell is as good as owning it.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}
