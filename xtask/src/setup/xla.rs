//! XLA's CPU plugins, from Python packages that hold nothing else.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::wheel::{self, Wheel};
use super::{Setup, cache};

pub(crate) const SETUP: Setup = Setup {
    name: CURRENT.name,
    what: "the PJRT plugin of XLA for CPUs, which the backend `xla` loads when it runs",
    download: "63 MB from PyPI",
    small: true,
    is_of_the_system: false,
    only_by_name: false,
    found: |_| CURRENT.there(),
    install: |_| CURRENT.install(),
};

pub(crate) const OLDER_SETUP: Setup = Setup {
    name: OLDER.name,
    what: "the same plugin of an older PJRT API (0.106), on which `cargo xtask test` runs once more",
    download: "63 MB from PyPI",
    small: false,
    is_of_the_system: false,
    only_by_name: false,
    found: |_| OLDER.there(),
    install: |_| OLDER.install(),
};

/// A Python package that holds a plugin.
struct Package {
    /// The set-up's name and the cache folder's.
    name: &'static str,
    wheel: Wheel,
    /// The plugin's place in it.
    file: &'static str,
}

const CURRENT: Package = Package {
    name: "xla",
    wheel: Wheel {
        file: "lammps_jax_pjrt_cpu-0.11.2-py3-none-manylinux_2_27_x86_64.whl",
        sha256: "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1",
    },
    file: "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
};

/// In a folder in which the backend does not look by itself.
const OLDER: Package = Package {
    name: "xla-0.106",
    wheel: Wheel {
        file: "fastatomstruct_xla_cpu-2026.6.23-py3-none-manylinux_2_27_x86_64.whl",
        sha256: "88b1c430b341b4bea40a37420311c9c75db6e22b46d2ff95b6986577bee6afe9",
    },
    file: "fastatomstruct_xla_cpu/libpjrt_cpu.so",
};

/// Returns the older plugin, if it is there.
pub(crate) fn older_plugin() -> Option<PathBuf> {
    OLDER.there().map(|folder| folder.join(OLDER.file))
}

impl Package {
    /// Returns the folder of the set-up, if the plugin is in it.
    fn there(&self) -> Option<PathBuf> {
        cache::folder(self.name).ok().filter(|folder| folder.join(self.file).exists())
    }

    fn install(&self) -> Result<()> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            bail!(
                "the plugin is built for x86_64 Linux alone; set ARRAYBRIDGE_XLA_PLUGIN to one of yours"
            );
        }
        cache::fill(self.name, |folder| {
            let archive = self.wheel.fetch(folder)?;
            // The licences and notices stay with the plugin.
            wheel::unpack(&archive, |name| Some(folder.join(name)))?;
            std::fs::remove_file(archive)?;
            if !folder.join(self.file).exists() {
                bail!("the package holds no plugin where one was expected: {}", self.file);
            }
            Ok(())
        })
    }
}
