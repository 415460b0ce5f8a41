//! Operations against reference values: written down, or computed here in `f64`.
