//! Conversion of arrays whose library the compiler knows.

use crate::route::{Outcome, carry, carry_by_reference};
use crate::{ArrayLibrary, ConversionError, CopyPolicy, Device, Error, HostView, NativeArray};

/// Conversion by method: `image.convert_to::<Ndarray>(HOST)?`.
///
/// Works for every type that is an array of a library ([`NativeArray`]). The array is consumed, and
/// afterwards no array that the caller can reach aliases the result writably; the error gives it
/// back.
// The bound sits on the methods, so that the compiler's answer to another type is the text of
// `NativeArray` (which feature is missing) and not that there is no such method.
pub trait Convert<S: ArrayLibrary>: Sized {
    /// Converts to library `T` on `device`, without a copy where that is sound.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`] with the devices that are there, [`Error::OutOfMemory`],
    /// [`Error::DtypeUnsupported`] and native failures; the array comes back.
    fn convert_to<T: ArrayLibrary>(self, device: Device) -> Result<T::Array, ConversionError<Self>>
    where
        Self: NativeArray<S>,
    {
        self.convert_with::<T>(device, CopyPolicy::Allow)
    }

    /// Converts as [`Convert::convert_to`], with a say in whether it may copy.
    ///
    /// # Errors
    /// Also [`Error::WouldCopy`], before anything is copied.
    fn convert_with<T: ArrayLibrary>(
        self,
        device: Device,
        policy: CopyPolicy,
    ) -> Result<T::Array, ConversionError<Self>>
    where
        Self: NativeArray<S>,
    {
        let source = self.into_library()?;
        convert::<S, T>(source, device, policy)
            .map_err(|error| error.map_array(|array| Self::from_library(array).ok()))
    }
}

impl<S: ArrayLibrary, A> Convert<S> for A {}

/// Converts an array of library `S` to library `T`.
fn convert<S: ArrayLibrary, T: ArrayLibrary>(
    array: S::Array,
    device: Device,
    policy: CopyPolicy,
) -> Result<T::Array, ConversionError<S::Array>> {
    let mut source = Some(array);
    let mut target = None::<T::Array>;
    match carry(S::INSTANCE, &mut source, T::INSTANCE, device, policy, &mut target) {
        Ok(Outcome::Carried) => {}
        Ok(Outcome::Stays) => {
            // S and T are one type here, so the slots are of one type.
            if let Some(same) = (&mut target as &mut dyn std::any::Any).downcast_mut() {
                std::mem::swap(&mut source, same);
            }
        }
        Err(error) => return Err(ConversionError::new(error, source)),
    }
    target.ok_or_else(|| ConversionError::new(lost::<T>(), source))
}

/// The error of a role that reports success and leaves its slot empty.
pub(crate) fn lost<T: ArrayLibrary>() -> Error {
    Error::Unsupported {
        library: T::NAME,
        operation: "conversion",
        remedy: "its backend reported success without an array; report this to its author",
    }
}

/// Converts an array by reference: the source stays as it was.
///
/// The result shares memory only where neither library ever writes it (copy-on-write and immutable
/// arrays); otherwise the elements are copied once.
///
/// ```
/// use arraybridge_core::{ArrayLibrary, Device, Error, to};
///
/// fn sent<S: ArrayLibrary, T: ArrayLibrary>(kept: &S::Array, gpu: Device) -> Result<T::Array, Error> {
///     to::<S, T>(kept, gpu)
/// }
/// ```
///
/// # Errors
/// As [`Convert::convert_to`].
pub fn to<S: ArrayLibrary, T: ArrayLibrary>(
    array: &S::Array,
    device: Device,
) -> Result<T::Array, Error> {
    let mut target = None::<T::Array>;
    let policy = CopyPolicy::Allow;
    carry_by_reference(S::INSTANCE, array, T::INSTANCE, device, policy, &mut target)?;
    target.ok_or_else(lost::<T>)
}

/// Views of an array's memory from the host, by method: `tensor.host_view()?`.
pub trait HostViewExt<S: ArrayLibrary<Array = Self>>: NativeArray<S> + 'static {
    /// Views the array's memory under an exclusive borrow, without a copy.
    ///
    /// # Errors
    /// [`Error::Shared`] if others hold the same memory, [`Error::Unsupported`] if the host cannot
    /// read it.
    fn host_view(&mut self) -> Result<HostView<'_>, Error> {
        S::INSTANCE.host_visible().ok_or_else(crate::library::no_view::<S>)?.view_exclusive(self)
    }
}

impl<S: ArrayLibrary<Array = A>, A: NativeArray<S> + 'static> HostViewExt<S> for A {}
