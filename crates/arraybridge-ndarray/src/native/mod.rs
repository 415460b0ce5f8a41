//! ndarray's own types as arrays of the library, and back.
//!
//! Compiled once for each version of ndarray that is enabled; `super::ndarray` is that version.

mod owned;
mod shared;
mod view;

use super::ndarray;

use arraybridge_core::Layout;
use ndarray::{Dimension, ShapeBuilder, StrideShape};

/// Stops on what ndarray and the checks before the call rule out.
#[allow(clippy::unreachable)]
fn never(error: &dyn std::fmt::Display) -> ! {
    unreachable!("an array of ndarray's does not fit its own memory: {error}")
}

/// Returns a dimension of these lengths; its type has as many axes, or any number.
fn dimension<D: Dimension>(lengths: &[usize]) -> D {
    let mut dimension = D::zeros(lengths.len());
    dimension.slice_mut().copy_from_slice(lengths);
    dimension
}

/// Returns ndarray's form of a layout with the signs of its strides dropped: its raw constructors
/// count from the lowest address, and axes are turned afterwards.
fn unsigned_shape<D: Dimension>(layout: &Layout) -> StrideShape<D> {
    let shape = dimension::<D>(layout.shape());
    if layout.is_empty() {
        return shape.into();
    }
    let mut strides = D::zeros(layout.rank());
    for (unsigned, stride) in strides.slice_mut().iter_mut().zip(layout.strides()) {
        *unsigned = stride.unsigned_abs();
    }
    shape.strides(strides)
}

/// Returns the axes whose strides are negative.
fn reversed_axes(layout: &Layout) -> impl Iterator<Item = ndarray::Axis> {
    let strides = layout.strides().iter().enumerate();
    let empty = layout.is_empty();
    strides.filter(move |(_, stride)| !empty && **stride < 0).map(|(axis, _)| ndarray::Axis(axis))
}
