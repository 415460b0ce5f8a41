//! Runnable programs on real files.
