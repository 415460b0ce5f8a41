//! The workspace with another version of tch than the one that is locked.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::task::{Task, root};

/// The version of tch that is written for libtorch 2.11.
const TCH: &str = "0.24.0";

/// Makes a folder that shows the workspace, but for the lock file, which has the older tch; returns
/// the folder.
pub(crate) fn workspace() -> Result<PathBuf> {
    let (root, folder) = (root(), root().join("target/torch-2.11"));
    std::fs::create_dir_all(&folder)?;
    for entry in std::fs::read_dir(&root)? {
        let name = entry?.file_name();
        let own = ["target", "Cargo.lock", ".git"].iter().any(|own| name == *own);
        let link = folder.join(&name);
        if !own && !link.exists() {
            show(&root.join(&name), &link)
                .with_context(|| format!("could not make {}", link.display()))?;
        }
    }
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let manifest = folder.join("Cargo.toml");
    for package in ["tch", "torch-sys"] {
        let update = format!("update --quiet -p {package} --precise {TCH} --manifest-path");
        // One follows the other, so the second may have nothing left to do.
        Task::cargo(&update).args([&manifest]).run()?;
    }
    Ok(folder)
}

#[cfg(unix)]
fn show(target: &std::path::Path, link: &std::path::Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn show(_: &std::path::Path, _: &std::path::Path) -> std::io::Result<()> {
    Err(std::io::Error::other("it takes symbolic links"))
}
