//! `cargo xtask gpu-check`: what only a machine with a GPU can show, as one binary.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::task::{Task, root};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The backend to check
    #[arg(value_parser = BACKENDS)]
    backend: String,
    /// Only build the binary, to be run on another machine
    #[arg(long)]
    build_only: bool,
    /// What the binary is given (`-- --help` lists it)
    #[arg(last = true)]
    arguments: Vec<String>,
}

const BACKENDS: [&str; 2] = ["cuda", "xla"];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let binary = build(&arguments.backend)?;
    if arguments.build_only {
        let size = std::fs::metadata(&binary)?.len();
        println!("{} ({:.1} MB)", binary.display(), size as f64 / 1e6);
        return Ok(());
    }
    let status = Task::new(&binary).args(&arguments.arguments).run_attached()?;
    if !status.success() {
        // The binary has said why, and its code tells failures from nothing to check.
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

/// Builds the checks of one backend and returns the binary, under a name of its own.
fn build(backend: &str) -> Result<PathBuf> {
    let build = format!(
        "build --profile gpu-check -p arraybridge-gpu-check --no-default-features --features {backend}"
    );
    Task::cargo(&build).run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let built = target.unwrap_or_else(|| root().join("target")).join("gpu-check");
    let suffix = std::env::consts::EXE_SUFFIX;
    let binary = built.join(format!("gpu-check-{backend}{suffix}"));
    std::fs::copy(built.join(format!("gpu-check{suffix}")), &binary)
        .with_context(|| format!("could not write {}", binary.display()))?;
    Ok(binary)
}
