//! The example programs, which are run and not only built.

use crate::step::{Outcome, Step};
use crate::task::{Tally, Task};

const EXAMPLES: &[&str] = &[
    "quickstart",
    "by_name",
    "plan",
    "counters",
    "functions",
    "borrowed_views",
    "opencl_filter",
    "opencl_shared",
    "jax_function",
    "xla_ops",
    "cuda_kernel",
];

pub(super) fn steps() -> Vec<Step> {
    vec![Step::new("example programs", &["examples"], run)]
}

fn run() -> anyhow::Result<Outcome> {
    for example in EXAMPLES {
        let run = format!("run --quiet -p arraybridge-examples --example {example}");
        Task::cargo(&run).run()?;
    }
    Ok(Outcome::Done(Tally::default()))
}
