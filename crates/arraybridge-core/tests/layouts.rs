//! Layouts mean what enumeration says, and what ndarray says.

// Helpers of tests may panic where a library must not.
#![allow(clippy::unwrap_used, clippy::panic)]

mod brute;

use arraybridge_core::{AxisSlice, DType, Layout};
use brute::{View, indices, offsets, views};
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use proptest::prelude::*;

/// Applies a view to a row-major layout: the layout and the offset of its first element.
fn apply(view: &View) -> (Layout, isize) {
    let base = Layout::row_major(&view.base).unwrap();
    let (sliced, offset) = base.slice(&view.axis_slices()).unwrap();
    (sliced.permute(&view.axes).unwrap(), offset)
}

/// Returns the places along an axis that a slice takes, by Python's definition: start, stop and step
/// put in range, then counted.
fn places(length: usize, (start, stop, step): (Option<isize>, Option<isize>, isize)) -> Vec<isize> {
    let length = length as isize;
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let fit = |bound: isize| (if bound < 0 { bound + length } else { bound }).clamp(low, high);
    let first = start.map_or(if step > 0 { 0 } else { length - 1 }, fit);
    let last = stop.map_or(if step > 0 { length } else { -1 }, fit);
    let ahead = |place: &isize| if step > 0 { *place < last } else { *place > last };
    std::iter::successors(Some(first), |place| Some(place + step)).take_while(ahead).collect()
}

proptest! {
    #[test]
    fn slices_take_the_elements_that_python_takes(view in views(4)) {
        let base = Layout::row_major(&view.base).unwrap();
        let (layout, offset) = base.slice(&view.axis_slices()).unwrap();
        let taken: Vec<Vec<isize>> =
            view.base.iter().zip(&view.slices).map(|(&length, &slice)| places(length, slice)).collect();
        let shape: Vec<usize> = taken.iter().map(Vec::len).collect();
        prop_assert_eq!(layout.shape(), &shape[..]);
        let expected: Vec<isize> = indices(&shape)
            .iter()
            .map(|index| {
                let place = |axis: usize| taken[axis][index[axis]] * base.strides()[axis];
                (0..index.len()).map(place).sum()
            })
            .collect();
        let found: Vec<isize> = offsets(&layout).iter().map(|place| place + offset).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn slices_and_permutations_agree_with_ndarray(view in views(4)) {
        let len = view.base.iter().product::<usize>();
        let array = ArrayD::from_shape_vec(IxDyn(&view.base), (0..len as isize).collect()).unwrap();
        // ndarray walks a negative step from the slice's end, NumPy from its start; so reverse
        // first and let both step forwards.
        let mut theirs = array.view();
        let mut ours = Layout::row_major(&view.base).unwrap();
        let mut first = 0;
        for (axis, &(_, stop, step)) in view.slices.iter().enumerate() {
            if step < 0 {
                theirs.invert_axis(Axis(axis));
            }
            let reverse = AxisSlice::new(None, None, step.signum());
            let stop = stop.map(|stop| stop.clamp(0, view.base[axis] as isize));
            let forward = AxisSlice::new(None, stop, step.abs());
            theirs.slice_axis_inplace(Axis(axis), Slice::new(0, stop, step.abs()));
            for slice in [reverse, forward] {
                let mut slices = vec![AxisSlice::full(); axis];
                slices.push(slice);
                let (layout, offset) = ours.slice(&slices).unwrap();
                (ours, first) = (layout, first + offset);
            }
        }
        let theirs = theirs.permuted_axes(IxDyn(&view.axes));
        let ours = ours.permute(&view.axes).unwrap();
        prop_assert_eq!(ours.shape(), theirs.shape());
        let found: Vec<isize> = offsets(&ours).iter().map(|place| place + first).collect();
        prop_assert_eq!(found, theirs.iter().copied().collect::<Vec<_>>());
    }

    #[test]
    fn span_overlap_and_density_are_those_of_the_elements(view in views(4), repeat in 0usize..4) {
        let (mut layout, _) = apply(&view);
        if repeat > 1 {
            let mut shape = vec![repeat];
            shape.extend_from_slice(layout.shape());
            layout = layout.broadcast_to(&shape).unwrap();
        }
        let mut all = offsets(&layout);
        let span = match (all.iter().min(), all.iter().max()) {
            (Some(low), Some(high)) => *low..*high + 1,
            _ => 0..0,
        };
        prop_assert_eq!(layout.span(), span.clone());
        let bytes = layout.byte_span(DType::F64).unwrap();
        prop_assert_eq!(bytes, span.start * 8..span.end * 8);
        prop_assert_eq!(layout.len(), all.len());
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(layout.may_overlap(), all.len() < layout.len());
        prop_assert_eq!(layout.is_dense(), all.len() == span.len() && all.len() == layout.len());
    }

    #[test]
    fn no_overlap_is_never_claimed_wrongly(
        shape in prop::collection::vec(0usize..5, 0..4),
        seed in prop::collection::vec(-9isize..9, 4),
    ) {
        let layout = Layout::new(&shape, &seed[..shape.len()]).unwrap();
        let mut all = offsets(&layout);
        all.sort_unstable();
        all.dedup();
        prop_assert!(layout.may_overlap() || all.len() == layout.len());
    }

    #[test]
    fn order_is_that_of_the_elements(view in views(3)) {
        let (layout, _) = apply(&view);
        let in_order = |offsets: Vec<isize>| offsets.iter().enumerate().all(|(k, o)| k as isize == *o);
        prop_assert_eq!(layout.is_row_major(), in_order(offsets(&layout)));
        prop_assert_eq!(layout.is_column_major(), in_order(offsets(&layout.transpose())));
    }

    #[test]
    fn canonical_strides_mean_the_same_elements(view in views(4)) {
        let (layout, _) = apply(&view);
        let canonical = layout.canonical();
        prop_assert_eq!(canonical.shape(), layout.shape());
        prop_assert_eq!(offsets(&canonical), offsets(&layout));
        prop_assert_eq!(&canonical.canonical(), &canonical);
        if layout.is_row_major() {
            prop_assert_eq!(canonical, Layout::row_major(layout.shape()).unwrap());
        }
    }

    #[test]
    fn a_reshaped_view_keeps_the_order_of_elements(
        view in views(4),
        factors in prop::collection::vec(1usize..4, 0..4),
        split in any::<bool>(),
    ) {
        let (layout, _) = apply(&view);
        // Either the same number of elements in other axes, or (mostly) a mismatch.
        let shape = if split {
            let mut left = layout.len();
            let mut shape = vec![];
            for &factor in &factors {
                if left % factor == 0 {
                    shape.push(factor);
                    left /= factor;
                }
            }
            shape.push(left);
            shape
        } else {
            factors
        };
        let same_count = shape.iter().product::<usize>() == layout.len();
        match layout.reshape(&shape) {
            Err(_) => prop_assert!(!same_count),
            Ok(None) => {
                prop_assert!(same_count && !layout.is_row_major());
                // A one-axis view exists only where all steps are equal.
                let flat = offsets(&layout);
                let steps: Vec<isize> = flat.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let even = steps.windows(2).all(|pair| pair[0] == pair[1]);
                prop_assert!(!even, "{layout:?} has a view of shape {shape:?}");
            }
            Ok(Some(reshaped)) => {
                prop_assert!(same_count);
                prop_assert_eq!(reshaped.shape(), &shape[..]);
                prop_assert_eq!(offsets(&reshaped), offsets(&layout));
            }
        }
    }

    #[test]
    fn broadcasting_agrees_with_ndarray(
        from in prop::collection::vec(0usize..4, 0..4),
        to in prop::collection::vec(0usize..4, 0..5),
    ) {
        let len = from.iter().product::<usize>();
        let array = ArrayD::from_shape_vec(IxDyn(&from), (0..len as isize).collect()).unwrap();
        let ours = Layout::row_major(&from).unwrap().broadcast_to(&to);
        match array.broadcast(IxDyn(&to)) {
            Some(theirs) => {
                let expected: Vec<isize> = theirs.iter().copied().collect();
                prop_assert_eq!(offsets(&ours.unwrap()), expected);
            }
            None => prop_assert!(ours.is_err()),
        }
    }

    #[test]
    fn an_index_takes_its_part(view in views(4), axis in 0usize..4, index in 0usize..7) {
        let (layout, _) = apply(&view);
        let taken = layout.index_axis(axis, index);
        if layout.shape().get(axis).is_none_or(|length| index >= *length) {
            prop_assert!(taken.is_err());
        } else {
            let (part, offset) = taken.unwrap();
            let expected: Vec<isize> = indices(layout.shape())
                .iter()
                .zip(offsets(&layout))
                .filter(|(place, _)| place[axis] == index)
                .map(|(_, offset)| offset)
                .collect();
            let found: Vec<isize> = offsets(&part).iter().map(|place| place + offset).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn axes_make_a_layout_exactly_where_its_arithmetic_fits(axes in extreme_axes()) {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.iter().copied().unzip();
        let made = Layout::from_axes(axes.iter().copied());
        prop_assert_eq!(made.is_ok(), fits(&axes));
        prop_assert_eq!(Layout::new(&shape, &strides).is_ok(), made.is_ok());
        if let Ok(layout) = made {
            let kept: Vec<isize> = strides.iter().map(|step| (*step).max(-isize::MAX)).collect();
            prop_assert_eq!((layout.shape(), layout.strides()), (&shape[..], &kept[..]));
            let turned = layout.permute(&(0..shape.len()).rev().collect::<Vec<_>>()).unwrap();
            prop_assert_eq!(turned.is_column_major(), layout.is_row_major());
            prop_assert_eq!(turned.span(), layout.span());
        }
    }
}

/// More axes than are kept without allocation, with lengths and strides at the ends of what fits.
fn extreme_axes() -> impl Strategy<Value = Vec<(usize, isize)>> {
    let most = isize::MAX as usize;
    let lengths = [0, 1, 2, 3, 5, 1 << 31, 1 << 62, most - 1, most, most + 1, usize::MAX];
    let steps = [0, 1, -1, 2, 6, -6, 1 << 31, -(1 << 62), isize::MAX, -isize::MAX, isize::MIN];
    // Small ones more often, or few would fit.
    let length = prop_oneof![3 => 0usize..4, 1 => proptest::sample::select(lengths.to_vec())];
    let step = prop_oneof![3 => -4isize..5, 1 => proptest::sample::select(steps.to_vec())];
    proptest::collection::vec((length, step), 0..8)
}

/// Whether the number of elements (zeros taken as ones) and the distance of any two, counted with
/// both, fit: in arithmetic that does not end so soon.
fn fits(axes: &[(usize, isize)]) -> bool {
    let most = isize::MAX as i128;
    let count = axes.iter().fold(1i128, |count, axis| count.saturating_mul(axis.0.max(1) as i128));
    let mut span = 1i128;
    for &(length, step) in axes {
        let reach = (step as i128).max(-most).saturating_mul(length as i128 - 1);
        span = span.saturating_add(reach.saturating_abs());
    }
    count <= most && (axes.iter().any(|axis| axis.0 == 0) || span <= most)
}
