//! Reading what an object tells of its memory, by whichever protocol it speaks.

mod capsule;
mod dlpack;
mod exchange_api;
mod interface;
mod refuse;
mod seen;

use arraybridge_core::dlpack::DlpackStream;
use arraybridge_core::{Error, Layout};
use pyo3::prelude::*;

use crate::depth::Level;
use crate::error::raised;
use crate::make;

pub(crate) use capsule::{LEGACY, VERSIONED};
pub(crate) use dlpack::accelerator;
pub(crate) use exchange_api::Table;
pub(crate) use interface::of_array;
pub(crate) use seen::Seen;

/// What is asked of a producer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// A copy that nothing else reaches.
    pub(crate) copy: bool,
    /// That the elements come to main memory.
    pub(crate) to_host: bool,
    /// The stream on which they are used.
    pub(crate) stream: Option<DlpackStream>,
}

/// Returns whether an object speaks one of the protocols itself.
pub(crate) fn speaks(object: &Bound<'_, PyAny>) -> Result<bool, Error> {
    let py = object.py();
    let devices = [pyo3::intern!(py, "__dlpack__"), pyo3::intern!(py, "__cuda_array_interface__")];
    Ok(has_any(object, &devices)? || speaks_numpys(object)?)
}

/// Returns whether an object speaks DLPack and none of NumPy's protocols.
pub(crate) fn speaks_dlpack_alone(object: &Bound<'_, PyAny>) -> Result<bool, Error> {
    let dlpack = [pyo3::intern!(object.py(), "__dlpack__")];
    Ok(!speaks_numpys(object)? && has_any(object, &dlpack)?)
}

fn speaks_numpys(object: &Bound<'_, PyAny>) -> Result<bool, Error> {
    let py = object.py();
    let names = [
        pyo3::intern!(py, "__array_struct__"),
        pyo3::intern!(py, "__array_interface__"),
        pyo3::intern!(py, "__array__"),
    ];
    has_any(object, &names)
}

fn has_any<'py>(
    object: &Bound<'py, PyAny>,
    names: &[&Bound<'py, pyo3::types::PyString>],
) -> Result<bool, Error> {
    for name in names {
        if attribute(object, name)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Looks at an object's memory, which is kept there.
///
/// The protocols are tried in this order: what NumPy's arrays have in them (its DLPack refuses
/// read-only arrays to consumers that do not ask for 1.0, and costs more); the C exchange API of
/// DLPack 1.3 on the type; the array interface's C structure; `__dlpack__`; the array interfaces;
/// `__array__`.
pub(crate) fn look<'py>(object: &Bound<'py, PyAny>) -> Result<Seen<'py>, Error> {
    if let Some(seen) = interface::of_array(object)? {
        return Ok(seen);
    }
    let _level = Level::enter(object.py())?;
    refuse::more_than_its_memory(object)?;
    if let Some(seen) = exchange_api::export(object)? {
        return Ok(seen);
    }
    if let Some(seen) = interface::of_struct(object)? {
        return Ok(seen);
    }
    by_methods(object, Wish::default())
}

/// Looks at an object's memory, or that of a copy, as it is wished.
pub(crate) fn ask<'py>(object: &Bound<'py, PyAny>, wish: Wish) -> Result<Seen<'py>, Error> {
    let _level = Level::enter(object.py())?;
    refuse::more_than_its_memory(object)?;
    by_methods(object, wish)
}

fn by_methods<'py>(object: &Bound<'py, PyAny>, wish: Wish) -> Result<Seen<'py>, Error> {
    if let Some(payload) = dlpack::export(object, wish)? {
        return Ok(Seen::of_export(payload));
    }
    if let Some(seen) = interface::of_object(object)? {
        return Ok(seen);
    }
    let array = make::as_numpy(object)?;
    if let Some(seen) = interface::of_array(&array)? {
        return Ok(seen);
    }
    interface::of_struct(&array)?.ok_or_else(|| Error::InvalidPayload {
        field: "object",
        message: format!("`{}` is no array", object.get_type()),
    })
}

/// Returns whether an axis runs backwards in memory: PyTorch ends the process when it is handed such a
/// tensor, and few others take it.
pub(crate) fn runs_backwards(layout: &Layout) -> bool {
    let mut axes = layout.shape().iter().zip(layout.strides());
    axes.any(|(&length, &step)| length > 1 && step < 0) && !layout.is_empty()
}

/// Returns where an object's own memory is, if it shows it: not that of a copy which it makes.
pub(crate) fn address(object: &Bound<'_, PyAny>) -> Result<Option<usize>, Error> {
    let seen = match interface::of_struct(object)? {
        Some(seen) => Some(seen),
        None => match dlpack::export(object, Wish::default())? {
            Some(payload) => Some(Seen::of_export(payload)),
            None => interface::of_object(object)?,
        },
    };
    // No elements are at no place.
    Ok(seen.map(|seen| if seen.layout().is_empty() { 0 } else { seen.address() }))
}

/// Returns an attribute, or `None` where there is none, or where it is Python's `None`, by which a
/// class says that it does not speak a protocol; other exceptions are errors.
fn attribute<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, pyo3::types::PyString>,
) -> Result<Option<Bound<'py, PyAny>>, Error> {
    let found = object.getattr_opt(name);
    let found = found.map_err(|error| raised(object.py(), "reading an attribute", error))?;
    Ok(found.filter(|value| !value.is_none()))
}
