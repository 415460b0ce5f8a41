//! `cargo xtask demo`: the main job, on a real image stack.

use anyhow::Result;

use crate::setup::python::CURRENT;
use crate::task::Task;
use crate::{interpreter, libtorch};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A TIFF stack or a PNG image; the sample stack of nuclei if none is given
    file: Option<std::path::PathBuf>,
    /// Do not bring in small runtimes that need no root
    #[arg(long)]
    no_setup: bool,
    /// Where the picture goes
    #[arg(long, value_name = "PNG", default_value = "demo.png")]
    output: std::path::PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if !arguments.no_setup {
        crate::setup::bring_small()?;
    }
    // The program runs in the workspace's root, so what was given is made absolute first.
    let output = std::path::absolute(&arguments.output)?;
    // What needs a native library to build takes part where that is there.
    let (torch, mut features) = (libtorch::is_there(), Vec::new());
    if torch {
        features.push("tch");
    }
    if interpreter::missing().is_none() && CURRENT.there().is_some() {
        features.push("python");
    }
    let run = "run --quiet -p arraybridge-examples --bin demo --features";
    let mut task = Task::cargo(run).args([&features.join(","), "--"]);
    if torch {
        task = libtorch::with_libtorch(task)?;
    }
    task = task.args([std::ffi::OsStr::new("--output"), output.as_os_str()]);
    if let Some(file) = &arguments.file {
        task = task.args([std::path::absolute(file)?]);
    }
    let status = task.run_attached()?;
    if !status.success() {
        // The program has said why in one line.
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}
