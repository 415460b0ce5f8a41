//! `cargo xtask check`: what can be checked without running a test.

use anyhow::{Result, bail};

use crate::step::{Outcome, Step, run_all};
use crate::task::{Tally, Task, root};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run the checks of this name alone (fmt, clippy, docs, dependencies, ptx, packages)
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// Every published crate.
const PUBLISHED: &[&str] = &[
    "arraybridge-core",
    "arraybridge-testkit",
    "arraybridge-cuda",
    "arraybridge-ndarray",
    "arraybridge-opencl",
    "arraybridge-tch",
    "arraybridge-python",
    "arraybridge-xla",
    "arraybridge",
];

/// The feature sets that are linted: none, each one, all. An explicit list stays readable where
/// every combination would not. With all features `doc-only` is one, so that libtorch is not needed;
/// `cargo xtask test` builds against it.
const FEATURE_SETS: &[&str] = &[
    "--workspace --all-features",
    "--workspace --exclude arraybridge-tch",
    "-p arraybridge-core --no-default-features",
    "-p arraybridge-core --features serde",
    "-p arraybridge-core --features tracing",
    "-p arraybridge-core --features metrics",
    "-p arraybridge-ndarray --no-default-features --features ndarray-0_16",
    "-p arraybridge --no-default-features",
    "-p arraybridge --no-default-features --features ndarray",
    "-p arraybridge --no-default-features --features ndarray-0_16",
    "-p arraybridge --no-default-features --features serde",
    "-p arraybridge --no-default-features --features tch,doc-only",
    "-p arraybridge --no-default-features --features opencl",
    "-p arraybridge --no-default-features --features cuda",
    "-p arraybridge --no-default-features --features python",
    "-p arraybridge --no-default-features --features xla",
];

/// Crates that need a native runtime, none of which may come with the default features.
const NATIVE: &[&str] =
    &["torch-sys", "tch", "cudarc", "cl3", "opencl3", "opencl-sys", "pyo3", "pyo3-ffi", "pjrt"];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut steps = vec![Step::task("formatting", &["fmt"], Task::cargo("fmt --all --check"))];
    for features in FEATURE_SETS {
        let lint = format!("clippy --quiet {features} --all-targets --keep-going -- -D warnings");
        let lint = crate::interpreter::without(Task::cargo(&lint));
        steps.push(Step::task(&format!("clippy {features}"), &["clippy"], lint));
    }
    let docs = Task::cargo("doc --quiet --workspace --no-deps --all-features --exclude xtask");
    let docs = crate::interpreter::without(docs.env("RUSTDOCFLAGS", "-D warnings"));
    steps.push(Step::task("documentation", &["docs"], docs));
    steps.push(Step::new("default dependencies", &["dependencies"], dependencies));
    steps.push(Step::new("PTX", &["ptx"], crate::ptx::check));
    steps.push(Step::new("packages", &["packages"], packages));
    run_all(crate::step::choose(steps, arguments.only.as_deref())?)
}

/// Proves that the default features of the facade bring no native runtime.
fn dependencies() -> Result<Outcome> {
    let tree = Task::cargo("tree -p arraybridge --edges normal,build --prefix none --format {p}");
    let tree = tree.output()?;
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    if !names.contains(&"arraybridge-ndarray") {
        bail!("`cargo tree` shows no arraybridge-ndarray among the default dependencies:\n{tree}");
    }
    let native: Vec<&&str> = NATIVE.iter().filter(|native| names.contains(*native)).collect();
    if !native.is_empty() {
        bail!("the default features bring in {native:?}");
    }
    println!("{} packages, no native runtime among them", names.len());
    Ok(Outcome::Done(Tally::default()))
}

/// Lists what each published crate would package, and looks for what must be in it.
fn packages() -> Result<Outcome> {
    for name in PUBLISHED {
        let list = Task::cargo(&format!("package --list --allow-dirty -p {name}")).output()?;
        for needed in ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"] {
            if !list.lines().any(|line| line == needed) {
                bail!("the package of {name} has no {needed}");
            }
        }
        let strays = list.lines().filter(|line| line.contains("target/") || line.ends_with('~'));
        if let Some(stray) = strays.into_iter().next() {
            bail!("the package of {name} has {stray}, which does not belong in it");
        }
        let manifest =
            std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml"))?;
        for field in ["description", "license", "repository", "keywords", "categories", "readme"] {
            if !manifest.lines().any(|line| line.starts_with(field)) {
                bail!("{name} has no `{field}` for the registry");
            }
        }
        println!("{name}: {} files", list.lines().count());
    }
    Ok(Outcome::Done(Tally::default()))
}
