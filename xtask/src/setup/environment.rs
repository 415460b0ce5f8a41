//! Virtual environments of Python in the cache folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::ProgressBar;

use super::cache;
use crate::task::Task;

/// A virtual environment, named as its folder.
pub(crate) struct Environment {
    pub(crate) name: &'static str,
}

impl Environment {
    /// Returns the interpreter, whether or not it is there yet.
    pub(crate) fn python(&self) -> Result<PathBuf> {
        let folder = cache::folder(self.name)?;
        let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        Ok(folder.join(inside))
    }

    /// Returns the folder if this code runs in the environment.
    pub(crate) fn where_runs(&self, code: &str) -> Option<PathBuf> {
        let runs = Task::new(self.python().ok()?).args(["-c", code]).succeeds();
        runs.then(|| cache::folder(self.name).ok())?
    }

    /// Makes the environment, unless it is there.
    pub(crate) fn make(&self) -> Result<()> {
        let folder = cache::folder(self.name)?;
        if self.python()?.exists() {
            return Ok(());
        }
        let parent = folder.parent().context("the cache folder has no parent")?;
        std::fs::create_dir_all(parent)
            .with_context(|| format!("could not make {}", parent.display()))?;
        let made = Task::new("python3").args(["-m".as_ref(), "venv".as_ref(), folder.as_os_str()]);
        made.output().map(|_| ()).with_context(|| {
            // What an interrupted attempt left would pass for an environment.
            let _ = std::fs::remove_dir_all(&folder);
            let needed = if Path::new("/etc/debian_version").exists() {
                "sudo apt-get install python3-venv"
            } else {
                "install Python 3.11 or newer"
            };
            format!("could not make a Python environment; this brings what it needs: {needed}")
        })
    }

    /// Installs packages, which does nothing for those that are there.
    pub(crate) fn install(&self, what: &str, packages: &[&str]) -> Result<()> {
        let progress = ProgressBar::new_spinner().with_message(format!("installing {what}"));
        progress.enable_steady_tick(Duration::from_millis(120));
        // Python compiles what it imports when it does; all of it at once takes half the time.
        let installing = Task::new(self.python()?)
            .args("-m pip install --quiet --disable-pip-version-check --no-compile".split(' '))
            .args(packages);
        let installed = installing.output();
        progress.finish_and_clear();
        installed.with_context(|| format!("could not install {what}")).map(|_| ())
    }
}
