//! Which packages an interpreter sees that a Rust program started.

use std::env;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyList;

/// Names a virtual environment to take packages from.
const VARIABLE: &str = "ARRAYBRIDGE_PYTHON";

/// Returns what brings NumPy.
pub(crate) fn remedy(py: Python<'_>) -> String {
    let version = py.version_info();
    format!(
        "Python {}.{} has no NumPy; `cargo xtask setup python` in a clone of arraybridge makes an \
         environment with it, or set {VARIABLE} to a virtual environment that has it",
        version.major, version.minor
    )
}

/// Lets an interpreter that has just been started import the packages of an environment: an
/// embedded interpreter does not look at `VIRTUAL_ENV` itself.
pub(crate) fn add(py: Python<'_>) -> PyResult<()> {
    let site = py.import("site")?;
    for folder in candidates() {
        if let Some(packages) = packages(py, &folder) {
            let path = py.import("sys")?.getattr("path")?.cast_into::<PyList>()?;
            // What the user chose comes before what the system has, and `addsitedir` appends: the
            // folder, unless it is there already, and what its `.pth` files name.
            let packages = py.import("os.path")?.call_method1("abspath", (packages,))?;
            let before = path.len();
            site.call_method1("addsitedir", (&packages,))?;
            let added = path.get_slice(before, path.len());
            path.del_slice(before, path.len())?;
            if !added.contains(&packages)? {
                path.call_method1("remove", (&packages,)).ok();
                added.insert(0, &packages)?;
            }
            return path.set_slice(0, 0, &added);
        }
    }
    Ok(())
}

/// The environments in the order in which they are looked at; the first that fits is taken.
fn candidates() -> Vec<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(stated) = variable(VARIABLE) {
        return vec![PathBuf::from(stated)];
    }
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable);
    active.map(PathBuf::from).chain(cache()).collect()
}

/// Where `cargo xtask setup python` puts its environment.
fn cache() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(own) = variable("ARRAYBRIDGE_CACHE") {
        return Some(PathBuf::from(own).join("python"));
    }
    let caches = variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA")).map(PathBuf::from);
    let caches = caches.or_else(|| {
        let home = PathBuf::from(variable("HOME")?);
        Some(home.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
    });
    Some(caches?.join("arraybridge").join("python"))
}

/// Returns an environment's folder of packages, if it is one of this Python's version.
fn packages(py: Python<'_>, folder: &std::path::Path) -> Option<PathBuf> {
    let version = py.version_info();
    let packages = if cfg!(windows) {
        folder.join("Lib/site-packages")
    } else {
        folder.join(format!("lib/python{}.{}/site-packages", version.major, version.minor))
    };
    packages.is_dir().then_some(packages)
}
