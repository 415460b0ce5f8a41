//! The Python libraries to measure against, in a virtual environment of their own.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::environment::Environment;
use super::{Options, Setup, cache, opencl};

pub(crate) const SETUP: Setup = Setup {
    name: ENVIRONMENT.name,
    what: "NumPy, Python's arraybridge 0.5.2 and, with an OpenCL driver, pyclesperanto (with \
           --with-torch PyTorch too), to measure against",
    download: "20 to 70 MB from PyPI (with --with-torch up to 3 GB: its Linux wheel needs CUDA's)",
    small: false,
    is_of_the_system: false,
    only_by_name: false,
    found,
    install,
};

const BASE: &[&str] = &["numpy", "arraybridge==0.5.2"];

const ENVIRONMENT: Environment = Environment { name: "peers" };

/// Returns the environment's interpreter, whether or not it is there yet.
pub(crate) fn python() -> Result<PathBuf> {
    ENVIRONMENT.python()
}

fn found(options: Options) -> Option<PathBuf> {
    let torch = if options.with_torch { ", torch" } else { "" };
    ENVIRONMENT.where_runs(&format!("import numpy, arraybridge{torch}"))
}

fn install(options: Options) -> Result<()> {
    ENVIRONMENT.make()?;
    ENVIRONMENT.install("NumPy and arraybridge", BASE)?;
    if opencl::is_there() {
        // It has wheels for few systems, and the others are measured without it.
        if let Err(error) = ENVIRONMENT.install("pyclesperanto", &["pyclesperanto"]) {
            println!("  going on without pyclesperanto: {error:#}");
        }
    }
    if options.with_torch {
        // The wheel for Linux loads CUDA's libraries at import, so there is no leaving them out.
        ENVIRONMENT.install("PyTorch", &["torch"])?;
    }
    if found(options).is_none() {
        bail!(
            "the packages are installed but do not import; remove {} and try again",
            cache::folder(ENVIRONMENT.name)?.display()
        );
    }
    Ok(())
}
