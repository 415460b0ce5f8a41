//! Rescaling floats into integers.
