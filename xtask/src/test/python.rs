//! Tests that need Python: those of the backend, which start an interpreter.

use anyhow::{Result, bail};

use crate::setup::python::CURRENT;
use crate::step::{Outcome, Step};
use crate::task::Task;

pub(super) fn steps() -> Vec<Step> {
    vec![Step::new("arraybridge-python", &["python"], backend)]
}

/// Returns what is missing, which is a failure in CI.
fn missing() -> Result<Option<String>> {
    let library = crate::interpreter::missing();
    let packages = || {
        let remedy = "the Python packages are not there; `cargo xtask setup python` brings them";
        CURRENT.there().is_none().then(|| remedy.to_owned())
    };
    match library.or_else(packages) {
        Some(reason) if std::env::var_os("CI").is_some() => bail!("CI needs Python: {reason}"),
        reason => Ok(reason),
    }
}

fn backend() -> Result<Outcome> {
    if let Some(reason) = missing()? {
        return Ok(Outcome::Skipped(reason));
    }
    let mut tally = Task::cargo("test -p arraybridge-python --no-fail-fast").run()?;
    let facade =
        "test -p arraybridge --no-default-features --features ndarray,python --lib --tests";
    tally.add(Task::cargo(facade).run()?);
    Ok(Outcome::Done(tally))
}
