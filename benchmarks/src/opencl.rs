//! OpenCL: what sharing, copying, an operation and its compilation cost, against the plain calls that
//! a program would make without this crate.

use std::ptr;

use anyhow::Result;
use arraybridge_core::ops::{HostExchange, Ops};
use arraybridge_core::{ArrayLibrary, Convert, CopyPolicy, DType, HOST, HostArray};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_opencl::{ClArray, ClContext, ClProgram, OpenCl};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::types::CL_BLOCKING;

use crate::pairs::Bench;

/// 64 MiB of float32.
const COUNT: usize = 16 << 20;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let Some(&device) = OpenCl.devices()?.first() else {
        eprintln!("skipped: opencl is {}", OpenCl.availability());
        return Ok(());
    };
    eprintln!("opencl on {device}");
    exchange(bench)?;
    operate(bench)
}

/// A context and a queue as a program makes them with opencl3 alone.
fn plain() -> Result<(Context, CommandQueue)> {
    let found = |error| anyhow::anyhow!("opencl3: {error}");
    let platforms = opencl3::platform::get_platforms().map_err(found)?;
    let mut ids = platforms.iter().flat_map(|platform| {
        platform.get_devices(opencl3::device::CL_DEVICE_TYPE_ALL).unwrap_or_default()
    });
    let id = ids.next().ok_or_else(|| anyhow::anyhow!("no device"))?;
    let context = Context::from_device(&opencl3::device::Device::new(id)).map_err(found)?;
    let queue = CommandQueue::create_default_with_properties(&context, 0, 0).map_err(found)?;
    Ok((context, queue))
}

fn exchange(bench: &mut Bench) -> Result<()> {
    let device = OpenCl.devices()?[0];
    let (context, queue) = plain()?;
    let host = HostArray::from_slice(&vec![1f32; COUNT], &[4096, 4096])?;
    let ndarray = NdArray::from_host(host.clone());
    let write = || -> Result<Buffer<f32>> {
        let flags = CL_MEM_READ_WRITE;
        // SAFETY: no host pointer is given.
        let buffer = unsafe { Buffer::create(&context, flags, COUNT, ptr::null_mut()) };
        let mut buffer = buffer.map_err(|error| anyhow::anyhow!("opencl3: {error}"))?;
        let values = host.as_slice::<f32>()?;
        // SAFETY: the call waits, and the values live.
        unsafe { queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, values, &[]) }
            .map_err(|error| anyhow::anyhow!("opencl3: {error}"))?;
        Ok(buffer)
    };
    bench.compare(
        "ndarray to opencl, 64 MiB, shared",
        "opencl3: new buffer, write",
        || Ok(ndarray.clone().convert_with::<OpenCl>(device, CopyPolicy::Never)?),
        write,
    )?;
    // What is strided with gaps is copied once, into memory that both then share.
    let wide = HostArray::from_slice(&vec![1f32; 2 * COUNT], &[4096, 8192])?;
    let half = wide.slice(&[(..).into(), (0..4096isize).into()])?;
    bench.compare(
        "upload of 64 MiB with gaps to opencl",
        "opencl3: new buffer, write (no gaps)",
        || Ok(OpenCl::from_host(&half, device)?),
        write,
    )?;
    let array = OpenCl::from_host(&host, device)?;
    let buffer = write()?;
    bench.compare(
        "opencl to ndarray, 64 MiB, shared",
        "opencl3: read into a new Vec",
        || Ok(array.clone().convert_with::<Ndarray>(HOST, CopyPolicy::Never)?),
        || {
            let mut values = vec![0f32; COUNT];
            // SAFETY: the call waits, and the values live.
            unsafe { queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut values, &[]) }
                .map_err(|error| anyhow::anyhow!("opencl3: {error}"))?;
            Ok(values)
        },
    )
}

fn operate(bench: &mut Bench) -> Result<()> {
    let device = OpenCl.devices()?[0];
    let done = |array: ClArray| -> Result<ClArray> {
        array.wait()?;
        Ok(array)
    };
    let values: Vec<f32> = (0..COUNT).map(|value| (value % 1000) as f32).collect();
    let host = HostArray::from_vec(values, &[64, 512, 512])?;
    let (ndarray, opencl) = (NdArray::from_host(host.clone()), OpenCl::from_host(&host, device)?);
    for axis in 0..3isize {
        let on = format!("over axis {axis} of 64x512x512 float32");
        bench.compare(
            &format!("max {on} in opencl"),
            "the same in ndarray",
            || done(OpenCl::max(&opencl, axis)?),
            || Ok(Ndarray::max(&ndarray, axis)?),
        )?;
        bench.compare(
            &format!("mean {on} in opencl"),
            "the same in ndarray",
            || done(OpenCl::mean(&opencl, axis)?),
            || Ok(Ndarray::mean(&ndarray, axis)?),
        )?;
    }
    bench.compare(
        "float32 to uint16, 64 MiB in opencl",
        "the same in ndarray",
        || done(OpenCl::astype(&opencl, DType::U16)?),
        || Ok(Ndarray::astype(&ndarray, DType::U16)?),
    )?;
    let few = HostArray::from_slice(&[1f32; 8], &[8])?;
    let (few_here, few) = (NdArray::from_host(few.clone()), OpenCl::from_host(&few, device)?);
    bench.compare(
        "max of 8 float32 in opencl, compiled",
        "the same in ndarray",
        || done(OpenCl::max(&few, 0)?),
        || Ok(Ndarray::max(&few_here, 0)?),
    )?;
    // Every program is a new one, so that none finds itself.
    let context = ClContext::of(device)?;
    let program = |number: u32| {
        let text =
            format!("kernel void add(global float* a) {{ a[get_global_id(0)] += {number}.0f; }}");
        ClProgram::compile(&context, &text, "")
    };
    let mut number = std::process::id();
    program(0)?;
    bench.compare(
        "compile a small kernel, first time",
        "the same, found in memory",
        || {
            number = number.wrapping_add(1);
            Ok(program(number)?)
        },
        || Ok(program(0)?),
    )
}
