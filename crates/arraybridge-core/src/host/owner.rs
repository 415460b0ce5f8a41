//! What keeps memory alive, and whether it has one holder.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::by_value::ByValue;

/// A reference-counted handle on whatever keeps memory alive.
///
/// The value inside is dropped once, with the last handle, on whichever thread holds that. It is
/// never lent to two at once, so it need not be `Sync`.
#[derive(Clone)]
pub struct Owner(Arc<dyn Any + Send + Sync>);

impl Owner {
    /// Takes the value that keeps the memory alive.
    pub fn new<T: Any + Send>(value: T) -> Owner {
        Owner(Arc::new(ByValue::new(value)))
    }

    /// Returns whether this is the only handle.
    ///
    /// Acquires what other holders did before they let go (which a bare count would not).
    pub fn is_unique(&mut self) -> bool {
        Arc::get_mut(&mut self.0).is_some()
    }

    /// Moves the value out, if it is a `T` and this is the only handle; else returns the handle.
    pub fn into_inner<T: Any + Send>(self) -> Result<T, Owner> {
        let typed: Arc<ByValue<T>> = self.0.downcast().map_err(Owner)?;
        Arc::try_unwrap(typed).map(ByValue::into_inner).map_err(|shared| Owner(shared))
    }

    /// Borrows the value, if it is a `T` and this is the only handle.
    pub(super) fn get_mut<T: Any + Send>(&mut self) -> Option<&mut T> {
        Arc::get_mut(&mut self.0)?.downcast_mut::<ByValue<T>>().map(ByValue::get_mut)
    }

    /// Returns whether the value inside is a `T`.
    pub fn holds<T: Any + Send>(&self) -> bool {
        self.0.is::<ByValue<T>>()
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("handles", &Arc::strong_count(&self.0)).finish()
    }
}
