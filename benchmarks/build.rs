//! Lets the program find the interpreter's shared library when it runs.

fn main() {
    #[cfg(feature = "python")]
    pyo3_build_config::add_libpython_rpath_link_args();
}
