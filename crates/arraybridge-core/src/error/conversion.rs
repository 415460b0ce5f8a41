//! The error of a conversion that consumed its array.

use std::fmt;

use super::Error;
use crate::by_value::ByValue;

/// Why a conversion failed, together with the array that it was given.
///
/// `?` turns it into the plain [`Error`], which drops the array; [`ConversionError::into_array`]
/// and [`ConversionError::into_parts`] keep it.
///
/// The array is `None` only where it could not be rebuilt: a native runtime that was given its
/// memory still holds it.
pub struct ConversionError<A>(Box<Inner<A>>);

struct Inner<A> {
    error: Error,
    array: ByValue<Option<A>>,
}

impl<A> ConversionError<A> {
    /// Joins an error with the array that could not be converted.
    pub fn new(error: Error, array: Option<A>) -> ConversionError<A> {
        ConversionError(Box::new(Inner { error, array: ByValue::new(array) }))
    }

    /// Returns why the conversion failed.
    pub fn error(&self) -> &Error {
        &self.0.error
    }

    /// Returns the array that was given.
    pub fn into_array(self) -> Option<A> {
        self.0.array.into_inner()
    }

    /// Returns the error and the array that was given.
    pub fn into_parts(self) -> (Error, Option<A>) {
        let Inner { error, array } = *self.0;
        (error, array.into_inner())
    }

    /// Turns the array into another form of it, keeping the error.
    pub fn map_array<B>(self, form: impl FnOnce(A) -> Option<B>) -> ConversionError<B> {
        let (error, array) = self.into_parts();
        ConversionError::new(error, array.and_then(form))
    }
}

impl<A> fmt::Debug for ConversionError<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversionError").field("error", &self.0.error).finish_non_exhaustive()
    }
}

impl<A> fmt::Display for ConversionError<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.error, f)
    }
}

impl<A> std::error::Error for ConversionError<A> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.error {
            // This type stands for its error, whose own cause comes next; but who looks for
            // `Error::OutOfMemory` along the chain must meet it, and cannot name every `A`.
            full @ Error::OutOfMemory { .. } => Some(full),
            error => error.source(),
        }
    }
}

impl<A> From<ConversionError<A>> for Error {
    fn from(error: ConversionError<A>) -> Error {
        error.0.error
    }
}
