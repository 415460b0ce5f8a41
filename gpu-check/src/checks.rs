//! Running checks one by one, each on its own, and telling what came of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;

/// What came of one check.
#[derive(Serialize)]
pub(crate) struct Checked {
    name: String,
    passed: bool,
    /// What was seen or measured, or what is wrong.
    detail: String,
    seconds: f64,
}

/// What came of all.
pub(crate) enum Verdict {
    Passed,
    Failed,
    NothingChecked,
}

/// The checks that have run.
pub(crate) struct Checks {
    only: Option<String>,
    results: Vec<Checked>,
}

impl Checks {
    pub(crate) fn new(only: Option<String>) -> Checks {
        Checks { only, results: Vec::new() }
    }

    /// Runs a check and prints what it answers. One that fails or panics does not keep the next from
    /// running.
    pub(crate) fn check(&mut self, name: &str, check: impl FnOnce() -> Result<String>) {
        if self.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            return;
        }
        let started = Instant::now();
        // What a check breaks is its own: it makes its arrays anew.
        let answer = catch_unwind(AssertUnwindSafe(check));
        let seconds = started.elapsed().as_secs_f64();
        let (passed, detail) = match answer {
            Ok(Ok(detail)) => (true, detail),
            Ok(Err(error)) => (false, format!("{error:#}")),
            Err(panic) => (false, said(&*panic)),
        };
        let mark = if passed { "ok    " } else { "FAILED" };
        println!("{mark} {seconds:8.3} s  {name}  {detail}");
        self.results.push(Checked { name: name.to_owned(), passed, detail, seconds });
    }

    pub(crate) fn results(&self) -> &[Checked] {
        &self.results
    }

    fn failed(&self) -> usize {
        self.results.iter().filter(|checked| !checked.passed).count()
    }

    pub(crate) fn summary(&self) -> String {
        match self.verdict() {
            Verdict::NothingChecked => "nothing was checked".to_owned(),
            _ => {
                let failed = self.failed();
                format!("{} passed, {failed} failed", self.results.len() - failed)
            }
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        match (self.results.len(), self.failed()) {
            (0, _) => Verdict::NothingChecked,
            (_, 0) => Verdict::Passed,
            _ => Verdict::Failed,
        }
    }
}

/// Returns the text of a panic.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a text"))
}
