//! Every test of this folder runs on a real plugin. Where there is none the test says so and passes,
//! except in CI, where it fails.

use arraybridge_core::ArrayLibrary;
use arraybridge_xla::Xla;

/// Returns whether there is a plugin to test with.
pub(crate) fn plugin() -> bool {
    let availability = Xla.availability();
    if availability.is_available() {
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs a PJRT plugin: {availability}");
    eprintln!("skipped: {availability}");
    false
}
