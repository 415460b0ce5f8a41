//! DLPack's own terms for devices and streams.

use std::fmt;
use std::num::NonZeroUsize;

use crate::Error;

/// A device as DLPack names it: a type code and an index (`DLDevice` in dlpack.h, version 1.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DlpackDevice {
    /// The device type code.
    pub device_type: u32,
    /// The index among devices of that type; 0 for main memory of any sort.
    pub device_id: i32,
}

impl DlpackDevice {
    /// Main memory.
    pub const CPU: DlpackDevice = DlpackDevice { device_type: 1, device_id: 0 };
    /// Main memory that CUDA pinned.
    pub const CUDA_HOST: DlpackDevice = DlpackDevice { device_type: 3, device_id: 0 };
    /// Main memory that ROCm pinned.
    pub const ROCM_HOST: DlpackDevice = DlpackDevice { device_type: 11, device_id: 0 };

    /// Returns the CUDA device of this index.
    pub const fn cuda(device_id: i32) -> DlpackDevice {
        DlpackDevice { device_type: 2, device_id }
    }

    /// Returns the CUDA managed memory that was made on the device of this index.
    pub const fn cuda_managed(device_id: i32) -> DlpackDevice {
        DlpackDevice { device_type: 13, device_id }
    }

    /// Returns whether a program on the host can read the memory through its pointer: plain,
    /// pinned and managed memory. (Managed memory may still be written by queued work; its
    /// producer must have finished that.)
    pub const fn is_host_readable(self) -> bool {
        matches!(self.device_type, 1 | 3 | 11 | 13)
    }
}

impl fmt::Display for DlpackDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.device_type {
            1 => "CPU",
            2 => "CUDA",
            3 => "CUDA host",
            4 => "OpenCL",
            7 => "Vulkan",
            8 => "Metal",
            9 => "VPI",
            10 => "ROCm",
            11 => "ROCm host",
            12 => "extension",
            13 => "CUDA managed",
            14 => "oneAPI",
            15 => "WebGPU",
            16 => "Hexagon",
            17 => "MAIA",
            18 => "Trainium",
            _ => return write!(f, "device type {} number {}", self.device_type, self.device_id),
        };
        write!(f, "{name} {}", self.device_id)
    }
}

impl fmt::Debug for DlpackDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The consumer's stream, on which a producer must make its data ready.
///
/// These are the values of `__dlpack__(stream=...)` in the Python array API standard, by name: as
/// plain integers they mean different things on CUDA and ROCm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DlpackStream {
    /// The consumer synchronises by itself: the producer does nothing.
    NoSynchronisation,
    /// The legacy default stream of the device.
    LegacyDefault,
    /// The per-thread default stream of the device.
    PerThreadDefault,
    /// A stream by its native handle.
    Handle(StreamHandle),
}

/// The native handle of a stream that is alive, so that a producer may queue on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StreamHandle(NonZeroUsize);

impl StreamHandle {
    /// Vouches for a handle.
    ///
    /// # Safety
    /// It is the handle of a stream of the device that is exchanged on, and that stream is alive
    /// until the exchange for which it is named is over.
    pub const unsafe fn new(handle: NonZeroUsize) -> StreamHandle {
        StreamHandle(handle)
    }

    /// Returns the handle.
    pub const fn get(self) -> usize {
        self.0.get()
    }
}

impl DlpackStream {
    /// Reads the standard's integer for a CUDA device: -1, 1, 2 or a handle.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for 0 (which the standard forbids as ambiguous) and for values
    /// below -1.
    ///
    /// # Safety
    /// A handle is one as [`StreamHandle::new`] demands it.
    pub unsafe fn from_cuda_value(value: i64) -> Result<DlpackStream, Error> {
        let handle = usize::try_from(value).ok().and_then(NonZeroUsize::new);
        match (value, handle) {
            (-1, _) => Ok(DlpackStream::NoSynchronisation),
            (1, _) => Ok(DlpackStream::LegacyDefault),
            (2, _) => Ok(DlpackStream::PerThreadDefault),
            // SAFETY: as the caller says.
            (_, Some(handle)) => Ok(DlpackStream::Handle(unsafe { StreamHandle::new(handle) })),
            _ => Err(Error::InvalidArgument {
                operation: "DLPack stream",
                message: format!("{value} is not a stream; use -1, 1, 2 or a handle"),
            }),
        }
    }
}
