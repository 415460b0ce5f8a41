//! The conformance suite, on a real interpreter. ndarray is linked to exchange with.

use arraybridge_ndarray as _;
use arraybridge_python::PyLibrary;

arraybridge_testkit::conformance!(PyLibrary);
