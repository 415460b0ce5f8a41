//! Random chains of views, against a model that knows values and shape alone.

use std::collections::HashSet;

use arraybridge::{AxisSlice, HostArray, Layout};

/// A small generator (xorshift64*), the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }
}

/// An array as a function from indices to values, with its elements in row-major order.
#[derive(Clone)]
struct Model {
    shape: Vec<usize>,
    values: Vec<u16>,
}

impl Model {
    /// Makes the model whose element at an index is that of `self` at `source(index)`.
    fn gathered(&self, shape: Vec<usize>, source: impl Fn(&[usize]) -> Vec<usize>) -> Model {
        let count = shape.iter().product();
        let mut values = Vec::with_capacity(count);
        for place in 0..count {
            let mut rest: usize = place;
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let from = source(&index);
            let flat =
                from.iter().zip(&self.shape).fold(0, |flat, (at, length)| flat * length + at);
            values.push(self.values[flat]);
        }
        Model { shape, values }
    }
}

/// Takes one random step with both.
fn step(dice: &mut Dice, array: &HostArray, model: &Model) -> Option<(HostArray, Model)> {
    let rank = model.shape.len();
    match dice.below(7) {
        0 if rank > 0 => {
            let axis = dice.below(rank);
            let length = model.shape[axis] as isize;
            let mut bound = || {
                let end = dice.below(2 * length as usize + 5) as isize - length - 2;
                (dice.below(3) > 0).then_some(end)
            };
            let (start, end) = (bound(), bound());
            let by = [1, 2, 3, -1, -2, -3][dice.below(6)];
            let mut slices = vec![AxisSlice::full(); axis];
            slices.push(AxisSlice::new(start, end, by));
            // Python's rule, walked index by index.
            let inside = |at: isize, low: isize, high: isize| {
                (if at < 0 { at + length } else { at }).clamp(low, high)
            };
            let (low, high) = if by > 0 { (0, length) } else { (-1, length - 1) };
            let mut at = start.map_or(if by > 0 { low } else { high }, |at| inside(at, low, high));
            let end = end.map_or(if by > 0 { high } else { low }, |at| inside(at, low, high));
            let mut picked = Vec::new();
            while if by > 0 { at < end } else { at > end } {
                picked.push(at as usize);
                at += by;
            }
            let mut shape = model.shape.clone();
            shape[axis] = picked.len();
            let model = model.gathered(shape, |index| {
                let mut from = index.to_vec();
                from[axis] = picked[from[axis]];
                from
            });
            Some((array.slice(&slices).unwrap(), model))
        }
        1 if rank > 1 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            for place in (1..rank).rev() {
                axes.swap(place, dice.below(place + 1));
            }
            let shape = axes.iter().map(|&axis| model.shape[axis]).collect();
            let model = model.gathered(shape, |index| {
                let mut from = vec![0; rank];
                axes.iter().zip(index).for_each(|(&axis, &at)| from[axis] = at);
                from
            });
            Some((array.permute(&axes).unwrap(), model))
        }
        2 if rank > 0 => {
            let axis = dice.below(rank);
            if model.shape[axis] == 0 {
                assert!(array.index_axis(axis, 0).is_err());
                return None;
            }
            let at = dice.below(model.shape[axis]);
            let mut shape = model.shape.clone();
            shape.remove(axis);
            let model = model.gathered(shape, |index| {
                let mut from = index.to_vec();
                from.insert(axis, at);
                from
            });
            Some((array.index_axis(axis, at).unwrap(), model))
        }
        3 if rank < 6 => {
            let axis = dice.below(rank + 1);
            let mut shape = model.shape.clone();
            shape.insert(axis, 1);
            let model = Model { shape, values: model.values.clone() };
            Some((array.insert_axis(axis).unwrap(), model))
        }
        4 if rank < 6 => {
            let mut shape: Vec<usize> = model
                .shape
                .iter()
                .map(|&length| if length == 1 { 1 + dice.below(3) } else { length })
                .collect();
            let ahead = dice.below(2);
            (0..ahead).for_each(|_| shape.insert(0, 1 + dice.below(3)));
            if shape.iter().product::<usize>() > 5000 {
                return None;
            }
            let view = array.broadcast_to(&shape).unwrap();
            let old = model.shape.clone();
            let model = model.gathered(shape, |index| {
                let own = index[ahead..].iter().zip(&old);
                own.map(|(&at, &length)| if length == 1 { 0 } else { at }).collect()
            });
            Some((view, model))
        }
        5 => {
            let count = model.values.len();
            let mut shape = Vec::new();
            let mut rest = count;
            while rest > 1 && shape.len() < 4 {
                let divisors: Vec<usize> =
                    (1..=rest).filter(|part| rest.is_multiple_of(*part)).collect();
                let part = divisors[dice.below(divisors.len())];
                shape.push(part);
                rest /= part;
            }
            shape.push(rest);
            let model = Model { shape: shape.clone(), values: model.values.clone() };
            Some((array.reshape(&shape).unwrap(), model))
        }
        _ => {
            let model = model.clone();
            Some((array.clone().canonical(), model))
        }
    }
}

/// Compares what a layout says of itself with all of its offsets, written out.
fn check(layout: &Layout) {
    let mut offsets = vec![0isize];
    for (&length, &stride) in layout.shape().iter().zip(layout.strides()) {
        let along = |start: &isize| {
            let start = *start;
            (0..length as isize).map(move |at| start + at * stride)
        };
        offsets = offsets.iter().flat_map(along).collect();
    }
    let distinct: HashSet<isize> = offsets.iter().copied().collect();
    let span = match (distinct.iter().min(), distinct.iter().max()) {
        (Some(&low), Some(&high)) => low..high + 1,
        _ => 0..0,
    };
    assert_eq!(layout.span(), span, "{layout:?}");
    if !layout.may_overlap() {
        assert_eq!(distinct.len(), offsets.len(), "{layout:?}");
    }
    if layout.is_dense() {
        assert_eq!((distinct.len(), span.len()), (offsets.len(), offsets.len()), "{layout:?}");
    }
    let in_order = offsets.iter().enumerate().all(|(place, &offset)| offset == place as isize);
    assert_eq!(layout.is_row_major(), in_order, "{layout:?}");
}

#[test]
fn chains_of_views_show_the_elements_that_they_should() {
    let mut dice = Dice(0x5EED);
    for _ in 0..400 {
        let shape: Vec<usize> = (0..dice.below(5)).map(|_| dice.below(5)).collect();
        let count: usize = shape.iter().product();
        let values: Vec<u16> = (0..count as u16).collect();
        let mut array = HostArray::from_vec(values.clone(), &shape).unwrap();
        let mut model = Model { shape, values };
        for _ in 0..dice.below(12) {
            if let Some(stepped) = step(&mut dice, &array, &model) {
                (array, model) = stepped;
            }
            assert_eq!(array.shape(), model.shape);
            check(array.layout());
            let gathered = array.gather().unwrap();
            assert_eq!(gathered.as_slice::<u16>().unwrap(), model.values, "{:?}", array.layout());
        }
        // Written in place or on a copy, the result has the elements alone.
        array.make_mut().unwrap();
        let zeros = HostArray::zeros(array.dtype(), array.shape()).unwrap();
        zeros.copy_into(&mut array).unwrap();
        assert!(array.gather().unwrap().as_slice::<u16>().unwrap().iter().all(|&value| value == 0));
    }
}

#[test]
fn a_reshape_that_is_a_view_has_the_same_elements() {
    let array = HostArray::from_vec((0..24u16).collect(), &[2, 3, 4]).unwrap();
    for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for by in [1, -1, 2] {
            let slice = [AxisSlice::full().with_step(by); 3];
            let view = array.permute(&axes).unwrap().slice(&slice).unwrap();
            let count = view.len();
            for first in (1..=count).filter(|first| count.is_multiple_of(*first)) {
                let shaped = view.reshape(&[first, 1, count / first]).unwrap();
                assert_eq!(
                    shaped.gather().unwrap().as_slice::<u16>().unwrap(),
                    view.gather().unwrap().as_slice::<u16>().unwrap(),
                    "{:?} as {first}",
                    view.layout()
                );
            }
        }
    }
}
