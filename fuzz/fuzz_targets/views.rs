//! Chains of views of one vector: none reads beyond it.

#![no_main]

use arbitrary::Arbitrary;
use arraybridge_core::{AxisSlice, HostArray, Layout};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Step {
    Slice(u8, Option<isize>, Option<isize>, isize),
    Index(usize, usize),
    Permute(Vec<u8>),
    Broadcast(Vec<usize>),
    Insert(usize),
    Reshape(Vec<usize>),
    Relayout(Vec<(usize, isize)>, isize),
    Canonical,
}

fuzz_target!(|input: (u8, Vec<u8>, Vec<(usize, isize)>, usize, Vec<Step>)| {
    let (wide, bytes, axes, first, steps) = input;
    let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
    let Ok(layout) = Layout::new(&shape, &strides) else { return };
    let made = if wide % 2 == 0 {
        HostArray::from_vec_layout(bytes, first, layout).ok()
    } else {
        let words: Vec<u32> = bytes.into_iter().map(u32::from).collect();
        HostArray::from_vec_layout(words, first, layout).ok()
    };
    let Some(mut array) = made else { return };
    for step in steps {
        let next = match step {
            Step::Slice(axis, start, end, by) => {
                let mut slices = vec![AxisSlice::full(); usize::from(axis % 8)];
                slices.push(AxisSlice::new(start, end, by));
                array.slice(&slices)
            }
            Step::Index(axis, index) => array.index_axis(axis, index),
            Step::Permute(axes) => {
                array.permute(&axes.into_iter().map(usize::from).collect::<Vec<_>>())
            }
            Step::Broadcast(shape) => array.broadcast_to(&shape),
            Step::Insert(axis) => array.insert_axis(axis),
            Step::Reshape(shape) if array.len() < 1 << 16 => array.reshape(&shape),
            Step::Reshape(_) => continue,
            Step::Relayout(axes, offset) => {
                let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
                Layout::new(&shape, &strides).and_then(|layout| array.with_layout(layout, offset))
            }
            Step::Canonical => Ok(array.clone().canonical()),
        };
        if let Ok(next) = next {
            array = next;
        }
    }
    let _ = (array.nbytes(), array.layout().span(), array.layout().is_dense());
    if array.len() < 1 << 20 {
        let gathered = array.gather().unwrap();
        assert_eq!(gathered.shape(), array.shape());
        if array.make_mut().is_ok() {
            gathered.copy_into(&mut array).unwrap();
        }
    }
});
