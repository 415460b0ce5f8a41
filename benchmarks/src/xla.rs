//! XLA: what an exchange without a copy, a compiled operation and its compilation cost.

use anyhow::Result;
use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{ArrayLibrary, Convert, CopyPolicy, HOST, HostArray};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_xla::{Xla, XlaArray};

use crate::pairs::Bench;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let availability = Xla.availability();
    if !availability.is_available() {
        eprintln!("skipped: xla is {availability}");
        return Ok(());
    }
    exchange(bench)?;
    operate(bench)
}

/// Of an array that core allocated, whose memory is aligned as XLA wants it.
fn exchange(bench: &mut Bench) -> Result<()> {
    let host = HostArray::from_slice(&vec![1f32; 512 * 512], &[512, 512])?;
    let (ndarray, xla) = (NdArray::from_host(host.clone()), Xla::from_host(&host, HOST)?);
    bench.compare(
        "ndarray to xla, 1 MiB, no copy",
        "a copy of it, pooled",
        || Ok(ndarray.clone().convert_with::<Xla>(HOST, CopyPolicy::Never)?),
        || Ok(host.gather()?),
    )?;
    bench.compare(
        "xla to ndarray, 1 MiB, no copy",
        "a copy of it, pooled",
        || Ok(xla.clone().convert_with::<Ndarray>(HOST, CopyPolicy::Never)?),
        || Ok(host.gather()?),
    )
}

fn operate(bench: &mut Bench) -> Result<()> {
    let small = |count: usize| -> Result<HostArray> {
        Ok(HostArray::from_slice(&vec![1f32; count], &[count])?)
    };
    let max = |array: &XlaArray| -> Result<XlaArray> {
        let made = Xla::max(array, 0)?;
        made.wait()?;
        Ok(made)
    };
    let (ndarray, xla) = (NdArray::from_host(small(8)?), Xla::from_host(&small(8)?, HOST)?);
    bench.compare(
        "max of 8 float32 in xla, compiled",
        "max of them in ndarray",
        || max(&xla),
        || Ok(Ndarray::max(&ndarray, 0)?),
    )?;
    // Every call has a shape of its own, so that none finds its program.
    let mut count = 8;
    bench.compare(
        "max of few float32 in xla, first of a shape",
        "the same, compiled",
        || {
            count += 1;
            max(&Xla::from_host(&small(count)?, HOST)?)
        },
        || max(&xla),
    )
}
