//! `cargo xtask bench`: speed, as ratios to what a program would use instead.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::libtorch;
use crate::setup::peers;
use crate::task::Task;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fewer and smaller measurements
    #[arg(long)]
    quick: bool,
    /// Also write the rows as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    // Release: what is measured is what users get.
    let run = "run --quiet --release --package arraybridge-benchmarks";
    let mut task = if libtorch::is_there() {
        libtorch::with_libtorch(Task::cargo(&format!("{run} --features tch --")))?
    } else {
        println!("without PyTorch; `cargo xtask setup tch` brings it");
        Task::cargo(&format!("{run} --"))
    };
    if arguments.quick {
        task = task.args(["--quick"]);
    }
    if let Some(file) = &arguments.json {
        // The command runs in the workspace's root, the file is named from here.
        let file = std::path::absolute(file)?;
        task = task.args(["--json".as_ref(), file.as_os_str()]);
    }
    let python = peers::python()?;
    if python.exists() {
        task = task.args(["--python".as_ref(), python.as_os_str()]);
    } else {
        println!("without Python libraries; `cargo xtask setup peers` brings them");
    }
    ensure!(task.run_attached()?.success(), "the benchmarks failed");
    Ok(())
}
