//! What the official libraries declare about themselves, compiled in or not.
//!
//! Plans and error messages read these, so they speak of a library also where it is not compiled
//! in. The test of each backend proves that its own declaration is equal. A library whose
//! [`feature`](KnownLibrary::feature) is `None` has no backend in this version: it can be planned
//! with, not converted to.

use arraybridge_core::{Declaration, DeviceKinds, KnownLibrary, inventory};

const HOST: DeviceKinds = DeviceKinds::HOST;
const NAMED: DeviceKinds = DeviceKinds::NAMED;
const ACCELERATOR: DeviceKinds = DeviceKinds::ACCELERATOR;

/// ndarray: main memory, which it shares.
pub const NDARRAY: KnownLibrary = KnownLibrary::new(
    Declaration::new("ndarray", HOST).with_aliases(&["numpy"]).with_host_share(HOST),
    Some("ndarray"),
    "it needs nothing but its feature: `cargo add arraybridge --features ndarray`",
);

/// PyTorch's tensors, in main memory and on its accelerators.
pub const TCH: KnownLibrary = KnownLibrary::new(
    Declaration::new("tch", HOST.and(ACCELERATOR))
        .with_aliases(&["torch", "pytorch"])
        .with_dlpack(HOST.and(ACCELERATOR))
        .with_host_share(HOST)
        .with_device_move(),
    Some("tch"),
    "it needs its feature, and libtorch to build with: `cargo xtask setup tch` in a clone of \
             arraybridge brings one (543 MB)",
);

/// CUDA's device memory, which has no side in main memory.
pub const CUDA: KnownLibrary = KnownLibrary::new(
    Declaration::new("cuda", ACCELERATOR)
        .with_aliases(&["cupy"])
        .with_dlpack(ACCELERATOR)
        .with_device_move(),
    Some("cuda"),
    "it needs its feature and NVIDIA's driver for CUDA 11.2 or later, nothing else of CUDA",
);

/// OpenCL's buffers: accelerators, and CPUs as named devices that share main memory.
pub const OPENCL: KnownLibrary = KnownLibrary::new(
    Declaration::new("opencl", ACCELERATOR.and(NAMED))
        .with_aliases(&["pyclesperanto"])
        .with_host_share(NAMED)
        .with_device_move(),
    Some("opencl"),
    "it needs its feature and an OpenCL driver: that of your GPU, or PoCL for CPUs, which \
             `cargo xtask setup opencl` in a clone of arraybridge brings (Debian)",
);

/// XLA's buffers: its first CPU device is the host, its further ones are named.
pub const XLA: KnownLibrary = KnownLibrary::new(
    Declaration::new("xla", DeviceKinds::ALL)
        .with_aliases(&["jax", "tensorflow"])
        .with_dlpack(HOST.and(ACCELERATOR))
        .with_host_share(HOST.and(NAMED))
        .with_device_move(),
    Some("xla"),
    "it needs its feature and a PJRT plugin: `cargo xtask setup xla` in a clone of \
             arraybridge brings one (63 MB)",
);

/// Python's array objects, whichever library made them.
pub const PYTHON: KnownLibrary = KnownLibrary::new(
    Declaration::new("python", HOST.and(ACCELERATOR))
        .with_dlpack(HOST.and(ACCELERATOR))
        .with_host_share(HOST),
    Some("python"),
    "it needs its feature and Python 3.11 or later with its library: on Debian `apt-get install \
     python3-dev`; `cargo xtask setup python` in a clone of arraybridge brings Python's packages",
);

/// Every official library, sorted by name.
pub const ALL: &[KnownLibrary] = &[CUDA, NDARRAY, OPENCL, PYTHON, TCH, XLA];

inventory::submit! { CUDA }
inventory::submit! { NDARRAY }
inventory::submit! { OPENCL }
inventory::submit! { PYTHON }
inventory::submit! { TCH }
inventory::submit! { XLA }
