//! Speed, as ratios to what a program would use instead: `cargo xtask bench` runs this.
//!
//! criterion and divan measure one function at a time, minutes apart, on machines whose speed
//! changes meanwhile. What is wanted here are ratios, so both sides of each take turns
//! ([`pairs`](pairs::Bench::compare)). One file per subject.

mod conversions;
mod copies;
#[cfg(feature = "python")]
mod objects;
mod opencl;
mod operations;
mod pairs;
mod python;
#[cfg(feature = "tch")]
mod tch;
mod xla;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;

#[derive(Parser)]
#[command(about = "Measure speed against what a program would use instead")]
struct Arguments {
    /// Fewer measurements
    #[arg(long)]
    quick: bool,
    /// Measure only the rows whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Also write the rows as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also measure the libraries that this Python has
    #[arg(long, value_name = "INTERPRETER")]
    python: Option<PathBuf>,
    /// Also show the rows of this file, which another run wrote as JSON
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    /// Measure the exchange with Python's objects and nothing else, and write the rows as JSON
    #[cfg(feature = "python")]
    #[arg(long, value_name = "FILE")]
    objects: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut bench = pairs::Bench::new(arguments.quick, arguments.only.clone());
    #[cfg(feature = "python")]
    if let Some(file) = &arguments.objects {
        objects::run(&mut bench)?;
        return write(&bench.into_rows(&[]), file);
    }
    conversions::run(&mut bench)?;
    copies::run(&mut bench)?;
    operations::run(&mut bench)?;
    opencl::run(&mut bench)?;
    xla::run(&mut bench)?;
    #[cfg(feature = "tch")]
    tch::run(&mut bench)?;
    let peers = arguments.python.as_ref().map(|python| python::measure(python, arguments.quick));
    let peers = peers.transpose()?.unwrap_or_default();
    let mut rows = bench.into_rows(&peers);
    if let Some(file) = &arguments.with {
        let text = std::fs::read_to_string(file);
        let text = text.with_context(|| format!("could not read {}", file.display()))?;
        rows.extend(serde_json::from_str::<Vec<pairs::Row>>(&text)?);
    }
    println!("{}", pairs::table(&rows));
    match &arguments.json {
        Some(file) => write(&rows, file),
        None => Ok(()),
    }
}

fn write(rows: &[pairs::Row], file: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(rows)?;
    std::fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
}
