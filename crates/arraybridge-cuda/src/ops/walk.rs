//! Layouts as kernels walk them: axes without meaning dropped, neighbours merged.

use arraybridge_core::Layout;

use super::arguments::{AXES, Shape, View};

/// Lengths, and the strides of several arrays along them.
pub(super) struct Walk<const N: usize> {
    pub(super) lengths: Vec<usize>,
    pub(super) strides: [Vec<isize>; N],
}

impl<const N: usize> Walk<N> {
    /// Merges the axes of arrays of one shape that has elements.
    pub(super) fn new(shape: &[usize], strides: [&[isize]; N]) -> Walk<N> {
        let mut walk = Walk { lengths: Vec::new(), strides: [const { Vec::new() }; N] };
        for axis in 0..shape.len() {
            if shape[axis] == 1 {
                continue;
            }
            let length = shape[axis] as isize;
            let follows = |array: usize| {
                let above = walk.strides[array].last();
                above.is_some_and(|above| strides[array][axis].checked_mul(length) == Some(*above))
            };
            let merges = (0..N).all(follows);
            for (kept, given) in walk.strides.iter_mut().zip(&strides) {
                if merges {
                    kept.pop();
                }
                kept.push(given[axis]);
            }
            match walk.lengths.last_mut().filter(|_| merges) {
                Some(last) => *last *= shape[axis],
                None => walk.lengths.push(shape[axis]),
            }
        }
        walk
    }

    /// Returns whether a kernel can walk it.
    pub(super) fn fits(&self) -> bool {
        self.lengths.len() <= AXES
    }

    pub(super) fn shape(&self) -> Shape {
        let mut lengths = [1; AXES];
        for (target, &length) in lengths.iter_mut().zip(&self.lengths) {
            *target = length as u64;
        }
        let count = self.lengths.iter().product::<usize>() as u64;
        Shape { count, rank: self.lengths.len() as u64, lengths }
    }

    pub(super) fn strides(&self, array: usize) -> [i64; AXES] {
        let mut strides = [0; AXES];
        for (target, &stride) in strides.iter_mut().zip(&self.strides[array]) {
            *target = stride as i64;
        }
        strides
    }

    pub(super) fn view(&self, array: usize, address: u64) -> View {
        View { address, strides: self.strides(array) }
    }
}

/// Returns the layout's axes of these numbers as a shape and strides.
pub(super) fn axes_of(layout: &Layout, axes: &[usize]) -> (Vec<usize>, Vec<isize>) {
    let shape = axes.iter().map(|&axis| layout.shape()[axis]).collect();
    (shape, axes.iter().map(|&axis| layout.strides()[axis]).collect())
}
