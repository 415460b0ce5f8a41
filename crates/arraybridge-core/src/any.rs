//! An array whose library is known at run time.

use std::any::Any;
use std::fmt;

use crate::dlpack::DlpackDevice;
use crate::library::DynArrayLibrary;
use crate::ops::{Axes, Operation, Reduction};
use crate::registry::library;
use crate::route::{Outcome, carry, carry_by_reference, from_host, to_host};
use crate::stack::{Cutter, join};
use crate::{
    ArrayLibrary, AxisSlice, ConversionError, CopyPolicy, DType, Description, Device, Error,
    HostArray, HostView, Library, NativeArray, Obstacle,
};

/// An array of any library.
///
/// Made of a native array by [`AnyArray::from_native`], turned back by [`AnyArray::into_native`].
/// It is `Send`, not `Sync`: some libraries' arrays are not.
pub struct AnyArray {
    library: &'static dyn DynArrayLibrary,
    /// An `Option<L::Array>` that is `Some` but within a conversion.
    slot: Box<dyn Any + Send>,
}

impl AnyArray {
    /// Takes a native array, without copying its elements.
    ///
    /// # Errors
    /// The value comes back if it does not make an array ([`NativeArray::into_library`]).
    pub fn from_native<A: NativeArray<L>, L: ArrayLibrary>(
        array: A,
    ) -> Result<AnyArray, ConversionError<A>> {
        array.into_library().map(AnyArray::of::<L>)
    }

    /// Takes a library's own array.
    pub fn of<L: ArrayLibrary>(array: L::Array) -> AnyArray {
        AnyArray { library: L::INSTANCE, slot: Box::new(Some(array)) }
    }

    /// Turns the array into a native type, without copying its elements.
    ///
    /// # Errors
    /// [`Error::WrongLibrary`] if it is another library's; what [`NativeArray::from_library`] says.
    /// The array comes back.
    pub fn into_native<A: NativeArray<L>, L: ArrayLibrary>(
        self,
    ) -> Result<A, ConversionError<AnyArray>> {
        let array = self.into_array_of::<L>()?;
        A::from_library(array)
            .map_err(|error| error.map_array(|back| Some(AnyArray::of::<L>(back))))
    }

    /// Turns the array into the array type of library `L`.
    ///
    /// # Errors
    /// [`Error::WrongLibrary`] if it is another library's; the array comes back.
    pub fn into_array_of<L: ArrayLibrary>(self) -> Result<L::Array, ConversionError<AnyArray>> {
        let AnyArray { library, slot } = self;
        let wrong = || Error::WrongLibrary { expected: L::NAME, found: library.name() };
        if library.library_type() != Library::of::<L>().inner().library_type() {
            return Err(ConversionError::new(wrong(), Some(AnyArray { library, slot })));
        }
        match slot.downcast::<Option<L::Array>>() {
            Ok(slot) => (*slot).ok_or_else(|| ConversionError::new(wrong(), None)),
            Err(slot) => Err(ConversionError::new(wrong(), Some(AnyArray { library, slot }))),
        }
    }

    /// Borrows the array as that of library `L`, if it is.
    pub fn as_array_of<L: ArrayLibrary>(&self) -> Option<&L::Array> {
        if !self.library().is::<L>() {
            return None;
        }
        self.slot.downcast_ref::<Option<L::Array>>()?.as_ref()
    }

    /// Borrows the array mutably as that of library `L`, if it is.
    pub fn as_array_of_mut<L: ArrayLibrary>(&mut self) -> Option<&mut L::Array> {
        if !self.library().is::<L>() {
            return None;
        }
        self.slot.downcast_mut::<Option<L::Array>>()?.as_mut()
    }

    /// Returns the library that the array is of.
    pub fn library(&self) -> Library {
        Library::from_dyn(self.library)
    }

    /// Describes the array: dtype, layout, device.
    ///
    /// # Errors
    /// The library's own failures.
    pub fn describe(&self) -> Result<Description, Error> {
        self.library.describe(&*self.slot)
    }

    /// Returns the device that the array lives on.
    ///
    /// # Errors
    /// The library's own failures.
    pub fn device(&self) -> Result<Device, Error> {
        self.library.device_of(&*self.slot)
    }

    /// Converts to a library on a device, without a copy where that is sound.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`] with the devices that are there, [`Error::OutOfMemory`],
    /// [`Error::DtypeUnsupported`] and native failures; the array comes back.
    pub fn convert_to(
        self,
        target: Library,
        device: Device,
    ) -> Result<AnyArray, ConversionError<AnyArray>> {
        self.convert_with(target, device, CopyPolicy::Allow)
    }

    /// Converts to a library by its name or an alias.
    ///
    /// # Errors
    /// Also [`Error::LibraryNotRegistered`] and [`Error::LibraryAmbiguous`].
    pub fn convert_by_name(
        self,
        target: &str,
        device: Device,
    ) -> Result<AnyArray, ConversionError<AnyArray>> {
        match library(target) {
            Ok(target) => self.convert_to(target, device),
            Err(error) => Err(ConversionError::new(error, Some(self))),
        }
    }

    /// Converts with a say in whether it may copy.
    ///
    /// # Errors
    /// Also [`Error::WouldCopy`], before anything is copied.
    pub fn convert_with(
        self,
        target: Library,
        device: Device,
        policy: CopyPolicy,
    ) -> Result<AnyArray, ConversionError<AnyArray>> {
        let AnyArray { library: source, mut slot } = self;
        let target = target.inner();
        let mut out = target.empty_slot();
        match carry(source, &mut *slot, target, device, policy, &mut *out) {
            Ok(Outcome::Carried) => Ok(AnyArray { library: target, slot: out }),
            Ok(Outcome::Stays) => Ok(AnyArray { library: source, slot }),
            Err(error) => {
                let there = source.is_filled(&*slot);
                let back = there.then_some(AnyArray { library: source, slot });
                Err(ConversionError::new(error, back))
            }
        }
    }

    /// Converts as [`AnyArray::convert_to`] after checking whose array this is.
    ///
    /// # Errors
    /// Also [`Error::WrongLibrary`] if it is not of the stated library.
    pub fn convert_from(
        self,
        stated: Library,
        target: Library,
        device: Device,
    ) -> Result<AnyArray, ConversionError<AnyArray>> {
        if stated != self.library() {
            let error = Error::WrongLibrary { expected: stated.name(), found: self.library.name() };
            return Err(ConversionError::new(error, Some(self)));
        }
        self.convert_to(target, device)
    }

    /// Converts by reference: this array stays as it was, and shares memory with the result only
    /// where neither library ever writes it.
    ///
    /// # Errors
    /// As [`AnyArray::convert_to`].
    pub fn to(&self, target: Library, device: Device) -> Result<AnyArray, Error> {
        self.to_with(target, device, CopyPolicy::Allow)
    }

    /// Converts by reference with a say in whether it may copy.
    ///
    /// # Errors
    /// Also [`Error::WouldCopy`], before anything is copied.
    pub fn to_with(
        &self,
        target: Library,
        device: Device,
        policy: CopyPolicy,
    ) -> Result<AnyArray, Error> {
        let target = target.inner();
        let mut out = target.empty_slot();
        carry_by_reference(self.library, &*self.slot, target, device, policy, &mut *out)?;
        Ok(AnyArray { library: target, slot: out })
    }

    /// Returns the device that DLPack has for the array's memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the library does not export arrays like this one.
    pub fn dlpack_device(&self) -> Result<DlpackDevice, Error> {
        self.library.dlpack_device(&*self.slot).map_err(|obstacle| match obstacle {
            Obstacle::Failed(error) => error,
            Obstacle::Declined(_) => Error::Unsupported {
                library: self.library.name(),
                operation: "exporting this array through DLPack",
                remedy: "convert it to a library that exports from that device",
            },
        })
    }

    /// Returns a second array of the same library on the same device: a handle on the same memory
    /// where the library never writes memory with two handles, else a copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the library's own failures.
    pub fn duplicate(&self) -> Result<AnyArray, Error> {
        self.fill(|out| self.library.second(&*self.slot, out).map(|_| ()))
    }

    /// Moves the array to another device of its library; writes no record.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`] with the devices that are there, [`Error::Unsupported`].
    pub fn move_to_device(&self, device: Device) -> Result<AnyArray, Error> {
        self.library.require_device(device)?;
        if self.device()? == device {
            return self.duplicate();
        }
        self.fill(|out| self.library.move_to(&*self.slot, device, out))
    }

    /// Views the array's memory from the host, without a copy, where a shared borrow keeps everyone
    /// from writing it.
    ///
    /// # Errors
    /// [`Error::Shared`], [`Error::Unsupported`].
    pub fn host_view(&self) -> Result<HostView<'_>, Error> {
        self.library.view(&*self.slot)
    }

    /// Views the array's memory from the host under an exclusive borrow.
    ///
    /// # Errors
    /// [`Error::Shared`] if others hold the same memory, [`Error::Unsupported`].
    pub fn host_view_exclusive(&mut self) -> Result<HostView<'_>, Error> {
        self.library.view_exclusive(&mut *self.slot)
    }

    /// Returns the largest elements over axes ([`Ops::max`](crate::ops::Ops::max)).
    ///
    /// # Errors
    /// As there, like the methods below.
    pub fn max(&self, axes: impl Into<Axes>) -> Result<AnyArray, Error> {
        self.operate(Operation::Reduce(Reduction::Max, axes.into()))
    }

    /// Returns the smallest elements over axes ([`Ops::min`](crate::ops::Ops::min)).
    pub fn min(&self, axes: impl Into<Axes>) -> Result<AnyArray, Error> {
        self.operate(Operation::Reduce(Reduction::Min, axes.into()))
    }

    /// Returns the means over axes ([`Ops::mean`](crate::ops::Ops::mean)).
    pub fn mean(&self, axes: impl Into<Axes>) -> Result<AnyArray, Error> {
        self.operate(Operation::Reduce(Reduction::Mean, axes.into()))
    }

    /// Returns the sums over axes ([`Ops::sum`](crate::ops::Ops::sum)).
    pub fn sum(&self, axes: impl Into<Axes>) -> Result<AnyArray, Error> {
        self.operate(Operation::Reduce(Reduction::Sum, axes.into()))
    }

    /// Casts to another dtype ([`Ops::astype`](crate::ops::Ops::astype)).
    pub fn astype(&self, dtype: DType) -> Result<AnyArray, Error> {
        self.operate(Operation::Astype(dtype))
    }

    /// Gives the elements another shape ([`Ops::reshape`](crate::ops::Ops::reshape)).
    pub fn reshape(&self, shape: &[usize]) -> Result<AnyArray, Error> {
        self.operate(Operation::Reshape(shape))
    }

    /// Repeats the array to a shape ([`Ops::broadcast_to`](crate::ops::Ops::broadcast_to)).
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<AnyArray, Error> {
        self.operate(Operation::BroadcastTo(shape))
    }

    /// Returns ones on the array's device ([`Ops::ones_like`](crate::ops::Ops::ones_like)).
    pub fn ones_like(&self, shape: Option<&[usize]>, dtype: DType) -> Result<AnyArray, Error> {
        self.operate(Operation::OnesLike(shape, dtype))
    }

    /// Adds a leading axis of length 1 ([`Ops::prepend_axis`](crate::ops::Ops::prepend_axis)).
    pub fn prepend_axis(&self) -> Result<AnyArray, Error> {
        self.operate(Operation::PrependAxis)
    }

    /// Returns the sub-array at an index of the first axis ([`Ops::plane`](crate::ops::Ops::plane)).
    pub fn plane(&self, index: usize) -> Result<AnyArray, Error> {
        self.operate(Operation::Plane(index))
    }

    /// Casts and scales planes
    /// ([`Ops::normalize_planes`](crate::ops::Ops::normalize_planes)).
    pub fn normalize_planes(
        &self,
        dtype: DType,
        scales: &[Option<f64>],
    ) -> Result<AnyArray, Error> {
        self.operate(Operation::NormalizePlanes(dtype, scales))
    }

    /// Rescales floats into integers ([`Ops::scale_dtype`](crate::ops::Ops::scale_dtype)).
    pub fn scale_dtype(&self, dtype: DType) -> Result<AnyArray, Error> {
        self.operate(Operation::ScaleDtype(dtype))
    }

    /// Returns where both arrays, of one library, are not zero
    /// ([`Ops::logical_and`](crate::ops::Ops::logical_and)).
    pub fn logical_and(&self, other: &AnyArray) -> Result<AnyArray, Error> {
        self.same_library(other)?;
        let slots: [&dyn Any; 2] = [&*self.slot, &*other.slot];
        self.fill(|out| self.library.operate(Operation::LogicalAnd, &slots, out))
    }

    /// Replaces a part of the array ([`Ops::assign`](crate::ops::Ops::assign)); `values` is of the
    /// same library.
    ///
    /// # Errors
    /// As there; the array comes back, unchanged.
    pub fn assign(
        mut self,
        index: impl Into<AxisSlice>,
        values: &AnyArray,
    ) -> Result<AnyArray, ConversionError<AnyArray>> {
        let library = self.library;
        let mut out = library.empty_slot();
        let done = self
            .same_library(values)
            .and_then(|()| library.assign(&mut *self.slot, index.into(), &*values.slot, &mut *out));
        match done {
            Ok(()) => Ok(AnyArray { library, slot: out }),
            Err(error) => {
                let back = library.is_filled(&*self.slot).then_some(self);
                Err(ConversionError::new(error, back))
            }
        }
    }

    /// Joins arrays of one library, shape, dtype and device on a new leading axis
    /// ([`Ops::stack`](crate::ops::Ops::stack)).
    ///
    /// # Errors
    /// Also [`Error::WrongLibrary`] if they are of several libraries: [`stack_slices`] converts
    /// first.
    ///
    /// [`stack_slices`]: crate::stack_slices
    pub fn stack(arrays: &[&AnyArray]) -> Result<AnyArray, Error> {
        let first = arrays.first().ok_or_else(no_arrays)?;
        for array in arrays {
            first.same_library(array)?;
        }
        let slots: Vec<&dyn Any> = arrays.iter().map(|array| &*array.slot as &dyn Any).collect();
        first.fill(|out| first.library.operate(Operation::Stack, &slots, out))
    }

    /// Reads the array to the host. The result shares its memory only where neither is ever written
    /// while it does.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the library's own failures.
    pub fn to_host(&self) -> Result<HostArray, Error> {
        to_host(self.library, &*self.slot)
    }

    /// Makes an array of a library on a device of a host array.
    ///
    /// # Errors
    /// As [`AnyArray::convert_to`].
    pub fn from_host(
        array: &HostArray,
        target: Library,
        device: Device,
    ) -> Result<AnyArray, Error> {
        let library = target.inner();
        AnyArray::made_by(library, |slot| from_host(array, library, device, slot))
    }

    /// Reads the array to the host, where it may share memory that neither ever writes; writes no
    /// record.
    pub(crate) fn download(&self) -> Result<HostArray, Error> {
        self.library.download(&*self.slot)
    }

    fn same_library(&self, other: &AnyArray) -> Result<(), Error> {
        if self.library() == other.library() {
            return Ok(());
        }
        Err(Error::WrongLibrary { expected: self.library.name(), found: other.library.name() })
    }

    fn operate(&self, operation: Operation<'_>) -> Result<AnyArray, Error> {
        self.fill(|out| self.library.operate(operation, &[&*self.slot], out))
    }

    /// Makes another array of the same library.
    fn fill(
        &self,
        make: impl FnOnce(&mut dyn Any) -> Result<(), Error>,
    ) -> Result<AnyArray, Error> {
        AnyArray::made_by(self.library, make)
    }

    /// Cuts the array into the planes of its first axis, of which there are `count`.
    pub(crate) fn planes(&self, count: usize) -> Result<Vec<AnyArray>, Error> {
        let mut cutter = self.cutter();
        (0..count).map(|index| self.fill(|out| cutter.plane(index, out))).collect()
    }

    pub(crate) fn cutter(&self) -> Cutter<'_> {
        Cutter::new(self.library, &*self.slot)
    }

    /// Joins arrays of one library, shape, dtype and device, at least one.
    pub(crate) fn joined(arrays: &[AnyArray]) -> Result<AnyArray, Error> {
        let first = arrays.first().ok_or_else(no_arrays)?;
        let slots: Vec<&dyn Any> = arrays.iter().map(|array| &*array.slot as &dyn Any).collect();
        first.fill(|out| join(first.library, &slots, out))
    }

    /// Makes an array of a library by filling its slot.
    pub(crate) fn made_by(
        library: &'static dyn DynArrayLibrary,
        make: impl FnOnce(&mut dyn Any) -> Result<(), Error>,
    ) -> Result<AnyArray, Error> {
        let mut slot = library.empty_slot();
        make(&mut *slot)?;
        Ok(AnyArray { library, slot })
    }
}

fn no_arrays() -> Error {
    Error::InvalidArgument { operation: "stack", message: "no arrays were given".into() }
}

impl fmt::Debug for AnyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("AnyArray");
        debug.field("library", &self.library.name());
        match self.describe() {
            Ok(seen) => debug
                .field("dtype", &seen.dtype)
                .field("shape", &seen.layout.shape())
                .field("device", &seen.device)
                .finish(),
            Err(_) => debug.finish_non_exhaustive(),
        }
    }
}
