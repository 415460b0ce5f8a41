//! Where set-ups are kept: the user's cache folder.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the folder of one set-up: `ARRAYBRIDGE_CACHE`, or `arraybridge` in the user's cache.
pub(crate) fn folder(name: &str) -> Result<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(own) = variable("ARRAYBRIDGE_CACHE") {
        return Ok(PathBuf::from(own).join(name));
    }
    let caches = variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA")).map(PathBuf::from);
    let caches = caches.or_else(|| {
        let home = PathBuf::from(variable("HOME")?);
        Some(home.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
    });
    let caches = caches.context("no cache folder is known; set ARRAYBRIDGE_CACHE to one")?;
    Ok(caches.join("arraybridge").join(name))
}

/// Fills the folder of a set-up anew.
///
/// `fill` works in a folder beside it, which takes its place at the end, so that an interrupted
/// attempt leaves nothing that passes for a finished one.
///
/// # Errors
/// Those of `fill`; if the folder cannot be made or moved.
pub(crate) fn fill(name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folder = folder(name)?;
    let mut fresh = folder.clone().into_os_string();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    std::fs::create_dir_all(&fresh)
        .with_context(|| format!("could not make {}", fresh.display()))?;
    let moved = fill(&fresh).and_then(|()| {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::rename(&fresh, &folder)
            .with_context(|| format!("could not move what is set up to {}", folder.display()))
    });
    let _ = std::fs::remove_dir_all(&fresh);
    moved
}
