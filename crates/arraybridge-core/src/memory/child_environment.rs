//! The environment variables of a child process that uses the same libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::env::{join_paths, split_paths};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::registry::libraries;

/// What the dynamic loader searches for native libraries.
const SEARCH_PATH: &str = if cfg!(windows) { "PATH" } else { "LD_LIBRARY_PATH" };

/// Keeps a child's Python libraries from reserving a whole accelerator, which this process may use
/// too: JAX's and TensorFlow's switches for allocating as needed.
const SHARED_DEVICE: [(&str, &str); 2] =
    [("XLA_PYTHON_CLIENT_PREALLOCATE", "false"), ("TF_FORCE_GPU_ALLOW_GROWTH", "true")];

/// Returns the variables to set for a child process that is to find and share the native runtimes,
/// given the environment that it would get without.
///
/// - `LD_LIBRARY_PATH` (`PATH` on Windows): library folders of the registered libraries and of the
///   NVIDIA wheels in the Python environment that `VIRTUAL_ENV` or `CONDA_PREFIX` names, ahead of
///   the folders that are there;
/// - `XLA_PYTHON_CLIENT_PREALLOCATE=false`, `TF_FORCE_GPU_ALLOW_GROWTH=true`, and what each
///   registered library asks for.
///
/// A variable that the given environment has is left to it, the search path excepted, whose folders
/// all stay. Runs no Python and loads no runtime.
///
/// ```
/// use std::process::Command;
///
/// let variables = arraybridge_core::child_environment(std::env::vars_os());
/// let mut child = Command::new("python3");
/// child.envs(&variables);
/// ```
pub fn child_environment<K: Into<OsString>, V: Into<OsString>>(
    existing: impl IntoIterator<Item = (K, V)>,
) -> BTreeMap<OsString, OsString> {
    let existing = collect(existing);
    let mut packages = Vec::new();
    for prefix in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = get(&existing, prefix) {
            packages.extend(site_packages(Path::new(prefix)));
        }
    }
    assemble(&existing, &packages)
}

/// Returns the variables as [`child_environment`] does, looking for wheels in this `site-packages`
/// folder instead.
pub fn child_environment_in<K: Into<OsString>, V: Into<OsString>>(
    site_packages: &Path,
    existing: impl IntoIterator<Item = (K, V)>,
) -> BTreeMap<OsString, OsString> {
    assemble(&collect(existing), &[site_packages.to_owned()])
}

/// Returns the `lib` and `bin` folders of the NVIDIA wheels that a `site-packages` folder holds
/// (`nvidia/<component>/lib`), sorted; none where there are none.
pub fn nvidia_library_folders(site_packages: &Path) -> Vec<PathBuf> {
    let mut folders = BTreeSet::new();
    for component in children(&site_packages.join("nvidia")) {
        for name in ["lib", "bin"] {
            let folder = component.join(name);
            if folder.is_dir() {
                folders.insert(folder);
            }
        }
    }
    folders.into_iter().collect()
}

type Variables = BTreeMap<OsString, OsString>;

fn assemble(existing: &Variables, site_packages: &[PathBuf]) -> Variables {
    let mut wanted = Variables::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    for library in libraries() {
        for (name, value) in library.child_environment() {
            if same_name(OsStr::new(&name), SEARCH_PATH) {
                folders.extend(split_paths(&value));
            } else {
                wanted.entry(name.into()).or_insert_with(|| value.into());
            }
        }
    }
    for (name, value) in SHARED_DEVICE {
        wanted.entry(name.into()).or_insert_with(|| value.into());
    }
    wanted.retain(|name, _| name.to_str().is_none_or(|name| get(existing, name).is_none()));
    folders.extend(site_packages.iter().flat_map(|packages| nvidia_library_folders(packages)));
    if let Some(path) = search_path(folders, get(existing, SEARCH_PATH)) {
        wanted.insert(SEARCH_PATH.into(), path);
    }
    wanted
}

/// Returns the search path with folders put in front, or nothing where there are none to add.
fn search_path(folders: Vec<PathBuf>, existing: Option<&OsStr>) -> Option<OsString> {
    // A folder whose name holds the separator cannot be written down in such a variable.
    let added = folders.into_iter().filter(|folder| join_paths([folder]).is_ok());
    let mut path: Vec<PathBuf> = Vec::new();
    for folder in added {
        if !path.contains(&folder) {
            path.push(folder);
        }
    }
    if path.is_empty() {
        return None;
    }
    // An empty entry would mean the current folder.
    let kept = existing.into_iter().flat_map(split_paths);
    for folder in kept.filter(|folder| !folder.as_os_str().is_empty()) {
        if !path.contains(&folder) {
            path.push(folder);
        }
    }
    join_paths(path).ok()
}

/// Returns the `site-packages` folders of a Python environment.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let mut found = vec![prefix.join("Lib").join("site-packages")];
    for lib in ["lib", "lib64"] {
        let versions = children(&prefix.join(lib)).into_iter().filter(|folder| {
            folder
                .file_name()
                .and_then(OsStr::to_str)
                .is_some_and(|name| name.starts_with("python"))
        });
        found.extend(versions.map(|folder| folder.join("site-packages")));
    }
    // `lib64` is often a link to `lib`.
    let mut seen = BTreeSet::new();
    found.retain(|folder| folder.canonicalize().is_ok_and(|real| seen.insert(real)));
    found
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

fn collect<K: Into<OsString>, V: Into<OsString>>(
    variables: impl IntoIterator<Item = (K, V)>,
) -> Variables {
    variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Names of variables ignore case on Windows.
fn same_name(name: &OsStr, wanted: &str) -> bool {
    if cfg!(windows) { name.eq_ignore_ascii_case(wanted) } else { name == wanted }
}

fn get<'a>(variables: &'a Variables, wanted: &str) -> Option<&'a OsStr> {
    variables.iter().find(|(name, _)| same_name(name, wanted)).map(|(_, value)| value.as_os_str())
}
