//! A function of JAX on an image that ndarray has: no Python runs, no pixel is copied on the way.

use anyhow::{Result, ensure};
use arraybridge::ArrayLibrary;
use arraybridge::prelude::*;
use arraybridge::xla::Program;
use arraybridge_examples::{read_stack, sample};
use ndarray::{Array2, ArrayView2, Axis};

/// What JAX exported; its first lines tell from what and how.
const ENHANCE: &str = include_str!("data/jax_function.mlir");

fn main() -> Result<()> {
    let xla = Xla.availability();
    if !xla.is_available() {
        println!("skipped: xla is {xla}");
        return Ok(());
    }
    // SAFETY: the program is the file above, which has no `custom_call`.
    let enhance = unsafe { Program::compile(ENHANCE, HOST) }?;
    let parameter = &enhance.parameters()[0];
    println!("the function takes {} of {:?}", parameter.dtype, parameter.shape);

    let image = Ndarray::astype(&read_stack(&sample("cell.png"))?, parameter.dtype)?;
    let image = Ndarray::reshape(&image, &parameter.shape)?;
    let expected = enhance_here(&image.view()?);
    let address = image.host().address();

    let counters = ConversionCounters::new();
    let watch = counters.install();
    let image: XlaArray = image.convert_to::<Xla>(HOST)?;
    ensure!(Xla.describe(&image)?.address == address, "the image moved");

    let mut results = enhance.run(&[&image])?;
    let bright = results.remove(0);
    bright.wait()?; // what the counters time is the conversion alone
    let made_at = Xla.describe(&bright)?.address;

    let bright: NdArray = bright.convert_to::<Ndarray>(HOST)?;
    drop(watch);
    ensure!(bright.host().address() == made_at, "the result moved");
    ensure!(counters.rows().iter().all(|row| !row.copied), "something was copied");
    println!("{}", counters.table());

    let bright: ArrayView2<f32> = bright.view()?;
    let error = (&bright - &expected).fold(0f32, |error, difference| error.max(difference.abs()));
    let mean = bright.mean().unwrap_or(f32::NAN);
    println!("mean {mean:.4}, furthest from the same in ndarray: {error:e}");
    ensure!(error < 1e-5, "JAX's function and the same in ndarray differ");
    Ok(())
}

/// The same function, to check the result with.
fn enhance_here(image: &ArrayView2<f32>) -> Array2<f32> {
    let low = image.fold(f32::INFINITY, |low, &pixel| low.min(pixel));
    let high = image.fold(f32::NEG_INFINITY, |high, &pixel| high.max(pixel));
    let mut image = image.mapv(|pixel| ((pixel - low) / (high - low)).sqrt());
    for axis in [Axis(0), Axis(1)] {
        let line = image.clone();
        let count = line.len_of(axis);
        for (place, mut target) in image.axis_iter_mut(axis).enumerate() {
            let before = line.index_axis(axis, (place + count - 1) % count);
            let after = line.index_axis(axis, (place + 1) % count);
            target.zip_mut_with(&before, |pixel, &other| *pixel = 2.0 * *pixel + other);
            target.zip_mut_with(&after, |pixel, &other| *pixel = (*pixel + other) / 4.0);
        }
    }
    image
}
