//! Functions that belong to a library.
