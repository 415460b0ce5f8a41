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
    Many(Box<[T]>),
}

impl<T: Copy + Default> Axes<T> {
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
        let mut more = numbers.into_iter();
        let mut numbers = [T::default(); FEW];
        for (rank, slot) in numbers.iter_mut().enumerate() {
            match more.next() {
                Some(number) => *slot = number,
                None => return Axes::Few { rank: rank as u8, numbers },
            }
        }
        match more.next() {
            Some(fifth) => Axes::Many(numbers.into_iter().chain([fifth]).chain(more).collect()),
            None => Axes::Few { rank: FEW as u8, numbers },
        }
    }
}

impl<T: Copy + Default> From<&[T]> for Axes<T> {
    fn from(numbers: &[T]) -> Axes<T> {
        numbers.iter().copied().collect()
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
