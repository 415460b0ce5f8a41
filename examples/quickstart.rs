//! Typed conversion: the target library is named, the compiler knows the result.

use anyhow::Result;
use arraybridge::prelude::*;
use arraybridge_examples::{read_stack, sample};
use ndarray::{Array3, ArrayView3};
use raster_backend::Rasters;

fn main() -> Result<()> {
    // An array of the crate `ndarray`, as any program has one.
    let stack: Array3<u16> = read_stack(&sample("nuclei3d.tif"))?.into_array()?;
    let address = stack.as_ptr() as usize;

    // Into another library. The array is consumed, so nothing aliases it and nothing is copied.
    let mut raster = stack.convert_to::<Rasters>(HOST)?;
    raster.subtract_background()?;
    println!("darkest pixel now: {:?}", raster.pixels::<u16>()?.iter().min());

    // And back, still in the same memory.
    let back: NdArray = raster.convert_to::<Ndarray>(HOST)?;
    let view: ArrayView3<u16> = back.view()?;
    println!(
        "brightest pixel of plane 15: {:?}",
        view.index_axis(ndarray::Axis(0), 15).iter().max()
    );
    let own: Array3<u16> = back.into_array()?;
    assert_eq!(own.as_ptr() as usize, address, "the elements never moved");
    println!("{:?} pixels crossed two libraries without a copy", own.len());
    Ok(())
}
