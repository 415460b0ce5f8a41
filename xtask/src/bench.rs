//! `cargo xtask bench`: speed, as ratios to what a program would use instead.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::setup::peers;
use crate::task::{Task, root};
use crate::{interpreter, libtorch};

// Release: what is measured is what users get.
const RUN: &str = "run --quiet --release --package arraybridge-benchmarks";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fewer and smaller measurements
    #[arg(long)]
    quick: bool,
    /// Measure only the rows whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Also write the rows as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let python = peers::python()?;
    let objects = if python.exists() { objects(arguments, &python)? } else { None };
    let mut task = if libtorch::is_there() {
        libtorch::with_libtorch(Task::cargo(&format!("{RUN} --features tch --")))?
    } else {
        println!("without PyTorch; `cargo xtask setup tch` brings it");
        Task::cargo(&format!("{RUN} --"))
    };
    task = task.args(["--only", &arguments.only]);
    if arguments.quick {
        task = task.args(["--quick"]);
    }
    if let Some(file) = &arguments.json {
        // The command runs in the workspace's root, the file is named from here.
        let file = std::path::absolute(file)?;
        task = task.args(["--json".as_ref(), file.as_os_str()]);
    }
    if let Some(file) = objects {
        task = task.args(["--with".as_ref(), file.as_os_str()]);
    }
    if python.exists() {
        task = task.args(["--python".as_ref(), python.as_os_str()]);
    } else {
        println!("without Python libraries; `cargo xtask setup peers` brings them");
    }
    ensure!(task.run_attached()?.success(), "the benchmarks failed");
    Ok(())
}

/// Measures the exchange with Python's objects, in a process of its own: one that has libtorch cannot
/// load Python's PyTorch. Returns the file of the rows.
fn objects(arguments: &Arguments, python: &Path) -> Result<Option<PathBuf>> {
    if let Some(reason) = interpreter::missing() {
        println!("without Python's objects: {reason}");
        return Ok(None);
    }
    let folder = root().join("target/python/peers");
    std::fs::create_dir_all(&folder)?;
    if let Err(error) = pyo3_dlpack(&folder) {
        println!("without pyo3-dlpack: {error:#}");
    }
    let environment = python.ancestors().nth(2).context("the environment has no folder")?;
    let rows = folder.join("rows.json");
    let mut task = Task::cargo(&format!("{RUN} --features python -- --objects"))
        .args([&rows])
        .args(["--only", &arguments.only])
        .env("ARRAYBRIDGE_PYTHON", &environment.display().to_string())
        .env("PYTHONPATH", &folder.display().to_string());
    if arguments.quick {
        task = task.args(["--quick"]);
    }
    ensure!(task.run_attached()?.success(), "the benchmarks of Python's objects failed");
    Ok(Some(rows))
}

/// Builds the module with which the crate pyo3-dlpack is measured.
fn pyo3_dlpack(folder: &Path) -> Result<()> {
    let target = root().join("target/pyo3-dlpack");
    let build = "build --quiet --release --locked --manifest-path \
                 benchmarks/pyo3-dlpack/Cargo.toml --target-dir";
    Task::cargo(build).args([&target]).output()?;
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let built = target.join(format!("release/{prefix}pyo3_dlpack_peer{suffix}"));
    let extension = if cfg!(windows) { "pyd" } else { "so" };
    std::fs::copy(built, folder.join("pyo3_dlpack_peer").with_extension(extension))?;
    Ok(())
}
