//! What one conversion costs beside the copies: between ndarray and a library that wraps.

use anyhow::Result;
use arraybridge_core::{
    AnyArray, ArrayLibrary, ConversionCounters, Convert, HOST, HostArray, Library, plan, register,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use raster_backend::Rasters;

use crate::pairs::Bench;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    arraybridge_ndarray::register();
    register::<Rasters>();
    let pair = || -> Result<_> {
        // What a program without the crate would do at least: an allocation for an owner.
        Ok(Box::new(std::hint::black_box(0u64)))
    };
    bench.compare(
        "plan",
        "one small allocation",
        || Ok(plan("ndarray", HOST, Rasters::NAME, HOST)?),
        pair,
    )?;

    let mut array = Some(new_array()?);
    bench.compare(
        "round trip, typed (2 conversions)",
        "one small allocation",
        || {
            let Some(ours) = array.take() else { return Ok(()) };
            let raster = ours.convert_to::<Rasters>(HOST)?;
            array = Some(raster.convert_to::<Ndarray>(HOST)?);
            Ok(())
        },
        pair,
    )?;

    let (ndarray, rasters) = (Library::of::<Ndarray>(), Library::of::<Rasters>());
    let mut erased = Some(AnyArray::of::<Ndarray>(new_array()?));
    let mut round_trip = || -> Result<()> {
        let Some(ours) = erased.take() else { return Ok(()) };
        erased = Some(ours.convert_to(rasters, HOST)?.convert_to(ndarray, HOST)?);
        Ok(())
    };
    bench.compare(
        "round trip, erased (2 conversions)",
        "one small allocation",
        &mut round_trip,
        pair,
    )?;

    let mut plain = Some(new_array()?);
    let mut counted = Some(new_array()?);
    let counters = ConversionCounters::new();
    bench.compare(
        "round trip, counted (2 conversions)",
        "the same, not counted",
        || {
            let _guard = counters.install();
            let Some(ours) = counted.take() else { return Ok(()) };
            counted = Some(ours.convert_to::<Rasters>(HOST)?.convert_to::<Ndarray>(HOST)?);
            Ok(())
        },
        || {
            let Some(ours) = plain.take() else { return Ok(()) };
            plain = Some(ours.convert_to::<Rasters>(HOST)?.convert_to::<Ndarray>(HOST)?);
            Ok(())
        },
    )
}

fn new_array() -> Result<NdArray> {
    Ok(NdArray::from_host(HostArray::from_vec(vec![0f32; 1024], &[32, 32])?))
}
