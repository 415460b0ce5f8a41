//! Libraries that are known by declaration, whether or not they are compiled in.

use std::sync::{PoisonError, RwLock};

use crate::Declaration;

/// A library that a facade knows of: its declaration, and how to get it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KnownLibrary {
    /// What the library declares.
    pub declaration: Declaration,
    /// The feature of the facade that compiles it in; `None` while it has no backend.
    pub feature: Option<&'static str>,
    /// What it takes to use the library and the command that brings it, in one line.
    pub remedy: &'static str,
}

impl KnownLibrary {
    /// Joins a declaration, the feature that compiles the library in, and what it takes to use it.
    pub const fn new(
        declaration: Declaration,
        feature: Option<&'static str>,
        remedy: &'static str,
    ) -> KnownLibrary {
        KnownLibrary { declaration, feature, remedy }
    }
}

inventory::collect!(KnownLibrary);

static DECLARED: RwLock<Vec<KnownLibrary>> = RwLock::new(Vec::new());

/// Makes libraries known at run time, where link-time registration does not reach (C-linked static
/// libraries); a second time does nothing.
pub fn declare(known: &[KnownLibrary]) {
    let mut declared = DECLARED.write().unwrap_or_else(PoisonError::into_inner);
    for library in known {
        if !declared.contains(library) {
            declared.push(*library);
        }
    }
}

pub(super) fn by_name(name: &str) -> Option<KnownLibrary> {
    all().into_iter().find(|known| known.declaration.is_named(name))
}

/// Returns every known library, sorted by name.
pub fn known_libraries() -> Vec<KnownLibrary> {
    let mut known = all();
    known.sort_by_key(|library| library.declaration.name);
    known
}

fn all() -> Vec<KnownLibrary> {
    let mut known = DECLARED.read().unwrap_or_else(PoisonError::into_inner).clone();
    for library in inventory::iter::<KnownLibrary> {
        if !known.contains(library) {
            known.push(*library);
        }
    }
    known
}
