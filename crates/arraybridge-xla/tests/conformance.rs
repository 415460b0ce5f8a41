//! The conformance suite, on a real plugin. ndarray is linked to exchange with.

use arraybridge_ndarray as _;
use arraybridge_xla::Xla;

arraybridge_testkit::conformance!(Xla);
