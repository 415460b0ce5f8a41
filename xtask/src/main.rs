//! The project's commands: `cargo xtask demo`, `test`, `setup`, `bench`, `check`,
//! `gpu-check`.
//!
//! The same on every machine, CI included. One file per command; what they share is in `step` (a
//! list of steps and its summary) and `task` (one child process).

mod bench;
mod check;
mod demo;
mod gpu_check;
mod interpreter;
mod libtorch;
mod older_torch;
mod ptx;
mod setup;
mod step;
mod task;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The project's commands")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Take an image stack through every library on this machine and write a picture
    Demo(demo::Arguments),
    /// Run every test that this machine can run
    Test(test::Arguments),
    /// Bring in native runtimes and the libraries to measure against
    Setup(setup::Arguments),
    /// Measure speed against what a program would use instead
    Bench(bench::Arguments),
    /// Compile the CUDA kernels' PTX anew, or check that it is what the source gives
    Ptx(ptx::Arguments),
    /// Check formatting, lints, documentation, dependencies and packages
    Check(check::Arguments),
    /// Check a backend on this machine's GPU, or build the binary that does
    GpuCheck(gpu_check::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Setup(arguments) => setup::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Ptx(arguments) => ptx::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::GpuCheck(arguments) => gpu_check::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
