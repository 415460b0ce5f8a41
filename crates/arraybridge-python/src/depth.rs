//! How deep the code of others may call back into this crate.

use std::cell::Cell;

use arraybridge_core::Error;
use pyo3::Python;
use pyo3::exceptions::PyRecursionError;

use crate::error::raised;

/// Python's own limit is for its own frames, which take less of the stack than those here.
const MOST: usize = 40;

thread_local! {
    /// The levels that this thread is in, and whether there were too many: then no more are entered
    /// until it is out of all, because those who try another way at every level would take for ever.
    static DEPTH: Cell<(usize, bool)> = const { Cell::new((0, false)) };
}

/// One level, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Level(());

impl Level {
    /// Enters a level in which an object's own code may run, such as its `__dlpack__`.
    pub(crate) fn enter(py: Python<'_>) -> Result<Level, Error> {
        let (depth, ended) = DEPTH.get();
        if ended || depth >= MOST {
            DEPTH.set((depth, true));
            let text = format!("arrays whose code asks for one another, {MOST} deep");
            return Err(raised(py, "looking at an array", PyRecursionError::new_err(text)));
        }
        DEPTH.set((depth + 1, false));
        Ok(Level(()))
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        let (depth, ended) = DEPTH.get();
        let left = depth.saturating_sub(1);
        DEPTH.set((left, ended && left > 0));
    }
}
