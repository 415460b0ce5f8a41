//! Handles, each of which is one reference that is released once.

use std::ffi::c_void;

use cl3::{command_queue, context, event, kernel, memory, program};

use super::{OpenClError, checked};

macro_rules! handle {
    ($(#[$meta:meta])* $name:ident, $retain:path, $release:path) => {
        $(#[$meta])*
        pub(crate) struct $name(*mut c_void);

        // SAFETY: OpenCL's objects belong to no thread, and their reference counts are atomic.
        unsafe impl Send for $name {}

        impl $name {
            /// Takes over one reference.
            ///
            /// # Safety
            /// `raw` is a valid handle of this kind, and one reference of it becomes this value's.
            pub(crate) unsafe fn from_raw(raw: *mut c_void) -> $name {
                $name(raw)
            }

            /// Makes a reference of its own.
            ///
            /// # Safety
            /// `raw` is a valid handle of this kind.
            #[allow(dead_code)]
            pub(crate) unsafe fn retained(raw: *mut c_void) -> Result<$name, OpenClError> {
                // SAFETY: as the caller says.
                let retained = unsafe { $retain(raw) };
                checked(stringify!($retain), retained).map(|()| $name(raw))
            }

            /// Returns the handle, which is valid as long as this value lives.
            pub(crate) fn raw(&self) -> *mut c_void {
                self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // A release can fail for an invalid handle alone, which this is not.
                // SAFETY: the reference is this value's and is not used after this.
                let _ = unsafe { $release(self.0) };
            }
        }
    };
}

handle!(
    /// A context.
    Context, context::retain_context, context::release_context
);
handle!(
    /// A command queue's handle.
    QueueHandle, command_queue::retain_command_queue, command_queue::release_command_queue
);
handle!(
    /// A buffer.
    Mem, memory::retain_mem_object, memory::release_mem_object
);
handle!(
    /// The completion of a queued command.
    Event, event::retain_event, event::release_event
);
handle!(
    /// A built program.
    Program, program::retain_program, program::release_program
);
handle!(
    /// A kernel with arguments. It is no `Sync`: arguments are set on it one after another.
    Kernel, kernel::retain_kernel, kernel::release_kernel
);

// SAFETY: every function of OpenCL may be called from any thread at once on one object, but for
// `clSetKernelArg` on one kernel.
unsafe impl Sync for Context {}
// SAFETY: see above.
unsafe impl Sync for QueueHandle {}
// SAFETY: see above.
unsafe impl Sync for Mem {}
// SAFETY: see above.
unsafe impl Sync for Event {}
// SAFETY: see above.
unsafe impl Sync for Program {}

impl Event {
    /// Waits until the command has run.
    pub(crate) fn wait(&self) -> Result<(), OpenClError> {
        match event::wait_for_events(&[self.0]) {
            Ok(()) => Ok(()),
            // The command's own code says more than "an event in the list failed".
            Err(code) => {
                let own = self.status().filter(|status| *status < 0);
                Err(OpenClError::new("clWaitForEvents", own.unwrap_or(code)))
            }
        }
    }

    /// Returns the command's state: 0 once it has run, negative if it failed.
    pub(crate) fn status(&self) -> Option<i32> {
        let data = event::get_event_data(self.0, event::CL_EVENT_COMMAND_EXECUTION_STATUS).ok()?;
        Some(i32::from_ne_bytes(data.try_into().ok()?))
    }

    /// Returns whether the command has run or failed.
    pub(crate) fn is_over(&self) -> bool {
        self.status().is_some_and(|status| status <= 0)
    }
}

impl Mem {
    /// Returns the size of the buffer in bytes.
    pub(crate) fn nbytes(&self) -> Result<usize, OpenClError> {
        self.number(memory::CL_MEM_SIZE)
    }

    /// Returns the flags that the buffer was made with.
    pub(crate) fn flags(&self) -> Result<u64, OpenClError> {
        self.number(memory::CL_MEM_FLAGS).map(|flags| flags as u64)
    }

    /// Returns the handle of the context that the buffer is of.
    pub(crate) fn context(&self) -> Result<usize, OpenClError> {
        self.number(memory::CL_MEM_CONTEXT)
    }

    fn number(&self, what: u32) -> Result<usize, OpenClError> {
        let data = checked("clGetMemObjectInfo", memory::get_mem_object_data(self.0, what))?;
        super::device::number(&data).map(|number| number as usize).ok_or_else(|| {
            OpenClError::new("clGetMemObjectInfo", cl3::error_codes::CL_INVALID_VALUE)
        })
    }
}
