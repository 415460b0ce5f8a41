//! The conformance suite. ndarray, OpenCL and XLA are linked to exchange with.

use arraybridge_ndarray as _;
use arraybridge_opencl as _;
use arraybridge_tch::Tch;
use arraybridge_xla as _;

arraybridge_testkit::conformance!(Tch);
