//! The conformance suite. ndarray is linked to exchange with.

use arraybridge_ndarray as _;
use arraybridge_tch::Tch;

arraybridge_testkit::conformance!(Tch);
