//! What was found out about types, for those few whose objects are handed in again and again.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Values by type. The types are kept alive, so only those that libraries have for good belong here;
/// what finds no place is found out anew each time.
pub(crate) struct PerType<T>([PyOnceLock<(Py<PyType>, T)>; 8]);

impl<T: Copy> PerType<T> {
    pub(crate) const fn new() -> PerType<T> {
        PerType([const { PyOnceLock::new() }; 8])
    }

    pub(crate) fn get(&self, kind: &Bound<'_, PyType>) -> Option<T> {
        let taken = self.0.iter().map_while(|place| place.get(kind.py()));
        taken.filter(|(known, _)| known.is(kind)).map(|(_, value)| *value).next()
    }

    pub(crate) fn keep(&self, kind: &Bound<'_, PyType>, value: T) {
        let mut entry = (kind.clone().unbind(), value);
        for place in &self.0 {
            match place.set(kind.py(), entry) {
                Ok(()) => return,
                Err(back) => entry = back,
            }
        }
    }
}
