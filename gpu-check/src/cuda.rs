//! CUDA on a real GPU: what the stand-in for its driver cannot show.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use arraybridge_core::ops::{HostExchange, Ops, cast, scale};
use arraybridge_core::roles::{DlpackExport, DlpackImport};
use arraybridge_core::{CopyPolicy, DType, DTypeKind, Device, HostArray};
use arraybridge_cuda::cudarc::driver::{CudaContext, result};
use arraybridge_cuda::{Cuda, CudaArray, Grid, Program, failed_releases, pinned, use_stream};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_testkit as testkit;

use crate::accelerator::{self, met};
use crate::checks::Checks;

/// Elements of each dtype in the checks of kernels: many blocks, and no round number.
const COUNT: usize = 300_007;
/// 256 MiB.
const LARGE: usize = 256 << 20;

pub(crate) fn run(checks: &mut Checks, on_any: bool) -> Result<()> {
    let devices = accelerator::devices::<Cuda>(on_any)?;
    if devices.is_empty() {
        return Ok(());
    }
    for &device in &devices {
        println!("cuda: {device}: {}", described(device)?);
    }
    accelerator::conformance::<Cuda>(checks);
    for &device in &devices {
        accelerator::device::<Cuda>(checks, device);
        let name = |what: &str| format!("cuda {device} {what}");
        checks.check(&name("kernels cast as core does"), || casts(device));
        checks.check(&name("kernels scale as core does"), || scales(device));
        checks.check(&name("kernels reduce as ndarray does"), || reductions(device));
        checks.check(&name("a kernel of one's own"), || program(device));
        checks.check(&name("streams keep their order"), || stream_order(device));
        checks.check(&name("fragmented memory is given back and taken again"), || retry(device));
        checks.check(&name("bandwidth"), || bandwidth(device));
    }
    if let [one, other, ..] = devices[..] {
        checks.check(&format!("cuda {one} to {other}"), || moves(one, other));
    }
    checks.check("cuda nothing failed where nobody was told", || {
        ensure!(failed_releases() == 0, "{} releases failed", failed_releases());
        Ok(String::new())
    });
    Ok(())
}

fn context(device: Device) -> Result<Arc<CudaContext>> {
    Ok(Arc::clone(arraybridge_cuda::current_stream(device)?.context()))
}

fn failed(error: result::DriverError) -> anyhow::Error {
    anyhow!("{:?}", error.0)
}

fn described(device: Device) -> Result<String> {
    let context = context(device)?;
    let (major, minor) = context.compute_capability().map_err(failed)?;
    let memory = context.total_mem().map_err(failed)? as f64 / (1u64 << 30) as f64;
    let pools = if context.has_async_alloc() { "memory pools" } else { "no memory pools" };
    let name = context.name().map_err(failed)?;
    Ok(format!("{name}, compute capability {major}.{minor}, {memory:.1} GiB, {pools}"))
}

/// Returns random bits: for floats every kind of number, infinities and NaN.
fn random(dtype: DType, count: usize, seed: u64) -> Result<HostArray> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if dtype == DType::Bool { (state >> 24) as u8 & 1 } else { (state >> 24) as u8 }
    };
    let bytes: Vec<u8> = (0..count * dtype.size()).map(|_| byte()).collect();
    Ok(HostArray::from_slice(&bytes, &[bytes.len()])?.reinterpret(dtype, &[count])?)
}

/// Returns numbers of moderate size, of either sign where the dtype has them.
fn moderate(dtype: DType, shape: &[usize], seed: u64) -> Result<HostArray> {
    let count = shape.iter().product();
    let positive = matches!(dtype.kind(), DTypeKind::Unsigned | DTypeKind::Bool);
    let whole = random(DType::I16, count, seed)?;
    let mut values = cast::cast(&whole, DType::F64)?.as_slice::<f64>()?.to_vec();
    for value in &mut values {
        *value /= 512.0;
        *value = if positive { value.abs() } else { *value };
    }
    Ok(cast::cast(&HostArray::from_slice(&values, shape)?, dtype)?)
}

/// Returns how many elements differ, any NaN being as good as another.
fn differing(found: &HostArray, expected: &HostArray) -> Result<usize> {
    ensure!(found.dtype() == expected.dtype() && found.shape() == expected.shape());
    let (one, other) = (testkit::bits(found), testkit::bits(expected));
    if one == other {
        return Ok(0);
    }
    let dtype = found.dtype();
    let size = dtype.size();
    let part = match dtype {
        DType::Complex32 => DType::F16,
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        other => other,
    };
    let numbers = |raw: &[u8]| -> Result<Vec<f64>> {
        let count = raw.len() / part.size();
        let parts = HostArray::from_slice(raw, &[raw.len()])?.reinterpret(part, &[count])?;
        Ok(cast::cast(&parts, DType::F64)?.as_slice::<f64>()?.to_vec())
    };
    let (left, right) = (numbers(&one)?, numbers(&other)?);
    let (step, per) = (part.size(), size / part.size());
    let part_differs = |at: usize| {
        let both_nan = part.is_float() && left[at].is_nan() && right[at].is_nan();
        one[at * step..][..step] != other[at * step..][..step] && !both_nan
    };
    let elements = one.len() / size;
    Ok((0..elements).filter(|at| (at * per..(at + 1) * per).any(part_differs)).count())
}

fn casts(device: Device) -> Result<String> {
    let mut pairs = 0;
    for (seed, from) in testkit::dtypes().enumerate() {
        let host = random(from, COUNT, seed as u64 + 1)?;
        let array = Cuda::from_host(&host, device)?;
        for to in testkit::dtypes().filter(|to| cast::check(from, *to).is_ok()) {
            let found = Cuda::to_host(&Cuda::astype(&array, to)?)?;
            let wrong = differing(&found, &cast::cast(&host, to)?)?;
            ensure!(wrong == 0, "{from} to {to}: {wrong} of {COUNT} elements differ");
            pairs += 1;
        }
    }
    Ok(format!("{pairs} pairs of dtypes, {COUNT} random elements each, bit for bit"))
}

fn scales(device: Device) -> Result<String> {
    for from in testkit::dtypes().filter(|dtype| dtype.is_float()) {
        let host = moderate(from, &[COUNT], 5)?;
        let array = Cuda::from_host(&host, device)?;
        for to in testkit::dtypes().filter(|dtype| dtype.is_integer()) {
            let found = Cuda::to_host(&Cuda::scale_dtype(&array, to)?)?;
            let wrong = differing(&found, &scale::scale(&host, to)?)?;
            ensure!(wrong == 0, "{from} to {to}: {wrong} of {COUNT} elements differ");
        }
    }
    Ok("every float to every integer dtype, bit for bit".to_owned())
}

fn reductions(device: Device) -> Result<String> {
    let shape = [37, 53, 151];
    let mut worst: f64 = 0.0;
    for dtype in testkit::dtypes().filter(|dtype| !dtype.is_float8()) {
        let host = moderate(dtype, &shape, 7)?;
        for host in [host.clone(), host.permute(&[2, 0, 1])?] {
            let (here, there) = (NdArray::from_host(host.clone()), Cuda::from_host(&host, device)?);
            for axes in [&[0][..], &[1], &[2], &[0, 2], &[0, 1, 2]] {
                if dtype.kind() != DTypeKind::Complex {
                    let pairs = [
                        (Ndarray::max(&here, axes)?, Cuda::max(&there, axes)?),
                        (Ndarray::min(&here, axes)?, Cuda::min(&there, axes)?),
                    ];
                    for (expected, found) in pairs {
                        let (expected, found) =
                            (Ndarray::to_host(&expected)?, Cuda::to_host(&found)?);
                        ensure!(differing(&found, &expected)? == 0, "{dtype} over {axes:?}");
                    }
                }
                let (expected, found) = (Ndarray::sum(&here, axes)?, Cuda::sum(&there, axes)?);
                let (expected, found) = (Ndarray::to_host(&expected)?, Cuda::to_host(&found)?);
                let tolerance = match dtype {
                    DType::F16 | DType::Complex32 => 2e-3,
                    DType::BF16 => 1e-2,
                    DType::F64 | DType::Complex128 => 1e-13,
                    _ => 1e-5,
                };
                for (one, other) in testkit::numbers(&found).iter().zip(testkit::numbers(&expected))
                {
                    let apart = (one - other).abs() / other.abs().max(1.0);
                    ensure!(apart <= tolerance, "{dtype} over {axes:?}: {one} is not {other}");
                    worst = worst.max(apart / tolerance);
                }
            }
        }
    }
    Ok(format!("16 dtypes, any axes; sums use {:.0} % of their tolerance at most", worst * 100.0))
}

/// Loads PTX that no other code here has, and runs it.
fn program(device: Device) -> Result<String> {
    let program = Program::from_ptx(device, TRIPLE)?;
    let kernel = program.kernel("triple")?;
    let host = moderate(DType::F32, &[COUNT], 11)?;
    let mut array = Cuda::from_host(&host, device)?;
    let mut launch = kernel.launch(Grid::for_count(COUNT));
    launch.writes(&mut array)?.value(COUNT as u64);
    // SAFETY: the kernel takes a pointer to floats and their number, and stays within them.
    unsafe { launch.run() }?;
    let found = Cuda::to_host(&array)?;
    let tripled: Vec<f32> = host.as_slice::<f32>()?.iter().map(|value| value * 3.0).collect();
    ensure!(found.as_slice::<f32>()? == tripled, "the kernel's results are wrong");
    let source = Program::from_source(device, "extern \"C\" __global__ void nothing() {}");
    let compiles = match source {
        Ok(program) => program.kernel("nothing").map(|_| "source compiles too")?,
        Err(error) if error.to_string().contains("libnvrtc") => "no libnvrtc for source",
        Err(error) => return Err(error.into()),
    };
    Ok(format!("PTX runs; {compiles}"))
}

/// `void triple(float *array, unsigned long long count)`
const TRIPLE: &str = "
.version 6.0
.target sm_50
.address_size 64
.visible .entry triple(.param .u64 array, .param .u64 count)
{
    .reg .pred %p;
    .reg .f32 %f;
    .reg .b32 %r<4>;
    .reg .b64 %d<5>;
    ld.param.u64 %d1, [array];
    ld.param.u64 %d2, [count];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    cvt.u64.u32 %d3, %r1;
    setp.ge.u64 %p, %d3, %d2;
    @%p bra done;
    cvta.to.global.u64 %d1, %d1;
    shl.b64 %d3, %d3, 2;
    add.s64 %d4, %d1, %d3;
    ld.global.f32 %f, [%d4];
    mul.f32 %f, %f, 0f40400000;
    st.global.f32 [%d4], %f;
done:
    ret;
}
";

/// Hands arrays that are still being made from stream to stream, by this crate and by DLPack.
fn stream_order(device: Device) -> Result<String> {
    let context = context(device)?;
    let streams: Vec<_> =
        (0..3).map(|_| context.new_stream().map_err(failed)).collect::<Result<_>>()?;
    let host = HostArray::from_slice(&vec![1f32; 1 << 24], &[1 << 12, 1 << 12])?;
    let rounds = 40;
    for round in 0..rounds {
        let (first, second, third) =
            (&streams[round % 3], &streams[(round + 1) % 3], &streams[(round + 2) % 3]);
        let array = {
            let _scope = use_stream(first)?;
            let array = Cuda::from_host(&host, device)?;
            Cuda::astype(&Cuda::astype(&array, DType::F64)?, DType::F32)?
        };
        let sum = {
            let _scope = use_stream(second)?;
            Cuda::sum(&array, 0)?
        };
        // Let go of while both streams still work.
        drop(array);
        let _scope = use_stream(third)?;
        let named = Cuda.device(&sum).map_err(met)?;
        let stream = Cuda.stream(named).map_err(met)?;
        let payload = Cuda.export(&mut Some(sum), CopyPolicy::Never, stream).map_err(met)?;
        let again: CudaArray = Cuda.import(payload).map_err(met)?;
        let total = Cuda::to_host(&Cuda::sum(&again, 0)?)?;
        let total = total.as_slice::<f32>()?[0];
        ensure!(total == (1 << 24) as f32, "round {round}: {total}");
    }
    Ok(format!("{rounds} rounds over three streams"))
}

/// Fills most of the device with small arrays, lets go of them, and asks for a large one, which the
/// pool's pieces do not hold.
fn retry(device: Device) -> Result<String> {
    let context = context(device)?;
    let (free, _) = context.mem_get_info().map_err(failed)?;
    let part = HostArray::zeros(DType::U8, &[64 << 20])?;
    let first = Cuda::from_host(&part, device)?;
    let count = (free / 10 * 8 / part.nbytes()).clamp(2, 4096);
    // Made on the device: nothing goes over the bus.
    let ones = || Cuda::ones_like(&first, None, DType::U8);
    let held: Vec<CudaArray> = (1..count).map(|_| ones()).collect::<Result<_, _>>()?;
    let given = held.len() * part.nbytes();
    // Every second one goes first, so that what comes free is in pieces.
    let (odd, even): (Vec<_>, Vec<_>) =
        held.into_iter().enumerate().partition(|(place, _)| place % 2 == 1);
    drop(odd);
    drop(even);
    let before = Instant::now();
    let large = Cuda::ones_like(&first, Some(&[free / 10 * 7]), DType::U8)?;
    large.wait()?;
    let took = before.elapsed();
    Ok(format!(
        "{:.1} GiB in parts of 64 MiB, then {:.1} GiB at once after {took:.1?}",
        given as f64 / (1u64 << 30) as f64,
        large.nbytes() as f64 / (1u64 << 30) as f64
    ))
}

/// Measures copies of a large array, and what the driver's own calls take for the same.
fn bandwidth(device: Device) -> Result<String> {
    let context = context(device)?;
    context.bind_to_thread().map_err(failed)?;
    let mut host = HostArray::scratch(DType::U8, &[LARGE])?;
    host.as_slice_mut::<u8>()?.fill(1);
    let mut page_locked = pinned(DType::U8, &[LARGE], device)?;
    page_locked.as_slice_mut::<u8>()?.fill(1);
    let array = Cuda::from_host(&host, device)?;
    let up = best(|| Ok(Cuda::from_host(&host, device)?.wait()?))?;
    let up_pinned = best(|| Ok(Cuda::from_host(&page_locked, device)?.wait()?))?;
    let down = best(|| Cuda::to_host(&array).map(drop).map_err(Into::into))?;
    let address = array.address();
    let bytes = host.as_slice::<u8>()?.to_vec();
    let own_up = best(|| {
        // SAFETY: the array has as many bytes, and nothing else uses it.
        unsafe { result::memcpy_htod_sync(address, &bytes) }.map_err(failed)
    })?;
    let locked = page_locked.as_slice::<u8>()?;
    let own_up_pinned = best(|| {
        // SAFETY: as above.
        unsafe { result::memcpy_htod_sync(address, locked) }.map_err(failed)
    })?;
    let mut target = bytes.clone();
    let own_down = best(|| {
        // SAFETY: as above.
        unsafe { result::memcpy_dtoh_sync(&mut target, address) }.map_err(failed)
    })?;
    let rate = |time: Duration| LARGE as f64 / time.as_secs_f64() / 1e9;
    Ok(format!(
        "256 MiB, best of 5, GB/s (the driver's own call): upload {:.1} ({:.1}), upload of pinned \
         memory {:.1} ({:.1}), download {:.1} ({:.1})",
        rate(up),
        rate(own_up),
        rate(up_pinned),
        rate(own_up_pinned),
        rate(down),
        rate(own_down)
    ))
}

fn best(mut run: impl FnMut() -> Result<()>) -> Result<Duration> {
    run()?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        run()?;
        times.push(started.elapsed());
    }
    times.into_iter().min().context("there were runs")
}

fn moves(one: Device, other: Device) -> Result<String> {
    let host = random(DType::U8, LARGE, 3)?;
    let array = Cuda::from_host(&host, one)?;
    let started = Instant::now();
    let moved = arraybridge_core::AnyArray::of::<Cuda>(array).move_to_device(other)?;
    let back = moved.to_host()?;
    ensure!(testkit::bits(&back) == testkit::bits(&host), "the elements came back changed");
    Ok(format!("256 MiB moved and read in {:.1?}", started.elapsed()))
}
