//! The Python libraries whose arrays the backend `python` exchanges.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::environment::Environment;
use super::{Options, Setup, cache};

pub(crate) const SETUP: Setup = Setup {
    name: CURRENT.environment.name,
    what: "NumPy 2, pandas, dask, JAX and TensorFlow for CPUs, and what builds the Python package \
           (with --with-torch PyTorch too)",
    download: "470 MB from PyPI, 2.1 GB on disk (with --with-torch, on Linux, 2.7 GB more and 4.5 GB \
               on disk: PyPI's PyTorch loads all of CUDA's libraries)",
    small: false,
    is_of_the_system: false,
    only_by_name: false,
    found: |options| CURRENT.there().filter(|_| !options.with_torch || torch_is_there()),
    install: bring_current,
};

pub(crate) const OLDER_SETUP: Setup = Setup {
    name: OLDER.environment.name,
    what: "NumPy 1.26, on which the tests of the Python package run once more",
    download: "20 MB from PyPI (120 MB on disk)",
    small: false,
    is_of_the_system: false,
    only_by_name: false,
    found: |_| OLDER.there(),
    install: |_| OLDER.bring(),
};

/// An environment and its packages, in steps with what each brings.
pub(crate) struct Packages {
    pub(crate) environment: Environment,
    steps: &'static [(&'static str, &'static [&'static str])],
    /// Fails unless all of it is there, in these versions.
    check: &'static str,
}

pub(crate) const CURRENT: Packages = Packages {
    environment: Environment { name: "python" },
    steps: &[
        ("NumPy, pandas and dask", &["numpy==2.4.6", "pandas==3.1.1", "dask[array]==2026.8.0"]),
        ("JAX (85 MB)", &["jax[cpu]==0.10.2", "ml_dtypes==0.6.0"]),
        (
            "maturin, pytest and the strict array API",
            &["maturin==1.16.0", "pytest==9.2.0", "array-api-strict==2.6.1"],
        ),
        ("TensorFlow (262 MB)", &["tensorflow-cpu==2.21.0"]),
    ],
    check: "from importlib.metadata import version as v; \
            assert v('numpy') == '2.4.6' and v('pandas') == '3.1.1' and v('dask') == '2026.8.0'; \
            assert v('jax') == '0.10.2' and v('tensorflow-cpu') == '2.21.0'; \
            assert v('maturin') == '1.16.0' and v('pytest') and v('array-api-strict') == '2.6.1'",
};

pub(crate) const OLDER: Packages = Packages {
    environment: Environment { name: "python-numpy1" },
    steps: &[("NumPy 1.26", &["numpy==1.26.4", "pytest==9.2.0"])],
    check: "from importlib.metadata import version as v; \
            assert v('numpy') == '1.26.4' and v('pytest')",
};

/// The PyTorch whose libtorch the backend `tch` is tested with.
const TORCH: &str = "torch==2.13.0";

/// Returns whether the newer environment has PyTorch, without which its tests skip that part.
pub(crate) fn torch_is_there() -> bool {
    let code = "from importlib.metadata import version as v; assert v('torch') == '2.13.0'";
    CURRENT.environment.where_runs(code).is_some()
}

fn bring_current(options: Options) -> Result<()> {
    CURRENT.bring()?;
    if options.with_torch {
        println!("  PyTorch (up to 2.7 GB)");
        CURRENT.environment.install("PyTorch", &[TORCH])?;
    }
    Ok(())
}

impl Packages {
    /// Returns the folder, if everything is in it.
    pub(crate) fn there(&self) -> Option<PathBuf> {
        self.environment.where_runs(self.check)
    }

    fn bring(&self) -> Result<()> {
        self.environment.make()?;
        for (what, packages) in self.steps {
            println!("  {what}");
            self.environment.install(what, packages)?;
        }
        if self.there().is_none() {
            bail!(
                "the packages are installed, but not as they should be; remove {} and try again",
                cache::folder(self.environment.name)?.display()
            );
        }
        Ok(())
    }
}
