//! How many device names a process keeps: in a process of its own, which it fills.

#![allow(clippy::unwrap_used, reason = "tests")]

use arraybridge_core::{Device, Error};

#[test]
fn untrusted_names_fill_no_memory_and_known_ones_go_on_working() {
    let first = Device::named("pocl").unwrap();
    let refused = (0..20_000).find_map(|index| Device::named(&format!("device {index}")).err());
    let error = refused.unwrap();
    let expected = "`device 16383` is not a device name; expected one of the 16384 names that this \
                    process has met before";
    assert_eq!(error.to_string(), expected);
    assert_eq!(Device::named("pocl").unwrap(), first);
    assert!(matches!("device:new".parse::<Device>(), Err(Error::InvalidLabel { .. })));
}
