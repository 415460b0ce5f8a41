//! Buffers, and commands on them.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cl3::types::{CL_FALSE, cl_bool, cl_event, cl_uint};
use cl3::{command_queue, memory};

use super::device::number;
use super::handles::QueueHandle;
use super::{Context, DeviceId, Event, Kernel, Mem, OpenClError, checked};

/// The events that a command waits for, as OpenCL wants them.
fn list(waits: &[cl_event]) -> (cl_uint, *const cl_event) {
    // Lists are as long as an operation has operands.
    (waits.len() as cl_uint, if waits.is_empty() { ptr::null() } else { waits.as_ptr() })
}

fn event(call: &'static str, made: Result<cl_event, i32>) -> Result<Event, OpenClError> {
    let raw = checked(call, made)?;
    // SAFETY: the command's event was just made for us.
    Ok(unsafe { Event::from_raw(raw) })
}

impl Mem {
    /// Makes a buffer; its bytes are not initialised.
    pub(crate) fn allocate(
        context: &Context,
        flags: u64,
        nbytes: usize,
    ) -> Result<Mem, OpenClError> {
        // SAFETY: without a host pointer there is nothing but the context, which is valid.
        let made = unsafe { memory::create_buffer(context.raw(), flags, nbytes, ptr::null_mut()) };
        let raw = checked("clCreateBuffer", made)?;
        // SAFETY: the buffer was just made for us.
        Ok(unsafe { Mem::from_raw(raw) })
    }

    /// Makes a buffer over memory of the host.
    ///
    /// # Safety
    /// Until the buffer is destroyed (which its destructor callback tells) the memory is valid, and
    /// nobody but the buffer's commands writes it; with commands that write, nobody else reads it.
    pub(crate) unsafe fn over(
        context: &Context,
        flags: u64,
        nbytes: usize,
        pointer: *mut c_void,
    ) -> Result<Mem, OpenClError> {
        let flags = flags | memory::CL_MEM_USE_HOST_PTR;
        // SAFETY: as the caller says.
        let made = unsafe { memory::create_buffer(context.raw(), flags, nbytes, pointer) };
        let raw = checked("clCreateBuffer", made)?;
        // SAFETY: the buffer was just made for us.
        Ok(unsafe { Mem::from_raw(raw) })
    }

    /// Has a function called once when the buffer is destroyed, after every command on it.
    ///
    /// # Safety
    /// `data` is what `callback` takes, on any thread.
    pub(crate) unsafe fn on_destruction(
        &self,
        callback: extern "C" fn(*mut c_void, *mut c_void),
        data: *mut c_void,
    ) -> Result<(), OpenClError> {
        // SAFETY: the handle is valid; the rest is as the caller says.
        let set = unsafe { memory::set_mem_object_destructor_callback(self.raw(), callback, data) };
        checked("clSetMemObjectDestructorCallback", set)
    }
}

/// A command queue.
///
/// Commands are put on it one at a time. OpenCL does not ask for that, but drivers that run a
/// command inside of the call that queues it deadlock without (PoCL's `basic`). No call waits while
/// it holds the lock, but for [`Queue::finish`].
pub(crate) struct Queue {
    handle: QueueHandle,
    one_at_a_time: Mutex<()>,
}

impl Queue {
    fn raw(&self) -> *mut c_void {
        self.handle.raw()
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a reference to a queue of somebody else's.
    ///
    /// # Safety
    /// `raw` is a valid queue.
    pub(crate) unsafe fn retained(raw: *mut c_void) -> Result<Queue, OpenClError> {
        // SAFETY: as the caller says.
        let handle = unsafe { QueueHandle::retained(raw) }?;
        Ok(Queue { handle, one_at_a_time: Mutex::new(()) })
    }

    /// Makes a queue whose commands run in order.
    pub(crate) fn new(context: &Context, device: DeviceId) -> Result<Queue, OpenClError> {
        // The function of OpenCL 1.x, which every version has.
        #[allow(deprecated)]
        // SAFETY: the context is valid and of this device.
        let made = unsafe { command_queue::create_command_queue(context.raw(), device.raw(), 0) };
        let raw = checked("clCreateCommandQueue", made)?;
        // SAFETY: the queue was just made for us.
        let handle = unsafe { QueueHandle::from_raw(raw) };
        Ok(Queue { handle, one_at_a_time: Mutex::new(()) })
    }

    /// Returns whether commands run in the order in which they are queued.
    pub(crate) fn is_in_order(&self) -> Result<bool, OpenClError> {
        let bits = self.number(command_queue::CL_QUEUE_PROPERTIES)?;
        Ok(bits & command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0)
    }

    /// Returns the handles of the queue's context and device.
    pub(crate) fn belongs_to(&self) -> Result<(usize, usize), OpenClError> {
        let context = self.number(command_queue::CL_QUEUE_CONTEXT)?;
        let device = self.number(command_queue::CL_QUEUE_DEVICE)?;
        Ok((context as usize, device as usize))
    }

    fn number(&self, what: u32) -> Result<u64, OpenClError> {
        let data = command_queue::get_command_queue_data(self.raw(), what);
        let data = checked("clGetCommandQueueInfo", data)?;
        number(&data).ok_or_else(|| {
            OpenClError::new("clGetCommandQueueInfo", cl3::error_codes::CL_INVALID_VALUE)
        })
    }

    /// Hands queued commands to the device.
    pub(crate) fn flush(&self) -> Result<(), OpenClError> {
        let _lock = self.lock();
        checked("clFlush", command_queue::flush(self.raw()))
    }

    /// Queues a command that is over when all before it are.
    pub(crate) fn marker(&self) -> Result<Event, OpenClError> {
        let _lock = self.lock();
        // SAFETY: the handle is valid, and no list is given.
        let made =
            unsafe { command_queue::enqueue_marker_with_wait_list(self.raw(), 0, ptr::null()) };
        event("clEnqueueMarkerWithWaitList", made)
    }

    /// Waits for all queued commands.
    pub(crate) fn finish(&self) -> Result<(), OpenClError> {
        let _lock = self.lock();
        checked("clFinish", command_queue::finish(self.raw()))
    }

    /// Queues a copy from the host into a buffer.
    ///
    /// # Safety
    /// `source` is readable for `nbytes` until the event; the events waited for are valid.
    pub(crate) unsafe fn write(
        &self,
        target: &Mem,
        offset: usize,
        source: *const u8,
        nbytes: usize,
        waits: &[cl_event],
    ) -> Result<Event, OpenClError> {
        let _lock = self.lock();
        let (count, waits) = list(waits);
        let (queue, source) = (self.raw(), source.cast_mut().cast());
        // SAFETY: the handles are valid, and the rest is as the caller says; OpenCL checks the range.
        let made = unsafe {
            command_queue::enqueue_write_buffer(
                queue,
                target.raw(),
                CL_FALSE as cl_bool,
                offset,
                nbytes,
                source,
                count,
                waits,
            )
        };
        event("clEnqueueWriteBuffer", made)
    }

    /// Queues a copy from a buffer to the host.
    ///
    /// # Safety
    /// `target` is writable for `nbytes` and nobody else's until the event; the events waited for
    /// are valid.
    pub(crate) unsafe fn read(
        &self,
        source: &Mem,
        offset: usize,
        target: *mut u8,
        nbytes: usize,
        waits: &[cl_event],
    ) -> Result<Event, OpenClError> {
        let _lock = self.lock();
        let (count, waits) = list(waits);
        // SAFETY: the handles are valid, and the rest is as the caller says; OpenCL checks the range.
        let made = unsafe {
            command_queue::enqueue_read_buffer(
                self.raw(),
                source.raw(),
                CL_FALSE as cl_bool,
                offset,
                nbytes,
                target.cast(),
                count,
                waits,
            )
        };
        event("clEnqueueReadBuffer", made)
    }

    /// Queues a copy between buffers that do not overlap.
    ///
    /// # Safety
    /// The events waited for are valid and cover what was queued on both buffers elsewhere.
    pub(crate) unsafe fn copy(
        &self,
        (source, from): (&Mem, usize),
        (target, to): (&Mem, usize),
        nbytes: usize,
        waits: &[cl_event],
    ) -> Result<Event, OpenClError> {
        let _lock = self.lock();
        let (count, waits) = list(waits);
        let (source, target) = (source.raw(), target.raw());
        // SAFETY: the handles are valid, and the rest is as the caller says; OpenCL checks the range.
        let made = unsafe {
            command_queue::enqueue_copy_buffer(
                self.raw(),
                source,
                target,
                from,
                to,
                nbytes,
                count,
                waits,
            )
        };
        event("clEnqueueCopyBuffer", made)
    }

    /// Queues filling a buffer from its start with a pattern of 1, 2, 4, 8 or 16 bytes.
    ///
    /// # Safety
    /// The events waited for are valid and cover what was queued on the buffer elsewhere.
    pub(crate) unsafe fn fill(
        &self,
        target: &Mem,
        pattern: &[u8],
        nbytes: usize,
        waits: &[cl_event],
    ) -> Result<Event, OpenClError> {
        let _lock = self.lock();
        let (count, waits) = list(waits);
        let (queue, size) = (self.raw(), pattern.len());
        let pattern = pattern.as_ptr().cast();
        // SAFETY: the handles are valid, and the pattern is copied by the call; the rest is as the
        // caller says, and OpenCL checks the range.
        let made = unsafe {
            command_queue::enqueue_fill_buffer(
                queue,
                target.raw(),
                pattern,
                size,
                0,
                nbytes,
                count,
                waits,
            )
        };
        event("clEnqueueFillBuffer", made)
    }

    /// Maps a part of a buffer and waits for it; returns where the host finds it.
    ///
    /// # Safety
    /// The events waited for are valid; until it is unmapped no command writes the part, and with
    /// `CL_MAP_WRITE` none reads it.
    pub(crate) unsafe fn map(
        &self,
        mem: &Mem,
        flags: u64,
        offset: usize,
        nbytes: usize,
        waits: &[cl_event],
    ) -> Result<*mut u8, OpenClError> {
        let (count, waits) = list(waits);
        let mut pointer = ptr::null_mut();
        let lock = self.lock();
        // SAFETY: the handles are valid, and the rest is as the caller says; OpenCL checks the range.
        let made = unsafe {
            command_queue::enqueue_map_buffer(
                self.raw(),
                mem.raw(),
                CL_FALSE as cl_bool,
                flags,
                offset,
                nbytes,
                &mut pointer,
                count,
                waits,
            )
        };
        drop(lock);
        event("clEnqueueMapBuffer", made)?.wait()?;
        Ok(pointer.cast())
    }

    /// Queues the end of a mapping.
    ///
    /// # Safety
    /// `pointer` is a mapping of this buffer, which nobody uses any more.
    pub(crate) unsafe fn unmap(&self, mem: &Mem, pointer: *mut u8) -> Result<Event, OpenClError> {
        let _lock = self.lock();
        let pointer = pointer.cast();
        // SAFETY: the handles are valid, and the rest is as the caller says.
        let made = unsafe {
            command_queue::enqueue_unmap_mem_object(self.raw(), mem.raw(), pointer, 0, ptr::null())
        };
        event("clEnqueueUnmapMemObject", made)
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// The kernel's arguments are set, and over these work items it stays within them; the events
    /// waited for are valid and cover what was queued on its buffers elsewhere.
    pub(crate) unsafe fn launch(
        &self,
        kernel: &Kernel,
        global: &[usize],
        local: Option<&[usize]>,
        waits: &[cl_event],
    ) -> Result<Event, OpenClError> {
        let _lock = self.lock();
        let (count, waits) = list(waits);
        let local = local.map_or(ptr::null(), <[usize]>::as_ptr);
        // SAFETY: the handles are valid; both sizes are of as many dimensions as are said; the rest
        // is as the caller says.
        let made = unsafe {
            command_queue::enqueue_nd_range_kernel(
                self.raw(),
                kernel.raw(),
                global.len() as cl_uint,
                ptr::null(),
                global.as_ptr(),
                local,
                count,
                waits,
            )
        };
        event("clEnqueueNDRangeKernel", made)
    }
}
