//! One number per axis.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// Axes kept without allocation.
const FEW: usize = 4;

/// One number per axis. Those of a few axes lie in place and are copied as plain memory, because
/// every conversion copies a layout or two.
#[derive(Clone)]
pub(super) enum Axes<T> {
    Few { rank: u8, numbers: [T; FEW] },
    Many(Vec<T>),
}

impl<T: Copy + Default> Axes<T> {
    pub(super) fn none() -> Axes<T> {
        Axes::Few { rank: 0, numbers: [T::default(); FEW] }
    }

    /// Adds a number.
    #[inline]
    pub(super) fn push(&mut self, number: T) {
        match self {
            Axes::Few { rank, numbers } => match numbers.get_mut(usize::from(*rank)) {
                Some(place) => {
                    *place = number;
                    *rank += 1;
                }
                None => *self = Axes::Many(numbers.iter().copied().chain([number]).collect()),
            },
            Axes::Many(numbers) => numbers.push(number),
        }
    }

    /// Returns the same number for each of `rank` axes.
    pub(super) fn same(number: T, rank: usize) -> Axes<T> {
        std::iter::repeat_n(number, rank).collect()
    }

    /// Returns the numbers with one more, which `axis` has afterwards.
    pub(super) fn with(&self, axis: usize, number: T) -> Axes<T> {
        let (before, after) = self.split_at(axis);
        before.iter().copied().chain([number]).chain(after.iter().copied()).collect()
    }

    /// Returns the numbers of the other axes.
    pub(super) fn without(&self, axis: usize) -> Axes<T> {
        self.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, number)| *number).collect()
    }
}

impl<T: Copy + Default> FromIterator<T> for Axes<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Axes<T> {
        let mut axes = Axes::none();
        for number in numbers {
            axes.push(number);
        }
        axes
    }
}

impl<T: Copy + Default> From<&[T]> for Axes<T> {
    fn from(numbers: &[T]) -> Axes<T> {
        if numbers.len() > FEW {
            return Axes::Many(numbers.into());
        }
        let mut few = [T::default(); FEW];
        for (place, number) in few.iter_mut().zip(numbers) {
            *place = *number;
        }
        Axes::Few { rank: numbers.len() as u8, numbers: few }
    }
}

impl<T> Deref for Axes<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Axes::Few { rank, numbers } => &numbers[..usize::from(*rank)],
            Axes::Many(numbers) => numbers,
        }
    }
}

impl<T> DerefMut for Axes<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Axes::Few { rank, numbers } => &mut numbers[..usize::from(*rank)],
            Axes::Many(numbers) => numbers,
        }
    }
}

impl<T: PartialEq> PartialEq for Axes<T> {
    fn eq(&self, other: &Axes<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Axes<T> {}

impl<T: Hash> Hash for Axes<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
