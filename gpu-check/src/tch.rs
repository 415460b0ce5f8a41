//! PyTorch with its CUDA part, such as that of the Python package `torch`.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use arraybridge_core::dlpack::DlpackStream;
use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::roles::{Accelerator, DlpackExport, DlpackImport};
use arraybridge_core::{
    Access, AnyArray, ArrayFunction, ArrayLibrary, CopyPolicy, Device, HostArray, Library, Owner,
    run_with_oom_recovery,
};
use arraybridge_tch::tch::{self, Kind, Tensor};
use arraybridge_tch::{Tch, cuda_availability};
use arraybridge_testkit::Releases;

use crate::accelerator::{self, met};
use crate::checks::Checks;

pub(crate) fn run(checks: &mut Checks, on_any: bool) -> Result<()> {
    let devices = accelerator::devices::<Tch>(on_any)?;
    println!("tch: CUDA part of libtorch: {}", cuda_availability());
    if devices.is_empty() {
        return Ok(());
    }
    accelerator::conformance::<Tch>(checks);
    for device in devices {
        accelerator::device::<Tch>(checks, device);
        let mut check = |what: &str, check: fn(Device) -> Result<String>| {
            checks.check(&format!("tch {device} {what}"), || check(device));
        };
        check("claims", claims);
        check("exported results are ready on the consumer's side", ready);
        if matches!(device, Device::Accelerator(_)) {
            check("an owner is released after the work that reads its memory", released);
            check("an array function runs on a stream of its own, in order", own_stream);
            check("another stream waits for an export", other_stream);
            check("recovery from running out of memory", recover);
        }
    }
    Ok(())
}

fn tensor_on(device: Device) -> Result<Tensor> {
    let ones = HostArray::from_slice(&vec![1f32; 1 << 24], &[1 << 12, 1 << 12])?;
    Ok(Tch::from_host(&ones, device)?)
}

fn exported(
    tensor: Tensor,
    policy: CopyPolicy,
    stream: Option<DlpackStream>,
) -> Result<arraybridge_core::dlpack::DlpackPayload> {
    let mut slot = Some(tensor);
    DlpackExport::export(&Tch, &mut slot, policy, stream).map_err(met)
}

/// What others hold is copied on the device, and what nobody holds is not.
fn claims(device: Device) -> Result<String> {
    let tensor = tensor_on(device)?;
    let address = Tch.describe(&tensor)?.address;
    let clone = tensor.shallow_clone();
    let payload = exported(tensor, CopyPolicy::Allow, None)?;
    ensure!(payload.is_copied() && payload.address() != address, "a shared tensor was not copied");
    let payload = exported(clone, CopyPolicy::Never, None)?;
    ensure!(payload.address() == address, "an exclusive tensor moved");
    ensure!(payload.access() == Access::Exclusive, "it is {}", payload.access());
    Ok(format!("{address:#x}"))
}

/// Reads the payload of a sum that was just queued: its elements must be there.
fn ready(device: Device) -> Result<String> {
    let tensor = tensor_on(device)?;
    for round in 0..20 {
        let payload = exported(Tch::sum(&tensor, 0)?, CopyPolicy::Never, None)?;
        let sums = Tch::to_host(&DlpackImport::import(&Tch, payload).map_err(met)?)?;
        let right = sums.as_slice::<f32>()?.iter().all(|sum| *sum == 4096.0);
        ensure!(right, "round {round}: the payload was read before the sum was there");
    }
    Ok("20 rounds".to_owned())
}

/// Imports memory with a counted owner, queues long work on it, and drops it at once.
fn released(device: Device) -> Result<String> {
    let releases = Releases::new();
    let payload = exported(tensor_on(device)?, CopyPolicy::Never, None)?;
    let (data, dtype, layout, place) =
        (payload.data(), payload.dtype(), payload.layout().clone(), payload.device());
    let owner = Owner::new(releases.guard(payload.into_owner()));
    // SAFETY: the payload's own description, and its owner inside this one.
    let payload = unsafe {
        arraybridge_core::dlpack::DlpackPayload::new(
            owner,
            data,
            0,
            dtype,
            layout,
            place,
            Access::Exclusive,
        )
    }?;
    let mut tensor = DlpackImport::import(&Tch, payload).map_err(met)?;
    let mut products = Vec::new();
    for _ in 0..50 {
        products.push(tensor.f_matmul(&tensor)?);
    }
    let sum = tensor.f_fill_tensor_(&Tensor::from(2f32))?;
    drop((products, sum));
    let started = Instant::now();
    drop(tensor);
    let dropped = started.elapsed();
    let queued = releases.count() == 0;
    while releases.count() == 0 {
        ensure!(started.elapsed().as_secs() < 30, "the owner was never released");
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    releases.assert_once("after the work");
    ensure!(queued, "the owner was released while work was queued");
    Ok(format!("dropped in {dropped:.1?}, released after {:.1?}", started.elapsed()))
}

/// Inside an array function the stream is the thread's own; what it makes is read outside.
fn own_stream(device: Device) -> Result<String> {
    let outside = DlpackImport::stream(&Tch, place(device)?).map_err(met)?;
    let tensor = tensor_on(device)?;
    let inside = std::cell::Cell::new(None);
    let twice = ArrayFunction::<Tch, _>::new("twice", |tensor: &Tensor| {
        inside.set(DlpackImport::stream(&Tch, place(device)?).map_err(met)?);
        // Long enough that a reader who does not wait comes too early.
        let mut sum = tensor.f_matmul(tensor)?;
        for _ in 0..20 {
            sum = tensor.f_matmul(tensor)?;
        }
        Ok::<_, anyhow::Error>(sum)
    });
    for round in 0..5 {
        let product = twice.call(&tensor)?;
        let product: Tensor = product;
        let read = Tch::to_host(&product)?;
        let right = read.as_slice::<f32>()?.iter().all(|value| *value == 4096.0);
        ensure!(right, "round {round}: the result was read before it was there");
    }
    let inside = inside.get().context("the function saw a stream")?;
    ensure!(Some(inside) != outside, "the function ran on {inside:?}, as the caller does");
    let after = DlpackImport::stream(&Tch, place(device)?).map_err(met)?;
    ensure!(after == outside, "the caller's stream did not come back: {after:?}");
    Ok(format!("{outside:?} outside, {inside:?} inside"))
}

/// Exports to a consumer that names another stream, which must wait.
fn other_stream(device: Device) -> Result<String> {
    let theirs = {
        let _stream = Accelerator::stream_scope(&Tch, device)?;
        DlpackImport::stream(&Tch, place(device)?).map_err(met)?.context("a stream")?
    };
    let tensor = tensor_on(device)?;
    for round in 0..20 {
        let payload = exported(Tch::sum(&tensor, 0)?, CopyPolicy::Never, Some(theirs))?;
        // This thread's own stream is the one that was named.
        let _stream = Accelerator::stream_scope(&Tch, device)?;
        let sums = Tch::to_host(&DlpackImport::import(&Tch, payload).map_err(met)?)?;
        let right = sums.as_slice::<f32>()?.iter().all(|sum| *sum == 4096.0);
        ensure!(right, "round {round}: the other stream read before the sum was there");
    }
    Ok(format!("20 rounds on {theirs:?}"))
}

/// Fills torch's cache, so that the first attempt of another library would fail, and recovers.
fn recover(device: Device) -> Result<String> {
    let cached = tensor_on(device)?;
    drop(cached);
    let Device::Accelerator(index) = device else { return Ok("not on an accelerator".to_owned()) };
    let place = tch::Device::Cuda(index as usize);
    let mut attempts = 0;
    let failed = run_with_oom_recovery(Library::of::<Tch>(), 2, Some(device), || {
        attempts += 1;
        Tensor::f_empty([1 << 50], (Kind::Float, place))
    });
    let Err(error) = failed else { anyhow::bail!("4 PiB were given") };
    ensure!(Library::of::<Tch>().is_out_of_memory(&error), "not told as out of memory: {error}");
    ensure!(attempts == 3, "{attempts} attempts instead of 3");
    let again = AnyArray::of::<Tch>(tensor_on(device)?).max(0)?;
    drop(again);
    let freed = Accelerator::release_cached_memory(&Tch, Some(device))?;
    Ok(format!("3 attempts, then work goes on; the cache gave back {freed:?} bytes"))
}

fn place(device: Device) -> Result<arraybridge_core::dlpack::DlpackDevice> {
    let probe = Tch::from_host(&HostArray::from_slice(&[1f32], &[1])?, device)?;
    DlpackExport::device(&Tch, &probe).map_err(met)
}
