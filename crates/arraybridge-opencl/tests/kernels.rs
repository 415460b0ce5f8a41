//! Kernels of one's own: what runs, and what is refused before it could.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use arraybridge_core::ops::HostExchange;
use arraybridge_core::{Device, Error, HostArray};
use arraybridge_opencl::{ClArray, ClContext, ClProgram, KernelArgument, OpenCl, OpenClError};

const SOURCE: &str = "
    kernel void scale(global const float* from, global float* to, float by, ulong count) {
        size_t i = get_global_id(0);
        if (i < count) to[i] = by * from[i];
    }
    kernel void group_sums(global const int* from, global int* to, local int* shared) {
        size_t i = get_local_id(0);
        shared[i] = from[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == 0) {
            int sum = 0;
            for (size_t k = 0; k < get_local_size(0); k++) sum += shared[k];
            to[get_group_id(0)] = sum;
        }
    }";

fn setup() -> Option<(Device, ClContext, ClProgram)> {
    let device = common::device()?;
    let context = ClContext::of(device).unwrap();
    let program = ClProgram::compile(&context, SOURCE, "").unwrap();
    Some((device, context, program))
}

fn floats(values: &[f32], device: Device) -> ClArray {
    OpenCl::from_host(&HostArray::from_slice(values, &[values.len()]).unwrap(), device).unwrap()
}

fn read(array: &ClArray) -> Vec<f32> {
    OpenCl::to_host(array).unwrap().as_slice::<f32>().unwrap().to_vec()
}

/// Runs `scale` over three elements.
fn scale(program: &ClProgram, arguments: &mut [KernelArgument<'_>]) -> Result<(), Error> {
    // SAFETY: the arrays of these tests have three elements, and `count` is at most that.
    unsafe { program.run("scale", arguments, &[4], None) }
}

#[test]
fn a_kernel_writes_what_it_is_given_to_write_and_nothing_else() {
    let Some((device, _, program)) = setup() else { return };
    let from = floats(&[1.0, 2.0, 3.0], device);
    let mut to = floats(&[0.0; 3], device);
    // Shares the memory, so it is copied before the kernel writes.
    let kept = to.clone();
    let mut arguments = [
        KernelArgument::Read(&from),
        KernelArgument::Write(&mut to),
        KernelArgument::F32(2.5),
        KernelArgument::U64(3),
    ];
    scale(&program, &mut arguments).unwrap();
    assert_eq!(read(&to), [2.5, 5.0, 7.5]);
    assert_eq!((read(&kept), read(&from)), (vec![0.0; 3], vec![1.0, 2.0, 3.0]));
    let mut names = program.kernels().unwrap();
    names.sort();
    assert_eq!(names, ["group_sums", "scale"]);
}

#[test]
fn a_host_array_that_was_uploaded_is_not_written() {
    let Some((device, _, program)) = setup() else { return };
    let from = floats(&[1.0, 2.0, 3.0], device);
    let host = HostArray::from_slice(&[9.0f32; 3], &[3]).unwrap();
    let mut to = OpenCl::from_host(&host, device).unwrap();
    let mut arguments = [
        KernelArgument::Read(&from),
        KernelArgument::Write(&mut to),
        KernelArgument::Bytes(&2f32.to_ne_bytes()),
        KernelArgument::U64(3),
    ];
    scale(&program, &mut arguments).unwrap();
    assert_eq!(read(&to), [2.0, 4.0, 6.0]);
    assert_eq!(host.as_slice::<f32>().unwrap(), [9.0; 3]);
}

#[test]
fn work_groups_share_memory() {
    let Some((device, context, program)) = setup() else { return };
    let values: Vec<i32> = (0..32).collect();
    let from = context.upload(&HostArray::from_vec(values, &[32]).unwrap()).unwrap();
    let mut to =
        OpenCl::from_host(&HostArray::from_slice(&[0i32; 4], &[4]).unwrap(), device).unwrap();
    let mut arguments =
        [KernelArgument::Read(&from), KernelArgument::Write(&mut to), KernelArgument::Local(8 * 4)];
    // SAFETY: four groups of eight items, an int of shared memory for each item.
    unsafe { program.run("group_sums", &mut arguments, &[32], Some(&[8])) }.unwrap();
    let sums = OpenCl::to_host(&to).unwrap();
    assert_eq!(sums.as_slice::<i32>().unwrap(), [28, 92, 156, 220]);
}

#[test]
fn wrong_arguments_are_refused_and_nothing_runs() {
    let Some((device, _, program)) = setup() else { return };
    let from = floats(&[1.0, 2.0, 3.0], device);
    let mut to = floats(&[0.0; 3], device);
    let text = |error: Result<(), Error>| error.unwrap_err().to_string();

    let error = text(scale(&program, &mut [KernelArgument::Read(&from)]));
    assert!(error.contains("`scale` takes 4 arguments, not 1"), "{error}");

    let mut arguments = [
        KernelArgument::F32(1.0),
        KernelArgument::Write(&mut to),
        KernelArgument::F32(1.0),
        KernelArgument::U64(3),
    ];
    let error = text(scale(&program, &mut arguments));
    assert!(error.contains("argument 0 of `scale` is an array, and a value is given"), "{error}");

    let mut arguments = [
        KernelArgument::Read(&from),
        KernelArgument::Write(&mut to),
        KernelArgument::F64(1.0),
        KernelArgument::U64(3),
    ];
    let error = scale(&program, &mut arguments).unwrap_err();
    let Error::Foreign { source, .. } = &error else { panic!("{error}") };
    let source = source.downcast_ref::<OpenClError>().unwrap();
    assert_eq!((source.call(), source.code()), ("clSetKernelArg", -51), "{error}");

    let part = from.slice(&[(1..3isize).into()]).unwrap();
    let mut arguments = [
        KernelArgument::Read(&part),
        KernelArgument::Write(&mut to),
        KernelArgument::F32(1.0),
        KernelArgument::U64(2),
    ];
    let error = text(scale(&program, &mut arguments));
    assert!(
        error.contains("from element 1 of its buffer") && error.contains("to_contiguous"),
        "{error}"
    );
    let part = part.to_contiguous().unwrap();
    let mut arguments = [
        KernelArgument::Read(&part),
        KernelArgument::Write(&mut to),
        KernelArgument::F32(1.0),
        KernelArgument::U64(2),
    ];
    scale(&program, &mut arguments).unwrap();
    assert_eq!(read(&to), [2.0, 3.0, 0.0]);

    // SAFETY: refused before anything is queued.
    let error = text(unsafe { program.run("no_such", &mut [], &[1], None) });
    assert!(error.contains("`no_such`") && error.contains("group_sums"), "{error}");
    for (global, local) in [(&[][..], None), (&[1, 1, 1, 1], None), (&[4], Some(&[0][..]))] {
        // SAFETY: refused before anything is queued.
        let refused = unsafe { program.run("scale", &mut [], global, local) };
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{global:?}");
    }
}

#[test]
fn what_does_not_compile_says_why() {
    let Some((_, context, _)) = setup() else { return };
    let error = ClProgram::compile(&context, "kernel void k() { nonsense; }", "").unwrap_err();
    let Error::Foreign { source, .. } = &error else { panic!("{error}") };
    let detail = source.downcast_ref::<OpenClError>().unwrap().detail().unwrap();
    assert!(detail.contains("nonsense"), "{detail}");
    for (source, options) in [("kernel void k() {}\0", ""), ("kernel void k() {}", "-D A=\0")] {
        assert!(ClProgram::compile(&context, source, options).is_err());
    }
}
