//! What only a machine with a GPU can show: `cargo xtask gpu-check NAME` builds this with one
//! backend and runs it.
//!
//! It is one binary that needs nothing but the backend's runtime, so it can be built on one machine
//! and run on another. One file per backend; what every backend owes its accelerators is in
//! `accelerator`.

mod accelerator;
mod checks;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "tch")]
mod tch;
#[cfg(feature = "xla")]
mod xla;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use arraybridge_ndarray as _;
use clap::Parser;

use checks::{Checks, Verdict};

#[derive(Parser)]
#[command(name = "gpu-check", about = "Check backends on a machine's accelerators")]
pub(crate) struct Arguments {
    /// Run the checks whose name contains this alone
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Take every device instead, where there is no accelerator: tries this program, not a GPU
    #[arg(long)]
    on_any_device: bool,
    /// Also write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// No check ran, because there is no accelerator.
const NOTHING_CHECKED: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut checks = Checks::new(arguments.only.clone());
    let done = run(&arguments, &mut checks);
    if let Err(error) = done {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    match checks.verdict() {
        Verdict::Passed => ExitCode::SUCCESS,
        Verdict::Failed => ExitCode::FAILURE,
        Verdict::NothingChecked => ExitCode::from(NOTHING_CHECKED),
    }
}

fn run(arguments: &Arguments, checks: &mut Checks) -> Result<()> {
    #[cfg(feature = "cuda")]
    cuda::run(checks, arguments.on_any_device)?;
    #[cfg(feature = "tch")]
    tch::run(checks, arguments.on_any_device)?;
    #[cfg(feature = "xla")]
    xla::run(checks, arguments.on_any_device)?;
    println!("\n{}", checks.summary());
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(checks.results())?;
        std::fs::write(file, text)
            .with_context(|| format!("could not write {}", file.display()))?;
    }
    Ok(())
}
