//! The Python libraries, measured by a script in a process of their own.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

const SCRIPT: &str = include_str!("../peers.py");

/// What the script measured of one library.
#[derive(Deserialize)]
pub(crate) struct Peer {
    /// The name of the row that it belongs to.
    pub(crate) name: String,
    pub(crate) library: String,
    pub(crate) seconds: f64,
    pub(crate) spread: f64,
}

pub(crate) fn measure(python: &Path, quick: bool) -> Result<Vec<Peer>> {
    eprintln!("Python libraries");
    let rounds = if quick { "5" } else { "15" };
    let output = Command::new(python)
        .args(["-c", SCRIPT, rounds])
        .output()
        .with_context(|| format!("could not start {}", python.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the Python script failed:\n{errors}");
    serde_json::from_slice(&output.stdout).context("the Python script wrote no rows")
}
