//! Elements that are lent for a while, checked to be what a typed view needs.

use std::marker::PhantomData;
use std::ptr::NonNull;

use arraybridge_core::{DType, Element, Error, HostArray, HostView, Layout};

/// Elements of type `T` that are readable and not written for `'a`.
#[derive(Debug)]
pub struct Lent<'a, T> {
    /// The lowest of the layout's elements; aligned, and not null also where there are none.
    lowest: *const T,
    layout: &'a Layout,
    borrowed: PhantomData<&'a [T]>,
}

/// Elements of type `T` that nobody else reaches for `'a`, and none of which lies on another.
#[derive(Debug)]
pub struct LentMut<'a, T> {
    lowest: *mut T,
    layout: &'a Layout,
    borrowed: PhantomData<&'a mut [T]>,
}

impl<'a, T: Element> Lent<'a, T> {
    pub(crate) fn of_host(host: &'a HostArray, rank: Option<usize>) -> Result<Self, Error> {
        check::<T>(host.dtype(), host.layout(), rank)?;
        let lowest = lowest(host.as_ptr().cast_mut(), host.layout())?;
        Ok(Lent { lowest, layout: host.layout(), borrowed: PhantomData })
    }

    pub(crate) fn of_view(view: &'a HostView<'_>, rank: Option<usize>) -> Result<Self, Error> {
        check::<T>(view.dtype(), view.layout(), rank)?;
        let lowest = lowest(view.as_ptr().cast_mut(), view.layout())?;
        Ok(Lent { lowest, layout: view.layout(), borrowed: PhantomData })
    }

    pub(crate) fn lowest(&self) -> *const T {
        self.lowest
    }

    pub(crate) fn layout(&self) -> &'a Layout {
        self.layout
    }
}

impl<'a, T: Element> LentMut<'a, T> {
    pub(crate) fn of_host(host: &'a mut HostArray, rank: Option<usize>) -> Result<Self, Error> {
        check::<T>(host.dtype(), host.layout(), rank)?;
        let pointer = host.as_mut_ptr()?;
        let host: &'a HostArray = host;
        let lowest = lowest(pointer, host.layout())?;
        Ok(LentMut { lowest, layout: host.layout(), borrowed: PhantomData })
    }

    pub(crate) fn lowest(&self) -> *mut T {
        self.lowest
    }

    pub(crate) fn layout(&self) -> &'a Layout {
        self.layout
    }
}

/// Checks that an array is of this dtype and has this many axes.
pub(crate) fn check<T: Element>(
    dtype: DType,
    layout: &Layout,
    rank: Option<usize>,
) -> Result<(), Error> {
    if dtype != T::DTYPE {
        return Err(Error::DtypeMismatch { expected: T::DTYPE, found: dtype });
    }
    match rank {
        Some(rank) if rank != layout.rank() => Err(Error::LayoutUnsupported {
            operation: "an array type of fixed rank",
            message: format!(
                "shape {:?} has {} axes, the type {rank}; `IxDyn` takes any number",
                layout.shape(),
                layout.rank()
            ),
        }),
        _ => Ok(()),
    }
}

/// Returns the address of the lowest element.
fn lowest<T: Element>(first: *mut u8, layout: &Layout) -> Result<*mut T, Error> {
    if layout.is_empty() {
        return Ok(NonNull::dangling().as_ptr());
    }
    let lowest = first.cast::<T>().wrapping_offset(layout.span().start);
    if lowest.is_aligned() {
        return Ok(lowest);
    }
    Err(Error::LayoutUnsupported {
        operation: "a typed view",
        message: format!(
            "address {:#x} is not a multiple of {}; `to_contiguous` of the host array copies it",
            first as usize,
            align_of::<T>()
        ),
    })
}
