//! Which axes an operation works on.

use crate::Error;

/// One axis or several, negative ones counting from the end.
///
/// Made of an `isize`, an array or a slice of them:
///
/// ```
/// use arraybridge_core::ops::Axes;
///
/// assert_eq!(Axes::from(-1).resolve(3)?, [2]);
/// assert_eq!(Axes::from([2, 0]).resolve(3)?, [0, 2]);
/// assert!(Axes::from([0, -3]).resolve(3).is_err());
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes(Vec<isize>);

impl Axes {
    /// Returns the axes of an array of this rank, counted from the front, in increasing order.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`]; [`Error::InvalidArgument`] for an axis named twice.
    pub fn resolve(&self, rank: usize) -> Result<Vec<usize>, Error> {
        // Ranks are lengths of slices, so they fit in isize.
        let signed = rank as isize;
        let mut axes = Vec::with_capacity(self.0.len());
        for &axis in &self.0 {
            let counted = if axis < 0 { axis.checked_add(signed) } else { Some(axis) };
            let place = counted.filter(|place| (0..signed).contains(place));
            axes.push(place.ok_or(Error::AxisOutOfRange { axis, rank })? as usize);
        }
        axes.sort_unstable();
        if axes.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::InvalidArgument {
                operation: "reduction",
                message: format!("axes {:?} name one axis twice", self.0),
            });
        }
        Ok(axes)
    }
}

impl From<isize> for Axes {
    fn from(axis: isize) -> Axes {
        Axes(vec![axis])
    }
}

impl<const N: usize> From<[isize; N]> for Axes {
    fn from(axes: [isize; N]) -> Axes {
        Axes(axes.to_vec())
    }
}

impl From<&[isize]> for Axes {
    fn from(axes: &[isize]) -> Axes {
        Axes(axes.to_vec())
    }
}
