//! The driver's entry points, looked up once in the library that cudarc loads.
//!
//! cudarc has functions of these names too; they panic where an older driver lacks one, and read the
//! codes of newer drivers into an enum that does not have them. Here a missing entry point is a
//! reason, and a code is a number.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cudarc::driver::sys::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUmemPoolProps, CUmemoryPool, CUmodule, CUstream,
    culib, is_culib_present,
};

macro_rules! entry_points {
    ($($name:ident($($type:ty),*);)*) => {
        /// The entry points that are used here.
        #[allow(non_snake_case)]
        pub(super) struct EntryPoints {
            $(pub(super) $name: unsafe extern "C" fn($($type),*) -> u32,)*
        }

        impl EntryPoints {
            /// Loads the driver's library; `None` if there is none, the name of what it lacks if
            /// it is too old.
            pub(super) fn load() -> Option<Result<EntryPoints, &'static str>> {
                // SAFETY: loading the driver's library runs its initialisers and nothing else.
                if !unsafe { is_culib_present() } {
                    return None;
                }
                // SAFETY: as above; it is there, so this does not panic.
                let library = unsafe { culib() };
                let load = || Ok(EntryPoints {
                    $($name: {
                        let name = stringify!($name);
                        // SAFETY: the driver's header declares the symbol with this signature.
                        let symbol = unsafe {
                            library.get::<unsafe extern "C" fn($($type),*) -> u32>(name.as_bytes())
                        };
                        *symbol.map_err(|_| name)?
                    },)*
                });
                Some(load())
            }
        }
    };
}

entry_points! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceCanAccessPeer(*mut c_int, c_int, c_int);
    cuCtxGetCurrent(*mut CUcontext);
    cuCtxSetCurrent(CUcontext);
    cuCtxSynchronize();
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemFree_v2(CUdeviceptr);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemPoolCreate(*mut CUmemoryPool, *const CUmemPoolProps);
    cuMemPoolDestroy(CUmemoryPool);
    cuMemPoolTrimTo(CUmemoryPool, usize);
    cuMemPoolSetAttribute(CUmemoryPool, c_uint, *mut c_void);
    cuMemPoolGetAttribute(CUmemoryPool, c_uint, *mut c_void);
    cuMemAllocFromPoolAsync(*mut CUdeviceptr, usize, CUmemoryPool, CUstream);
    cuMemFreeAsync(CUdeviceptr, CUstream);
    cuPointerGetAttribute(*mut c_void, c_uint, CUdeviceptr);
    cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, usize, CUstream);
    cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, usize, CUstream);
    cuStreamWaitEvent(CUstream, CUevent, c_uint);
    cuStreamSynchronize(CUstream);
    cuEventCreate(*mut CUevent, c_uint);
    cuEventDestroy_v2(CUevent);
    cuEventRecord(CUevent, CUstream);
    cuEventSynchronize(CUevent);
    cuEventQuery(CUevent);
    cuModuleLoadData(*mut CUmodule, *const c_void);
    cuModuleUnload(CUmodule);
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuLaunchKernel(
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream,
        *mut *mut c_void, *mut *mut c_void
    );
}
