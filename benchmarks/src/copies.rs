//! Copies between layouts, and the memory that they go to.

use anyhow::Result;
use arraybridge_core::{Element, HostArray, host_pool};
use ndarray::{Array2, Array3};

use crate::pairs::Bench;

// No zeros in what is read: all fresh zeros may be one page of memory, which stays in cache.

const MIB: usize = 1 << 20;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    contiguous(bench)?;
    transpose(bench, 1.0f32)?;
    transpose(bench, 1u8)?;
    transpose(bench, 1i16)?;
    transpose(bench, 1.0f64)?;
    odd_transpose(bench)?;
    permute(bench)
}

fn contiguous(bench: &mut Bench) -> Result<()> {
    let bytes = vec![1u8; 64 * MIB];
    let mut warm = bytes.clone();
    let source = HostArray::from_vec(bytes.clone(), &[64 * MIB])?;
    let mut target = source.gather()?;
    bench.compare(
        "copy 64 MiB, warm target",
        "copy_from_slice, warm target",
        || Ok(source.copy_into(&mut target)?),
        || {
            warm.copy_from_slice(&bytes);
            Ok(())
        },
    )?;
    bench.compare(
        "copy 64 MiB, pooled target",
        "copy_from_slice, warm target",
        || Ok(source.gather()?),
        || {
            warm.copy_from_slice(&bytes);
            Ok(())
        },
    )?;
    bench.compare(
        "copy 64 MiB, pooled target",
        "to_vec: a new vector",
        || Ok(source.gather()?),
        || Ok(bytes.to_vec()),
    )?;
    bench.compare(
        "copy 64 MiB, fresh target",
        "to_vec: a new vector",
        || {
            host_pool::release_cached();
            Ok(source.gather()?)
        },
        || Ok(bytes.to_vec()),
    )
}

/// A 4096 x 4096 transpose to row-major order.
fn transpose<T: Element>(bench: &mut Bench, one: T) -> Result<()> {
    let name = format!("transpose 4096^2 {}", T::DTYPE);
    let theirs = Array2::from_elem((4096, 4096), one);
    let (values, _) = theirs.clone().into_raw_vec_and_offset();
    let array = HostArray::from_vec(values, &[4096, 4096])?;
    let turned = array.transpose();
    let mut target = array.gather()?;
    let mut copy = array.gather()?;
    bench.compare(
        &name,
        "ndarray as_standard_layout",
        || Ok(turned.gather()?),
        || Ok(theirs.t().as_standard_layout().into_owned()),
    )?;
    bench.compare(
        &format!("{name}, warm target"),
        "memcpy, warm target",
        || Ok(turned.copy_into(&mut target)?),
        || Ok(array.copy_into(&mut copy)?),
    )
}

/// Rows that are no multiple of a cache line.
fn odd_transpose(bench: &mut Bench) -> Result<()> {
    let theirs = Array2::from_elem((4095, 4093), 1f32);
    let (values, _) = theirs.clone().into_raw_vec_and_offset();
    let turned = HostArray::from_vec(values, &[4095, 4093])?.transpose();
    bench.compare(
        "transpose 4095x4093 float32",
        "ndarray as_standard_layout",
        || Ok(turned.gather()?),
        || Ok(theirs.t().as_standard_layout().into_owned()),
    )
}

fn permute(bench: &mut Bench) -> Result<()> {
    let theirs = Array3::from_elem((64, 512, 512), 1f32);
    let (values, _) = theirs.clone().into_raw_vec_and_offset();
    let array = HostArray::from_vec(values, &[64, 512, 512])?.permute(&[2, 1, 0])?;
    bench.compare(
        "permute (2,1,0) 64x512x512 float32",
        "ndarray as_standard_layout",
        || Ok(array.gather()?),
        || Ok(theirs.view().permuted_axes([2, 1, 0]).as_standard_layout().into_owned()),
    )
}
