//! The conformance suite, for ndarray.

use arraybridge_ndarray::Ndarray;

arraybridge_testkit::conformance!(Ndarray);
