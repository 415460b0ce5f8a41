//! Buffers: immutable arrays on a device.

use std::ffi::c_void;

use super::api::call;
use super::client::{Client, PjrtDevice, minor_to_major};
use super::element::ElementType;
use super::error::PjrtError;
use super::in_flight;
use super::sys;

/// An array on a device, which the plugin frees when this is dropped and no queued work uses it.
pub(crate) struct Buffer {
    client: Client,
    pointer: *mut sys::Buffer,
}

// SAFETY: PJRT buffers may be used and destroyed from any thread.
unsafe impl Send for Buffer {}
// SAFETY: as above; they are immutable.
unsafe impl Sync for Buffer {}

/// Checks dimensions, on whose overflow plugins abort, and returns them with the size in bytes.
pub(super) fn check_dims(
    dims: &[usize],
    element: ElementType,
) -> Result<(Vec<i64>, usize), PjrtError> {
    let fits = dims.iter().try_fold(element.size, |bytes, &length| {
        // Zeros count as ones: the plugin multiplies the others too.
        bytes.checked_mul(length.max(1)).filter(|bytes| i64::try_from(*bytes).is_ok())
    });
    if fits.is_none() {
        let message = format!("dimensions {dims:?} do not fit in the address space");
        return Err(PjrtError::Refused(message));
    }
    let nbytes = dims.iter().product::<usize>() * element.size;
    // Each length is a factor of a number that fits.
    Ok((dims.iter().map(|&length| length as i64).collect(), nbytes))
}

impl Buffer {
    pub(super) fn new(client: Client, pointer: *mut sys::Buffer) -> Buffer {
        Buffer { client, pointer }
    }

    pub(super) fn pointer(&self) -> *mut sys::Buffer {
        self.pointer
    }

    /// Waits until the elements are there.
    pub(crate) fn wait(&self) -> Result<(), PjrtError> {
        let event = self.ready_event()?;
        // SAFETY: the call returned the event, and nobody else has it.
        unsafe { self.client.api().wait(event) }
    }

    /// Returns a new event that happens when the elements are there.
    fn ready_event(&self) -> Result<*mut sys::Event, PjrtError> {
        let told = call!(
            self.client.api(),
            buffer_ready_event,
            sys::BufferReadyEventArgs { buffer: self.pointer, ..Default::default() }
        )?;
        Ok(told.event)
    }

    /// Returns the PJRT code of the element type.
    pub(crate) fn element_code(&self) -> Result<u32, PjrtError> {
        let told = call!(
            self.client.api(),
            buffer_element_type,
            sys::BufferElementTypeArgs { buffer: self.pointer, ..Default::default() }
        )?;
        Ok(told.element_type)
    }

    /// Returns the dimensions.
    pub(crate) fn dims(&self) -> Result<Vec<usize>, PjrtError> {
        let told = call!(
            self.client.api(),
            buffer_dimensions,
            sys::BufferDimensionsArgs { buffer: self.pointer, ..Default::default() }
        )?;
        if told.num_dims == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: the list lives as long as the buffer and has this many entries.
        let dims = unsafe { std::slice::from_raw_parts(told.dims, told.num_dims) };
        let dims: Result<_, _> = dims.iter().map(|&length| usize::try_from(length)).collect();
        dims.map_err(|_| PjrtError::Refused("the plugin told a negative dimension".into()))
    }

    /// Returns whether a buffer of this many axes has its elements in row-major order. Programs may
    /// ask for another order of their results.
    pub(crate) fn is_row_major(&self, rank: usize) -> Result<bool, PjrtError> {
        if rank < 2 {
            return Ok(true);
        }
        let told = call!(
            self.client.api(),
            buffer_get_memory_layout,
            sys::BufferGetMemoryLayoutArgs { buffer: self.pointer, ..Default::default() }
        )?;
        let tiled = told.layout.tiled;
        if told.layout.kind != sys::LAYOUT_TILED || tiled.minor_to_major_size != rank {
            return Ok(false);
        }
        // SAFETY: the list lives as long as the buffer and has this many entries.
        let order = unsafe { std::slice::from_raw_parts(tiled.minor_to_major, rank) };
        Ok(order == minor_to_major(rank))
    }

    /// Returns the address of the first element on the device. Elements may not be there yet.
    pub(crate) fn address(&self) -> Result<usize, PjrtError> {
        let told = call!(
            self.client.api(),
            buffer_unsafe_pointer,
            sys::BufferUnsafePointerArgs { buffer: self.pointer, ..Default::default() }
        )?;
        Ok(told.pointer)
    }

    /// Copies the elements in row-major order into a slice of their size, and waits for it.
    pub(crate) fn download(&self, target: &mut [u8]) -> Result<(), PjrtError> {
        let mut told = sys::BufferToHostBufferArgs { buffer: self.pointer, ..Default::default() };
        told = call!(self.client.api(), buffer_to_host_buffer, told)?;
        if told.target_size != target.len() {
            let message =
                format!("{} bytes for a buffer of {} bytes", target.len(), told.target_size);
            return Err(PjrtError::Refused(message));
        }
        if target.is_empty() {
            return Ok(());
        }
        // The target lives until the event below has happened.
        let told = call!(
            self.client.api(),
            buffer_to_host_buffer,
            sys::BufferToHostBufferArgs {
                buffer: self.pointer,
                target: target.as_mut_ptr().cast(),
                target_size: target.len(),
                ..Default::default()
            }
        )?;
        // SAFETY: the call returned the event, and nobody else has it.
        unsafe { self.client.api().wait(told.event) }
    }

    /// Copies the buffer to another device of the same client.
    pub(crate) fn copy_to(&self, device: &PjrtDevice) -> Result<Buffer, PjrtError> {
        let made = call!(
            self.client.api(),
            buffer_copy_to_device,
            sys::BufferCopyToDeviceArgs {
                buffer: self.pointer,
                device: device.pointer(),
                ..Default::default()
            }
        )?;
        let copy = Buffer::new(self.client.clone(), made.copy);
        let event = copy.ready_event()?;
        // SAFETY: the call returned the event, and nobody else has it.
        unsafe { in_flight::count(&self.client, event) }?;
        Ok(copy)
    }

    /// Waits for the elements, keeps their memory from being freed or moved until
    /// [`Buffer::release`], and returns its address.
    pub(crate) fn hold(&self) -> Result<*mut c_void, PjrtError> {
        self.wait()?;
        call!(
            self.client.api(),
            buffer_increase_external_reference_count,
            sys::BufferIncreaseExternalReferenceCountArgs {
                buffer: self.pointer,
                ..Default::default()
            }
        )?;
        let told = call!(
            self.client.api(),
            buffer_opaque_device_memory_data_pointer,
            sys::BufferOpaqueDeviceMemoryDataPointerArgs {
                buffer: self.pointer,
                ..Default::default()
            }
        );
        told.map(|told| told.pointer).inspect_err(|_| self.release())
    }

    /// Ends one [`Buffer::hold`].
    pub(crate) fn release(&self) {
        // A failure (nothing was held) has nowhere to go.
        let _ = call!(
            self.client.api(),
            buffer_decrease_external_reference_count,
            sys::BufferDecreaseExternalReferenceCountArgs {
                buffer: self.pointer,
                ..Default::default()
            }
        );
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // The last use of the pointer. A failure has nowhere to go.
        let _ = call!(
            self.client.api(),
            buffer_destroy,
            sys::BufferDestroyArgs { buffer: self.pointer, ..Default::default() }
        );
    }
}
