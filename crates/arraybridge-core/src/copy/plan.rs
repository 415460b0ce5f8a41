//! What a copy between two layouts comes down to.

use smallvec::SmallVec;

/// One axis that both arrays share. Strides count bytes here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Axis {
    pub(super) length: usize,
    pub(super) source: isize,
    pub(super) target: isize,
}

impl Axis {
    /// Returns the axis walked from its other end, and moves the first element there.
    fn flip(self, source: &mut isize, target: &mut isize) -> Axis {
        let last = self.length as isize - 1;
        *source += self.source * last;
        *target += self.target * last;
        Axis { length: self.length, source: -self.source, target: -self.target }
    }
}

/// The axes of a copy, in the target's order.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// The axes that are left, the target's slowest first, each longer than 1.
    ///
    /// Target strides are positive, but for the one of `source_fastest`: where that is not the
    /// last axis, it is the source's stride that is.
    pub(super) axes: SmallVec<[Axis; 6]>,
    /// The place of the axis along which the source is fastest.
    pub(super) source_fastest: usize,
    /// How many bytes lie together in both arrays.
    pub(super) unit: usize,
    /// Where the first unit is, in bytes from element `[0, 0, ...]`.
    pub(super) source: isize,
    /// Where the first unit goes, in bytes from element `[0, 0, ...]`.
    pub(super) target: isize,
}

impl Plan {
    /// Plans a copy of `size`-byte elements; `None` if there are none.
    ///
    /// Offsets of elements fit in `isize` as bytes, as the arrays exist.
    pub(super) fn new(
        source_strides: &[isize],
        target_strides: &[isize],
        shape: &[usize],
        size: usize,
    ) -> Option<Plan> {
        if shape.contains(&0) {
            return None;
        }
        let mut plan =
            Plan { axes: SmallVec::new(), source_fastest: 0, unit: 1, source: 0, target: 0 };
        let bytes = size as isize;
        for ((&length, source), target) in shape.iter().zip(source_strides).zip(target_strides) {
            if length > 1 {
                let axis = Axis { length, source: source * bytes, target: target * bytes };
                plan.axes.push(if axis.target < 0 {
                    axis.flip(&mut plan.source, &mut plan.target)
                } else {
                    axis
                });
            }
        }
        // Insertion keeps the given order of equals and costs nothing where the order is right,
        // as it mostly is.
        plan.axes.sort_by_key(|axis| std::cmp::Reverse(axis.target));
        // An element is an axis of bytes like any other: this lets axes merge into larger units.
        plan.axes.push(Axis { length: size, source: 1, target: 1 });
        plan.merge();
        if let Some(&Axis { length, source: 1, target: 1 }) = plan.axes.last() {
            plan.axes.pop();
            plan.unit = length;
        }
        plan.source_fastest = plan.find_source_fastest();
        if plan.source_fastest + 1 < plan.axes.len() {
            let axis = &mut plan.axes[plan.source_fastest];
            if axis.source < 0 {
                *axis = axis.flip(&mut plan.source, &mut plan.target);
            }
        }
        Some(plan)
    }

    /// Joins neighbouring axes that both arrays step through as if they were one.
    fn merge(&mut self) {
        let mut kept: SmallVec<[Axis; 6]> = SmallVec::new();
        for &axis in &self.axes {
            if axis.length == 1 {
                continue;
            }
            let steps = axis.length as isize;
            match kept.last_mut() {
                Some(outer)
                    if outer.source == axis.source * steps
                        && outer.target == axis.target * steps =>
                {
                    *outer = Axis { length: outer.length * axis.length, ..axis };
                }
                _ => kept.push(axis),
            }
        }
        self.axes = kept;
    }

    /// Returns the place of the axis along which the source is fastest.
    fn find_source_fastest(&self) -> usize {
        let stride = |place: usize| match self.axes[place].source.unsigned_abs() {
            // A repeated element is in cache whichever way it is walked.
            0 => usize::MAX,
            stride => stride,
        };
        // The last of equals, which is the target's faster axis.
        (0..self.axes.len()).rev().min_by_key(|&place| stride(place)).unwrap_or(0)
    }
}
