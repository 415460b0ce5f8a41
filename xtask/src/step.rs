//! A list of steps that are run in turn, with a summary table.

use std::time::Instant;

use anyhow::{Result, bail};
use comfy_table::{CellAlignment, Table, presets::UTF8_FULL_CONDENSED};

use crate::task::{Tally, Task};

/// What became of a step that did not fail.
pub(crate) enum Outcome {
    Done(Tally),
    /// Not run on this machine, for this reason.
    Skipped(String),
}

/// One named step.
pub(crate) struct Step {
    name: String,
    areas: &'static [&'static str],
    run: Box<dyn FnOnce() -> Result<Outcome>>,
}

impl Step {
    /// A step that runs one command. `areas` are the names by which it can be chosen.
    pub(crate) fn task(name: &str, areas: &'static [&'static str], task: Task) -> Step {
        Step::new(name, areas, move || task.run().map(Outcome::Done))
    }

    pub(crate) fn new(
        name: &str,
        areas: &'static [&'static str],
        run: impl FnOnce() -> Result<Outcome> + 'static,
    ) -> Step {
        Step { name: name.into(), areas, run: Box::new(run) }
    }
}

/// Keeps the steps of one area.
///
/// # Errors
/// A name that no step has; the message lists those that there are.
pub(crate) fn choose(steps: Vec<Step>, only: Option<&str>) -> Result<Vec<Step>> {
    let Some(only) = only else { return Ok(steps) };
    let mut names: Vec<&str> = steps.iter().flat_map(|step| step.areas).copied().collect();
    names.sort_unstable();
    names.dedup();
    let chosen: Vec<Step> = steps.into_iter().filter(|step| step.areas.contains(&only)).collect();
    if chosen.is_empty() {
        bail!("there is nothing named `{only}`; choose one of: {}", names.join(", "));
    }
    Ok(chosen)
}

/// Runs every step, also after one has failed, and prints the summary.
///
/// # Errors
/// If a step failed; its own error is printed where it happened.
pub(crate) fn run_all(steps: Vec<Step>) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED);
    table.set_header(["step", "result", "seconds"]);
    if let Some(seconds) = table.column_mut(2) {
        seconds.set_cell_alignment(CellAlignment::Right);
    }
    let (mut total, mut failures) = (Tally::default(), Vec::new());
    for step in steps {
        eprintln!("\n== {}", step.name);
        let started = Instant::now();
        let result = match (step.run)() {
            Ok(Outcome::Done(tally)) => {
                total.add(tally);
                match tally.passed + tally.skipped {
                    0 => "ok".to_owned(),
                    _ => format!("ok, {} tests", tally.passed),
                }
            }
            Ok(Outcome::Skipped(reason)) => {
                eprintln!("skipped: {reason}");
                total.skipped += 1;
                format!("skipped: {reason}")
            }
            Err(error) => {
                eprintln!("error: {error:#}");
                total.failed = total.failed.max(1);
                failures.push(step.name.clone());
                "FAILED".to_owned()
            }
        };
        table.add_row([step.name, result, format!("{:.1}", started.elapsed().as_secs_f64())]);
    }
    println!("\n{table}");
    if total.passed + total.failed > 0 {
        println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    }
    if failures.is_empty() {
        return Ok(());
    }
    bail!("failed: {}", failures.join(", "))
}
