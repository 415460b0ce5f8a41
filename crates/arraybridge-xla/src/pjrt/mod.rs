//! A sound, minimal layer over the PJRT C API: plugins, clients, buffers, executables.
//!
//! It knows nothing of arraybridge. Plugins are loaded from a file and never unloaded; objects keep
//! what they came from alive; every call first checks that the plugin's table has the entry; what
//! plugins are known to abort on is refused before the call.

mod api;
mod buffer;
mod client;
mod element;
mod error;
mod executable;
mod in_flight;
mod sys;

pub(crate) use api::Api;
pub(crate) use buffer::Buffer;
pub(crate) use client::{Client, ClientOption, PjrtDevice};
pub(crate) use element::ElementType;
pub use error::PjrtError;
pub(crate) use executable::Executable;
