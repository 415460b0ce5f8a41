//! XLA with a GPU's plugin, such as that of the Python package `jax-cuda13-pjrt`.

use std::time::Instant;

use anyhow::{Result, ensure};
use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{ArrayLibrary, CopyPolicy, Device, HostArray};
use arraybridge_xla::Xla;

use crate::accelerator::{self, met};
use crate::checks::Checks;

pub(crate) fn run(checks: &mut Checks, on_any: bool) -> Result<()> {
    let devices = accelerator::devices::<Xla>(on_any)?;
    for plugin in arraybridge_xla::plugins() {
        let became = plugin.failure.as_deref().unwrap_or("loaded");
        println!("xla: plugin {} of {}: {became}", plugin.path.display(), plugin.name);
    }
    if devices.is_empty() {
        return Ok(());
    }
    accelerator::conformance::<Xla>(checks);
    for device in devices {
        accelerator::device::<Xla>(checks, device);
        checks.check(&format!("xla {device} compile and repeat"), || compile(device));
        checks.check(&format!("xla {device} results are ready when exported"), || ready(device));
    }
    Ok(())
}

/// Compiles a program for a shape that nothing else here has.
fn compile(device: Device) -> Result<String> {
    let array = Xla::from_host(&HostArray::from_slice(&[1f32; 91], &[7, 13])?, device)?;
    let time = || -> Result<_> {
        let started = Instant::now();
        Xla::max(&array, 1)?.wait()?;
        Ok(started.elapsed())
    };
    let (first, second) = (time()?, time()?);
    Ok(format!("first {first:.1?}, second {second:.1?}"))
}

/// Exports a result at once: the payload's elements must be those of the finished work.
fn ready(device: Device) -> Result<String> {
    let (Some(export), Some(import)) = (Xla.dlpack_export(), Xla.dlpack_import()) else {
        return Ok("it exchanges nothing by dlpack".to_owned());
    };
    let ones = HostArray::from_slice(&vec![1f32; 1 << 24], &[1 << 12, 1 << 12])?;
    let array = Xla::from_host(&ones, device)?;
    for round in 0..20 {
        let mut slot = Some(Xla::sum(&array, 0)?);
        let payload = export.export(&mut slot, CopyPolicy::Never, None).map_err(met)?;
        let sums = Xla::to_host(&import.import(payload).map_err(met)?)?;
        let right = sums.as_slice::<f32>()?.iter().all(|sum| *sum == 4096.0);
        ensure!(right, "round {round}: the payload was read before the sum was there");
    }
    Ok("20 rounds".to_owned())
}
