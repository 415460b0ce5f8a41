//! Operations on ndarray's arrays: stacks, dtype scaling, reductions.

use anyhow::Result;
use arraybridge_core::ops::Ops;
use arraybridge_core::{AnyArray, DType, HOST, HostArray, stack_slices_to};
use arraybridge_ndarray::{NdArray, Ndarray};
use ndarray::{Array2, Array3, Axis};

use crate::pairs::Bench;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    stack(bench)?;
    scale(bench)?;
    reduce(bench)
}

fn stack(bench: &mut Bench) -> Result<()> {
    let theirs = vec![Array2::from_elem((512, 512), 1u16); 500];
    let planes: Vec<NdArray> = theirs
        .iter()
        .map(|plane| {
            let (values, _) = plane.clone().into_raw_vec_and_offset();
            Ok(NdArray::from_host(HostArray::from_vec(values, &[512, 512])?))
        })
        .collect::<Result<_>>()?;
    bench.compare(
        "stack 500 planes 512^2 uint16",
        "ndarray stack",
        || {
            // Handles on the same planes: stacking takes its planes.
            let planes =
                planes.iter().map(|plane| AnyArray::of::<Ndarray>(plane.clone())).collect();
            Ok(stack_slices_to::<Ndarray>(planes, HOST)?)
        },
        || {
            let views: Vec<_> = theirs.iter().map(|plane| plane.view()).collect();
            Ok(ndarray::stack(Axis(0), &views)?)
        },
    )
}

fn scale(bench: &mut Bench) -> Result<()> {
    let values: Vec<f32> = (0..16 << 20).map(|value| (value % 1000) as f32).collect();
    let theirs = Array3::from_shape_vec((64, 512, 512), values.clone())?;
    let ours = NdArray::from_host(HostArray::from_vec(values, &[64, 512, 512])?);
    bench.compare(
        "scale_dtype 64 MiB float32 to uint8",
        "ndarray fold and mapv",
        || Ok(Ndarray::scale_dtype(&ours, DType::U8)?),
        || {
            let (low, high) = theirs
                .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &value| {
                    (low.min(value), high.max(value))
                });
            Ok(theirs.mapv(|value| ((value - low) / (high - low) * 255.0) as u8))
        },
    )
}

fn reduce(bench: &mut Bench) -> Result<()> {
    let theirs = Array3::from_shape_fn((64, 512, 512), |(i, j, k)| (i + j + k) as f32);
    let (values, _) = theirs.clone().into_raw_vec_and_offset();
    let ours = NdArray::from_host(HostArray::from_vec(values, &[64, 512, 512])?);
    for axis in 0..3usize {
        bench.compare(
            &format!("sum over axis {axis} of 64x512x512 float32"),
            "ndarray sum_axis",
            || Ok(Ndarray::sum(&ours, axis as isize)?),
            || Ok(theirs.sum_axis(Axis(axis))),
        )?;
        bench.compare(
            &format!("max over axis {axis} of 64x512x512 float32"),
            "ndarray fold_axis",
            || Ok(Ndarray::max(&ours, axis as isize)?),
            || Ok(theirs.fold_axis(Axis(axis), f32::NEG_INFINITY, |&high, &value| high.max(value))),
        )?;
    }
    Ok(())
}
