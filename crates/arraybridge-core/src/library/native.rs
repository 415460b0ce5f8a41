//! Foreign types that are arrays of a library.

use super::ArrayLibrary;
use crate::ConversionError;

/// A type that is an array of library `L`, or turns into one without copying its elements.
///
/// [`register_library!`](crate::register_library) implements it for the library's own array type;
/// authors add it for other types of their own crate and of the library they bridge, such as
/// `ndarray::Array<T, D>`. Implementing it for a type of any third crate, or for every type, makes
/// the compiler unable to tell whose array a value is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array of a library that is enabled here",
    label = "not an array of an enabled library",
    note = "is the feature of its backend on? e.g. arraybridge = {{ version = \"0.1\", features = [\"ndarray\"] }}",
    note = "an `AnyArray` converts with its own methods, and a view must be owned first"
)]
pub trait NativeArray<L: ArrayLibrary>: Sized {
    /// Turns the value into the library's array type.
    ///
    /// # Errors
    /// The value comes back if it does not make an array, such as a shape that does not match.
    fn into_library(self) -> Result<L::Array, ConversionError<Self>>;

    /// Turns the library's array into this type, without copying its elements.
    ///
    /// # Errors
    /// The array comes back if its dtype, rank or memory does not fit this type.
    fn from_library(array: L::Array) -> Result<Self, ConversionError<L::Array>>;
}
