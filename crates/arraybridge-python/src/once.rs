//! What is found once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns what a place holds, after finding it if it holds nothing yet.
///
/// `find` may run Python code, and with it whatever the garbage collector runs, so it runs outside of
/// the place's lock: that is not to be waited for by the thread that holds it.
#[inline]
pub(crate) fn once<'a, T>(
    py: Python<'_>,
    place: &'a PyOnceLock<T>,
    find: impl FnOnce() -> PyResult<T>,
) -> PyResult<&'a T> {
    if let Some(there) = place.get(py) {
        return Ok(there);
    }
    let found = find()?;
    Ok(place.get_or_init(py, || found))
}
