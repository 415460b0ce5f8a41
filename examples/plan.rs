//! What would happen, from declarations alone: no library is loaded and no hardware is asked.

use anyhow::Result;
use arraybridge::prelude::*;
use raster_backend as _;

fn main() -> Result<()> {
    let gpu = Device::Accelerator(0);
    assert_eq!(plan("torch", gpu, "cupy", gpu)?.mechanism(), Mechanism::Dlpack);

    for (source, from, target, to) in [
        ("raster", HOST, "numpy", HOST),
        ("numpy", HOST, "torch", HOST),
        ("torch", HOST, "cupy", gpu),
        ("cupy", gpu, "jax", HOST),
        ("numpy", HOST, "opencl", Device::named("cpu")?),
    ] {
        let plan = plan(source, from, target, to)?;
        let fallbacks: Vec<String> = plan.fallbacks().map(|other| other.to_string()).collect();
        println!("{plan}");
        if !fallbacks.is_empty() {
            println!("    or, where that declines: {}", fallbacks.join(", "));
        }
    }

    if let Err(refused) = plan("numpy", HOST, "cupy", HOST) {
        println!("refused: {refused}");
    }
    Ok(())
}
