//! What an object told of its memory, and what keeps that there.

use std::ffi::c_void;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge_core::{Access, DType, Error, Layout, Owner};
use pyo3::prelude::*;

use crate::attached::Attached;

/// An object, and what it made for the reader, if it made something.
pub(super) type Told<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// An object's memory as it described it, kept as long as this lives. Others may write it at any
/// time.
pub(crate) struct Seen<'py> {
    address: usize,
    dtype: DType,
    layout: Layout,
    device: DlpackDevice,
    keeper: Keeper<'py>,
}

enum Keeper<'py> {
    /// The object itself, and what it told: looking at an array takes no allocation.
    Object(Told<'py>),
    /// What it exported; boxed, because what is seen of an array is moved often.
    Export(Box<DlpackPayload>),
}

impl<'py> Seen<'py> {
    /// Takes the description of memory that is there as long as the object and what it told live,
    /// which the object promises by the protocol by which it told.
    pub(super) fn of_object(
        keeper: Told<'py>,
        data: *mut c_void,
        dtype: DType,
        layout: Layout,
        device: DlpackDevice,
    ) -> Result<Seen<'py>, Error> {
        let span = layout.byte_span(dtype)?;
        let inside = |edge: isize| (data as usize).checked_add_signed(edge).is_some();
        // Where there are elements, their span is not empty.
        if !span.is_empty() {
            if data.is_null() {
                return Err(Error::InvalidPayload {
                    field: "data",
                    message: format!("the pointer is null for {} elements", layout.len()),
                });
            }
            if !(inside(span.start) && inside(span.end)) {
                return Err(Error::InvalidPayload {
                    field: "data",
                    message: "the elements leave the address space".into(),
                });
            }
        }
        let (address, keeper) = (data as usize, Keeper::Object(keeper));
        Ok(Seen { address, dtype, layout, device, keeper })
    }

    pub(super) fn of_export(export: DlpackPayload) -> Seen<'py> {
        Seen {
            address: export.address(),
            dtype: export.dtype(),
            layout: export.layout().clone(),
            device: export.device(),
            keeper: Keeper::Export(Box::new(export)),
        }
    }

    /// Returns the address of the first element.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn into_layout(self) -> Layout {
        self.layout
    }

    pub(crate) fn device(&self) -> DlpackDevice {
        self.device
    }

    /// Makes a payload of it. Its access says that others may write, unless the object said that it
    /// had made a copy.
    pub(crate) fn into_payload(self) -> Result<DlpackPayload, Error> {
        let told = match self.keeper {
            Keeper::Export(payload) => return Ok(*payload),
            Keeper::Object(told) => told,
        };
        let (owner, data) = (keep(told), self.address as *mut c_void);
        // SAFETY: the object promises this memory for as long as it and what it told live, which the
        // owner holds; this thread is attached, so that nobody else writes the elements while they
        // are copied here, unless somebody breaks Python's own rule.
        unsafe {
            DlpackPayload::new(
                owner,
                data,
                0,
                self.dtype,
                self.layout,
                self.device,
                Access::SharedMutable,
            )
        }
    }

    /// Returns what keeps the memory, and the layout.
    pub(crate) fn into_owner(self) -> (Owner, Layout) {
        let owner = match self.keeper {
            Keeper::Export(payload) => payload.into_owner(),
            Keeper::Object(told) => keep(told),
        };
        (owner, self.layout)
    }
}

fn keep((object, told): Told<'_>) -> Owner {
    Owner::new(Attached::new((object.unbind(), told.map(Bound::unbind))))
}
