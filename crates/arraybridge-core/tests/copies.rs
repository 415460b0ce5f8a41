//! Copies between layouts put every element in its place, and nothing elsewhere.

// Helpers of tests may panic where a library must not.
#![allow(clippy::unwrap_used, clippy::panic)]

mod brute;

use std::slice;

use arraybridge_core::{Access, AxisSlice, DType, HostArray, Layout, Owner};
use brute::offsets;
use proptest::prelude::*;

/// One dtype of each size. Any bytes are elements of these.
const SIZES: [DType; 5] = [DType::U8, DType::I16, DType::F32, DType::F64, DType::Complex128];

/// Memory with a margin, and an array in it.
struct Sample {
    array: HostArray,
    /// All memory, as the array's owner keeps it.
    memory: *mut [u8],
    /// Where the array's first element is in it, in bytes.
    first: usize,
}

impl Sample {
    /// Lays an array of `layout` out in memory of its own, `shift` bytes off alignment.
    fn new(dtype: DType, layout: &Layout, shift: usize, seed: u64) -> Sample {
        let span = layout.byte_span(dtype).unwrap();
        let margin = 64;
        let mut bytes = vec![0u8; span.len() + 2 * margin + shift + 64];
        let mut state = seed | 1;
        for byte in &mut bytes {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *byte = (state >> 56) as u8;
        }
        let memory: *mut [u8] = Box::into_raw(bytes.into_boxed_slice());
        let start = memory.cast::<u8>();
        let aligned = start.addr().wrapping_neg() % 64;
        let first = ((aligned + shift + margin) as isize - span.start) as usize;
        struct Free(*mut [u8]);
        // SAFETY: the box behind the pointer is Send.
        unsafe impl Send for Free {}
        impl Drop for Free {
            fn drop(&mut self) {
                // SAFETY: made by `Box::into_raw`, dropped once.
                drop(unsafe { Box::from_raw(self.0) });
            }
        }
        let owner = Owner::new(Free(memory));
        let pointer = start.wrapping_add(first);
        // SAFETY: the layout's bytes lie inside of the memory, which the owner frees.
        let array = unsafe {
            HostArray::from_raw(owner, pointer, dtype, layout.clone(), Access::Exclusive)
        };
        Sample { array: array.unwrap(), memory, first }
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: the array keeps the memory, and nobody writes it now.
        unsafe { slice::from_raw_parts(self.memory.cast::<u8>(), self.memory.len()) }.to_vec()
    }
}

/// Copies between two samples and compares all of the target's memory with what enumeration says.
fn check(source: &Sample, target: &mut Sample) {
    let size = source.array.dtype().size();
    let from = source.bytes();
    let mut expected = target.bytes();
    let places = offsets(source.array.layout()).into_iter().zip(offsets(target.array.layout()));
    for (place, goal) in places {
        let place = (source.first as isize + place * size as isize) as usize;
        let goal = (target.first as isize + goal * size as isize) as usize;
        expected[goal..goal + size].copy_from_slice(&from[place..place + size]);
    }
    source.array.copy_into(&mut target.array).unwrap();
    let found = target.bytes();
    if found != expected {
        let wrong = found.iter().zip(&expected).filter(|(found, expected)| found != expected);
        panic!(
            "{} of {} bytes differ after copying {:?} of {} to {:?}",
            wrong.count(),
            found.len(),
            source.array.layout(),
            source.array.dtype(),
            target.array.layout()
        );
    }
    assert_eq!(source.bytes(), from, "the source was written");
}

/// Layouts of a shape that do not overlap: compact in some axis order, with gaps, and reversed.
fn layout_of(shape: &[usize], order: &[usize], gaps: &[usize], reversed: &[bool]) -> Layout {
    let mut strides = vec![1isize; shape.len()];
    let mut stride = 1isize;
    for &axis in order {
        stride *= 1 + gaps[axis] as isize;
        strides[axis] = if reversed[axis] { -stride } else { stride };
        stride *= shape[axis].max(1) as isize;
    }
    Layout::new(shape, &strides).unwrap()
}

fn layouts(shape: Vec<usize>) -> impl Strategy<Value = Layout> {
    let rank = shape.len();
    let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
    let gap = prop_oneof![6 => Just(0usize), 1 => Just(1), 1 => Just(2), 1 => Just(15)];
    let gaps = prop::collection::vec(gap, rank);
    let reversed = prop::collection::vec(prop::bool::weighted(0.2), rank);
    (order, gaps, reversed)
        .prop_map(move |(order, gaps, reversed)| layout_of(&shape, &order, &gaps, &reversed))
}

/// Shapes with lengths around the sides of blocks and tiles, of not too many elements.
fn shapes() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![
        8 => 2usize..6,
        6 => prop::sample::select(vec![7usize, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 70, 130]),
        2 => Just(1usize),
        1 => Just(0usize),
    ];
    prop::collection::vec(length, 0..5)
        .prop_filter("too many elements", |shape| shape.iter().product::<usize>() <= 40_000)
}

/// Repeats axes of a source: strides of zero.
fn repeated(layout: &Layout, repeat: &[bool]) -> Layout {
    let strides: Vec<isize> = (layout.strides().iter().zip(repeat))
        .map(|(&stride, &repeat)| if repeat { 0 } else { stride })
        .collect();
    Layout::new(layout.shape(), &strides).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_layout_into_any_other(
        (source, target, repeat) in shapes().prop_flat_map(|shape| {
            let repeat = prop::collection::vec(prop::bool::weighted(0.1), shape.len());
            (layouts(shape.clone()), layouts(shape), repeat)
        }),
        size in 0usize..SIZES.len(),
        shifts in (0usize..20, 0usize..20),
        seed in any::<u64>(),
    ) {
        let source = repeated(&source, &repeat);
        let source = Sample::new(SIZES[size], &source, shifts.0, seed);
        let mut target = Sample::new(SIZES[size], &target, shifts.1, !seed);
        check(&source, &mut target);
    }

    #[test]
    fn gathering_gives_the_elements_in_row_major_order(
        layout in shapes().prop_flat_map(layouts),
        size in 0usize..SIZES.len(),
        shift in 0usize..20,
        seed in any::<u64>(),
    ) {
        let source = Sample::new(SIZES[size], &layout, shift, seed);
        let gathered = source.array.gather().unwrap();
        prop_assert!(gathered.layout().is_row_major());
        prop_assert!(gathered.address().is_multiple_of(64));
        let size = SIZES[size].size();
        let from = source.bytes();
        let mut expected = vec![];
        for place in offsets(&layout) {
            let place = (source.first as isize + place * size as isize) as usize;
            expected.extend_from_slice(&from[place..place + size]);
        }
        // SAFETY: the bytes of a compact array.
        let found = unsafe { slice::from_raw_parts(gathered.as_ptr(), gathered.nbytes()) };
        prop_assert_eq!(found, &expected[..]);
    }
}

/// A transposed copy of two axes, `long` along the target's rows, with the target's rows `pitch`
/// elements apart and all of it `shift` bytes off a cache line.
fn transpose(dtype: DType, wide: usize, long: usize, pitch: usize, shift: usize) {
    let source = Layout::new(&[wide, long], &[1, wide as isize]).unwrap();
    let target = Layout::new(&[wide, long], &[pitch as isize, 1]).unwrap();
    let source = Sample::new(dtype, &source, 0, 7);
    check(&source, &mut Sample::new(dtype, &target, shift, 9));
}

#[test]
fn large_transposes_of_every_size_stream_whole_lines() {
    for dtype in SIZES {
        let size = dtype.size();
        let long = 1024 + 64 / size + 3;
        let wide = (9 << 20) / size / long;
        // Rows of whole lines, so that only the first and last line of each row are cut.
        let pitch = (long * size).next_multiple_of(64) / size;
        transpose(dtype, wide, long, pitch, 16);
    }
}

#[test]
fn large_transposes_off_the_cache_lines() {
    // A row's end within a line, elements across lines, and rows that start anywhere.
    for (dtype, shift, extra) in [(DType::F32, 0, 3), (DType::F64, 4, 0), (DType::I16, 6, 1)] {
        let long = 1030;
        let wide = (9 << 20) / dtype.size() / long;
        transpose(dtype, wide, long, long + extra, shift);
    }
}

#[test]
fn large_copies_of_more_axes_and_backwards() {
    let base =
        HostArray::from_vec((0..64 * 192 * 200).collect::<Vec<i32>>(), &[64, 192, 200]).unwrap();
    let reverse = AxisSlice::new(None, None, -1);
    for axes in [[2, 1, 0], [0, 2, 1], [1, 0, 2], [2, 0, 1], [1, 2, 0]] {
        for reversed in 0..3 {
            let mut slices = [AxisSlice::full(); 3];
            slices[reversed] = reverse;
            let view = base.slice(&slices).unwrap().permute(&axes).unwrap();
            let gathered = view.gather().unwrap();
            let found = gathered.as_slice::<i32>().unwrap();
            let mut expected = Vec::with_capacity(found.len());
            let (lengths, strides) = ([64, 192, 200], [192 * 200, 200, 1]);
            let value = |place: [usize; 3]| {
                let mut at = [0; 3];
                for (axis, place) in axes.iter().zip(place) {
                    let turned = *axis == reversed;
                    at[*axis] = if turned { lengths[*axis] - 1 - place } else { place };
                }
                at.iter().zip(strides).map(|(place, stride)| (place * stride) as i32).sum::<i32>()
            };
            for i in 0..lengths[axes[0]] {
                for j in 0..lengths[axes[1]] {
                    for k in 0..lengths[axes[2]] {
                        expected.push(value([i, j, k]));
                    }
                }
            }
            assert!(found == expected, "axes {axes:?}, axis {reversed} reversed");
        }
    }
}

#[test]
fn channels_part_and_join() {
    for channels in [2usize, 3, 4, 5] {
        for dtype in SIZES {
            let shape = [131, 67, channels];
            let packed = Layout::row_major(&shape).unwrap();
            let planar = Layout::new(&shape, &[67, 1, 131 * 67]).unwrap();
            let (from, to) =
                (Sample::new(dtype, &packed, 0, 1), &mut Sample::new(dtype, &planar, 0, 2));
            check(&from, to);
            let (from, to) =
                (Sample::new(dtype, &planar, 0, 3), &mut Sample::new(dtype, &packed, 0, 4));
            check(&from, to);
        }
    }
}
