//! A TorchScript model, made, saved, loaded and run on an image, without a copy in or out.

use anyhow::Result;
use arraybridge::prelude::*;
use arraybridge::tch::tch::{CModule, IValue, Kind, Tensor};
use arraybridge_examples::{read_stack, sample};

fn main() -> Result<()> {
    // A model, as `torch.jit.trace(...).save(...)` writes one in Python: edges by differences.
    let file = std::env::temp_dir().join(format!("arraybridge-edges-{}.pt", std::process::id()));
    edges(&read_image()?.convert_to::<Tch>(HOST)?)?.save(&file)?;
    let model = CModule::load(&file);
    std::fs::remove_file(&file)?;
    let model = model?;

    // In: the image's memory becomes the model's input.
    let counters = ConversionCounters::new();
    let watch = counters.install();
    let image = read_image()?;
    let shape = image.host().shape().to_vec();
    let input: Tensor = image.convert_with::<Tch>(HOST, CopyPolicy::Never)?;
    let IValue::Tensor(output) = model.forward_is(&[IValue::Tensor(input)])? else {
        anyhow::bail!("the model returns something else than a tensor");
    };

    // Out: the model's result becomes an ndarray.
    let edges: NdArray = output.convert_with::<Ndarray>(HOST, CopyPolicy::Never)?;
    drop(watch);
    assert_eq!(edges.host().shape(), shape);
    let strongest = Ndarray::max(&edges, [0, 1, 2])?;
    println!("edges of {shape:?} pixels, the strongest {:?}", strongest.host().as_slice::<f32>()?);
    println!("{}", counters.table());
    Ok(())
}

fn read_image() -> Result<NdArray> {
    let image = read_stack(&sample("cell.png"))?;
    Ok(Ndarray::astype(&image, DType::F32)?)
}

/// Makes a model by running its steps on an image once.
fn edges(image: &Tensor) -> Result<CModule> {
    let mut steps = |inputs: &[Tensor]| -> Vec<Tensor> {
        let image = &inputs[0];
        let across = image.diff(1, -1, None::<Tensor>, Some(image.narrow(-1, -1, 1)));
        let down = image.diff(1, -2, None::<Tensor>, Some(image.narrow(-2, -1, 1)));
        vec![(across.square() + down.square()).sqrt().to_kind(Kind::Float)]
    };
    let inputs = [image.shallow_clone()];
    Ok(CModule::create_by_tracing("edges", "forward", &inputs, &mut steps)?)
}
