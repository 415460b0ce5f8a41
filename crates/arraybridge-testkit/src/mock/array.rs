//! The arrays of every mock: memory of one kind or another, on a device.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arraybridge_core::{
    Access, ArrayLibrary, ConversionError, Device, Element, Error, HostArray, NativeArray, Owner,
    require_device,
};

use super::{Character, Mock, Storage};

/// An array of a mock library.
pub struct MockArray<C> {
    memory: Memory,
    _character: PhantomData<fn() -> C>,
}

/// Memory on a device, whichever mock's it is: what travels as the owner of a DLPack payload.
pub(super) struct Memory {
    cell: Cell,
    pub(super) device: Device,
}

enum Cell {
    Own(HostArray),
    Shared(Arc<Mutex<HostArray>>),
}

impl Memory {
    /// Takes memory in the way that suits the storage.
    pub(super) fn new(host: HostArray, device: Device, storage: Storage) -> Result<Memory, Error> {
        let host = if storage == Storage::Immutable { immutable(host)? } else { host };
        Ok(Memory::of(host, device, storage))
    }

    /// Takes memory that came out of such storage.
    pub(super) fn of(host: HostArray, device: Device, storage: Storage) -> Memory {
        let cell = match storage {
            Storage::Shared => Cell::Shared(Arc::new(Mutex::new(host))),
            Storage::Owned | Storage::CopyOnWrite | Storage::Immutable => Cell::Own(host),
        };
        Memory { cell, device }
    }

    /// Reads the memory. Whoever writes shared storage is kept out meanwhile.
    pub(super) fn with<R>(&self, read: impl FnOnce(&HostArray) -> R) -> R {
        match &self.cell {
            Cell::Own(host) => read(host),
            Cell::Shared(shared) => read(&lock(shared)),
        }
    }

    /// Borrows the memory, if a shared borrow keeps everybody from writing it.
    pub(super) fn as_own(&self) -> Option<&HostArray> {
        match &self.cell {
            Cell::Own(host) => Some(host),
            Cell::Shared(_) => None,
        }
    }

    /// Borrows the memory, if nobody else has a handle on it.
    pub(super) fn as_exclusive(&mut self) -> Option<&mut HostArray> {
        match &mut self.cell {
            Cell::Own(host) => Some(host),
            Cell::Shared(shared) => {
                let inner = Arc::get_mut(shared)?;
                Some(inner.get_mut().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// Gives the memory away, if nobody else has a handle on it.
    pub(super) fn into_host(self) -> Result<HostArray, Memory> {
        match self.cell {
            Cell::Own(host) => Ok(host),
            Cell::Shared(shared) => match Arc::try_unwrap(shared) {
                Ok(inner) => Ok(inner.into_inner().unwrap_or_else(PoisonError::into_inner)),
                Err(shared) => Err(Memory { cell: Cell::Shared(shared), ..self }),
            },
        }
    }
}

fn lock(shared: &Mutex<HostArray>) -> MutexGuard<'_, HostArray> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the same memory as an array that is never written again.
fn immutable(host: HostArray) -> Result<HostArray, Error> {
    let (pointer, dtype, layout) = (host.as_ptr().cast_mut(), host.dtype(), host.layout().clone());
    let owner = Owner::new(host);
    // SAFETY: the owner is the host array, whose invariants keep its elements readable as long as
    // it lives; it is inside the owner, hence never written again.
    unsafe { HostArray::from_raw(owner, pointer, dtype, layout, Access::Immutable) }
}

impl<C: Character> MockArray<C> {
    /// Makes an array of memory as it is, without a copy, whatever the library's habits.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`] and [`Error::DeviceKindUnsupported`].
    pub fn new(host: HostArray, device: Device) -> Result<MockArray<C>, Error> {
        require_device::<Mock<C>>(device)?;
        Ok(MockArray::from_memory(Memory::new(host, device, C::TRAITS.storage)?))
    }

    pub(super) fn from_memory(memory: Memory) -> MockArray<C> {
        MockArray { memory, _character: PhantomData }
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Returns the device that the array is on.
    pub fn device(&self) -> Device {
        self.memory.device
    }

    /// Returns the address of the first element.
    pub fn address(&self) -> usize {
        self.memory.with(HostArray::address)
    }

    /// Gives the memory away, or the array back if the storage has other handles.
    ///
    /// # Errors
    /// The array.
    pub fn into_host(self) -> Result<HostArray, MockArray<C>> {
        self.memory.into_host().map_err(MockArray::from_memory)
    }

    /// Returns a copy of the elements, whatever the library's habits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_host(&self) -> Result<HostArray, Error> {
        self.memory.with(HostArray::gather)
    }

    /// Returns a copy of the elements in row-major order.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`] and [`Error::OutOfMemory`].
    pub fn elements<T: Element>(&self) -> Result<Vec<T>, Error> {
        Ok(self.to_host()?.as_slice::<T>()?.to_vec())
    }

    /// Returns another handle on the same memory, as native libraries make them behind the scenes.
    pub fn alias(&self) -> MockArray<C> {
        let cell = match &self.memory.cell {
            Cell::Shared(shared) => Cell::Shared(Arc::clone(shared)),
            Cell::Own(host) => Cell::Own(host.clone()),
        };
        MockArray::from_memory(Memory { cell, device: self.memory.device })
    }

    /// Sets every element in place: each handle on [`Storage::Shared`] sees it.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`], [`Error::LayoutUnsupported`] for memory that is not row-major, and
    /// [`Error::Shared`] for memory that not only handles on this storage reach.
    pub fn fill<T: Element>(&mut self, value: T) -> Result<(), Error> {
        match &mut self.memory.cell {
            Cell::Own(host) => host.as_slice_mut::<T>()?.fill(value),
            Cell::Shared(shared) => lock(shared).as_slice_mut::<T>()?.fill(value),
        }
        Ok(())
    }
}

impl<C: Character> fmt::Debug for MockArray<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.memory.with(|host| {
            f.debug_struct(C::TRAITS.name)
                .field("dtype", &host.dtype())
                .field("layout", host.layout())
                .field("device", &self.memory.device)
                .finish_non_exhaustive()
        })
    }
}

impl<C: Character> NativeArray<Mock<C>> for MockArray<C> {
    fn into_library(self) -> Result<MockArray<C>, ConversionError<Self>> {
        Ok(self)
    }

    fn from_library(
        array: <Mock<C> as ArrayLibrary>::Array,
    ) -> Result<Self, ConversionError<MockArray<C>>> {
        Ok(array)
    }
}
