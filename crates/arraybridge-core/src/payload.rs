//! An array with a context that stays with it.

use crate::{AnyArray, ArrayLibrary, ConversionError, Convert, Device, Library, NativeArray};

/// An array and what belongs to it: a file name, a pixel size, a channel.
///
/// Array functions, conversions and [`ArrayPayload::map`] replace the array and keep the context.
///
/// ```
/// use arraybridge_core::ArrayPayload;
///
/// let image = ArrayPayload::new(vec![1, 2, 3], "nuclei.tif");
/// let longer = image.map(|array| [array, vec![4]].concat());
/// assert_eq!(longer.array().len(), 4);
/// assert_eq!(longer.context(), &"nuclei.tif");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayPayload<A, C> {
    array: A,
    context: C,
}

impl<A, C> ArrayPayload<A, C> {
    /// Joins an array and its context.
    pub fn new(array: A, context: C) -> ArrayPayload<A, C> {
        ArrayPayload { array, context }
    }

    /// Borrows the array.
    pub fn array(&self) -> &A {
        &self.array
    }

    /// Borrows the array mutably.
    pub fn array_mut(&mut self) -> &mut A {
        &mut self.array
    }

    /// Borrows the context.
    pub fn context(&self) -> &C {
        &self.context
    }

    /// Returns the array alone.
    pub fn into_array(self) -> A {
        self.array
    }

    /// Returns the array and its context.
    pub fn into_parts(self) -> (A, C) {
        (self.array, self.context)
    }

    /// Returns the context around another array.
    pub fn with_array<B>(self, array: B) -> ArrayPayload<B, C> {
        ArrayPayload { array, context: self.context }
    }

    /// Replaces the array by what the closure makes of it.
    pub fn map<B>(self, form: impl FnOnce(A) -> B) -> ArrayPayload<B, C> {
        ArrayPayload { array: form(self.array), context: self.context }
    }

    /// Replaces the array by what the closure makes of it, if it succeeds.
    ///
    /// # Errors
    /// The closure's.
    pub fn try_map<B, E>(
        self,
        form: impl FnOnce(A) -> Result<B, E>,
    ) -> Result<ArrayPayload<B, C>, E> {
        Ok(ArrayPayload { array: form(self.array)?, context: self.context })
    }

    /// Borrows the array and its context as a payload of references.
    pub fn as_ref(&self) -> ArrayPayload<&A, &C> {
        ArrayPayload { array: &self.array, context: &self.context }
    }

    /// Replaces the array by its conversion; the payload comes back whole if that fails.
    fn convert<B, D>(
        self,
        conversion: impl FnOnce(A) -> Result<B, ConversionError<D>>,
        back: impl FnOnce(D) -> Option<A>,
    ) -> Result<ArrayPayload<B, C>, ConversionError<ArrayPayload<A, C>>> {
        let ArrayPayload { array, context } = self;
        match conversion(array) {
            Ok(array) => Ok(ArrayPayload { array, context }),
            Err(error) => {
                Err(error
                    .map_array(|array| back(array).map(|array| ArrayPayload { array, context })))
            }
        }
    }
}

impl<C> ArrayPayload<AnyArray, C> {
    /// Converts the array ([`AnyArray::convert_to`]) and keeps the context.
    ///
    /// # Errors
    /// As there; the payload comes back.
    pub fn convert_to(
        self,
        target: Library,
        device: Device,
    ) -> Result<ArrayPayload<AnyArray, C>, ConversionError<ArrayPayload<AnyArray, C>>> {
        self.convert(|array| array.convert_to(target, device), Some)
    }
}

/// Conversion of payloads by method, as [`Convert`] is of arrays: the context stays.
///
/// ```ignore
/// let image: ArrayPayload<NdArray, Channel> = ...;
/// let buffer: ArrayPayload<XlaArray, Channel> = image.convert_to::<Xla>(HOST)?;
/// ```
pub trait ConvertPayload<S: ArrayLibrary>: Sized {
    /// What stays with the array.
    type Context;

    /// Converts the array to library `T` on `device` ([`Convert::convert_to`]).
    ///
    /// # Errors
    /// As there; the payload comes back.
    fn convert_to<T: ArrayLibrary>(
        self,
        device: Device,
    ) -> Result<ArrayPayload<T::Array, Self::Context>, ConversionError<Self>>;
}

impl<S: ArrayLibrary, A: NativeArray<S>, C> ConvertPayload<S> for ArrayPayload<A, C> {
    type Context = C;

    fn convert_to<T: ArrayLibrary>(
        self,
        device: Device,
    ) -> Result<ArrayPayload<T::Array, C>, ConversionError<Self>> {
        self.convert(|array| Convert::<S>::convert_to::<T>(array, device), Some)
    }
}
