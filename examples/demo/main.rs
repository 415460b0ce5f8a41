//! The demo: an image stack taken through every library on this machine.
//!
//! Run it as `cargo xtask demo [FILE]`.

mod journey;
mod picture;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, ensure};
use arraybridge::prelude::*;
use arraybridge_examples::{read_stack, sample};
use clap::Parser;
// Names the crate, so that its library is linked and registered.
use raster_backend as _;

use journey::Journey;

#[derive(Parser)]
#[command(about = "Take an image stack through every library on this machine")]
struct Arguments {
    /// A TIFF stack or a PNG image; the sample stack of nuclei if none is given
    file: Option<PathBuf>,
    /// Where the picture goes
    #[arg(long, value_name = "PNG", default_value = "demo.png")]
    output: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let file = arguments.file.clone().unwrap_or_else(|| sample("nuclei3d.tif"));
    let started = Instant::now();
    let stack = read_stack(&file)?;
    let (dtype, shape) = (stack.host().dtype(), stack.host().shape().to_vec());
    ensure!(
        !shape.contains(&0),
        "cannot use {}: it has no pixels, its shape is {shape:?}",
        file.display()
    );

    let mut journey = Journey::begin();
    journey.note(&format!("read {}", name(&file)), stack.host().nbytes(), started.elapsed());
    // Now, because a kept second handle on the stack would make the conversions copy it.
    let planes = picture::planes(&stack)?;
    let array = journey.through_every_library(AnyArray::of::<Ndarray>(stack))?;
    let normalized = journey.normalize(array)?;
    let projected = journey.project(&normalized)?;
    let started = Instant::now();
    picture::write(&arguments.output, planes, &projected)?;
    journey.note(&format!("write {}", name(&arguments.output)), 0, started.elapsed());

    println!("A stack of {dtype}, {shape:?} (planes, rows, columns)\n");
    println!("What was done, step by step:\n{}\n", journey.steps());
    println!("Conversions in total:\n{}", journey.counters());
    println!("Libraries that are not here:\n{}\n", report::absent()?);
    println!("The picture is in {}", arguments.output.display());
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
