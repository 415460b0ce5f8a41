//! Programs that have OpenCL contexts of their own.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::ptr;
use std::time::{Duration, Instant};

use arraybridge_core::ops::{HostExchange, Math, Ops};
use arraybridge_core::{
    Access, ArrayLibrary, Convert, DType, Device, Error, HOST, HostArray, Layout,
};
use arraybridge_ndarray::{NdArray, Ndarray};
use arraybridge_opencl::{ClContext, OpenCl};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::types::{CL_BLOCKING, CL_NON_BLOCKING};

struct Program {
    context: Context,
    queue: CommandQueue,
    joined: ClContext,
}

/// A program's own context and queue on the first device, and the library joined to it.
fn program() -> Option<(Device, Program)> {
    let device = common::device()?;
    let platforms = opencl3::platform::get_platforms().unwrap();
    let ids = platforms.iter().flat_map(|platform| {
        platform.get_devices(opencl3::device::CL_DEVICE_TYPE_ALL).unwrap_or_default()
    });
    let own = opencl3::device::Device::new(ids.into_iter().next().unwrap());
    let context = Context::from_device(&own).unwrap();
    let queue = CommandQueue::create_default_with_properties(&context, 0, 0).unwrap();
    // SAFETY: opencl3 has just made both.
    let joined = unsafe { ClContext::join(&context, &queue) }.unwrap();
    Some((device, Program { context, queue, joined }))
}

impl Program {
    fn buffer(&self, values: &[f32]) -> Buffer<f32> {
        let flags = CL_MEM_READ_WRITE;
        // SAFETY: no host pointer is given.
        let mut buffer =
            unsafe { Buffer::create(&self.context, flags, values.len(), ptr::null_mut()) }.unwrap();
        // SAFETY: the call waits, so that the values live long enough.
        unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, values, &[]) }
            .unwrap();
        buffer
    }
}

#[test]
fn a_buffer_becomes_an_array_and_goes_everywhere() {
    let Some((device, own)) = program() else { return };
    let buffer = own.buffer(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let layout = Layout::new(&[2, 2], &[2, 1]).unwrap();
    // SAFETY: nobody else has the buffer, whose values were written by a call that waits.
    let array =
        unsafe { own.joined.array_of_buffer(buffer, 2, DType::F32, layout, Access::Exclusive) };
    let array = array.unwrap();
    assert_eq!((array.device(), array.shape(), array.offset()), (device, &[2, 2][..], 2));
    let doubled = OpenCl::sum(&array, 0).unwrap();
    assert_eq!(OpenCl::to_host(&doubled).unwrap().as_slice::<f32>().unwrap(), [6.0, 8.0]);
    let back: NdArray = array.convert_to::<Ndarray>(HOST).unwrap();
    assert_eq!(back.host().as_slice::<f32>().unwrap(), [2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn arrays_of_two_contexts_are_refused_together_and_brought_to_one() {
    let Some((device, own)) = program() else { return };
    let host = HostArray::from_slice(&[1.0f32, 0.0, 2.0], &[3]).unwrap();
    let (here, there) =
        (OpenCl::from_host(&host, device).unwrap(), own.joined.upload(&host).unwrap());
    let error = OpenCl::logical_and(&here, &there).unwrap_err().to_string();
    assert!(error.contains("two OpenCL contexts") && error.contains("bring"), "{error}");
    assert!(OpenCl::stack(&[&here, &there]).is_err() && OpenCl::outer(&here, &there).is_err());
    let brought = here.context().bring(&there).unwrap();
    let both = OpenCl::logical_and(&here, &brought).unwrap();
    assert_eq!(OpenCl::to_host(&both).unwrap().as_slice::<bool>().unwrap(), [true, false, true]);
}

#[test]
fn an_array_is_a_buffer_for_the_programs_own_commands() {
    let Some((_, own)) = program() else { return };
    let host = HostArray::from_vec((0..1000).map(|x| x as f32).collect(), &[1000]).unwrap();
    let array = own.joined.upload(&host).unwrap();
    let array = OpenCl::normalize_planes(&array, DType::F32, &[Some(0.5); 1000]).unwrap();
    let buffer: Buffer<f32> = array.to_buffer().unwrap();
    assert!(buffer.size().unwrap() >= 4000);
    let mut read = vec![0f32; 1000];
    // On the joined queue, which runs in order, nothing needs to be waited for before.
    // SAFETY: the event is waited for before the values are looked at.
    let event =
        unsafe { own.queue.enqueue_read_buffer(&buffer, CL_NON_BLOCKING, 0, &mut read, &[]) };
    event.unwrap().wait().unwrap();
    assert!(read.iter().enumerate().all(|(place, value)| *value == place as f32 * 2.0));
    drop(array);
    let _ = arraybridge_core::release_cached_memory_all(None);
    // The driver lets go of what a command used a moment after the command is over.
    let deadline = Instant::now() + Duration::from_secs(10);
    while buffer.reference_count().unwrap() > 1 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(buffer.reference_count().unwrap(), 1);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let Some((_, own)) = program() else { return };
    let Some((_, other)) = program() else { return };
    // SAFETY: opencl3 made both.
    let error = unsafe { ClContext::join(&own.context, &other.queue) }.unwrap_err();
    assert!(error.to_string().contains("another context"), "{error}");
    let layout = || Layout::row_major(&[4]).unwrap();
    let wrap = |buffer, offset, access| {
        // SAFETY: nobody else has the buffer.
        unsafe { own.joined.array_of_buffer(buffer, offset, DType::F32, layout(), access) }
    };
    let error = wrap(other.buffer(&[0.0; 4]), 0, Access::Exclusive).unwrap_err();
    assert!(error.to_string().contains("another context"), "{error}");
    let error = wrap(own.buffer(&[0.0; 4]), 1, Access::Exclusive).unwrap_err();
    assert!(matches!(error, Error::InvalidLayout { .. }), "{error}");
    let error = wrap(own.buffer(&[0.0; 4]), 0, Access::SharedMutable).unwrap_err();
    assert!(matches!(error, Error::Shared { .. }), "{error}");
    // An immutable buffer is copied before it is written.
    let buffer = own.buffer(&[1.0; 4]);
    // SAFETY: a handle of one's own, to look at the buffer afterwards.
    unsafe { opencl3::memory::retain_mem_object(buffer.get()) }.unwrap();
    let kept = Buffer::<f32>::new(buffer.get());
    let array = wrap(buffer, 0, Access::Immutable).unwrap();
    let zero = own.joined.upload(&HostArray::from_slice(&[0f32], &[1]).unwrap()).unwrap();
    let array = OpenCl::assign(array, .., &zero).unwrap();
    assert_eq!(OpenCl::to_host(&array).unwrap().as_slice::<f32>().unwrap(), [0.0; 4]);
    let mut read = [0f32; 4];
    // SAFETY: the call waits.
    unsafe { own.queue.enqueue_read_buffer(&kept, CL_BLOCKING, 0, &mut read, &[]) }.unwrap();
    assert_eq!(read, [1.0; 4]);
    assert!(OpenCl.describe(&array).is_ok());
}
