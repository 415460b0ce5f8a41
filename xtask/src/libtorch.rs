//! The environment of commands that build or run what uses tch.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::setup::{Options, Setup, tch};
use crate::step::{Outcome, Step};
use crate::task::Task;

/// Where the loader looks for libraries.
const LIBRARY_PATH: &str =
    if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

/// A libtorch: the environment's own, or one of the set-ups.
pub(crate) struct Libtorch {
    folder: PathBuf,
    /// Whether tch finds it by itself, in Python's package.
    is_pythons: bool,
}

impl Libtorch {
    /// Returns the one that everything is built with.
    ///
    /// # Errors
    /// Without one: what brings it.
    pub(crate) fn current() -> Result<Libtorch> {
        let folder = find(&tch::SETUP, "tch")?;
        Ok(Libtorch { folder, is_pythons: std::env::var_os("LIBTORCH_USE_PYTORCH").is_some() })
    }

    /// Returns the one that the oldest tch is built with.
    ///
    /// # Errors
    /// Without one: what brings it.
    pub(crate) fn older() -> Result<Libtorch> {
        let folder = find(&tch::OLDER_SETUP, "tch --torch 2.11")?;
        Ok(Libtorch { folder, is_pythons: false })
    }

    /// Lets a command build against it and load it.
    pub(crate) fn environment(&self, task: Task) -> Result<Task> {
        let mut paths = vec![self.folder.join("lib")];
        if let Some(before) = std::env::var_os(LIBRARY_PATH) {
            paths.extend(std::env::split_paths(&before));
        }
        let paths = std::env::join_paths(paths).context("the library path has a colon in it")?;
        let text = |path: &std::ffi::OsStr| {
            path.to_str().map(str::to_owned).context("the path of libtorch is not UTF-8")
        };
        let task = task.env(LIBRARY_PATH, &text(&paths)?);
        if self.is_pythons {
            return Ok(task);
        }
        // Always the same text: tch's C++, which takes a minute, is compiled again for another.
        Ok(task.env("LIBTORCH", &text(self.folder.as_os_str())?))
    }
}

fn find(setup: &Setup, name: &str) -> Result<PathBuf> {
    let Some(folder) = (setup.found)(Options::default()) else {
        bail!(
            "no libtorch; `cargo xtask setup {name}` downloads {}, or set LIBTORCH to one",
            setup.download
        );
    };
    Ok(folder)
}

/// Returns whether libtorch is there.
pub(crate) fn is_there() -> bool {
    Libtorch::current().is_ok()
}

/// Lets a command build against libtorch and load it.
///
/// # Errors
/// As [`Libtorch::current`].
pub(crate) fn with_libtorch(task: Task) -> Result<Task> {
    Libtorch::current()?.environment(task)
}

/// A step that needs libtorch: skipped without, and failed in CI or where it was asked for by name.
pub(crate) fn step(
    name: &str,
    areas: &'static [&'static str],
    needed: bool,
    run: impl FnOnce() -> Result<Outcome> + 'static,
) -> Step {
    Step::new(name, areas, move || {
        if is_there() || needed || std::env::var_os("CI").is_some() {
            return run();
        }
        Ok(Outcome::Skipped("no libtorch; `cargo xtask setup tch` brings one".into()))
    })
}
