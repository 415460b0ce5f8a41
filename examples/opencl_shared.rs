//! A host array and a CPU device on one buffer, shown by address.

use std::time::Instant;

use anyhow::Result;
use arraybridge::ArrayLibrary;
use arraybridge::opencl::device_facts;
use arraybridge::prelude::*;
use ndarray::{Array2, ArrayView2};

fn main() -> Result<()> {
    let mut device = None;
    for candidate in OpenCl.devices()? {
        let facts = device_facts(candidate)?;
        println!("{candidate}: {}, {} MiB", facts.platform, facts.memory >> 20);
        if facts.unified_memory && device.is_none() {
            device = Some(candidate);
        }
    }
    let Some(device) = device else {
        println!("skipped: no OpenCL device works in the host's memory");
        return Ok(());
    };

    // 64 MiB, of which not a byte moves.
    let image = Array2::<f32>::from_shape_fn((4096, 4096), |(row, column)| (row ^ column) as f32);
    let address = image.as_ptr() as usize;
    let started = Instant::now();
    let mut array: ClArray = image.convert_with::<OpenCl>(device, CopyPolicy::Never)?;
    println!("ndarray to opencl: {:?}", started.elapsed());
    assert_eq!(OpenCl.describe(&array)?.address, address);

    // A host view reads the device's buffer where it is. While it is there, kernels may read the
    // buffer too; what would write it writes a copy.
    let view = array.host_view()?;
    assert_eq!((view.address(), view.as_slice::<f32>()?[1]), (address, 1.0));
    drop(view);

    // Nobody else has the memory, so the device writes it in place.
    let row = Ndarray::linspace(0.0, 1.0, 4096, true, Some(DType::F32))?;
    let row: ClArray = row.convert_to::<OpenCl>(device)?;
    let array = OpenCl::assign(array, 0..1, &row)?;
    assert_eq!(OpenCl.describe(&array)?.address, address);

    let started = Instant::now();
    let back: NdArray = array.convert_with::<Ndarray>(HOST, CopyPolicy::Never)?;
    println!("opencl to ndarray: {:?}", started.elapsed());
    let seen: ArrayView2<f32> = back.view()?;
    assert_eq!((seen.as_ptr() as usize, seen[[0, 4095]]), (address, 1.0));
    println!("{} elements at {address:#x}, there and back", seen.len());
    Ok(())
}
