//! One operation: its context and stream, what it reads, what it makes.

use std::sync::Arc;

use arraybridge_core::{DType, Error, Layout};
use cudarc::driver::CudaStream;

use super::arguments::{Arguments, Transfer};
use super::kernels::launch;
use super::walk::Walk;
use crate::context::Context;
use crate::driver::{Bound, copy_on_device};
use crate::library::foreign;
use crate::{CudaArray, CudaError, exchange, stream};

/// An operation that runs in one context, on this thread's stream.
pub(crate) struct Task {
    pub(crate) context: Arc<Context>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) bound: Bound,
}

pub(super) fn failed(error: CudaError) -> Error {
    foreign("an operation", error)
}

impl Task {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Task, Error> {
        let bound = context.bind().map_err(failed)?;
        Ok(Task { context: Arc::clone(context), stream: stream::current(context), bound })
    }

    /// Runs where an array is.
    pub(crate) fn of(array: &CudaArray) -> Result<Task, Error> {
        Task::new(array.context())
    }

    /// Returns the array as one that the stream may read: in this context, after its last write.
    pub(crate) fn read(&self, array: &CudaArray) -> Result<CudaArray, Error> {
        let array = if array.context().is(&self.context) {
            array.clone()
        } else {
            // A caller's own context beside the device's primary one.
            exchange::copy_to_context(array, &self.context)?
        };
        array.memory().read_on(&self.stream).map_err(failed)?;
        Ok(array)
    }

    /// Allocates an array that the stream is to write.
    pub(crate) fn make(&self, dtype: DType, shape: &[usize]) -> Result<CudaArray, Error> {
        CudaArray::allocate(&self.context, dtype, shape, &self.stream)
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// The kernel of this name takes these arguments; they address arrays that were read or made by
    /// this task, and stay within them.
    pub(super) unsafe fn run<A: Arguments>(
        &self,
        kernel: &str,
        arguments: &A,
        count: usize,
    ) -> Result<(), Error> {
        let (context, bound, stream) = (&self.context, &self.bound, &self.stream);
        // SAFETY: the caller's arguments; the arrays' memory is let go of after this stream's work,
        // which waits for whoever wrote them.
        unsafe { launch(context, bound, kernel, arguments, count, stream) }.map_err(failed)
    }

    /// Copies elements between two layouts of one shape.
    ///
    /// # Safety
    /// Both are of arrays that were read or made by this task, of elements of this size, and do not
    /// overlap.
    pub(super) unsafe fn copy(
        &self,
        from: (u64, &Layout),
        to: (u64, &Layout),
        size: usize,
    ) -> Result<(), Error> {
        let (shape, count) = (from.1.shape(), from.1.len());
        if count == 0 {
            return Ok(());
        }
        if from.1.is_row_major() && to.1.is_row_major() {
            let nbytes = count * size;
            // SAFETY: both runs have that many bytes, as the caller says.
            let copied = unsafe { copy_on_device(&self.bound, to.0, from.0, nbytes, &self.stream) };
            return copied.map_err(failed);
        }
        let walk = Walk::new(shape, [from.1.strides(), to.1.strides()]);
        // SAFETY: as the caller says.
        unsafe { self.copy_walk(&walk, from.0, to.0, size) }
    }

    /// # Safety
    /// As [`Task::copy`].
    unsafe fn copy_walk(
        &self,
        walk: &Walk<2>,
        from: u64,
        to: u64,
        size: usize,
    ) -> Result<(), Error> {
        if !walk.fits() {
            // More axes than a kernel walks: along the first one by one.
            let rest = Walk {
                lengths: walk.lengths[1..].to_vec(),
                strides: [walk.strides[0][1..].to_vec(), walk.strides[1][1..].to_vec()],
            };
            for index in 0..walk.lengths[0] {
                let at = |start: u64, stride: isize| {
                    start.wrapping_add_signed((index as isize * stride * size as isize) as i64)
                };
                let (from, to) = (at(from, walk.strides[0][0]), at(to, walk.strides[1][0]));
                // SAFETY: a part of what the caller says.
                unsafe { self.copy_walk(&rest, from, to, size) }?;
            }
            return Ok(());
        }
        let arguments =
            Transfer { shape: walk.shape(), from: walk.view(0, from), to: walk.view(1, to) };
        let count = walk.lengths.iter().product();
        // SAFETY: `copy_N` takes these; as the caller says.
        unsafe { self.run(&format!("copy_{size}"), &arguments, count) }
    }

    /// Returns the elements in a row-major array: this one where it is, else a copy.
    pub(crate) fn contiguous(&self, array: &CudaArray) -> Result<CudaArray, Error> {
        if array.layout().is_row_major() { self.read(array) } else { self.gather(array) }
    }

    /// Copies the elements into a row-major array of its own.
    pub(crate) fn gather(&self, array: &CudaArray) -> Result<CudaArray, Error> {
        let source = self.read(array)?;
        let target = self.make(array.dtype(), array.shape())?;
        let from = (source.address(), source.layout());
        let to = (target.address(), target.layout());
        // SAFETY: both are of this task; the target is new.
        unsafe { self.copy(from, to, array.dtype().size()) }?;
        Ok(target)
    }
}
