//! The environment of commands that build or run what uses tch.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::setup::{Options, tch};
use crate::step::{Outcome, Step};
use crate::task::Task;

/// Where the loader looks for libraries.
const LIBRARY_PATH: &str =
    if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

/// Returns whether libtorch is there: the environment's own, or that of the set-up.
pub(crate) fn is_there() -> bool {
    (tch::SETUP.found)(Options::default()).is_some()
}

/// Lets a command build against libtorch and load it.
///
/// # Errors
/// Without a libtorch: what brings one.
pub(crate) fn with_libtorch(task: Task) -> Result<Task> {
    let Some(folder) = (tch::SETUP.found)(Options::default()) else {
        bail!(
            "no libtorch; `cargo xtask setup tch` downloads {}, or set LIBTORCH to one",
            tch::SETUP.download
        );
    };
    with_folder(task, &folder)
}

/// Lets a command build against the libtorch in a folder and load it.
pub(crate) fn with_folder(task: Task, folder: &Path) -> Result<Task> {
    let mut paths = vec![folder.join("lib")];
    if let Some(before) = std::env::var_os(LIBRARY_PATH) {
        paths.extend(std::env::split_paths(&before));
    }
    let paths = std::env::join_paths(paths).context("the library path has a colon in it")?;
    let text = |path: &std::ffi::OsStr| {
        path.to_str().map(str::to_owned).context("the path of libtorch is not UTF-8")
    };
    let task = task.env(LIBRARY_PATH, &text(&paths)?);
    // tch looks into Python's package by itself.
    if std::env::var_os("LIBTORCH_USE_PYTORCH").is_some() {
        return Ok(task);
    }
    // Always the same text: tch's C++, which takes a minute, is compiled again for another.
    Ok(task.env("LIBTORCH", &text(folder.as_os_str())?))
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
