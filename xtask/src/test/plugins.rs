//! XLA's tests once more, on an older plugin than the one that is found by itself.

use crate::setup::xla::older_plugin;
use crate::step::{Outcome, Step};
use crate::task::Task;

pub(super) fn steps() -> Vec<Step> {
    vec![Step::new("xla on PJRT 0.106", &["xla"], run)]
}

/// Runs the tests of what depends on the plugin; not the conformance suite, which takes long.
fn run() -> anyhow::Result<Outcome> {
    let Some(plugin) = older_plugin() else {
        return Ok(Outcome::Skipped("no older plugin; `cargo xtask setup xla` brings one".into()));
    };
    let tests = "test -p arraybridge-xla --no-fail-fast \
                 --test exchange --test ops --test aborts --test devices";
    let tests =
        Task::cargo(tests).env("ARRAYBRIDGE_XLA_PLUGIN", &format!("cpu={}", plugin.display()));
    tests.run().map(Outcome::Done)
}
