//! A pool of device memory, ordered by streams.

use std::ffi::c_void;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{
    CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPoolProps, CUmemoryPool,
};

use super::{Bound, entries};
use crate::CudaError;
use crate::error::check;
use crate::faults::report;

const RELEASE_THRESHOLD: u32 = 4;
const RESERVED_MEM_CURRENT: u32 = 5;

/// A pool of a device that keeps what is freed until it is told to let go.
///
/// It is not the device's default pool, whose settings belong to the whole process.
pub(crate) struct Pool(CUmemoryPool);

// SAFETY: the driver's pools may be used from any thread.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// Makes a pool of a device that has pools.
    pub(crate) fn new(_: &Bound, ordinal: u32) -> Result<Pool, CudaError> {
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: ordinal as i32,
            },
            win32SecurityAttributes: std::ptr::null_mut(),
            reserved: [0; 64],
        };
        let entries = entries()?;
        let mut raw: CUmemoryPool = std::ptr::null_mut();
        // SAFETY: the properties are whole, and the call writes a handle.
        check(unsafe { (entries.cuMemPoolCreate)(&mut raw, &properties) })?;
        let pool = Pool(raw);
        let mut keep = u64::MAX;
        let value = (&raw mut keep).cast::<c_void>();
        // SAFETY: the attribute is a 64-bit number.
        check(unsafe { (entries.cuMemPoolSetAttribute)(raw, RELEASE_THRESHOLD, value) })?;
        Ok(pool)
    }

    /// Allocates memory that work of a stream may use from now on.
    pub(crate) fn allocate(
        &self,
        _: &Bound,
        nbytes: usize,
        stream: &CudaStream,
    ) -> Result<u64, CudaError> {
        let mut address = 0;
        let (entries, raw) = (entries()?, stream.cu_stream());
        // SAFETY: pool and stream are alive, and the call writes an address.
        check(unsafe { (entries.cuMemAllocFromPoolAsync)(&mut address, nbytes, self.0, raw) })?;
        Ok(address)
    }

    /// Returns the bytes that the pool has taken from the device.
    pub(crate) fn reserved(&self) -> Result<u64, CudaError> {
        let mut bytes = 0u64;
        let value = (&raw mut bytes).cast::<c_void>();
        let entries = entries()?;
        // SAFETY: the attribute is a 64-bit number.
        check(unsafe { (entries.cuMemPoolGetAttribute)(self.0, RESERVED_MEM_CURRENT, value) })?;
        Ok(bytes)
    }

    /// Gives what is unused back to the device.
    pub(crate) fn trim(&self) -> Result<(), CudaError> {
        let entries = entries()?;
        // SAFETY: the pool is alive.
        check(unsafe { (entries.cuMemPoolTrimTo)(self.0, 0) })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let destroyed = entries().and_then(|entries| {
            // SAFETY: destroyed once; the driver keeps what was not freed yet.
            check(unsafe { (entries.cuMemPoolDestroy)(self.0) })
        });
        if let Err(error) = destroyed {
            report("a memory pool was not destroyed", error);
        }
    }
}
