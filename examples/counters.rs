//! What did happen: counters for a block, over threads, as a table and as JSON.

use anyhow::Result;
use arraybridge::prelude::*;
use arraybridge_examples::{read_stack, sample};
use raster_backend::Rasters;

fn main() -> Result<()> {
    let counters = ConversionCounters::new();
    {
        let _watch = counters.install();
        pipeline("nuclei3d.tif")?;

        // A new thread has no observer unless it is given one.
        let scope = ObserverScope::current();
        let worker = std::thread::spawn(move || scope.run(|| pipeline("cell.png")));
        worker.join().map_err(|_| anyhow::anyhow!("the worker panicked"))??;
    }
    pipeline("cell.png")?; // not watched any more

    println!("{}", counters.table());
    println!("{}", counters.to_json()?);
    Ok(())
}

fn pipeline(name: &str) -> Result<()> {
    let array = read_stack(&sample(name))?;
    let kept = array.clone(); // a second holder, so the raster needs a copy
    let raster = array.convert_to::<Rasters>(HOST)?;
    let back = raster.convert_to::<Ndarray>(HOST)?;
    assert_eq!(back.host().shape(), kept.host().shape());
    Ok(())
}
