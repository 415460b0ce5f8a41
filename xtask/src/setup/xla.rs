//! XLA's CPU plugin, from a Python package that holds nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;

use super::{Options, Setup, cache};
use crate::task::Task;

pub(crate) const SETUP: Setup = Setup {
    name: "xla",
    what: "the PJRT plugin of XLA for CPUs, which the backend `xla` loads when it runs",
    download: "63 MB from PyPI",
    small: true,
    is_done,
    install,
};

/// The package with the hash of its Linux wheel. It asks for JAX, which the plugin does not need.
const REQUIREMENT: &str = "lammps-jax-pjrt-cpu==0.11.2 \
    --hash=sha256:1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1\n";

fn plugin() -> Result<PathBuf> {
    let folder = cache::folder(SETUP.name)?;
    Ok(folder.join("lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"))
}

fn is_done(_: Options) -> bool {
    plugin().is_ok_and(|plugin| plugin.exists())
}

fn install(_: Options) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!(
            "the plugin is built for x86_64 Linux alone; set ARRAYBRIDGE_XLA_PLUGIN to one of yours"
        );
    }
    let folder = cache::folder(SETUP.name)?;
    // Unpacked beside its place and then moved there, so that an interrupted attempt leaves nothing
    // that passes for a plugin.
    let fresh = folder.with_extension(format!("{}", std::process::id()));
    std::fs::create_dir_all(&fresh)
        .with_context(|| format!("could not make {}", fresh.display()))?;
    let unpacked = unpack(&fresh);
    let moved = unpacked.and_then(|()| {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::rename(&fresh, &folder)
            .with_context(|| format!("could not move the plugin to {}", folder.display()))
    });
    let _ = std::fs::remove_dir_all(&fresh);
    moved?;
    if !is_done(Options::default()) {
        bail!("the package holds no plugin where one was expected: {}", plugin()?.display());
    }
    Ok(())
}

fn unpack(target: &Path) -> Result<()> {
    let requirements = target.join("requirements.txt");
    std::fs::write(&requirements, REQUIREMENT)
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
