//! Which libraries there are: by name, by alias, by type.

mod known;

use std::collections::BTreeMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use crate::library::DynArrayLibrary;
use crate::{ArrayLibrary, Declaration, Error, Library};

pub use known::{KnownLibrary, declare, known_libraries};

/// A library submitted at link time; made by [`register_library!`](crate::register_library).
#[doc(hidden)]
pub struct Registration {
    library: &'static dyn DynArrayLibrary,
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Registration({})", self.library.name())
    }
}

impl Registration {
    #[doc(hidden)]
    pub const fn of<L: ArrayLibrary>() -> Registration {
        Registration { library: L::INSTANCE }
    }
}

inventory::collect!(Registration);

/// Registers a library: from then on it is found by name, and its array type converts.
///
/// One line at the top level of the backend's crate:
///
/// ```ignore
/// register_library!(MyLibrary);
/// ```
///
/// It also makes the library's own array type a [`NativeArray`](crate::NativeArray) of it. Programs
/// that link the crate as a C static library call [`register`] besides, because such linking drops
/// link-time registrations.
#[macro_export]
macro_rules! register_library {
    ($library:ty) => {
        $crate::inventory::submit! { $crate::Registration::of::<$library>() }

        impl $crate::NativeArray<$library> for <$library as $crate::ArrayLibrary>::Array {
            fn into_library(self) -> ::core::result::Result<Self, $crate::ConversionError<Self>> {
                ::core::result::Result::Ok(self)
            }

            fn from_library(
                array: Self,
            ) -> ::core::result::Result<Self, $crate::ConversionError<Self>> {
                ::core::result::Result::Ok(array)
            }
        }
    };
}

/// What goes by one name: one library, or the first two of several.
#[derive(Clone, Copy)]
enum Entry {
    One(&'static dyn DynArrayLibrary),
    Several(&'static dyn DynArrayLibrary, &'static dyn DynArrayLibrary),
}

#[derive(Default)]
struct Registry {
    /// Names and aliases. A canonical name wins over another library's alias.
    names: BTreeMap<&'static str, Entry>,
    libraries: Vec<&'static dyn DynArrayLibrary>,
}

impl Registry {
    /// Adds a library. Only its constants are read here: its functions could come back to the
    /// registry, which is locked.
    fn add(&mut self, library: &'static dyn DynArrayLibrary) {
        let known = |other: &&dyn DynArrayLibrary| other.library_type() == library.library_type();
        if self.libraries.iter().any(known) {
            return;
        }
        self.libraries.push(library);
        self.names.clear();
        // Link-time registration has no order: sort, so that what is found does not depend on it.
        self.libraries.sort_by_key(|library| (library.name(), library.library_type_name()));
        for library in &self.libraries {
            enter(&mut self.names, library.name(), *library);
        }
        let canonical: Vec<&'static str> = self.names.keys().copied().collect();
        for library in &self.libraries {
            for alias in library.aliases() {
                if !canonical.contains(alias) {
                    enter(&mut self.names, alias, *library);
                }
            }
        }
    }
}

fn enter(
    names: &mut BTreeMap<&'static str, Entry>,
    name: &'static str,
    library: &'static dyn DynArrayLibrary,
) {
    let same = |other: &dyn DynArrayLibrary| other.library_type() == library.library_type();
    names
        .entry(name)
        .and_modify(|entry| {
            if let Entry::One(first) = *entry
                && !same(first)
            {
                *entry = Entry::Several(first, library);
            }
        })
        .or_insert(Entry::One(library));
}

static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(|| {
    let mut registry = Registry::default();
    for registration in inventory::iter::<Registration> {
        registry.add(registration.library);
    }
    RwLock::new(registry)
});

/// Registers a library at run time; a second time does nothing.
pub fn register<L: ArrayLibrary>() {
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner).add(L::INSTANCE);
}

/// Returns the library of this name or alias. Loads no runtime.
///
/// # Errors
/// [`Error::LibraryNotRegistered`] lists those that are, and names the feature that would add an
/// official one; [`Error::LibraryAmbiguous`] if two crates registered the name.
pub fn library(name: &str) -> Result<Library, Error> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    match registry.names.get(name) {
        Some(Entry::One(library)) => Ok(Library::from_dyn(*library)),
        Some(Entry::Several(first, second)) => Err(Error::LibraryAmbiguous {
            name: name.into(),
            first: first.library_type_name(),
            second: second.library_type_name(),
        }),
        None => {
            let known = known::by_name(name);
            Err(Error::LibraryNotRegistered {
                name: name.chars().take(64).collect(),
                registered: registry.libraries.iter().map(|library| library.name()).collect(),
                feature: known.and_then(|known| known.feature),
                remedy: known.map(|known| known.remedy),
            })
        }
    }
}

/// Returns every registered library, sorted by name.
pub fn libraries() -> Vec<Library> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    registry.libraries.iter().map(|library| Library::from_dyn(*library)).collect()
}

/// Returns the declaration of a registered library, or of one that is only known.
pub(crate) fn declaration(name: &str) -> Result<Declaration, Error> {
    match library(name) {
        Ok(library) => Ok(library.declaration()),
        Err(error @ Error::LibraryNotRegistered { .. }) => {
            known::by_name(name).map(|known| known.declaration).ok_or(error)
        }
        Err(error) => Err(error),
    }
}
