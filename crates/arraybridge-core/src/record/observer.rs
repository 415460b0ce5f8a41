//! Observers: installed for a thread, carried into others on purpose.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::ConversionRecord;

/// Sees every conversion of the threads it is installed on.
///
/// Called on the converting thread, after the conversion. Conversions that an observer makes itself
/// are seen by no observer. A panic in it unwinds through the conversion's caller, whose array is
/// dropped; the observer stays installed.
///
/// Every closure that takes a record is one:
///
/// ```
/// use std::sync::Arc;
///
/// use arraybridge_core::{ConversionRecord, install};
///
/// let _watch = install(Arc::new(|record: &ConversionRecord<'_>| {
///     println!("{} -> {}", record.source_library, record.target_library);
/// }));
/// ```
pub trait ConversionObserver: Send + Sync {
    /// Takes note of a conversion.
    fn record(&self, record: &ConversionRecord<'_>);
}

impl<F: Fn(&ConversionRecord<'_>) + Send + Sync> ConversionObserver for F {
    fn record(&self, record: &ConversionRecord<'_>) {
        self(record);
    }
}

/// How many guards live in the process: while it is 0, conversions look no further.
static INSTALLED: AtomicUsize = AtomicUsize::new(0);
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The observers of this thread, innermost last. Guards are dropped in any order.
    static STACK: RefCell<Vec<(u64, Arc<dyn ConversionObserver>)>> = const { RefCell::new(Vec::new()) };
    /// Whether an observer runs on this thread, which then sees nothing of its own conversions.
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Installs an observer on this thread until the guard is dropped; it replaces an outer one for
/// that time ([`FanOut`](super::FanOut) keeps both). A thread that is started meanwhile has none
/// ([`ObserverScope`] carries it there).
pub fn install(observer: Arc<dyn ConversionObserver>) -> ObserverGuard {
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    // While the thread ends its locals are gone, and so is whoever would look for an observer.
    let _ = STACK.try_with(|stack| stack.borrow_mut().push((id, observer)));
    INSTALLED.fetch_add(1, Ordering::Relaxed);
    ObserverGuard { id, _thread: PhantomData }
}

/// Keeps an observer installed on the thread that installed it.
#[must_use = "the observer is removed as soon as this is dropped"]
pub struct ObserverGuard {
    id: u64,
    _thread: PhantomData<*const ()>,
}

impl Drop for ObserverGuard {
    fn drop(&mut self) {
        // A guard kept in a thread-local may outlive the stack; then there is nothing to remove.
        let removed = STACK.try_with(|stack| {
            let mut stack = stack.borrow_mut();
            let place = stack.iter().rposition(|(id, _)| *id == self.id);
            place.map(|place| stack.remove(place))
        });
        INSTALLED.fetch_sub(1, Ordering::Relaxed);
        // The observer itself is dropped here, when the stack is no longer borrowed.
        drop(removed);
    }
}

impl fmt::Debug for ObserverGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObserverGuard").finish_non_exhaustive()
    }
}

/// The observer of a thread, to be entered on another.
///
/// ```
/// use arraybridge_core::ObserverScope;
///
/// let scope = ObserverScope::current();
/// std::thread::spawn(move || scope.run(|| { /* convert here */ })).join().unwrap();
/// ```
///
/// It is an observer too: one that hands records on, for a [`FanOut`](super::FanOut) that adds to
/// what is installed already.
#[derive(Clone, Default)]
pub struct ObserverScope(Option<Arc<dyn ConversionObserver>>);

impl ObserverScope {
    /// Returns the observer that sees conversions on this thread now, if any.
    pub fn current() -> ObserverScope {
        ObserverScope(innermost())
    }

    /// Installs the observer on this thread until the guard is dropped. A scope without an observer
    /// installs nothing, so an observer that is there stays.
    #[must_use = "the observer is removed as soon as this is dropped"]
    pub fn enter(&self) -> Option<ObserverGuard> {
        self.0.as_ref().map(|observer| install(Arc::clone(observer)))
    }

    /// Runs a closure with the observer installed.
    pub fn run<R>(&self, body: impl FnOnce() -> R) -> R {
        let _guard = self.enter();
        body()
    }
}

impl ConversionObserver for ObserverScope {
    fn record(&self, record: &ConversionRecord<'_>) {
        if let Some(observer) = &self.0 {
            observer.record(record);
        }
    }
}

impl fmt::Debug for ObserverScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObserverScope").field("observed", &self.0.is_some()).finish()
    }
}

fn innermost() -> Option<Arc<dyn ConversionObserver>> {
    if INSTALLED.load(Ordering::Relaxed) == 0 || RECORDING.get() {
        return None;
    }
    STACK.try_with(|stack| stack.borrow().last().map(|(_, observer)| Arc::clone(observer))).ok()?
}

/// Returns whether an observer sees conversions on this thread.
pub(crate) fn is_observed() -> bool {
    INSTALLED.load(Ordering::Relaxed) != 0
        && !RECORDING.get()
        && STACK.try_with(|stack| !stack.borrow().is_empty()).unwrap_or(false)
}

/// Hands a record to this thread's observer.
pub(crate) fn emit(record: &ConversionRecord<'_>) {
    /// Ends the recording also when the observer panics.
    struct Recording;

    impl Drop for Recording {
        fn drop(&mut self) {
            RECORDING.set(false);
        }
    }

    if let Some(observer) = innermost() {
        RECORDING.set(true);
        let _recording = Recording;
        observer.record(record);
    }
}
