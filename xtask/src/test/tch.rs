//! The tests of what is built with libtorch.

use anyhow::Context;

use super::memory::{VALGRIND, no_valgrind};
use crate::libtorch::{self, with_libtorch};
use crate::step::{Outcome, Step};
use crate::task::{Tally, Task, root};

/// Everything that has something of tch's, always chosen together: another choice of packages has
/// other features, and compiles tch's C++ again.
const BUILD: &str = "-p arraybridge-tch -p arraybridge -p arraybridge-examples \
                     --features arraybridge/tch,arraybridge-examples/tch";

const EXAMPLES: &[&str] = &["ndarray_to_torch", "torch_model_io"];

/// What valgrind finds in libtorch itself.
const SUPPRESSIONS: &str = "crates/arraybridge-tch/tests/libtorch.supp";

/// `needed`: fail where there is no libtorch, instead of skipping with the reason.
pub(super) fn steps(needed: bool) -> Vec<Step> {
    vec![
        libtorch::step("PyTorch", &["tch"], needed, tests),
        libtorch::step("PyTorch, example programs", &["tch"], needed, programs),
        libtorch::step("PyTorch under valgrind", &["tch"], needed, valgrind),
    ]
}

fn tests() -> anyhow::Result<Outcome> {
    let tests = Task::cargo(&format!("test --no-fail-fast {BUILD}"));
    with_libtorch(tests)?.run().map(Outcome::Done)
}

fn programs() -> anyhow::Result<Outcome> {
    with_libtorch(Task::cargo(&format!("build --quiet {BUILD} --examples")))?.run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(Into::into);
    let built = target.unwrap_or_else(|| root().join("target")).join("debug/examples");
    for example in EXAMPLES {
        with_libtorch(Task::new(built.join(example)))?.run()?;
    }
    Ok(Outcome::Done(Tally::default()))
}

fn valgrind() -> anyhow::Result<Outcome> {
    if let Some(reason) = no_valgrind() {
        return Ok(Outcome::Skipped(reason));
    }
    // The programs that the tests were built as: naming some of them to cargo compiles tch's C++ again.
    let build = Task::cargo(&format!("test --quiet --no-run --message-format=json {BUILD}"));
    let built = with_libtorch(build)?.output()?;
    let suppressions = format!("--suppressions={}", root().join(SUPPRESSIONS).display());
    let mut tally = Tally::default();
    for name in ["exchange", "exclusive"] {
        let program = executable(&built, name)?;
        let watched = Task::new("valgrind").args(VALGRIND.split_whitespace().skip(1));
        // What a panic carries is leaked on purpose.
        let watched = watched.args([&suppressions, &program]).args(["--skip", "panics"]);
        tally.add(with_libtorch(watched)?.run()?);
    }
    Ok(Outcome::Done(tally))
}

/// Returns the program of a test among cargo's messages.
fn executable(messages: &str, test: &str) -> anyhow::Result<String> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs = messages.filter_map(|message: serde_json::Value| {
        let is_meant = message["target"]["name"] == test && message["target"]["kind"][0] == "test";
        is_meant.then(|| message["executable"].as_str().map(str::to_owned)).flatten()
    });
    programs.next().with_context(|| format!("cargo built no test named {test}"))
}
