//! An array with context around it.
