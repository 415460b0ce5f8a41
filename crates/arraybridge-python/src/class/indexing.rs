//! Parts of an array by index.

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::views::viewed_index;
use super::{Array, Home, made_in};
use crate::{Maker, exception};

#[pymethods]
impl Array {
    /// Returns a part, in the same library on the same device: by a whole index of the first axis
    /// wherever the array is, and in main memory by whatever NumPy's arrays take. An object of a
    /// Python library is indexed by that library's rules.
    fn __getitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Array> {
        let home = self.home;
        match home.maker {
            // Its objects are indexed by their labels.
            Some(Maker::Pandas) => self.part_by_numpy(py, index, home),
            Some(_) => made_in(py, self.unwrap(py)?.get_item(viewed_index(index)?)?, home),
            None => match whole(index)? {
                Some(place) => self.plane(py, place),
                None => self.part_by_numpy(py, index, home),
            },
        }
    }
}

impl Array {
    fn plane(&self, py: Python<'_>, index: isize) -> PyResult<Array> {
        let length = self.__len__(py)?;
        let place = if index < 0 { index.checked_add_unsigned(length) } else { Some(index) };
        let place = place.and_then(|place| usize::try_from(place).ok());
        let place = place.filter(|place| *place < length).ok_or_else(|| {
            PyIndexError::new_err(format!("index {index} of an axis of length {length}"))
        })?;
        Array::new(self.with(py, |array| array.plane(place))?).map_err(exception)
    }

    fn part_by_numpy(
        &self,
        py: Python<'_>,
        index: &Bound<'_, PyAny>,
        home: Home,
    ) -> PyResult<Array> {
        if !home.device.is_host() {
            return Err(PyTypeError::new_err(format!(
                "an array of {} on {} takes whole indices of its first axis; \
                 `numpy.asarray(array)[...]` takes any, on a copy in main memory",
                home.name(),
                home.device
            )));
        }
        made_in(py, self.shared(py)?.get_item(viewed_index(index)?)?, home)
    }
}

/// Reads a whole index, which `True` is not.
fn whole(index: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    if index.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    match index.extract() {
        Ok(index) => Ok(Some(index)),
        Err(error) if error.is_instance_of::<PyOverflowError>(index.py()) => {
            Err(PyIndexError::new_err("the index is longer than any axis"))
        }
        Err(_) => Ok(None),
    }
}
