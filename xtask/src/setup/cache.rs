//! Where set-ups are kept: the user's cache folder.

use std::env;
use std::path::PathBuf;

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
