//! What every backend owes its accelerators: the conformance suite, exchange with itself, recovery
//! from running out of memory, and the figures.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{Convert, CopyPolicy, DType, Device, HOST, HostArray, Library, Obstacle};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_testkit as testkit;
use arraybridge_testkit::cases::{self, Subject};

use crate::checks::Checks;

/// 64 MiB of float32.
const SIDE: usize = 4096;
const REPEATS: usize = 9;

/// Returns the devices to check and says which they are; none, with the reason, if there is none.
pub(crate) fn devices<L: Subject>(on_any: bool) -> Result<Vec<Device>> {
    let availability = L::INSTANCE.availability();
    if !availability.is_available() {
        println!("{}: no devices: {availability}", L::NAME);
        return Ok(Vec::new());
    }
    let all = L::INSTANCE.devices()?;
    let accelerators =
        all.iter().copied().filter(|device| matches!(device, Device::Accelerator(_)));
    let accelerators: Vec<Device> = accelerators.collect();
    let names: Vec<String> = all.iter().map(Device::to_string).collect();
    println!("{}: {}", L::NAME, names.join(", "));
    Ok(match (accelerators.is_empty(), on_any) {
        (true, true) => all,
        (true, false) => {
            println!("{}: no accelerator among them", L::NAME);
            Vec::new()
        }
        (false, _) => accelerators,
    })
}

/// Runs the conformance suite, which takes every device that there is.
pub(crate) fn conformance<L: Subject>(checks: &mut Checks) {
    for (name, case) in cases::all::<L>() {
        checks.check(&format!("{} conformance {name}", L::NAME), || {
            case();
            Ok(String::new())
        });
    }
}

/// Checks one device.
pub(crate) fn device<L: Subject>(checks: &mut Checks, device: Device) {
    let name = |what: &str| format!("{} {device} {what}", L::NAME);
    checks.check(&name("large array there and back"), || large_round_trip::<L>(device));
    checks.check(&name("every operation on a large array as in ndarray"), || agree::<L>(device));
    checks.check(&name("dlpack out and in again, in place"), || exchange_with_itself::<L>(device));
    // Main memory is not to be filled.
    if matches!(device, Device::Accelerator(_)) {
        checks.check(&name("out of memory is told, and work goes on"), || run_out::<L>(device));
    }
    checks.check(&name("figures"), || figures::<L>(device));
}

fn ramp() -> Result<HostArray> {
    let values: Vec<f32> = (0..SIDE * SIDE).map(|value| (value % 8191) as f32 - 4000.0).collect();
    Ok(HostArray::from_slice(&values, &[SIDE, SIDE])?)
}

fn large_round_trip<L: Subject>(device: Device) -> Result<String> {
    let host = ramp()?;
    let transposed = host.clone().permute(&[1, 0])?;
    for given in [&host, &transposed] {
        let back = L::to_host(&L::from_host(given, device)?)?;
        ensure!(testkit::bits(&back) == testkit::bits(given), "the elements came back changed");
    }
    Ok("64 MiB, row-major and transposed, bit for bit".to_owned())
}

/// Compares what both libraries answer; the suite knows the rules on small arrays, this one takes
/// many blocks of a device.
fn agree<L: Subject>(device: Device) -> Result<String> {
    let host = ramp()?;
    let (here, there) = (NdArray::from_host(host.clone()), L::from_host(&host, device)?);
    let mut worst: f64 = 0.0;
    for axis in [0, 1] {
        let pairs = [
            (Ndarray::max(&here, axis)?, L::max(&there, axis)?),
            (Ndarray::min(&here, axis)?, L::min(&there, axis)?),
            (Ndarray::sum(&here, axis)?, L::sum(&there, axis)?),
            (Ndarray::mean(&here, axis)?, L::mean(&there, axis)?),
        ];
        for (expected, found) in pairs {
            worst = worst.max(difference(&Ndarray::to_host(&expected)?, &L::to_host(&found)?)?);
        }
    }
    ensure!(worst < 1e-5, "reductions differ by up to {worst:.1e} of the largest value");
    let cast = (Ndarray::astype(&here, DType::I16)?, L::astype(&there, DType::I16)?);
    let cast = (Ndarray::to_host(&cast.0)?, L::to_host(&cast.1)?);
    ensure!(testkit::bits(&cast.0) == testkit::bits(&cast.1), "the cast to int16 differs");
    // The last step truncates, so that one rounding more before it may cost one.
    let scaled = (Ndarray::scale_dtype(&here, DType::U16)?, L::scale_dtype(&there, DType::U16)?);
    let (expected, found) = (Ndarray::to_host(&scaled.0)?, L::to_host(&scaled.1)?);
    let pairs = expected.as_slice::<u16>()?.iter().zip(found.as_slice::<u16>()?);
    let apart: Vec<u16> = pairs.map(|(one, other)| one.abs_diff(*other)).collect();
    let most = apart.iter().max().copied().unwrap_or_default();
    ensure!(most <= 1, "scale_dtype to uint16 differs by {most}");
    let ones = apart.iter().filter(|apart| **apart == 1).count();
    let ones = 100.0 * ones as f64 / apart.len() as f64;
    Ok(format!(
        "reductions within {worst:.1e}; casts equal; scale_dtype one apart in {ones:.2} % of elements"
    ))
}

/// Returns the largest difference, in parts of the largest value.
fn difference(expected: &HostArray, found: &HostArray) -> Result<f64> {
    ensure!(expected.shape() == found.shape(), "{:?} is not {:?}", found, expected);
    let (expected, found) = (expected.as_slice::<f32>()?, found.as_slice::<f32>()?);
    let largest = expected.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let pairs = expected.iter().zip(found);
    let apart = pairs.map(|(one, other)| f64::from((one - other).abs())).fold(0.0, f64::max);
    Ok(apart / f64::from(largest))
}

/// Hands an array out and takes it in again through DLPack, which must not move it.
fn exchange_with_itself<L: Subject>(device: Device) -> Result<String> {
    let (Some(export), Some(import)) = (L::INSTANCE.dlpack_export(), L::INSTANCE.dlpack_import())
    else {
        return Ok("it exchanges nothing by dlpack".to_owned());
    };
    let host = ramp()?;
    let mut slot = Some(L::from_host(&host, device)?);
    let array = slot.as_ref().context("an array was made")?;
    let before = L::INSTANCE.describe(array)?.address;
    let named = export.device(array).map_err(met)?;
    let stream = import.stream(named).map_err(met)?;
    let payload = export.export(&mut slot, CopyPolicy::Never, stream).map_err(met)?;
    let again = import.import(payload).map_err(met)?;
    let after = L::INSTANCE.describe(&again)?;
    ensure!(after.device == device, "it came back on {}", after.device);
    ensure!(after.address == before, "it came back at another address");
    ensure!(
        testkit::bits(&L::to_host(&again)?) == testkit::bits(&host),
        "the elements came back changed"
    );
    Ok(format!("{named:?}, one address"))
}

/// Tells an obstacle as an error.
pub(crate) fn met(obstacle: Obstacle) -> anyhow::Error {
    match obstacle {
        Obstacle::Declined(decline) => anyhow!("declined: {decline}"),
        Obstacle::Failed(error) => error.into(),
        other => anyhow!("{other:?}"),
    }
}

/// Asks for more than there is, until it is refused.
fn run_out<L: Subject>(device: Device) -> Result<String> {
    let part = HostArray::zeros(DType::U8, &[1 << 30])?;
    let mut held = Vec::new();
    let limit = 1024;
    let refused = loop {
        match L::from_host(&part, device) {
            Ok(array) => held.push(array),
            Err(error) => break error,
        }
        if held.len() == limit {
            bail!("{limit} GiB were given");
        }
    };
    ensure!(arraybridge_core::is_out_of_memory(&refused), "not told as out of memory: {refused}");
    let given = held.len();
    drop(held);
    let library = Library::of::<L>();
    let freed = library.release_cached_memory(Some(device))?;
    let again = L::from_host(&ramp()?, device)?;
    L::to_host(&again)?;
    Ok(format!("refused after {given} GiB, cache gave back {freed:?} bytes: {refused}"))
}

fn figures<L: Subject>(device: Device) -> Result<String> {
    let host = ramp()?;
    let array = L::from_host(&host, device)?;
    let up = median(|| L::from_host(&host, device).map(drop))?;
    let down = median(|| L::to_host(&array).map(drop))?;
    let small = L::from_host(&HostArray::from_slice(&[1f32; 8], &[8])?, device)?;
    let operate = median(|| L::to_host(&L::max(&small, 0)?).map(drop))?;
    let reduce = median(|| L::to_host(&L::sum(&array, 0)?).map(drop))?;
    let convert = median(|| {
        let array = NdArray::from_host(HostArray::from_slice(&[1f32; 8], &[8])?);
        array.convert_to::<L>(device)?.convert_to::<Ndarray>(HOST).map(drop).map_err(Into::into)
    })?;
    let rate = |time: Duration| (SIDE * SIDE * 4) as f64 / time.as_secs_f64() / 1e9;
    Ok(format!(
        "median of {REPEATS}: upload 64 MiB {:.1} GB/s, download {:.1} GB/s, max of 8 with read-back \
         {operate:.1?}, sum of 64 MiB over axis 0 with read-back {reduce:.1?}, 32 bytes there and \
         back {convert:.1?}",
        rate(up),
        rate(down)
    ))
}

/// Returns the median time of a few runs, after one that is not counted.
fn median(mut run: impl FnMut() -> Result<(), arraybridge_core::Error>) -> Result<Duration> {
    run()?;
    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let started = Instant::now();
        run()?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    Ok(times[REPEATS / 2])
}
