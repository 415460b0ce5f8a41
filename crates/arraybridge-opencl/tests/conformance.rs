//! The conformance suite, on a real driver. ndarray and XLA are linked to exchange with.

use arraybridge_ndarray as _;
use arraybridge_opencl::OpenCl;
use arraybridge_xla as _;

arraybridge_testkit::conformance!(OpenCl);
