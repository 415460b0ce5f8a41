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
const NONE: DeviceKinds = DeviceKinds::NONE;

/// ndarray: main memory, which it shares.
pub const NDARRAY: KnownLibrary = KnownLibrary {
    declaration: Declaration {
        name: "ndarray",
        aliases: &["numpy"],
        devices: HOST,
        dlpack_export: NONE,
        dlpack_import: NONE,
        host_share: HOST,
        device_move: false,
    },
    feature: Some("ndarray"),
    remedy: "it needs nothing but its feature: `cargo add arraybridge --features ndarray`",
};

/// PyTorch's tensors, in main memory and on its accelerators.
pub const TCH: KnownLibrary = KnownLibrary {
    declaration: Declaration {
        name: "tch",
        aliases: &["torch", "pytorch"],
        devices: HOST.and(ACCELERATOR),
        dlpack_export: HOST.and(ACCELERATOR),
        dlpack_import: HOST.and(ACCELERATOR),
        host_share: HOST,
        device_move: true,
    },
    feature: None,
    remedy: "it is declared for plans, and this version has no backend for it (planned: tch)",
};

/// CUDA's device memory, which has no side in main memory.
pub const CUDA: KnownLibrary = KnownLibrary {
    declaration: Declaration {
        name: "cuda",
        aliases: &["cupy"],
        devices: ACCELERATOR,
        dlpack_export: ACCELERATOR,
        dlpack_import: ACCELERATOR,
        host_share: NONE,
        device_move: true,
    },
    feature: None,
    remedy: "it is declared for plans, and this version has no backend for it (planned: cudarc)",
};

/// OpenCL's buffers: accelerators, and CPUs as named devices that share main memory.
pub const OPENCL: KnownLibrary = KnownLibrary {
    declaration: Declaration {
        name: "opencl",
        aliases: &["pyclesperanto"],
        devices: ACCELERATOR.and(NAMED),
        dlpack_export: NONE,
        dlpack_import: NONE,
        host_share: NAMED,
        device_move: true,
    },
    feature: None,
    remedy: "it is declared for plans, and this version has no backend for it (planned: opencl3)",
};

/// XLA's buffers: its first CPU device is the host, its further ones are named.
pub const XLA: KnownLibrary = KnownLibrary {
    declaration: Declaration {
        name: "xla",
        aliases: &["jax", "tensorflow"],
        devices: DeviceKinds::ALL,
        dlpack_export: HOST.and(ACCELERATOR),
        dlpack_import: HOST.and(ACCELERATOR),
        host_share: HOST.and(NAMED),
        device_move: true,
    },
    feature: Some("xla"),
    remedy: "it needs its feature and a PJRT plugin: `cargo xtask setup xla` in a clone of \
             arraybridge brings one (63 MB)",
};

/// Python's array objects, whichever library made them.
pub const PYTHON: KnownLibrary = KnownLibrary {
    declaration: Declaration {
        name: "python",
        aliases: &[],
        devices: HOST.and(ACCELERATOR),
        dlpack_export: HOST.and(ACCELERATOR),
        dlpack_import: HOST.and(ACCELERATOR),
        host_share: HOST,
        device_move: false,
    },
    feature: None,
    remedy: "it is declared for plans, and this version has no backend for it (planned: PyO3)",
};

/// Every official library, sorted by name.
pub const ALL: &[KnownLibrary] = &[CUDA, NDARRAY, OPENCL, PYTHON, TCH, XLA];

inventory::submit! { CUDA }
inventory::submit! { NDARRAY }
inventory::submit! { OPENCL }
inventory::submit! { PYTHON }
inventory::submit! { TCH }
inventory::submit! { XLA }
