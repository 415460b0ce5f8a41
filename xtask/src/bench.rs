//! `cargo xtask bench`: speed, as ratios to what a program would use instead.

use std::path::PathBuf;

use anyhow::{Result, bail};

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
    let _ = (arguments.quick, &arguments.json);
    bail!("there are no benchmarks yet")
}
