//! What access a payload grants.

#![allow(clippy::unwrap_used, reason = "tests")]

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge_core::{Access, DType, HostArray, Layout, Owner};

/// Returns a payload over 12 floats that nothing else reaches.
fn exclusive(shape: &[usize], strides: &[isize]) -> DlpackPayload {
    let mut memory = vec![0f32; 12];
    let data = memory.as_mut_ptr().cast();
    let layout = Layout::new(shape, strides).unwrap();
    let (owner, device) = (Owner::new(memory), DlpackDevice::CPU);
    // SAFETY: the vector's elements, which its new owner keeps where they are; the layouts of these
    // tests stay inside.
    let payload = unsafe {
        DlpackPayload::new(owner, data, 0, DType::F32, layout, device, Access::Exclusive)
    };
    payload.unwrap()
}

#[test]
fn no_payload_grants_writing_to_elements_that_overlap() {
    assert_eq!(exclusive(&[3, 4], &[4, 1]).access(), Access::Exclusive);
    assert_eq!(exclusive(&[4, 3], &[1, 4]).access(), Access::Exclusive);
    // Strides of axes of length 1 mean nothing.
    assert_eq!(exclusive(&[1, 12], &[0, 1]).access(), Access::Exclusive);
    assert_eq!(exclusive(&[2, 12], &[0, 1]).access(), Access::Immutable);
    assert_eq!(exclusive(&[3, 3], &[1, 1]).access(), Access::Immutable);

    let mut array = HostArray::from_dlpack(exclusive(&[2, 12], &[0, 1])).unwrap();
    assert!(array.as_mut_ptr().is_err());
    assert!(array.make_mut().unwrap());
    assert!(array.as_slice_mut::<f32>().is_ok());
}

#[test]
fn a_view_that_repeats_elements_leaves_read_only() {
    let array = HostArray::from_slice(&[1u8, 2], &[2]).unwrap();
    let repeated = array.broadcast_to(&[3, 2]).unwrap();
    drop(array);
    let payload = repeated.into_dlpack().unwrap();
    assert_eq!(payload.access(), Access::Immutable);
    // The legacy form cannot say so.
    let error = payload.into_legacy().unwrap_err().to_string();
    let expected = "a legacy DLPack export needs an array whose memory nobody else can reach: its \
                    form cannot say read-only; use the versioned form or a copy";
    assert_eq!(error, expected);
}
