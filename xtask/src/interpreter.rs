//! The Python that programs are built against.

use crate::task::Task;

/// What a program that starts Python is linked against: the shared library or the static one.
const LIBRARY: &str = "import os, sys, sysconfig as s; assert sys.version_info >= (3, 11); \
    names = [s.get_config_var(v) for v in ('LDLIBRARY', 'LIBRARY')]; \
    places = [s.get_config_var(v) for v in ('LIBDIR', 'LIBPL')] + \
    ['/usr/lib/' + (s.get_config_var('MULTIARCH') or '')]; \
    assert any(os.path.exists(os.path.join(p, n)) for p in places if p for n in names if n)";

/// Returns why nothing can be linked against Python's library here, if so.
pub(crate) fn missing() -> Option<String> {
    if cfg!(windows) || Task::new("python3").args(["-c", LIBRARY]).succeeds() {
        return None;
    }
    Some("no Python 3.11 or later with its library; on Debian `apt-get install python3-dev`".into())
}

/// Lets a task check or document code for Python where there is none: that needs no interpreter.
pub(crate) fn without(task: Task) -> Task {
    let python = Task::new("python3").args(["--version"]).succeeds();
    if python { task } else { task.env("PYO3_NO_PYTHON", "1") }
}
