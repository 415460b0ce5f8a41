//! The plugin's table of functions.

use std::any::Any;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::PjrtError;
use super::sys;

/// The oldest minor version of major version 0 whose table is understood.
const OLDEST_MINOR: i32 = 54;

/// A loaded plugin, for the rest of the process.
pub(crate) struct Api {
    table: *const sys::Api,
    size: usize,
    version: (i32, i32),
}

// SAFETY: the table is immutable static data of a library that is never unloaded, and PJRT's
// functions may be called from any thread.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

/// Calls a function of the plugin after checking that its table has it.
///
/// Evaluates to `Result<Args, PjrtError>`. The arguments are built from a structure expression, so
/// the macro's users state in their SAFETY comments what makes them valid.
macro_rules! call {
    ($api:expr, $entry:ident, $args:expr) => {{
        let api: &$crate::pjrt::api::Api = $api;
        let offset = std::mem::offset_of!($crate::pjrt::sys::Api, $entry);
        // SAFETY: the offset and type are those of the entry, and `entry` checks the table's size.
        let entry = unsafe { api.entry(offset, stringify!($entry)) };
        entry.and_then(|function: unsafe extern "C" fn(_) -> _| {
            let mut args = $args;
            // SAFETY: the structure states its size; its pointers are valid for the call, as the
            // place of use argues.
            let error = unsafe { function(&raw mut args) };
            // SAFETY: the call returned the error (or null), and nobody else has it.
            unsafe { api.check(error) }.map(|()| args)
        })
    }};
}
pub(super) use call;

impl Api {
    /// Loads a plugin.
    ///
    /// # Safety
    /// The file's initialisers run: it must be a PJRT plugin that may run in this process.
    pub(crate) unsafe fn load(path: &Path) -> Result<Api, PjrtError> {
        let fail = |cause: String| PjrtError::Load { path: path.display().to_string(), cause };
        // SAFETY: the caller vouches for the file.
        let library = unsafe { open(path) }.map_err(|error| fail(error.to_string()))?;
        // SAFETY: PJRT plugins export this function with this signature.
        let symbol =
            unsafe { library.get::<unsafe extern "C" fn() -> *const sys::Api>(b"GetPjrtApi\0") };
        let get_api = *symbol.map_err(|error| fail(error.to_string()))?;
        // SAFETY: the signature is right (see above), and the function takes nothing.
        let table = unsafe { get_api() };
        // Its threads, callbacks and static data outlive any handle.
        std::mem::forget(library);
        if table.is_null() {
            return Err(fail("GetPjrtApi returned null".into()));
        }
        // SAFETY: every version's table starts with its size.
        let size = unsafe { table.cast::<usize>().read() };
        if size < std::mem::offset_of!(sys::Api, error_destroy) {
            return Err(fail(format!("its table has only {size} bytes")));
        }
        let place = table.cast::<u8>().wrapping_add(std::mem::offset_of!(sys::Api, version));
        // SAFETY: the table reaches beyond the version.
        let version = unsafe { place.cast::<sys::ApiVersion>().read() };
        let version = (version.major, version.minor);
        if version.0 != 0 || version.1 < OLDEST_MINOR {
            let (major, minor) = version;
            return Err(fail(format!(
                "its PJRT API is {major}.{minor}; this crate understands 0.{OLDEST_MINOR} and \
                 later versions of 0"
            )));
        }
        let api = Api { table, size, version };
        call!(&api, plugin_initialize, sys::PluginInitializeArgs::default())
            .map_err(|error| fail(error.to_string()))?;
        Ok(api)
    }

    /// Returns an entry of the table, if the table has it.
    ///
    /// # Safety
    /// `offset` is that of an entry of type `Option<F>` in [`sys::Api`], and `F` a function pointer.
    pub(super) unsafe fn entry<F: Copy>(
        &self,
        offset: usize,
        name: &'static str,
    ) -> Result<F, PjrtError> {
        let missing =
            || PjrtError::Missing { function: name, major: self.version.0, minor: self.version.1 };
        if offset + size_of::<Option<F>>() > self.size {
            return Err(missing());
        }
        let place = self.table.cast::<u8>().wrapping_add(offset).cast::<Option<F>>();
        // SAFETY: the entry lies inside the table and has this type, by the caller.
        unsafe { place.read() }.ok_or_else(missing)
    }

    /// Turns an error object into a value and frees it.
    ///
    /// # Safety
    /// `error` is null or an error that this plugin returned and nobody else frees.
    pub(super) unsafe fn check(&self, error: *mut sys::Error) -> Result<(), PjrtError> {
        if error.is_null() {
            return Ok(());
        }
        let mut message = sys::ErrorMessageArgs { error, ..Default::default() };
        let offset = std::mem::offset_of!(sys::Api, error_message);
        // SAFETY: offset and type are those of the entry.
        let read = unsafe {
            self.entry::<unsafe extern "C" fn(*mut sys::ErrorMessageArgs)>(offset, "error_message")
        };
        let mut text = String::new();
        if let Ok(read) = read {
            // SAFETY: the structure states its size and holds a live error.
            unsafe { read(&raw mut message) };
            // SAFETY: the message lives as long as the error.
            text = unsafe { to_text(message.message, message.message_size) };
        }
        let mut code = sys::ErrorGetCodeArgs { error, code: 2, ..Default::default() };
        let offset = std::mem::offset_of!(sys::Api, error_get_code);
        // SAFETY: offset and type are those of the entry.
        let read = unsafe {
            self.entry::<unsafe extern "C" fn(*mut sys::ErrorGetCodeArgs) -> *mut sys::Error>(
                offset,
                "error_get_code",
            )
        };
        if let Ok(read) = read {
            // SAFETY: the structure states its size and holds a live error.
            unsafe { read(&raw mut code) };
        }
        let mut destroy = sys::ErrorDestroyArgs { error, ..Default::default() };
        let offset = std::mem::offset_of!(sys::Api, error_destroy);
        // SAFETY: offset and type are those of the entry.
        let free = unsafe {
            self.entry::<unsafe extern "C" fn(*mut sys::ErrorDestroyArgs)>(offset, "error_destroy")
        };
        if let Ok(free) = free {
            // SAFETY: the error is live and this is the last use of it.
            unsafe { free(&raw mut destroy) };
        }
        Err(PjrtError::Status { code: code.code, message: text })
    }

    /// Waits for an event and frees it; null is an event that has happened.
    ///
    /// # Safety
    /// `event` is null or an event of this plugin that nobody else frees.
    pub(super) unsafe fn wait(&self, event: *mut sys::Event) -> Result<(), PjrtError> {
        if event.is_null() {
            return Ok(());
        }
        // The event is live until it is destroyed below.
        let waited = call!(self, event_await, sys::EventAwaitArgs { event, ..Default::default() })
            .map(|_| ());
        call!(self, event_destroy, sys::EventDestroyArgs { event, ..Default::default() })?;
        waited
    }
}

/// Copies text that the plugin owns.
///
/// # Safety
/// `text` is null or has `size` readable bytes.
pub(super) unsafe fn to_text(text: *const c_char, size: usize) -> String {
    if text.is_null() || size == 0 {
        return String::new();
    }
    // SAFETY: not null, and readable by the caller's word.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), size) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a buffer keeps alive, until it is dropped once.
pub(super) type Kept = Arc<Mutex<Option<Box<dyn Any + Send>>>>;

/// Drops what is kept, if that has not been done.
pub(super) fn empty(kept: &Kept) {
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A panic of a foreign value's drop has nowhere to go. What it carries is leaked: dropping that
    // could panic once more, and abort.
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(kept))) {
        std::mem::forget(thrown);
    }
}

/// The callback that frees what a buffer kept alive; runs on any thread, once.
pub(super) unsafe extern "C" fn drop_kept(_: *mut c_void, kept: *mut c_void) {
    // SAFETY: the pointer is the handle that `PjrtDevice::view` gave away for this one call.
    let kept: Kept = unsafe { Arc::from_raw(kept.cast_const().cast()) };
    empty(&kept);
}

/// Loads a library whose symbols stay its own, both ways.
///
/// TensorFlow offers the symbols of its parts to the whole process, and a plugin is made of other
/// versions of the same parts: found in its place, TensorFlow's would crash it.
///
/// # Safety
/// As [`libloading::Library::new`].
#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe fn open(path: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

    // SAFETY: the caller's.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | libc::RTLD_DEEPBIND) }
        .map(Into::into)
}

/// # Safety
/// As [`libloading::Library::new`].
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
unsafe fn open(path: &Path) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: the caller's.
    unsafe { libloading::Library::new(path) }
}
