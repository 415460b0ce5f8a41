//! Lets the programs that are built here find the interpreter's shared library when they run.

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
}
