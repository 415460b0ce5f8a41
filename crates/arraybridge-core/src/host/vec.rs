//! Vectors as arrays and arrays as vectors, without copying where one is the other.

use super::vec_memory::VecMemory;
use super::{Access, HostArray, Owner};
use crate::{ConversionError, Element, Error, HOST, Layout, copy};

/// Where the elements of an array lie in the vector that it was made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct VecPlace {
    /// The index in the vector of element `[0, 0, ...]` (0 where there are no elements).
    pub first: usize,
    /// The length of the vector.
    pub length: usize,
}

impl HostArray {
    /// Takes a vector as the memory of a row-major array, without copying it.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shape has another number of elements,
    /// [`Error::SizeOverflow`]; the vector comes back with it.
    pub fn from_vec<T: Element>(
        vec: Vec<T>,
        shape: &[usize],
    ) -> Result<HostArray, ConversionError<Vec<T>>> {
        let error = match Layout::row_major(shape) {
            Ok(layout) if layout.len() == vec.len() => {
                return HostArray::from_vec_layout(vec, 0, layout);
            }
            Ok(_) => Error::ShapeMismatch {
                operation: "array from vector",
                expected: shape.to_vec(),
                found: vec![vec.len()],
            },
            Err(error) => error,
        };
        Err(ConversionError::new(error, Some(vec)))
    }

    /// Takes a vector as the memory of a strided array whose first element is `vec[first]`.
    ///
    /// # Errors
    /// [`Error::InvalidLayout`] if the layout reaches beyond the vector, [`Error::SizeOverflow`] if
    /// elements repeat so often that their bytes cannot be counted; the vector comes back with it.
    pub fn from_vec_layout<T: Element>(
        vec: Vec<T>,
        first: usize,
        layout: Layout,
    ) -> Result<HostArray, ConversionError<Vec<T>>> {
        if let Err(error) = layout.nbytes(T::DTYPE) {
            return Err(ConversionError::new(error, Some(vec)));
        }
        if !lies_within(&layout, first, vec.len()) {
            let message =
                format!("{layout:?} from element {first} leaves a vector of {}", vec.len());
            return Err(ConversionError::new(Error::InvalidLayout { message }, Some(vec)));
        }
        let memory = VecMemory::new(vec);
        let start = memory.pointer();
        // SAFETY: the layout's span contains offset 0 and lies inside, so `first` is an index of
        // the vector; without elements, it is not used.
        let pointer = unsafe { start.add(if layout.is_empty() { 0 } else { first }) }.cast();
        let owner = Owner::new(memory);
        Ok(HostArray { owner, pointer, dtype: T::DTYPE, layout, access: Access::Exclusive })
    }

    /// Returns where the array lies in the vector that [`HostArray::into_vec_parts`] would return:
    /// `None` if the array was not made of a `Vec<T>`, or the vector is shared.
    pub fn vec_place<T: Element>(&mut self) -> Option<VecPlace> {
        if self.dtype != T::DTYPE {
            return None;
        }
        let memory = self.owner.get_mut::<VecMemory<T>>()?;
        let length = memory.length();
        if self.layout.is_empty() {
            return Some(VecPlace { first: 0, length });
        }
        // Memory may be wrapped under the owner of other memory, so the pointer is compared.
        let start = memory.pointer().as_ptr() as usize;
        let bytes = self.address().checked_sub(start)?;
        let first = bytes / size_of::<T>();
        let there = bytes % size_of::<T>() == 0 && lies_within(&self.layout, first, length);
        there.then_some(VecPlace { first, length })
    }

    /// Returns the vector that the array was made of and the index of its first element, without
    /// copying; the array if it was not made of a `Vec<T>` or the vector is shared.
    ///
    /// [`HostArray::layout`] tells, before the call, where the array's elements lie in it.
    pub fn into_vec_parts<T: Element>(mut self) -> Result<(Vec<T>, usize), HostArray> {
        let Some(place) = self.vec_place::<T>() else { return Err(self) };
        let HostArray { owner, pointer, dtype, layout, access } = self;
        match owner.into_inner::<VecMemory<T>>() {
            Ok(memory) => Ok((memory.into_vec(), place.first)),
            Err(owner) => Err(HostArray { owner, pointer, dtype, layout, access }),
        }
    }

    /// Returns the elements in row-major order as the vector that the array was made of, without
    /// copying; the array if it is not the whole of a `Vec<T>` in that order, or shared.
    pub fn into_vec<T: Element>(mut self) -> Result<Vec<T>, HostArray> {
        let whole = self.vec_place::<T>().is_some_and(|place| place.length == self.len());
        if !whole || !self.layout.is_row_major() {
            return Err(self);
        }
        self.into_vec_parts().map(|(vec, _)| vec)
    }

    /// Copies the elements in row-major order into a new vector.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::OutOfMemory`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        if T::DTYPE != self.dtype {
            return Err(Error::DtypeMismatch { expected: T::DTYPE, found: self.dtype });
        }
        let mut vec = Vec::<T>::new();
        if self.is_empty() {
            // The other axes may be too long to walk.
            return Ok(vec);
        }
        let target = Layout::row_major(self.shape())?;
        vec.try_reserve_exact(self.len()).map_err(|_| Error::OutOfMemory {
            library: "host memory",
            device: HOST,
            requested: Some(self.nbytes()),
            available: None,
        })?;
        // SAFETY: the array's elements are readable (the type's invariants); the vector's capacity
        // holds as many in row-major order, is new, and hence read by nobody.
        unsafe {
            copy::copy_strided(
                self.pointer.as_ptr(),
                self.layout.strides(),
                vec.as_mut_ptr().cast(),
                target.strides(),
                self.layout.shape(),
                self.dtype.size(),
            );
        }
        // SAFETY: that many elements were written above, each a valid `T` (for `bool` too, by the
        // type's invariants).
        unsafe { vec.set_len(self.len()) };
        Ok(vec)
    }
}

/// Returns whether every element of a layout, the first of which is at index `first`, is one of
/// `length`.
fn lies_within(layout: &Layout, first: usize, length: usize) -> bool {
    if layout.is_empty() {
        return true;
    }
    let span = layout.span();
    let first = isize::try_from(first).ok();
    let low = first.and_then(|first| first.checked_add(span.start));
    let high = first.and_then(|first| first.checked_add(span.end));
    low.is_some_and(|low| low >= 0)
        && high.is_some_and(|high| usize::try_from(high).is_ok_and(|high| high <= length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_under_the_owner_of_another_vector_is_not_taken_for_that_vector() {
        static ELSEWHERE: [u32; 4] = [1, 2, 3, 4];
        let owner = HostArray::from_vec(vec![0u32; 2], &[2]).unwrap().into_owner();
        let layout = Layout::row_major(&[4]).unwrap();
        let pointer = ELSEWHERE.as_ptr().cast_mut();
        // SAFETY: a static is never freed, and never written.
        let array =
            unsafe { HostArray::from_elements(owner, pointer, layout, Access::Immutable) }.unwrap();
        let array = array.into_vec_parts::<u32>().unwrap_err();
        assert_eq!(array.into_vec::<u32>().unwrap_err().to_vec::<u32>().unwrap(), [1, 2, 3, 4]);
    }

    #[test]
    fn another_type_of_the_same_size_does_not_get_the_vector() {
        let array = HostArray::from_vec(vec![1u32], &[1]).unwrap();
        let mut array = array.into_vec_parts::<i32>().unwrap_err();
        assert_eq!(array.vec_place::<u32>(), Some(VecPlace { first: 0, length: 1 }));
        let clone = array.clone();
        assert_eq!(array.vec_place::<u32>(), None, "shared");
        drop(clone);
        assert_eq!(array.into_vec::<u32>().unwrap(), [1]);
    }

    #[test]
    fn a_strided_array_is_copied_into_a_vector_in_row_major_order() {
        let layout = Layout::new(&[2, 3], &[1, -2]).unwrap();
        let array = HostArray::from_vec_layout((0..8i16).collect(), 5, layout).unwrap();
        assert_eq!(array.to_vec::<i16>().unwrap(), [5, 3, 1, 6, 4, 2]);
        assert_eq!(
            array.to_vec::<u16>().unwrap_err().to_string(),
            "expected dtype uint16, found int16; cast with `astype` where a cast is meant"
        );
    }
}
