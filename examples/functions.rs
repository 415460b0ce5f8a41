//! Functions that belong to a library: plane by plane on a stack, with a dtype policy.

use anyhow::Result;
use arraybridge::prelude::*;
use arraybridge::{Error, Outputs};
use arraybridge_examples::{read_stack, sample};
use ndarray::Array2;

fn main() -> Result<()> {
    let stack = read_stack(&sample("nuclei3d.tif"))?;

    // The closure sees planes; what it returns besides the array is collected in their order.
    let flatten = ArrayFunction::<Ndarray, _>::new("flatten", |plane: &NdArray| {
        let pixels: Array2<f32> = Ndarray::astype(plane, DType::F32)?.into_array()?;
        let mean = pixels.mean().unwrap_or(0.0);
        Ok::<_, Error>(Outputs::new(NdArray::from(pixels / mean), mean))
    })
    .output_dtype(OutputDtype::F32)
    .output_contract("a plane stays a plane", |plane| plane.host().shape().len() == 2);

    let flat = flatten.call_slices(&stack)?;
    let darkest = flat.extra.iter().copied().fold(f32::INFINITY, f32::min);
    println!("{} planes, the darkest has mean {darkest:.1}", flat.extra.len());
    println!("{} of {:?}", flat.main.host().dtype(), flat.main.host().shape());

    // For this call alone: the input's dtype, which rescales.
    let kept = flatten.by_ref().output_dtype(OutputDtype::PreserveInput).call_slices(&stack)?;
    println!("{} of {:?}", kept.main.host().dtype(), kept.main.host().shape());

    // An error names the function and the plane.
    let failing =
        ArrayFunction::<Ndarray, _>::new("failing", |_: &NdArray| Err::<NdArray, _>("no reason"));
    if let Err(refused) = failing.call_slices(&stack) {
        println!("refused: {:#}", anyhow::Error::from(refused));
    }
    Ok(())
}
