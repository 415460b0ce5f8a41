//! What layouts mean, by enumeration: the reference of the property tests.

#![allow(dead_code, unreachable_pub)]

use arraybridge_core::{AxisSlice, Layout};
use proptest::prelude::*;

/// Returns every index of a shape in row-major order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &length in shape {
        all = all
            .into_iter()
            .flat_map(|index: Vec<usize>| {
                (0..length).map(move |place| {
                    let mut longer = index.clone();
                    longer.push(place);
                    longer
                })
            })
            .collect();
    }
    all
}

/// Returns the offset of every element, in row-major order.
pub fn offsets(layout: &Layout) -> Vec<isize> {
    let mut all = vec![0];
    for (&length, &stride) in layout.shape().iter().zip(layout.strides()) {
        let along = |start: isize| (0..length as isize).map(move |place| start + place * stride);
        all = all.into_iter().flat_map(along).collect();
    }
    all
}

/// A view that slices, reverses and permutes.
#[derive(Clone, Debug)]
pub struct View {
    pub base: Vec<usize>,
    /// Start, stop and step of each axis.
    pub slices: Vec<(Option<isize>, Option<isize>, isize)>,
    pub axes: Vec<usize>,
}

impl View {
    pub fn axis_slices(&self) -> Vec<AxisSlice> {
        self.slices.iter().map(|&(start, stop, step)| AxisSlice::new(start, stop, step)).collect()
    }
}

/// Returns views of random arrays of up to `rank` axes and few elements.
pub fn views(rank: usize) -> impl Strategy<Value = View> {
    prop::collection::vec(0usize..7, 0..=rank).prop_flat_map(|base| {
        let bound = || prop::option::of(-9isize..9);
        let step = prop_oneof![Just(1isize), Just(-1), Just(2), Just(-2), Just(3), Just(-7)];
        let slices = prop::collection::vec((bound(), bound(), step), base.len());
        let axes = Just((0..base.len()).collect::<Vec<_>>()).prop_shuffle();
        (Just(base), slices, axes).prop_map(|(base, slices, axes)| View { base, slices, axes })
    })
}
