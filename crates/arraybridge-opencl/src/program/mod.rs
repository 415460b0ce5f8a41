//! Compiled programs, kept per context.

mod disk;

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cl::{Kernel, OpenClError, Program};
use crate::exit;
use crate::place::Place;

pub use disk::set_program_folder;

/// The most programs that a context keeps. Beyond, those that nobody uses at the moment go.
const MOST_PROGRAMS: usize = 1024;

/// A program and its kernels that are not in use. A kernel holds its arguments, so each launch has
/// one for itself.
pub(crate) struct Built {
    pub(crate) program: Program,
    idle: Mutex<HashMap<CString, Vec<Kernel>>>,
}

impl Built {
    /// Takes a kernel that nobody else uses.
    pub(crate) fn take(&self, name: &CString) -> Result<Kernel, OpenClError> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.get_mut(name).and_then(Vec::pop) {
            Some(kernel) => Ok(kernel),
            None => self.program.kernel(name),
        }
    }

    /// Keeps a kernel for the next launch.
    pub(crate) fn give_back(&self, name: &CString, kernel: Kernel) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.get_mut(name) {
            Some(kernels) => kernels.push(kernel),
            None => {
                idle.insert(name.clone(), vec![kernel]);
            }
        }
    }
}

/// One program, perhaps being compiled.
type Slot = Arc<Mutex<Option<Arc<Built>>>>;

/// The programs of a context by source and options. Different ones compile at the same time.
#[derive(Default)]
pub(crate) struct Programs(Mutex<HashMap<(String, String), Slot>>);

impl Programs {
    /// Returns a program, compiling it if it is new. `name` stands for the source, or is the source.
    pub(crate) fn get(
        &self,
        place: &Place,
        name: &str,
        source: &str,
        options: &str,
    ) -> Result<Arc<Built>, OpenClError> {
        let slot = {
            let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if programs.len() >= MOST_PROGRAMS {
                programs.retain(|_, slot| Arc::strong_count(slot) > 1);
            }
            Arc::clone(programs.entry((name.to_owned(), options.to_owned())).or_default())
        };
        let mut built = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = &*built {
            return Ok(Arc::clone(built));
        }
        let program = disk::load_or_compile(place, source, options)?;
        exit::register();
        let made = Arc::new(Built { program, idle: Mutex::default() });
        *built = Some(Arc::clone(&made));
        Ok(made)
    }
}
