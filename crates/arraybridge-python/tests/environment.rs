//! Which packages a program that starts Python sees: each case in a process of its own, because an
//! interpreter is started once.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;

use arraybridge_python::pyo3::prelude::*;
use arraybridge_python::pyo3::types::PyDict;

/// Runs Python code and returns what it calls `made`.
fn told(code: &str) -> String {
    Python::attach(|py| {
        let names = PyDict::new(py);
        py.run(&CString::new(code).unwrap(), Some(&names), None).unwrap();
        names.get_item("made").unwrap().unwrap().to_string()
    })
}

/// The case: run by the other test, with an environment that names the packages' folder.
#[test]
#[ignore = "the case of another test"]
fn prints_where_packages_are_looked_for() {
    assert!(common::python());
    println!("{}", told("import sys, chosen, numpy; made = '\\n'.join(['path', *sys.path])"));
}

/// Makes an environment whose `.pth` file names another folder.
fn environment(root: &Path, other: &str) -> PathBuf {
    let version = told("import sys; made = 'python%d.%d' % sys.version_info[:2]");
    let packages = root.join("lib").join(version).join("site-packages");
    std::fs::create_dir_all(&packages).unwrap();
    std::fs::write(packages.join("chosen.py"), "").unwrap();
    std::fs::write(packages.join("other.pth"), other).unwrap();
    packages
}

#[test]
#[cfg(unix)]
fn the_chosen_environment_comes_first_with_what_its_pth_files_name() {
    if !common::python() {
        return;
    }
    let other = told("import numpy, os; made = os.path.dirname(os.path.dirname(numpy.__file__))");
    let root = std::env::temp_dir().join(format!("arraybridge-{}", std::process::id()));
    let packages = environment(&root, &other).display().to_string();
    for on_the_path in [false, true] {
        let mut case = Command::new(std::env::current_exe().unwrap());
        case.args(["--ignored", "--nocapture", "--exact", "prints_where_packages_are_looked_for"]);
        case.env("ARRAYBRIDGE_PYTHON", &root);
        if on_the_path {
            case.env("PYTHONPATH", &packages);
        }
        let output = case.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
        let path: Vec<&str> = printed.lines().skip_while(|line| *line != "path").skip(1).collect();
        assert_eq!(path[..2], [&packages[..], &other[..]], "on the path already: {on_the_path}");
        assert_eq!(path.iter().filter(|entry| **entry == packages).count(), 1);
    }
    std::fs::remove_dir_all(root).unwrap();
}
