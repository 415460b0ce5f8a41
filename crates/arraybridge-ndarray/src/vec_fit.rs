//! How a strided array is cut out of a vector by ndarray's own means.

use arraybridge_core::{Layout, VecPlace};

/// A layout that counts from the start of a vector and contains an array that lies in it.
///
/// ndarray makes arrays whose lowest element is the vector's first. So each axis, from the one with
/// the largest stride on, is lengthened downwards as far as it goes into the distance to the
/// vector's start, and an axis of stride 1 is added for what remains. For every array that slicing,
/// permuting and reversing make of a compact one, the lengthened axes still do not overlap.
#[derive(Debug)]
pub(crate) struct VecFit {
    /// Stays inside the vector from its first element, does not overlap, no stride is negative.
    whole: Layout,
    /// The index on the added last axis, if there is one.
    skipped: Option<usize>,
}

impl VecFit {
    /// Finds the layout, or `None` where the array cannot be cut out this way.
    pub(crate) fn new(layout: &Layout, place: VecPlace) -> Option<VecFit> {
        if layout.is_empty() {
            return Some(VecFit { whole: layout.clone(), skipped: None });
        }
        let mut shape = layout.shape().to_vec();
        let mut strides: Vec<isize> = layout.strides().iter().map(|stride| stride.abs()).collect();
        let mut below = place.first.checked_add_signed(layout.span().start)?;
        let mut axes: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] > 1).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(strides[axis]));
        for axis in axes {
            let stride = strides[axis].unsigned_abs();
            shape[axis] = shape[axis].checked_add(below.checked_div(stride)?)?;
            below %= stride;
        }
        let skipped = (below > 0).then_some(below);
        if skipped.is_some() {
            shape.push(below + 1);
            strides.push(1);
        }
        let whole = Layout::new(&shape, &strides).ok()?;
        let inside = usize::try_from(whole.span().end).is_ok_and(|end| end <= place.length);
        (inside && !whole.may_overlap()).then_some(VecFit { whole, skipped })
    }

    pub(crate) fn whole(&self) -> &Layout {
        &self.whole
    }

    pub(crate) fn skipped(&self) -> Option<usize> {
        self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arraybridge_core::HostArray;

    fn fit(shape: &[usize], strides: &[isize], first: usize, length: usize) -> Option<VecFit> {
        let layout = Layout::new(shape, strides).unwrap();
        let mut host =
            HostArray::from_vec_layout(vec![0u8; length], first, layout.clone()).unwrap();
        VecFit::new(&layout, host.vec_place::<u8>().unwrap())
    }

    #[test]
    fn every_slice_of_a_compact_array_fits() {
        // Every combination of start, end and step of both axes of a 5 by 7 array.
        let slices = |length: usize| {
            (0..length).flat_map(move |start| {
                (1..=length - start).flat_map(move |extent| {
                    (1..=extent).map(move |step| (start, extent.div_ceil(step), step))
                })
            })
        };
        for (row, rows, row_step) in slices(5) {
            for (column, columns, column_step) in slices(7) {
                let strides = [7 * row_step as isize, column_step as isize];
                let fit = fit(&[rows, columns], &strides, row * 7 + column, 35);
                assert!(fit.is_some(), "{row} {rows} {row_step}, {column} {columns} {column_step}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        assert!(fit(&[3], &[0], 0, 1).is_none(), "elements repeat");
        assert!(fit(&[2, 2], &[2, 3], 0, 6).is_some());
        assert!(fit(&[2, 3], &[2, 3], 1, 10).is_none(), "lengthened axes would overlap");
    }
}
