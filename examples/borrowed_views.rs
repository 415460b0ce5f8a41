//! Views under a borrow: arrays of others read and written in place, without owning them.

use anyhow::Result;
use arraybridge::prelude::*;
use ndarray::{Array2, ArrayView2};
use raster_backend::Raster;

fn main() -> Result<()> {
    // Another library's array, seen from the host while it is borrowed.
    let mut raster = Raster::new(vec![1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let seen = raster.host_view()?;
    println!("{:?} at {:#x}: {:?}", seen.shape(), seen.address(), seen.as_slice::<f32>()?);
    drop(seen);
    raster.subtract_background()?; // the borrow has ended, so the raster may change again

    // The same memory as a view of the crate `ndarray`.
    let array: NdArray = raster.convert_to::<Ndarray>(HOST)?;
    let view: ArrayView2<f32> = array.view()?;
    println!("column sums: {}", view.sum_axis(ndarray::Axis(0)));

    let mut own: Array2<f32> = array.into_array()?;
    own[[0, 0]] = 10.0;
    println!("{own}");
    Ok(())
}
