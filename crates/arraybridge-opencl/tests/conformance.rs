//! The conformance suite, on a real driver. ndarray is linked to exchange with.

use arraybridge_ndarray as _;
use arraybridge_opencl::OpenCl;

arraybridge_testkit::conformance!(OpenCl);
