//! Host arrays in pinned memory.

use std::sync::Arc;

use arraybridge_core::{Access, DType, Device, Error, HostArray, Layout, Owner};
use cudarc::driver::CudaContext;

use crate::driver::{Bound, allocate_pinned, free_pinned};
use crate::faults::report;
use crate::library::foreign;
use crate::runtime;

/// Memory that a host array owns.
struct Pinned {
    context: Arc<CudaContext>,
    pointer: *mut u8,
}

// SAFETY: it owns its memory; nothing about it belongs to a thread.
unsafe impl Send for Pinned {}

impl Drop for Pinned {
    fn drop(&mut self) {
        let freed = Bound::to(&self.context).and_then(|bound| {
            // SAFETY: its own memory. Copies that are queued hold a handle on the array until they
            // are done, so there are none.
            unsafe { free_pinned(&bound, self.pointer) }
        });
        if let Err(error) = freed {
            report("pinned memory was not freed", error);
        }
    }
}

/// Returns a row-major host array of zeros in pinned memory, which devices read by themselves.
///
/// Uploading it queues one copy and returns; the array is shared with the copy until that is done, so
/// writing it meanwhile copies first or is refused. Pinned memory is taken from the whole system:
/// keep it for what is uploaded again and again.
///
/// ```no_run
/// use arraybridge_core::{DType, Device};
///
/// let mut frame = arraybridge_cuda::pinned(DType::U8, &[1024, 1024], Device::Accelerator(0))?;
/// frame.as_slice_mut::<u8>()?.fill(7);
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::DeviceUnavailable`], [`Error::SizeOverflow`], and the driver's failure to pin memory.
pub fn pinned(dtype: DType, shape: &[usize], device: Device) -> Result<HostArray, Error> {
    let context = runtime::context(device)?;
    let layout = Layout::row_major(shape)?;
    let nbytes = layout.nbytes(dtype)?;
    if nbytes == 0 {
        return HostArray::zeros(dtype, shape);
    }
    let failed = |error| foreign("pinning memory", error);
    let bound = context.bind().map_err(failed)?;
    let pointer = allocate_pinned(&bound, nbytes).map_err(failed)?;
    let owner = Owner::new(Pinned { context: Arc::clone(&context.cuda), pointer });
    // SAFETY: as many bytes as were just allocated.
    unsafe { pointer.write_bytes(0, nbytes) };
    // SAFETY: the owner keeps the memory, which is zero, long enough and nobody else's.
    unsafe { HostArray::from_raw(owner, pointer, dtype, layout, Access::Exclusive) }
}
