//! An image stack through a real operation of PyTorch and back: the pixels are never copied on the
//! way.

use anyhow::Result;
use arraybridge::prelude::*;
use arraybridge::tch::tch::Tensor;
use arraybridge_examples::{read_stack, sample};
use ndarray::Array3;

fn main() -> Result<()> {
    let counters = ConversionCounters::new();
    let _watch = counters.install();

    // An array of the crate `ndarray`, as any program has one.
    let stack = read_stack(&sample("nuclei3d.tif"))?;
    let stack: Array3<f32> = Ndarray::astype(&stack, DType::F32)?.into_array()?;
    let (address, before) = (stack.as_ptr() as usize, stack.clone());

    // Into torch. The array is consumed, so that nothing else writes the memory.
    let stack: Tensor = stack.convert_with::<Tch>(HOST, CopyPolicy::Never)?;

    // Any function of torch: a 3 x 3 x 3 mean of each pixel's surroundings.
    let batch = stack.f_unsqueeze(0)?.f_unsqueeze(0)?;
    let smooth: Tensor =
        batch.f_avg_pool3d([3, 3, 3], [1, 1, 1], [1, 1, 1], false, false, None)?.f_squeeze()?;

    // Torch's results are its own memory, and become an ndarray without a copy too.
    let smooth: NdArray = smooth.convert_with::<Ndarray>(HOST, CopyPolicy::Never)?;
    let view: ndarray::ArrayView3<f32> = smooth.view()?;
    let middle: f32 = before.slice(ndarray::s![14..17, 29..32, 29..32]).sum() / 27.0;
    println!("pixel [15, 30, 30]: {} smoothed to {}", before[[15, 30, 30]], view[[15, 30, 30]]);
    assert!((view[[15, 30, 30]] - middle).abs() <= middle.abs() * 1e-5);

    // The stack itself comes back as the array that it began as.
    drop(batch);
    let stack: NdArray = stack.convert_with::<Ndarray>(HOST, CopyPolicy::Never)?;
    let stack: Array3<f32> = stack.into_array()?;
    assert_eq!(stack.as_ptr() as usize, address, "the elements never moved");
    assert_eq!(stack, before);
    println!("{}", counters.table());
    Ok(())
}
