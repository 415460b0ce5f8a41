//! libtorch for CPUs, put together from the Python packages of PyTorch.
//!
//! PyPI's wheel of torch is built for CUDA. Its part for CPUs loads only two of CUDA's libraries,
//! which are small; the large ones, CUDA's kernels among them, are left out.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::wheel::{self, Wheel};
use super::{Setup, cache};
use crate::task::Task;

pub(crate) const SETUP: Setup = Setup {
    name: CURRENT.name,
    what: "libtorch 2.13 for CPUs, which the backend `tch` is built with and loads",
    download: "543 MB from PyPI, of which it keeps 490 MB",
    small: false,
    is_of_the_system: false,
    only_by_name: false,
    found: |_| own_libtorch().or_else(|| CURRENT.there()),
    install: |_| CURRENT.install(),
};

pub(crate) const OLDER_SETUP: Setup = Setup {
    name: OLDER.name,
    what: "libtorch 2.11 for CPUs, which tch 0.24 is built with",
    download: "544 MB from PyPI, of which it keeps 500 MB",
    small: false,
    is_of_the_system: false,
    only_by_name: true,
    found: |_| OLDER.there(),
    install: |_| OLDER.install(),
};

struct Libtorch {
    /// The set-up's name and the cache folder's.
    name: &'static str,
    version: &'static str,
    wheel: Wheel,
}

// Any CPython's wheel holds the same libtorch.
const CURRENT: Libtorch = Libtorch {
    name: "tch",
    version: "2.13.0",
    wheel: Wheel {
        file: "torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        sha256: "60fcdcb2f3876e21146cb4524ef06397d727ca9ad5f020818547e25075fe3cb7",
    },
};

const OLDER: Libtorch = Libtorch {
    name: "tch-2.11",
    version: "2.11.0",
    wheel: Wheel {
        file: "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        sha256: "7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a",
    },
};

/// What libtorch_cpu.so loads of CUDA, whether or not there is a GPU.
const CUDA: &[Wheel] = &[
    Wheel {
        file: "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
    },
    Wheel {
        file: "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl",
        sha256: "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
    },
];

const LIBRARIES: &[&str] = &[
    "torch/lib/libtorch_cpu.so",
    "torch/lib/libc10.so",
    "torch/lib/libgomp.so.1",
    "nvidia/cu13/lib/libcudart.so.13",
    "nvidia/cu13/lib/libcupti.so.13",
];

/// Returns the libtorch that the environment names, as tch's build reads it.
fn own_libtorch() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(own) = set("LIBTORCH") {
        return Some(PathBuf::from(own));
    }
    set("LIBTORCH_USE_PYTORCH")?;
    let folder = "import os, torch; print(os.path.dirname(torch.__file__))";
    let folder = Task::new("python3").args(["-c", folder]).output().ok()?;
    Some(PathBuf::from(folder.trim()))
}

impl Libtorch {
    fn there(&self) -> Option<PathBuf> {
        let folder = cache::folder(self.name).ok()?;
        let version = std::fs::read_to_string(folder.join("build-version")).ok()?;
        (version.trim() == self.version).then_some(folder)
    }

    fn install(&self) -> Result<()> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            bail!(
                "this set-up is for x86_64 Linux; elsewhere, set LIBTORCH to an unpacked libtorch \
                 {}, or LIBTORCH_USE_PYTORCH=1 where Python has that torch",
                self.version
            );
        }
        cache::fill(self.name, |folder| {
            for wheel in [&self.wheel].into_iter().chain(CUDA) {
                let archive = wheel.fetch(folder)?;
                wheel::unpack(&archive, |name| place(name).map(|place| folder.join(place)))?;
                std::fs::remove_file(archive)?;
            }
            for library in LIBRARIES {
                let file = folder.join(library_place(library));
                if !file.exists() {
                    bail!("the packages hold no {library}");
                }
            }
            link_front(&folder.join("lib"))?;
            // torch-sys compares this with the version that it is written for.
            std::fs::write(folder.join("build-version"), self.version)
                .context("writing libtorch's version")
        })
    }
}

/// Where a file of a wheel goes in libtorch's folder, if it is part of libtorch.
fn place(name: &str) -> Option<PathBuf> {
    if LIBRARIES.contains(&name) {
        return Some(library_place(name));
    }
    if let Some(header) = name.strip_prefix("torch/include/") {
        return Some(Path::new("include").join(header));
    }
    let (package, licence) = name.split_once(".dist-info/licenses/")?;
    Some(Path::new("licenses").join(package).join(licence))
}

fn library_place(name: &str) -> PathBuf {
    Path::new("lib").join(name.rsplit('/').next().unwrap_or(name))
}

/// Makes `libtorch.so`, which tch links: the wheel's own loads CUDA's kernels, this one what there
/// is.
fn link_front(lib: &Path) -> Result<()> {
    let compiler = std::env::var("CC").ok().filter(|compiler| !compiler.is_empty());
    let mut search = std::ffi::OsString::from("-L");
    search.push(lib);
    let link = Task::new(compiler.as_deref().unwrap_or("cc"))
        .args(["-shared", "-x", "c", "/dev/null", "-Wl,-soname,libtorch.so", "-o"])
        .args([lib.join("libtorch.so")])
        .args([search])
        .args(["-Wl,--no-as-needed", "-ltorch_cpu", "-Wl,-rpath,$ORIGIN"]);
    link.output().map(|_| ()).context(
        "linking libtorch.so takes a C compiler, as does building tch \
         (Debian: sudo apt-get install build-essential)",
    )
}
