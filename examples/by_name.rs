//! Conversion by name: the target library is data, such as a word of a configuration file.

use anyhow::{Context, Result};
use arraybridge::prelude::*;
use arraybridge_examples::{read_stack, sample};
use raster_backend as _;

fn main() -> Result<()> {
    let names: Vec<&str> = libraries().iter().map(|library| library.name()).collect();
    println!("libraries here: {}", names.join(", "));

    let array = AnyArray::of::<Ndarray>(read_stack(&sample("cell.png"))?);
    let array = array.convert_by_name("raster", HOST)?;
    println!("{array:?}");

    // A device that is not there: the error says what is, and holds the array.
    let array = match array.convert_by_name("numpy", Device::Accelerator(0)) {
        Ok(moved) => moved,
        Err(refused) => {
            println!("refused: {refused}");
            refused.into_array().context("the array was lost")?
        }
    };

    // No surprise: refuse rather than copy.
    let array = array.convert_with(library("ndarray")?, HOST, CopyPolicy::Never)?;

    // A library that is not here: the error says what is, and what would bring it.
    if let Err(refused) = array.convert_by_name("torch", HOST) {
        println!("refused: {refused}");
    }
    Ok(())
}
