//! `cargo xtask test`: every test that this machine can run.

mod memory;
mod opencl;
mod plugins;
mod programs;
mod python;
mod tch;

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
    steps.extend(tch::steps(only == Some("tch")));
    steps.extend(opencl::steps());
    steps.extend(python::steps());
    steps.extend(plugins::steps());
    steps.extend(programs::steps());
    steps.extend(memory::steps());
    run_all(choose(steps, only)?)
}

/// The features besides the default ones, without those that need libtorch or Python to build, and
/// without `doc-only`, which builds what does not link.
const FEATURES: &[&str] = &[
    "arraybridge/cuda",
    "arraybridge/metrics",
    "arraybridge/ndarray-0_16",
    "arraybridge/opencl",
    "arraybridge/tracing",
    "arraybridge/xla",
    "arraybridge-core/metrics",
    "arraybridge-core/serde",
    "arraybridge-core/tracing",
    "arraybridge-ndarray/ndarray-0_16",
];

/// Unit, integration and documentation tests: in one build, or one step per crate to choose from.
fn packages(apart: bool) -> Vec<Step> {
    if !apart {
        let all = "test --workspace --exclude arraybridge-tch --exclude arraybridge-python \
                   --no-fail-fast --features";
        return vec![Step::task("all crates", &[], Task::cargo(all).args([FEATURES.join(",")]))];
    }
    let crates: &[(&'static [&'static str], &str)] = &[
        (&["core"], "arraybridge-core"),
        (&["ndarray"], "arraybridge-ndarray"),
        (&["opencl"], "arraybridge-opencl"),
        (&["cuda"], "arraybridge-cuda"),
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
        let own = format!("{package}/");
        let features: Vec<&str> =
            FEATURES.iter().copied().filter(|feature| feature.starts_with(&own)).collect();
        let test = format!("test -p {package} --no-fail-fast --features");
        Step::task(package, areas, Task::cargo(&test).args([features.join(",")]))
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
