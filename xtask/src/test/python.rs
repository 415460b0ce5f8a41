//! Tests that need Python: those of the backend, which start an interpreter.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::setup::python::{CURRENT, OLDER};
use crate::step::{Outcome, Step};
use crate::task::{Tally, Task, root};

pub(super) fn steps() -> Vec<Step> {
    vec![
        Step::new("arraybridge-python", &["python"], backend),
        Step::new("the Python package", &["python"], package),
        Step::new("programs with Python", &["python"], programs),
    ]
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

/// Builds the package as a wheel, installs it into a folder of its own and runs its tests, with each
/// version of NumPy that was brought.
fn package() -> Result<Outcome> {
    if let Some(reason) = missing()? {
        return Ok(Outcome::Skipped(reason));
    }
    let python = CURRENT.environment.python()?;
    let crate_folder = root().join("crates/arraybridge-python");
    let (wheels, target) = (root().join("target/python/wheels"), root().join("target"));
    let _ = std::fs::remove_dir_all(&wheels);
    let build = Task::new(&python)
        .args(["-m", "maturin", "build", "--quiet", "--profile", "dev", "--interpreter"])
        .args([python.as_os_str(), "--manifest-path".as_ref()])
        .args([crate_folder.join("Cargo.toml").as_os_str(), "--out".as_ref(), wheels.as_os_str()])
        .args(["--target-dir".as_ref(), target.as_os_str()]);
    build.run()?;
    let wheel = std::fs::read_dir(&wheels)?.next().context("maturin made no wheel")??.path();
    let mut tally = Tally::default();
    for packages in [&CURRENT, &OLDER] {
        if packages.there().is_none() {
            println!("skipped: {} is not there", packages.environment.name);
            tally.skipped += 1;
            continue;
        }
        let installed = root().join("target/python").join(packages.environment.name);
        let _ = std::fs::remove_dir_all(&installed);
        let python = packages.environment.python()?;
        let install = Task::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .args([installed.as_os_str(), wheel.as_os_str()]);
        install.output()?;
        let tests = Task::new(&python)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .args([crate_folder.join("python/tests")])
            .env("PYTHONPATH", &installed.display().to_string())
            .env("PYTHONPYCACHEPREFIX", &installed.with_extension("cache").display().to_string());
        tally.add(tests.run()?);
        let example = Task::new(&python).args(["examples/python_package.py"]);
        example.env("PYTHONPATH", &installed.display().to_string()).run()?;
    }
    if let Err(error) = as_a_user(&python, &wheel) {
        // Its dependency comes from the package index.
        if std::env::var_os("CI").is_some() {
            return Err(error);
        }
        println!("skipped: the wheel in an environment of its own: {error:#}");
        tally.skipped += 1;
    }
    Ok(Outcome::Done(tally))
}

/// Installs the wheel into a new environment, with what it declares to need and nothing else, and
/// runs its README's examples there.
fn as_a_user(python: &Path, wheel: &Path) -> Result<()> {
    let folder = root().join("target/python/clean");
    let _ = std::fs::remove_dir_all(&folder);
    Task::new(python).args(["-m".as_ref(), "venv".as_ref(), folder.as_os_str()]).output()?;
    let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let python = folder.join(inside);
    let install = Task::new(&python)
        .args("-m pip install --quiet --disable-pip-version-check --no-compile".split(' '));
    install.args([wheel]).output()?;
    let readme = root().join("crates/arraybridge-python/python/README.md");
    let readme = std::fs::read_to_string(readme).context("reading the package's README")?;
    for example in readme.split("```python\n").skip(1).filter_map(|part| part.split("```").next()) {
        Task::new(&python).args(["-c", example]).run()?;
    }
    Ok(())
}

/// Runs a program that starts Python, and a module in Rust that Python imports.
fn programs() -> Result<Outcome> {
    if let Some(reason) = missing()? {
        return Ok(Outcome::Skipped(reason));
    }
    Task::cargo("run --quiet -p arraybridge-python --example embedding").run()?;
    if cfg!(target_os = "linux") {
        let build = "rustc --quiet -p arraybridge-python --example extension --crate-type cdylib";
        Task::cargo(build).run()?;
        let folder = root().join("target/python/extension");
        std::fs::create_dir_all(&folder)?;
        let built = root().join("target/debug/examples/libextension.so");
        std::fs::copy(built, folder.join("extension.so")).context("taking the module")?;
        let code = "import numpy, extension; array = numpy.ones((2, 3), 'f4'); \
                    half = extension.halved(array); \
                    assert type(half) is numpy.ndarray and half.sum() == 3 and array.sum() == 6";
        let import = Task::new(CURRENT.environment.python()?).args(["-c", code]);
        import.env("PYTHONPATH", &folder.display().to_string()).run()?;
    }
    // The demo, in which Python's library takes part then.
    let demo = "test -p arraybridge-examples --features python --test demo";
    Ok(Outcome::Done(Task::cargo(demo).run()?))
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
