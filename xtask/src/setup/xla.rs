//! XLA's CPU plugins, from Python packages that hold nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;

use super::{Setup, cache};
use crate::task::Task;

pub(crate) const SETUP: Setup = Setup {
    name: CURRENT.name,
    what: "the PJRT plugin of XLA for CPUs, which the backend `xla` loads when it runs",
    download: "63 MB from PyPI",
    small: true,
    is_done: |_| CURRENT.is_there(),
    install: |_| CURRENT.install(),
};

pub(crate) const OLDER_SETUP: Setup = Setup {
    name: OLDER.name,
    what: "the same plugin of an older PJRT API (0.106), on which `cargo xtask test` runs once more",
    download: "63 MB from PyPI",
    small: false,
    is_done: |_| OLDER.is_there(),
    install: |_| OLDER.install(),
};

/// A Python package that holds a plugin.
struct Package {
    /// The set-up's name and the cache folder's.
    name: &'static str,
    /// The package with the hash of its Linux wheel.
    requirement: &'static str,
    /// The plugin's place in it.
    file: &'static str,
}

/// It asks for JAX, which the plugin does not need.
const CURRENT: Package = Package {
    name: "xla",
    requirement: "lammps-jax-pjrt-cpu==0.11.2 \
        --hash=sha256:1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1\n",
    file: "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
};

/// In a folder in which the backend does not look by itself.
const OLDER: Package = Package {
    name: "xla-0.106",
    requirement: "fastatomstruct-xla-cpu==2026.6.23 \
        --hash=sha256:88b1c430b341b4bea40a37420311c9c75db6e22b46d2ff95b6986577bee6afe9\n",
    file: "fastatomstruct_xla_cpu/libpjrt_cpu.so",
};

/// Returns the older plugin, if it is there.
pub(crate) fn older_plugin() -> Option<PathBuf> {
    OLDER.plugin().ok().filter(|plugin| plugin.exists())
}

impl Package {
    fn plugin(&self) -> Result<PathBuf> {
        Ok(cache::folder(self.name)?.join(self.file))
    }

    fn is_there(&self) -> bool {
        self.plugin().is_ok_and(|plugin| plugin.exists())
    }

    fn install(&self) -> Result<()> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            bail!(
                "the plugin is built for x86_64 Linux alone; set ARRAYBRIDGE_XLA_PLUGIN to one of yours"
            );
        }
        let folder = cache::folder(self.name)?;
        // Unpacked beside its place and then moved there, so that an interrupted attempt leaves
        // nothing that passes for a plugin.
        let mut fresh = folder.clone().into_os_string();
        fresh.push(format!(".{}", std::process::id()));
        let fresh = PathBuf::from(fresh);
        std::fs::create_dir_all(&fresh)
            .with_context(|| format!("could not make {}", fresh.display()))?;
        let unpacked = unpack(self.requirement, &fresh);
        let moved = unpacked.and_then(|()| {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::rename(&fresh, &folder)
                .with_context(|| format!("could not move the plugin to {}", folder.display()))
        });
        let _ = std::fs::remove_dir_all(&fresh);
        moved?;
        if !self.is_there() {
            let plugin = self.plugin()?;
            bail!("the package holds no plugin where one was expected: {}", plugin.display());
        }
        Ok(())
    }
}

fn unpack(requirement: &str, target: &Path) -> Result<()> {
    let requirements = target.join("requirements.txt");
    std::fs::write(&requirements, requirement)
        .with_context(|| format!("could not write {}", requirements.display()))?;
    let progress = ProgressBar::new_spinner().with_message("downloading and unpacking the plugin");
    progress.enable_steady_tick(Duration::from_millis(120));
    let options = "-m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
                   --only-binary=:all: --root-user-action=ignore";
    let installing = Task::new("python3")
        .args(options.split_whitespace())
        .args(["--target".as_ref(), target.as_os_str()])
        .args(["-r".as_ref(), requirements.as_os_str()]);
    let installed = installing.output();
    progress.finish_and_clear();
    installed
        .context("could not download the plugin; that takes python3 with pip (Debian: sudo apt-get install python3-pip)")
        .map(|_| ())
}
