//! Contexts that arrays live in: the library's own, and those of existing OpenCL programs.

use std::fmt;
use std::sync::Arc;

use arraybridge_core::{Access, DType, Device, Error, HostArray, Layout};
use opencl3::command_queue::CommandQueue;
use opencl3::memory::{Buffer, CL_MEM_READ_ONLY, ClMem};

use crate::cl::{Context, Mem, Queue};
use crate::library::{NAME, foreign};
use crate::memory::Memory;
use crate::place::{Place, Stream};
use crate::{ClArray, device, exchange};

/// A context with a queue on one device.
///
/// The library has one of its own per device, which conversions and operations use. A program that
/// has contexts already joins one, and then its buffers are arrays, and arrays are its buffers.
/// Operations run in the context of their arrays; arrays of two contexts are brought to one first
/// ([`ClContext::bring`]).
#[derive(Clone)]
pub struct ClContext(Arc<Place>);

impl ClContext {
    /// Returns the library's own context on a device.
    ///
    /// # Errors
    /// [`Error::DeviceUnavailable`], [`Error::LibraryUnavailable`], and the driver's failures.
    pub fn of(device: Device) -> Result<ClContext, Error> {
        device::known(device)?.place().map(|place| ClContext(Arc::clone(place)))
    }

    pub(crate) fn of_place(place: &Arc<Place>) -> ClContext {
        ClContext(Arc::clone(place))
    }

    pub(crate) fn place(&self) -> &Arc<Place> {
        &self.0
    }

    /// Joins a program's own context, with the queue of it that arrays' commands are to go on. Both
    /// are kept as long as arrays are there.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the queue is of another context or of a device that the library
    /// does not know (part of a device, say); the driver's failures.
    ///
    /// # Safety
    /// Both are what the functions of OpenCL returned: opencl3 makes its types of any pointer.
    pub unsafe fn join(
        context: &opencl3::context::Context,
        queue: &CommandQueue,
    ) -> Result<ClContext, Error> {
        let wrap = |error| foreign("joining a context", error);
        // SAFETY: the caller says that it is valid.
        let queue = unsafe { Queue::retained(queue.get()) }.map_err(wrap)?;
        let (of_context, of_device) = queue.belongs_to().map_err(wrap)?;
        if of_context != context.get() as usize {
            return Err(refused("the queue is of another context".into()));
        }
        let known = device::all().iter().find(|known| known.id.raw() as usize == of_device);
        let known = known.ok_or_else(|| {
            refused(format!("the queue is of a device that {NAME} does not list: part of one, say"))
        })?;
        let in_order = queue.is_in_order().map_err(wrap)?;
        // SAFETY: the caller says that it is valid.
        let context = unsafe { Context::retained(context.get()) }.map_err(wrap)?;
        let place = Arc::new(Place::of(known, context, Stream { queue, in_order }));
        known.join(&place);
        Ok(ClContext(place))
    }

    /// Returns the device.
    pub fn device(&self) -> Device {
        self.0.device()
    }

    /// Makes an array in this context of a host array, sharing its memory as conversions do.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's failures.
    pub fn upload(&self, array: &HostArray) -> Result<ClArray, Error> {
        exchange::upload(array, &self.0)
    }

    /// Returns an array in this context: the array itself if it is here, else one made of it through
    /// the host, over the same memory where both devices work in the host's.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's failures.
    pub fn bring(&self, array: &ClArray) -> Result<ClArray, Error> {
        if self.0.is(array.place()) {
            return Ok(array.clone());
        }
        exchange::upload(&exchange::download(array)?, &self.0)
    }

    /// Makes an array of a buffer of this context, without a copy: the layout's first element is
    /// `offset` elements behind the buffer's start.
    ///
    /// With [`Access::Exclusive`] the array may be written in place; with [`Access::Immutable`] it
    /// is copied before. The buffer is released once, after the last command on it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the buffer is of another context, [`Error::InvalidLayout`] if
    /// the layout leaves it, [`Error::Shared`] for [`Access::SharedMutable`]; the driver's failures.
    ///
    /// # Safety
    /// - The buffer is what a function of OpenCL returned.
    /// - As long as the array or one made of it without a copy lives, nobody else reads or writes
    ///   the buffer's memory (with [`Access::Immutable`]: nobody writes it), neither through another
    ///   handle, a sub-buffer or the host memory below it.
    /// - What was queued on it has run, or was put on this context's own queue, in order.
    /// - Its bytes are initialised, and elements of [`DType::Bool`] are 0 or 1.
    pub unsafe fn array_of_buffer<T>(
        &self,
        buffer: Buffer<T>,
        offset: usize,
        dtype: DType,
        layout: Layout,
        access: Access,
    ) -> Result<ClArray, Error> {
        let wrap = |error| foreign("wrapping a buffer", error);
        // SAFETY: the caller says that it is valid. `buffer` releases its own reference at the end.
        let mem = unsafe { Mem::retained(buffer.get()) }.map_err(wrap)?;
        if mem.context().map_err(wrap)? != self.0.context.raw() as usize {
            return Err(refused("the buffer is of another context".into()));
        }
        if access == Access::SharedMutable {
            return Err(Error::Shared {
                operation: "wrapping a buffer",
                message: "others may write it; copy it first".into(),
            });
        }
        let read_only = mem.flags().map_err(wrap)? & CL_MEM_READ_ONLY != 0;
        let access = if read_only { Access::Immutable } else { access };
        // SAFETY: the caller vouches for what `access` says and for what was queued.
        let memory = unsafe { Memory::foreign(&self.0, mem, access) }?;
        ClArray::new(Arc::new(memory), offset, dtype, layout)
    }
}

fn refused(message: String) -> Error {
    Error::InvalidArgument { operation: "joining a context", message }
}

impl ClArray {
    /// Returns the context that the array is in.
    pub fn context(&self) -> ClContext {
        ClContext::of_place(self.place())
    }

    /// Returns a second handle on the array's buffer, for commands of one's own, which opencl3 makes
    /// `unsafe`. They may read it; they may write it while this is the only array over it and until
    /// it is used again. [`ClArray::wait`] first, unless they go on the queue of the array's context.
    /// They are over before the last array over the buffer is dropped: its memory may be another
    /// array's then.
    ///
    /// # Errors
    /// The driver's failures.
    pub fn to_buffer<T>(&self) -> Result<Buffer<T>, Error> {
        let raw = self.memory().mem()?.raw();
        // SAFETY: the array's handle is valid. The new reference is the result's.
        let own =
            unsafe { Mem::retained(raw) }.map_err(|error| foreign("lending a buffer", error))?;
        std::mem::forget(own);
        Ok(Buffer::new(raw))
    }
}

impl fmt::Debug for ClContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClContext").field("device", &self.device()).finish_non_exhaustive()
    }
}
