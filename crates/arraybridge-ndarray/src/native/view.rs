//! `ArrayView` and `ArrayViewMut`, of an array's memory and as its source or target.

use arraybridge_core::{Element, Error, HostView, HostViewMut, Layout};

use super::ndarray::{ArrayView, ArrayViewMut, Dimension};
use super::{reversed_axes, unsigned_shape};
use crate::lent::{Lent, LentMut};
use crate::types::sealed;
use crate::{NdView, NdViewMut, ViewMutType, ViewType};

impl<'a, T: Element, D: Dimension> ViewType<'a> for ArrayView<'a, T, D> {}

impl<'a, T: Element, D: Dimension> sealed::View<'a> for ArrayView<'a, T, D> {
    type Elem = T;
    const RANK: Option<usize> = D::NDIM;

    fn of_lent(lent: Lent<'a, T>) -> Self {
        let shape = unsigned_shape::<D>(lent.layout());
        // SAFETY: `Lent` keeps that its elements are readable and not written for 'a, counted by
        // unsigned strides from the lowest one, which is aligned; `Layout`, that sizes fit.
        let mut view = unsafe { ArrayView::from_shape_ptr(shape, lent.lowest()) };
        for axis in reversed_axes(lent.layout()) {
            view.invert_axis(axis);
        }
        view
    }
}

impl<'a, T: Element, D: Dimension> ViewMutType<'a> for ArrayViewMut<'a, T, D> {}

impl<'a, T: Element, D: Dimension> sealed::ViewMut<'a> for ArrayViewMut<'a, T, D> {
    type Elem = T;
    const RANK: Option<usize> = D::NDIM;

    fn of_lent(lent: LentMut<'a, T>) -> Self {
        let shape = unsigned_shape::<D>(lent.layout());
        // SAFETY: as in `ArrayView`; and `LentMut` keeps that for 'a nobody else reaches the
        // elements, none of which lies on another.
        let mut view = unsafe { ArrayViewMut::from_shape_ptr(shape, lent.lowest()) };
        for axis in reversed_axes(lent.layout()) {
            view.invert_axis(axis);
        }
        view
    }
}

impl<'a, T: Element, D: Dimension> TryFrom<ArrayView<'a, T, D>> for NdView<'a> {
    type Error = Error;

    /// Borrows the view's memory as it is.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`] if elements repeat so often that their bytes cannot be counted.
    fn try_from(view: ArrayView<'a, T, D>) -> Result<Self, Error> {
        let layout = Layout::new(view.shape(), view.strides())?;
        // SAFETY: for 'a the view's elements are valid, and nobody writes them.
        unsafe { HostView::from_elements(view.as_ptr(), layout) }.map(NdView::from_host)
    }
}

impl<'a, T: Element, D: Dimension> TryFrom<ArrayViewMut<'a, T, D>> for NdViewMut<'a> {
    type Error = Error;

    /// Borrows the view's memory as it is.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], which no view of ndarray's own making meets.
    fn try_from(mut view: ArrayViewMut<'a, T, D>) -> Result<Self, Error> {
        let layout = Layout::new(view.shape(), view.strides())?;
        // SAFETY: for 'a the view's elements are valid and reached through it alone, and it ends
        // here.
        unsafe { HostViewMut::from_elements(view.as_mut_ptr(), layout) }.map(NdViewMut::from_host)
    }
}
