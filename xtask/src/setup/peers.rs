//! The Python libraries to measure against, in a virtual environment of their own.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;

use super::{Options, Setup, cache};
use crate::task::Task;

pub(crate) const SETUP: Setup = Setup {
    name: "peers",
    what: "NumPy and Python's arraybridge 0.5.2 (with --with-torch PyTorch too), to measure against",
    download: "about 20 MB from PyPI (with --with-torch up to 3 GB: its Linux wheel needs CUDA's)",
    small: false,
    is_of_the_system: false,
    only_by_name: false,
    found: |options| is_done(options).then(|| cache::folder(SETUP.name).ok())?,
    install,
};

const BASE: &[&str] = &["numpy", "arraybridge==0.5.2"];

/// Returns the environment's interpreter, whether or not it is there yet.
pub(crate) fn python() -> Result<PathBuf> {
    let folder = cache::folder(SETUP.name)?;
    Ok(if cfg!(windows) { folder.join("Scripts/python.exe") } else { folder.join("bin/python") })
}

fn imports(modules: &str) -> bool {
    let Ok(python) = python() else { return false };
    Task::new(python).args(["-c", &format!("import {modules}")]).succeeds()
}

fn is_done(options: Options) -> bool {
    imports(if options.with_torch { "numpy, arraybridge, torch" } else { "numpy, arraybridge" })
}

fn install(options: Options) -> Result<()> {
    let folder = cache::folder(SETUP.name)?;
    let python = python()?;
    if !python.exists() {
        make_environment(&folder)?;
    }
    pip("NumPy and arraybridge", BASE)?;
    if options.with_torch {
        // The wheel for Linux loads CUDA's libraries at import, so there is no leaving them out.
        pip("PyTorch", &["torch"])?;
    }
    if !is_done(options) {
        bail!(
            "the packages are installed but do not import; remove {} and try again",
            folder.display()
        );
    }
    Ok(())
}

fn make_environment(folder: &std::path::Path) -> Result<()> {
    let parent = folder.parent().context("the cache folder has no parent")?;
    std::fs::create_dir_all(parent)
        .with_context(|| format!("could not make {}", parent.display()))?;
    let made = Task::new("python3").args(["-m".as_ref(), "venv".as_ref(), folder.as_os_str()]);
    made.output().map(|_| ()).with_context(|| {
        // What an interrupted attempt left would pass for an environment.
        let _ = std::fs::remove_dir_all(folder);
        let needed = if is_debian() {
            "sudo apt-get install python3-venv"
        } else {
            "install Python 3.9 or newer"
        };
        format!("could not make a Python environment; this brings what it needs: {needed}")
    })
}

fn is_debian() -> bool {
    std::path::Path::new("/etc/debian_version").exists()
}

/// Installs packages, which does nothing for those that are there.
fn pip(what: &str, packages: &[&str]) -> Result<()> {
    let progress = ProgressBar::new_spinner().with_message(format!("installing {what}"));
    progress.enable_steady_tick(Duration::from_millis(120));
    let installing = Task::new(python()?)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(packages);
    let installed = installing.output();
    progress.finish_and_clear();
    installed.with_context(|| format!("could not install {what}")).map(|_| ())
}
