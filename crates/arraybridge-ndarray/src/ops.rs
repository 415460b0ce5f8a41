//! The operations, by NumPy's rules.

use arraybridge_core::ops::ArrayOps;

use crate::Ndarray;

impl ArrayOps<Ndarray> for Ndarray {}
