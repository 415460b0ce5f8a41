//! `cargo xtask gpu-check`: what only a machine with a GPU can show, as one binary.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::libtorch::Libtorch;
use crate::older_torch;
use crate::task::{Task, root};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The backend to check
    #[arg(value_parser = BACKENDS)]
    backend: String,
    /// Only build the binary, to be run on another machine
    #[arg(long)]
    build_only: bool,
    /// Which libtorch `tch` is built with
    #[arg(long, value_name = "VERSION", default_value = "2.13", value_parser = ["2.13", "2.11"])]
    torch: String,
    /// What the binary is given (`-- --help` lists it)
    #[arg(last = true)]
    arguments: Vec<String>,
}

const BACKENDS: [&str; 3] = ["cuda", "tch", "xla"];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let binary = build(arguments)?;
    if arguments.build_only {
        let size = std::fs::metadata(&binary)?.len();
        println!("{} ({:.1} MB)", binary.display(), size as f64 / 1e6);
        return Ok(());
    }
    let mut task = Task::new(&binary);
    if arguments.backend == "tch" {
        task = libtorch(arguments)?.environment(task)?;
    }
    let status = task.args(&arguments.arguments).run_attached()?;
    if !status.success() {
        // The binary has said why, and its code tells failures from nothing to check.
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

/// Returns the libtorch that the checks are built with.
fn libtorch(arguments: &Arguments) -> Result<Libtorch> {
    if arguments.torch == "2.11" { Libtorch::older() } else { Libtorch::current() }
}

/// Builds the checks of one backend and returns the binary, under a name of its own.
fn build(arguments: &Arguments) -> Result<PathBuf> {
    let backend = &arguments.backend;
    let build = format!(
        "build --profile gpu-check -p arraybridge-gpu-check --no-default-features --features {backend}"
    );
    let mut task = Task::cargo(&build);
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let mut target = target.unwrap_or_else(|| root().join("target"));
    if backend == "tch" {
        task = libtorch(arguments)?.environment(task)?;
        if arguments.torch == "2.11" {
            let workspace = older_torch::workspace()?;
            target = workspace.join("target");
            let target = ["--target-dir".as_ref(), target.as_os_str()];
            task = task.args(["--manifest-path".into(), workspace.join("Cargo.toml")]).args(target);
        }
    }
    task.run()?;
    let built = target.join("gpu-check");
    let suffix = std::env::consts::EXE_SUFFIX;
    let binary = built.join(format!("gpu-check-{backend}{suffix}"));
    std::fs::copy(built.join(format!("gpu-check{suffix}")), &binary)
        .with_context(|| format!("could not write {}", binary.display()))?;
    Ok(binary)
}
