//! The axes of a reduction in the order in which memory is walked.

use arraybridge_core::ops::cast;
use arraybridge_core::{AxisSlice, DType, Error, HostArray};

/// Outputs side by side in memory below which several rows are taken as one.
const SHORT: usize = 64;

/// A reduction of a view of the array with axes from the largest stride to the smallest, all
/// strides positive, the last axis contiguous, and neighbouring axes merged where they can be.
pub(super) struct Plan {
    view: HostArray,
    /// Whether each axis of the view but the last is reduced.
    outer: Vec<bool>,
    /// How many outputs lie side by side in the last axis, again and again; 0 if it is reduced.
    period: usize,
    /// How often each element counts, because a reduced axis repeats it.
    repeat: usize,
    /// How many elements are reduced into one, repeats left out.
    count: usize,
    restoration: Restoration,
}

/// How the outputs, in the order of the plan, become the result.
struct Restoration {
    shape: Vec<usize>,
    /// The kept axes in the order of the plan: which axis of the result, its length, whether it was
    /// walked backwards.
    axes: Vec<(usize, usize, bool)>,
}

#[derive(Clone, Copy)]
struct Axis {
    place: usize,
    length: usize,
    stride: isize,
    reduced: bool,
}

/// Returns the shape without some axes.
pub(super) fn kept_shape(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    let kept = (0..shape.len()).filter(|axis| !axes.contains(axis));
    kept.map(|axis| shape[axis]).collect()
}

impl Plan {
    /// Plans a reduction of an array that has elements.
    pub(super) fn new(array: &HostArray, reduced: &[usize]) -> Result<Plan, Error> {
        let (mut walked, mut repeat, mut count) = (Vec::new(), 1usize, 1usize);
        let mut view = array.clone();
        for place in (0..array.shape().len()).rev() {
            let axis = Axis {
                place,
                length: array.shape()[place],
                stride: array.layout().strides()[place],
                reduced: reduced.contains(&place),
            };
            if axis.length > 1 && axis.stride != 0 {
                walked.insert(0, axis);
                count *= if axis.reduced { axis.length } else { 1 };
            } else {
                // Elements that an axis repeats are reduced once.
                view = view.index_axis(place, 0)?;
                repeat = repeat.saturating_mul(if axis.reduced { axis.length } else { 1 });
            }
        }
        let backwards: Vec<bool> = walked.iter().map(|axis| axis.stride < 0).collect();
        let step = |&backwards: &bool| AxisSlice::full().with_step(if backwards { -1 } else { 1 });
        view = view.slice(&backwards.iter().map(step).collect::<Vec<_>>())?;

        let mut order: Vec<usize> = (0..walked.len()).collect();
        order.sort_by_key(|&axis| std::cmp::Reverse(walked[axis].stride.unsigned_abs()));
        view = view.permute(&order)?;
        let result_axis = |place| (0..place).filter(|axis| !reduced.contains(axis)).count();
        let kept = order.iter().filter(|&&axis| !walked[axis].reduced);
        let axes = kept
            .map(|&axis| (result_axis(walked[axis].place), walked[axis].length, backwards[axis]))
            .collect();
        let shape = kept_shape(array.shape(), reduced);

        // A row with gaps costs as much to read as its gather, which is blocked.
        if view.layout().strides().last().is_some_and(|&stride| stride != 1) || !view.is_aligned() {
            view = view.gather()?;
        }
        let ordered: Vec<Axis> = order
            .iter()
            .zip(view.layout().strides())
            .map(|(&axis, &stride)| Axis { stride, ..walked[axis] })
            .collect();
        let (lengths, outer, period) = merge(&ordered);
        view = view.reshape(&lengths)?;
        Ok(Plan { view, outer, period, repeat, count, restoration: Restoration { shape, axes } })
    }

    /// Casts the elements.
    pub(super) fn cast(&mut self, dtype: DType) -> Result<(), Error> {
        self.view = cast::cast(&self.view, dtype)?;
        Ok(())
    }

    pub(super) fn view(&self) -> &HostArray {
        &self.view
    }

    pub(super) fn period(&self) -> usize {
        self.period
    }

    pub(super) fn repeat(&self) -> usize {
        self.repeat
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.restoration.axes.iter().map(|(_, length, _)| length).product()
    }

    /// Returns the axes of the view before the last: those kept and those reduced.
    pub(super) fn outer_axes(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.outer.len()).partition(|&axis| !self.outer[axis])
    }

    /// Puts the outputs into the shape and order of the result.
    pub(super) fn restore(&self, outputs: HostArray) -> Result<HostArray, Error> {
        let Restoration { shape, axes } = &self.restoration;
        let lengths: Vec<usize> = axes.iter().map(|&(_, length, _)| length).collect();
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|&axis| axes[axis].0);
        let mut result = outputs.reshape(&lengths)?.permute(&order)?;
        let step = |&axis: &usize| AxisSlice::full().with_step(if axes[axis].2 { -1 } else { 1 });
        result = result.slice(&order.iter().map(step).collect::<Vec<_>>())?;
        for axis in 0..shape.len() {
            if axes.iter().all(|&(walked, _, _)| walked != axis) {
                result = result.insert_axis(axis)?;
            }
        }
        result.broadcast_to(shape)?.to_contiguous()
    }
}

/// Merges axes that are walked as one; returns the lengths, whether each but the last is reduced,
/// and the period of the last.
fn merge(axes: &[Axis]) -> (Vec<usize>, Vec<bool>, usize) {
    let mut merged: Vec<Axis> = Vec::new();
    for &axis in axes {
        match merged.last_mut() {
            Some(last)
                if last.reduced == axis.reduced
                    && last.stride == axis.stride.saturating_mul(axis.length as isize) =>
            {
                last.length *= axis.length;
                last.stride = axis.stride;
            }
            _ => merged.push(axis),
        }
    }
    let mut lengths: Vec<usize> = merged.iter().map(|axis| axis.length).collect();
    let mut outer: Vec<bool> = merged.iter().map(|axis| axis.reduced).collect();
    // Without an axis there is one element, kept.
    let period = match (outer.pop(), lengths.last()) {
        (Some(false), Some(&length)) => length,
        (Some(true), _) => 0,
        _ => {
            lengths.push(1);
            1
        }
    };
    // Short rows of outputs that follow one another without gaps are taken several at a time.
    if let [.., over, last] = merged[..] {
        let dense = over.reduced && over.stride == last.length as isize;
        if period > 0 && period < SHORT && dense {
            outer.pop();
            lengths.truncate(lengths.len() - 2);
            lengths.push(over.length * last.length);
        }
    }
    (lengths, outer, period)
}
