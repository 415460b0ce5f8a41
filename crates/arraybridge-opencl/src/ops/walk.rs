//! The way of a kernel through an array.

use arraybridge_core::Error;

use crate::library::NAME;

/// As in `elements.cl`.
const MOST_AXES: usize = 16;

/// Lengths and strides of axes, as `elements.cl` declares them.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Walk {
    axes: u64,
    lengths: [u64; MOST_AXES],
    strides: [i64; MOST_AXES],
}

impl Walk {
    /// Returns the way through axes of these lengths and strides, with as few axes as it takes.
    pub(crate) fn new(shape: &[usize], strides: &[isize]) -> Result<Walk, Error> {
        let [walk] = Walk::together(shape, [strides])?;
        Ok(walk)
    }

    /// Returns the ways through several arrays of one shape, whose axes stay the same ones.
    pub(crate) fn together<const N: usize>(
        shape: &[usize],
        strides: [&[isize]; N],
    ) -> Result<[Walk; N], Error> {
        let mut axes: Vec<(usize, [isize; N])> = Vec::with_capacity(shape.len());
        for (axis, &length) in shape.iter().enumerate() {
            let steps = strides.map(|strides| strides[axis]);
            if length == 1 {
                continue;
            }
            // An axis whose steps are as long as the whole next one continues it.
            let whole = steps.map(|step| step.checked_mul(length as isize));
            match axes.last_mut() {
                Some((lengths, before)) if before.map(Some) == whole => {
                    (*lengths, *before) = (*lengths * length, steps);
                }
                _ => axes.push((length, steps)),
            }
        }
        if axes.len() > MOST_AXES {
            return Err(Error::LayoutUnsupported {
                operation: "an OpenCL kernel",
                message: format!(
                    "{NAME} walks {MOST_AXES} axes that do not lie one behind another at most, \
                     these are {}; make the array contiguous first",
                    axes.len()
                ),
            });
        }
        Ok(std::array::from_fn(|which| {
            let empty = ([0; MOST_AXES], [0; MOST_AXES]);
            let mut walk = Walk { axes: axes.len() as u64, lengths: empty.0, strides: empty.1 };
            for (axis, (length, steps)) in axes.iter().enumerate() {
                walk.lengths[axis] = *length as u64;
                walk.strides[axis] = steps[which] as i64;
            }
            walk
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(walk: &Walk) -> Vec<(u64, i64)> {
        let axes = walk.lengths.iter().copied().zip(walk.strides);
        axes.take(walk.axes as usize).collect()
    }

    #[test]
    fn axes_that_continue_each_other_are_one() {
        let walk = |shape: &[usize], strides: &[isize]| axes(&Walk::new(shape, strides).unwrap());
        assert_eq!(walk(&[2, 3, 4], &[12, 4, 1]), [(24, 1)]);
        assert_eq!(walk(&[2, 1, 4], &[12, 77, 1]), [(2, 12), (4, 1)]);
        assert_eq!(walk(&[3, 4], &[0, 0]), [(12, 0)]);
        assert_eq!(walk(&[3, 4], &[-4, -1]), [(12, -1)]);
        assert_eq!(walk(&[], &[]), []);
        let [one, other] = Walk::together(&[2, 3], [&[3, 1], &[1, 2]]).unwrap();
        assert_eq!((axes(&one), axes(&other)), (vec![(2, 3), (3, 1)], vec![(2, 1), (3, 2)]));
        assert!(Walk::new(&[2; 17], &(1..18).map(|step| step * step).collect::<Vec<_>>()).is_err());
    }
}
