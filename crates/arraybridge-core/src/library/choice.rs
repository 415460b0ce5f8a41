//! On which device a library's new arrays land, for libraries that have no such setting.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{ArrayLibrary, DeviceScope};
use crate::Device;

/// The device that a program chose for a library's new arrays: by scopes on a thread, else for the
/// process. What the role [`Accelerator`](super::roles::Accelerator) keeps its choice in.
///
/// Core keeps the choice and checks nothing: the library asks first whether it has the device.
///
/// ```
/// use arraybridge_core::roles::DeviceChoice;
/// use arraybridge_core::{ArrayLibrary, Device};
///
/// fn try_out<L: ArrayLibrary>(one: Device, other: Device) {
///     let choice = DeviceChoice::of::<L>();
///     let outer = choice.scope(one);
///     let inner = choice.scope(other);
///     assert_eq!(choice.current(), Some(other));
///     drop(outer);
///     assert_eq!(choice.current(), Some(other), "the inner scope goes on");
///     drop(inner);
///     assert_eq!(choice.current(), None);
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceChoice {
    library: TypeId,
}

/// What one scope chose. The number tells scopes apart, which may end in any order.
struct Chosen {
    library: TypeId,
    number: u64,
    device: Device,
}

/// The scopes of one thread, the innermost last.
#[derive(Default)]
struct Scopes {
    open: Vec<Chosen>,
    numbered: u64,
}

thread_local! {
    static SCOPES: RefCell<Scopes> = RefCell::default();
}

/// What each library has for the process.
static ACTIVE: Mutex<BTreeMap<TypeId, Device>> = Mutex::new(BTreeMap::new());

impl DeviceChoice {
    /// Returns the choice of library `L`.
    pub fn of<L: ArrayLibrary>() -> DeviceChoice {
        DeviceChoice { library: TypeId::of::<L>() }
    }

    /// Returns the device of this thread's innermost scope, else the one that
    /// [`DeviceChoice::activate`] set, else `None`.
    pub fn current(self) -> Option<Device> {
        let innermost = |scopes: &RefCell<Scopes>| {
            let scopes = scopes.borrow();
            let mut inner_first = scopes.open.iter().rev();
            inner_first.find(|chosen| chosen.library == self.library).map(|chosen| chosen.device)
        };
        // While a thread ends its scopes may be gone before whoever asks.
        let scoped = SCOPES.try_with(innermost).ok().flatten();
        let active = || ACTIVE.lock().unwrap_or_else(PoisonError::into_inner);
        scoped.or_else(|| active().get(&self.library).copied())
    }

    /// Chooses a device on this thread until the guard is dropped. Guards may be dropped in any
    /// order: what counts is the last one made of those that are left.
    pub fn scope(self, device: Device) -> DeviceScope {
        let library = self.library;
        let begun = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.borrow_mut();
            scopes.numbered += 1;
            let number = scopes.numbered;
            scopes.open.push(Chosen { library, number, device });
            number
        });
        let Ok(number) = begun else { return DeviceScope::nothing() };
        DeviceScope::new(move || {
            let _ = SCOPES.try_with(|scopes| {
                scopes.borrow_mut().open.retain(|chosen| chosen.number != number);
            });
        })
    }

    /// Chooses a device for the process, wherever no scope has chosen one.
    pub fn activate(self, device: Device) {
        let mut active = ACTIVE.lock().unwrap_or_else(PoisonError::into_inner);
        active.insert(self.library, device);
    }
}
