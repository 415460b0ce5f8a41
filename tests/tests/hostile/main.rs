//! Core under attack from safe code: absurd sizes, libraries that lie, panics at bad moments, many
//! threads. Nothing here may abort, hang, or show memory that is not the array's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod foreign;
mod layouts;
mod libraries;
mod panics;
mod sizes;
mod threads;
