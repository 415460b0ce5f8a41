//! Reading an array of a dtype known at run time as any element type.

use std::fmt;
use std::ops::Range;

use super::carrier::{CHUNK, Carried, Room};
use super::{Castable, check};
use crate::{DType, Error, HostArray, with_element};

/// Reads the elements of a row-major array, cast to any type, without a dispatch per element.
pub struct Reader<'a> {
    source: Box<dyn Source + 'a>,
    dtype: DType,
    room: Room,
}

trait Source {
    fn len(&self) -> usize;

    /// Loads elements that are there.
    fn load<'a>(&'a self, at: usize, count: usize, room: &'a mut Room) -> Carried<'a>;
}

impl<S: Castable> Source for &[S] {
    fn len(&self) -> usize {
        <[S]>::len(self)
    }

    fn load<'a>(&'a self, at: usize, count: usize, room: &'a mut Room) -> Carried<'a> {
        S::load(&self[at..at + count], room)
    }
}

impl<'a> Reader<'a> {
    /// Reads this array.
    ///
    /// # Errors
    /// As [`HostArray::as_slice`].
    pub fn new(array: &'a HostArray) -> Result<Reader<'a>, Error> {
        let dtype = array.dtype();
        let source = with_element!(dtype, S => Box::new(array.as_slice::<S>()?) as Box<dyn Source>);
        Ok(Reader { source, dtype, room: Room::default() })
    }

    /// Casts the elements from the `at`-th one on into all of `target`.
    ///
    /// # Errors
    /// As [`check`]; [`Error::ShapeMismatch`] if the array does not have so many elements.
    pub fn read<T: Castable>(&mut self, at: usize, target: &mut [T]) -> Result<(), Error> {
        check(self.dtype, T::DTYPE)?;
        let left = self.source.len().saturating_sub(at);
        if target.len() > left {
            return Err(Error::ShapeMismatch {
                operation: "reading elements",
                expected: vec![target.len()],
                found: vec![left],
            });
        }
        let mut at = at;
        for part in target.chunks_mut(CHUNK) {
            T::store(self.source.load(at, part.len(), &mut self.room), part)?;
            at += part.len();
        }
        Ok(())
    }

    /// Calls `take` with all elements in order, chunk by chunk: their places and their carriers.
    pub(crate) fn for_each_chunk(
        &mut self,
        mut take: impl FnMut(Range<usize>, Carried<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let length = self.source.len();
        for at in (0..length).step_by(CHUNK) {
            let count = CHUNK.min(length - at);
            take(at..at + count, self.source.load(at, count, &mut self.room))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("dtype", &self.dtype).finish_non_exhaustive()
    }
}
