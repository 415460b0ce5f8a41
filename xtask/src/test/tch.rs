//! The tests of what is built with libtorch.

use crate::libtorch::{self, with_libtorch};
use crate::step::{Outcome, Step};
use crate::task::Task;

/// The packages with something of tch's, in one build, so that tch's C++ is compiled once.
const BUILD: &str = "-p arraybridge-tch -p arraybridge --features arraybridge/tch,arraybridge/xla";

/// `needed`: fail where there is no libtorch, instead of skipping with the reason.
pub(super) fn steps(needed: bool) -> Vec<Step> {
    vec![libtorch::step("arraybridge-tch", &["tch"], needed, || {
        let tests = Task::cargo(&format!("test --no-fail-fast {BUILD}"));
        with_libtorch(tests)?.run().map(Outcome::Done)
    })]
}
