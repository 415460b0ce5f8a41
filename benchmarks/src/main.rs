//! Speed, as ratios to what a program would use instead: `cargo xtask bench` runs this.
//!
//! criterion and divan measure one function at a time, minutes apart, on machines whose speed
//! changes meanwhile. What is wanted here are ratios, so both sides of each take turns
//! ([`pairs`](pairs::Bench::compare)). One file per subject.

mod conversions;
mod copies;
mod opencl;
mod operations;
mod pairs;
mod python;
#[cfg(feature = "tch")]
mod tch;
mod xla;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

#[derive(Parser)]
#[command(about = "Measure speed against what a program would use instead")]
struct Arguments {
    /// Fewer measurements
    #[arg(long)]
    quick: bool,
    /// Also write the rows as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also measure the libraries that this Python has
    #[arg(long, value_name = "INTERPRETER")]
    python: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut bench = pairs::Bench::new(arguments.quick);
    conversions::run(&mut bench)?;
    copies::run(&mut bench)?;
    operations::run(&mut bench)?;
    opencl::run(&mut bench)?;
    xla::run(&mut bench)?;
    #[cfg(feature = "tch")]
    tch::run(&mut bench)?;
    let peers = arguments.python.map(|python| python::measure(&python, arguments.quick));
    let peers = peers.transpose()?.unwrap_or_default();
    let rows = bench.into_rows(&peers);
    println!("{}", pairs::table(&rows));
    if let Some(file) = arguments.json {
        let text = serde_json::to_string_pretty(&rows)?;
        std::fs::write(&file, text)
            .with_context(|| format!("could not write {}", file.display()))?;
    }
    Ok(())
}
