//! OpenCL's tests once more: with two devices, little memory, and devices that lack something.

use crate::setup;
use crate::step::{Outcome, Step};
use crate::task::{Tally, Task};

/// What to call a run, and the variable that makes it another.
const RUNS: &[(&str, (&str, &str))] = &[
    ("two devices", ("POCL_DEVICES", "pthread basic")),
    ("two devices of one name", ("POCL_DEVICES", "pthread pthread")),
    ("buffers of 256 MiB at most", ("POCL_MEMORY_LIMIT", "1")),
    ("memory of its own", ("ARRAYBRIDGE_OPENCL_WITHOUT", "unified")),
    ("no f64", ("ARRAYBRIDGE_OPENCL_WITHOUT", "fp64")),
];

pub(super) fn steps() -> Vec<Step> {
    vec![Step::new("opencl on other devices", &["opencl"], run)]
}

fn run() -> anyhow::Result<Outcome> {
    if !setup::opencl::is_there() {
        let why = "no OpenCL driver; `cargo xtask setup opencl` brings one";
        return Ok(Outcome::Skipped(why.into()));
    }
    let mut tally = Tally::default();
    for (what, (variable, value)) in RUNS {
        println!("opencl with {what}:");
        let tests = Task::cargo("test -p arraybridge-opencl --no-fail-fast --tests");
        tally.add(tests.env(variable, value).run()?);
    }
    Ok(Outcome::Done(tally))
}
