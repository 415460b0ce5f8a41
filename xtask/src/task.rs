//! One child process: shown before it runs, its output passed on, its test results counted.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Tests that ran, by their result.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// Adds the numbers of a closing line of Rust's test harness or of pytest; other lines add
    /// nothing.
    fn count(&mut self, line: &str) {
        let pytest = line.trim_matches(['=', ' ']).rsplit_once(" in ");
        if let Some((results, seconds)) = pytest
            && seconds.starts_with(|first: char| first.is_ascii_digit())
            && (results.contains(" passed") || results.contains(" failed"))
        {
            return self.count(&format!("test result: {}", results.replace(',', ";")));
        }
        let Some(results) = line.trim_start().strip_prefix("test result: ") else { return };
        for part in results.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(kind)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match kind {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" | "skipped" => self.skipped += number,
                _ => {}
            }
        }
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// A command to run in the workspace's root.
pub(crate) struct Task {
    command: Command,
    environment: Vec<(String, String)>,
}

impl Task {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Task {
        let mut command = Command::new(program);
        command.current_dir(root());
        Task { command, environment: Vec::new() }
    }

    /// A cargo command, its arguments separated by spaces.
    pub(crate) fn cargo(arguments: &str) -> Task {
        // The proxy of the name `cargo`, which understands `+nightly`; not this process's own.
        Task::new("cargo").args(arguments.split_whitespace())
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Task {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Task {
        self.environment.push((name.into(), value.into()));
        self.command.env(name, value);
        self
    }

    fn shown(&self) -> String {
        let mut text = String::from("$");
        for (name, value) in &self.environment {
            text.push_str(&format!(" {name}=\"{value}\""));
        }
        text.push_str(&format!(" {}", self.command.get_program().to_string_lossy()));
        for argument in self.command.get_args() {
            text.push_str(&format!(" {}", argument.to_string_lossy()));
        }
        text
    }

    /// Runs the command, passing its output on, and counts the tests that it reports.
    pub(crate) fn run(mut self) -> Result<Tally> {
        let shown = self.shown();
        eprintln!("{shown}");
        let mut child = self
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start `{shown}`"))?;
        let mut tally = Tally::default();
        if let Some(output) = child.stdout.take() {
            let mut here = std::io::stdout().lock();
            for line in BufReader::new(output).split(b'\n') {
                let line = line.context("reading the command's output")?;
                let line = String::from_utf8_lossy(&line);
                tally.count(&line);
                writeln!(here, "{line}").context("writing the command's output")?;
            }
        }
        let status = child.wait().context("waiting for the command")?;
        if !status.success() {
            bail!("`{}` ended with {status}", shown.trim_start_matches("$ "));
        }
        Ok(tally)
    }

    /// Runs the command with its input and output joined to this process's.
    pub(crate) fn run_attached(mut self) -> Result<std::process::ExitStatus> {
        let shown = self.shown();
        self.command.status().with_context(|| format!("could not start `{shown}`"))
    }

    /// Runs the command quietly and returns what it printed, or its errors.
    pub(crate) fn output(mut self) -> Result<String> {
        let shown = self.shown();
        let output = self.command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("could not start `{shown}`"))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` ended with {}:\n{errors}", shown.trim_start_matches("$ "), output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns whether the command runs and succeeds, without showing anything.
    pub(crate) fn succeeds(self) -> bool {
        self.output().is_ok()
    }
}

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn counts_closing_lines_alone() {
        let mut tally = Tally::default();
        tally.count("test layouts::negative_strides ... ok");
        tally.count(
            "test result: FAILED. 12 passed; 1 failed; 3 ignored; 0 measured; 2 filtered out; finished in 0.10s",
        );
        assert_eq!(tally, Tally { passed: 12, failed: 1, skipped: 3 });
        tally.count("====== 2 failed, 120 passed, 1 skipped in 53.49s ======");
        assert_eq!(tally, Tally { passed: 132, failed: 3, skipped: 4 });
    }
}
