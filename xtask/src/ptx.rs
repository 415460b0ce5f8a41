//! `cargo xtask ptx`: the CUDA kernels' PTX, from their source.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::step::Outcome;
use crate::task::{Tally, Task, root};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only compare with what is committed
    #[arg(long)]
    check: bool,
}

/// The compiler of this version makes the same text everywhere; others' differs.
const CLANG: &str = "clang-15";
const KERNELS: &str = "crates/arraybridge-cuda/kernels";

/// PTX 6.0 for sm_50: for every driver and GPU that is supported. Nothing is fused or reordered, so
/// that a GPU computes what the host does; no header of CUDA is needed.
const FLAGS: &str = "-x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_50 \
                     -Xclang -target-feature -Xclang +ptx60 -std=c++17 -ffp-contract=off -O2 -S";

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.check {
        return match check()? {
            Outcome::Done(_) => Ok(()),
            Outcome::Skipped(reason) => bail!(reason),
        };
    }
    if !is_there() {
        bail!("the PTX is made by {CLANG}, which is not here; Debian's package `clang-15` has it");
    }
    let (text, file) = (compile()?, committed());
    std::fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))
}

/// Proves that the committed PTX is what the source gives.
pub(crate) fn check() -> Result<Outcome> {
    if !is_there() {
        return Ok(Outcome::Skipped(format!(
            "no {CLANG}, which makes the PTX; Debian's package `clang-15` has it"
        )));
    }
    let file = committed();
    let there = std::fs::read_to_string(&file)
        .with_context(|| format!("could not read {}", file.display()))?;
    if compile()? != there {
        bail!("{} is not what the source gives; `cargo xtask ptx` makes it anew", file.display());
    }
    let kernels = there.matches(".entry").count();
    println!("{kernels} kernels, as the source gives them");
    Ok(Outcome::Done(Tally::default()))
}

fn committed() -> PathBuf {
    root().join(KERNELS).join("kernels.ptx")
}

fn is_there() -> bool {
    Task::new(CLANG).args(["--version"]).succeeds()
}

fn compile() -> Result<String> {
    let source = format!("{KERNELS}/kernels.cu");
    let compile = Task::new(CLANG).args(FLAGS.split_whitespace());
    compile.args([source.as_str(), "-o", "-"]).output()
}
