//! Array operations in XLA: compiled on first use for a dtype and a shape, then kept.

use std::time::Instant;

use anyhow::Result;
use arraybridge::ArrayLibrary;
use arraybridge::prelude::*;
use arraybridge::xla::cache_statistics;
use arraybridge_examples::{read_stack, sample};

fn main() -> Result<()> {
    let xla = Xla.availability();
    if !xla.is_available() {
        println!("skipped: xla is {xla}");
        return Ok(());
    }
    let stack = read_stack(&sample("nuclei3d.tif"))?;
    let expected = Ndarray::max(&stack, 0)?;
    let stack: XlaArray = stack.convert_to::<Xla>(HOST)?;

    // The same operation three times: the program of the first call serves the others.
    for call in ["first", "second", "third"] {
        let start = Instant::now();
        Xla::max(&stack, 0)?.wait()?;
        let cache = cache_statistics();
        println!(
            "{call} max: {:?}, {} compiled, {} found",
            start.elapsed(),
            cache.misses,
            cache.hits
        );
    }

    // Operations follow each other on the device; nothing comes back to the host in between.
    let projection = Xla::max(&stack, 0)?;
    let floats = Xla::astype(&projection, DType::F32)?;
    let bytes = Xla::scale_dtype(&floats, DType::U8)?; // lowest to 0, highest to 255
    let mut range = Xla::stack(&[&Xla::min(&bytes, [0, 1])?, &Xla::max(&bytes, [0, 1])?])?;

    // Host views read XLA's memory in place.
    let extremes = range.host_view()?;
    println!("{} from {:?}", bytes.dtype(), extremes.as_slice::<u8>()?);
    let projection: NdArray = projection.convert_to::<Ndarray>(HOST)?;
    assert_eq!(projection.host().as_bytes()?, expected.host().as_bytes()?);
    println!("the projection is ndarray's, to the bit");
    Ok(())
}
