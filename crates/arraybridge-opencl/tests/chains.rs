//! Arrays that went back and forth many times: each way adds an owner, and dropping the last one drops
//! all of them.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::thread;

use arraybridge_core::{ArrayLibrary, Convert, HOST, HostArray};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_opencl::OpenCl;

/// Drivers release a buffer, and what it keeps alive, in the call that lets go of it (PoCL's `basic`)
/// or on a thread of theirs (`pthread`).
#[test]
fn owners_of_owners_are_dropped_one_after_another() {
    if common::case().is_none() {
        if common::unified_device().is_some() {
            for devices in ["basic", "pthread"] {
                let variables = [("POCL_DEVICES", devices)];
                let test = "owners_of_owners_are_dropped_one_after_another";
                common::in_a_child(test, devices, &variables);
            }
        }
        return;
    }
    let device = OpenCl.devices().unwrap()[0];
    let round_trips = move || {
        let mut image = NdArray::from_host(HostArray::from_vec(vec![1f32; 16], &[16]).unwrap());
        for _ in 0..3000 {
            let there = image.convert_to::<OpenCl>(device).unwrap();
            image = there.convert_to::<Ndarray>(HOST).unwrap();
        }
        assert_eq!(image.host().as_slice::<f32>().unwrap(), [1.0; 16]);
    };
    let thread = thread::Builder::new().stack_size(256 << 10).spawn(round_trips);
    thread.unwrap().join().unwrap();
}
