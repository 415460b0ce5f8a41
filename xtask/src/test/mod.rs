//! `cargo xtask test`: every test that this machine can run.

mod memory;
mod plugins;
mod programs;

use anyhow::Result;

use crate::step::{Step, choose, run_all};
use crate::task::Task;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run the tests of this name alone: a crate's suffix (core, ndarray, testkit, ...) or a part
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    // What tests need at run time and is small is brought first. What fails is said; the tests that
    // need it then skip with the reason, or fail in CI.
    crate::setup::bring_small()?;
    let only = arguments.only.as_deref();
    let mut steps = packages(only.is_some());
    steps.extend(feature_sets());
    steps.extend(plugins::steps());
    steps.extend(programs::steps());
    steps.extend(memory::steps());
    run_all(choose(steps, only)?)
}

/// Unit, integration and documentation tests: in one build, or one step per crate to choose from.
fn packages(apart: bool) -> Vec<Step> {
    if !apart {
        let all = Task::cargo("test --workspace --all-features --no-fail-fast");
        return vec![Step::task("all crates", &[], all)];
    }
    let crates: &[(&'static [&'static str], &str)] = &[
        (&["core"], "arraybridge-core"),
        (&["ndarray"], "arraybridge-ndarray"),
        (&["xla"], "arraybridge-xla"),
        (&["testkit"], "arraybridge-testkit"),
        (&["facade"], "arraybridge"),
        (&["examples"], "arraybridge-examples"),
        (&["custom_backend"], "raster-backend"),
        (&["tests"], "arraybridge-tests"),
        (&["gpu_check"], "arraybridge-gpu-check"),
        (&["xtask"], "xtask"),
    ];
    let step = |(areas, package): &(&'static [&'static str], &str)| {
        let test = format!("test -p {package} --all-features --no-fail-fast");
        Step::task(package, areas, Task::cargo(&test))
    };
    crates.iter().map(step).collect()
}

/// The feature combinations whose behaviour differs.
fn feature_sets() -> Vec<Step> {
    vec![
        Step::task(
            "ndarray 0.16 alone",
            &["ndarray"],
            Task::cargo(
                "test -p arraybridge-ndarray --no-default-features --features ndarray-0_16",
            ),
        ),
        Step::task(
            "facade without backends",
            &["facade"],
            Task::cargo("test -p arraybridge --no-default-features --lib --tests"),
        ),
        Step::task(
            "registration in a release build",
            &["tests"],
            Task::cargo("test -p arraybridge-tests --release --test linking"),
        ),
    ]
}
