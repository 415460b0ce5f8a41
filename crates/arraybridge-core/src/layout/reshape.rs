//! Other shapes over the same elements: reshape, broadcast, new axes.

use super::Layout;
use super::axes::Axes;
use crate::Error;

impl Layout {
    /// Returns the layout of another shape over the same elements in row-major order, or `None` if
    /// no strides express it (the elements must then be gathered first).
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the number of elements differs.
    pub fn reshape(&self, shape: &[usize]) -> Result<Option<Layout>, Error> {
        let target = Layout::row_major(shape)?;
        if target.len() != self.len() {
            return Err(Error::ShapeMismatch {
                operation: "reshape",
                expected: shape.to_vec(),
                found: self.shape.to_vec(),
            });
        }
        if self.is_empty() || self.is_row_major() {
            return Ok(Some(target));
        }
        // Axes of length 1 carry no meaning; the others are taken in groups that merge into one
        // run of equal stride, and each group must be split exactly by the new shape.
        let old: Vec<(usize, isize)> = self
            .shape
            .iter()
            .zip(self.strides.iter())
            .filter(|(length, _)| **length != 1)
            .map(|(&length, &stride)| (length, stride))
            .collect();
        let mut strides = Axes::same(1, shape.len());
        let mut taken = 0;
        let mut axis = 0;
        while axis < shape.len() {
            if shape[axis] == 1 {
                axis += 1;
                continue;
            }
            // Grow both groups until they hold equally many elements.
            let (group, first) = (taken, axis);
            let (mut have, mut want) = (1usize, 1usize);
            while have != want || have == 1 {
                if have <= want {
                    have *= old[taken].0;
                    taken += 1;
                } else {
                    want *= shape[axis];
                    axis += 1;
                }
            }
            for pair in old[group..taken].windows(2) {
                if pair[0].1 != pair[1].1.saturating_mul(pair[1].0 as isize) {
                    return Ok(None);
                }
            }
            let mut stride = old[taken - 1].1;
            for place in (first..axis).rev() {
                if shape[place] != 1 {
                    strides[place] = stride;
                    stride = stride.saturating_mul(shape[place] as isize);
                }
            }
        }
        Ok(Some(Layout::from_parts(shape.into(), strides).canonical()))
    }

    /// Returns the layout that repeats this one to a larger shape by NumPy's rules: axes are
    /// matched from the last, and a length of 1 (or a missing axis) repeats with stride 0.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shapes do not match; [`Error::SizeOverflow`].
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Layout, Error> {
        let mismatch = || Error::ShapeMismatch {
            operation: "broadcast",
            expected: shape.to_vec(),
            found: self.shape.to_vec(),
        };
        let missing = shape.len().checked_sub(self.rank()).ok_or_else(mismatch)?;
        let mut strides = Axes::same(0, shape.len());
        for (axis, (&length, &stride)) in self.shape.iter().zip(self.strides.iter()).enumerate() {
            let wanted = shape[missing + axis];
            if length == wanted {
                strides[missing + axis] = stride;
            } else if length != 1 {
                return Err(mismatch());
            }
        }
        Layout::new(shape, &strides)
    }

    /// Returns the layout with an axis of length 1 inserted before `axis`.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`] if `axis` is larger than the rank.
    pub fn insert_axis(&self, axis: usize) -> Result<Layout, Error> {
        if axis > self.rank() {
            return Err(Error::AxisOutOfRange { axis: axis as isize, rank: self.rank() });
        }
        let (shape, strides) = (self.shape.with(axis, 1), self.strides.with(axis, 1));
        Ok(Layout::from_parts(shape, strides).canonical())
    }
}
