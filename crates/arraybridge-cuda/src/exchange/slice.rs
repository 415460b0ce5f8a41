//! cudarc's own arrays, without a copy.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use arraybridge_core::{ConversionError, Element, Error, Layout, NativeArray};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtrMut};

use crate::context::lock;
use crate::driver::{Bound, join};
use crate::library::foreign;
use crate::memory::{Keeper, Memory};
use crate::ops::Task;
use crate::{Cuda, CudaArray, CudaError, runtime, stream};

/// A slice of cudarc and the shape that its elements have, in row-major order.
///
/// ```no_run
/// use arraybridge_cuda::cudarc::driver::CudaContext;
/// use arraybridge_cuda::{CudaArray, ShapedSlice};
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let stream = CudaContext::new(0)?.default_stream();
/// let slice = ShapedSlice::new(stream.clone_htod(&[1f32, 2.0, 3.0, 4.0])?, &[2, 2]);
/// let array: CudaArray = slice.try_into()?;               // no copy
/// let slice: ShapedSlice<f32> = array.try_into()?;        // and back: the slice itself
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ShapedSlice<T> {
    /// The elements.
    pub slice: CudaSlice<T>,
    /// The length of each axis.
    pub shape: Vec<usize>,
}

impl<T> ShapedSlice<T> {
    /// Joins a slice and a shape.
    pub fn new(slice: CudaSlice<T>, shape: &[usize]) -> ShapedSlice<T> {
        ShapedSlice { slice, shape: shape.to_vec() }
    }
}

/// Held while cudarc notes failures in a context: any of its calls, on any thread, takes the note of
/// another and puts it back later. What the application itself does with cudarc meanwhile is not held
/// off, so a failure of the driver may still be told to the other one.
static NOTES: Mutex<()> = Mutex::new(());

/// A slice whose memory an array uses. It is dropped on the context's own thread while others call.
struct Kept<T>(Option<CudaSlice<T>>);

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        let Some(slice) = self.0.take() else { return };
        let _thread = Bound::preserve();
        // Freed in a stream's order, it waits for nothing. Else it does, and nobody is to wait with it.
        let _notes = slice.context().has_async_alloc().then(|| lock(&NOTES));
        drop(slice);
    }
}

/// Calls cudarc, which leaves its context current and notes failures in the context of the slice or of
/// the stream, each a handle with notes of its own: those alone that are noted meanwhile are its errors,
/// and the thread's context stays what it was.
fn cudarc<R>(
    contexts: [&CudaContext; 2],
    call: impl FnOnce() -> Result<R, CudaError>,
) -> Result<R, CudaError> {
    let _thread = Bound::preserve()?;
    let _notes = lock(&NOTES);
    let earlier = contexts.map(CudaContext::check_err);
    let called = call();
    let noted = contexts.map(CudaContext::check_err);
    for (context, earlier) in contexts.into_iter().zip(earlier) {
        context.record_err(earlier);
    }
    let value = called?;
    for noted in noted {
        noted?;
    }
    Ok(value)
}

/// Makes a stream of this crate wait for all that cudarc knows of a slice, and what cudarc does with
/// it later on other streams wait for that. Returns the slice's address.
fn order<T>(slice: &mut CudaSlice<T>, stream: &Arc<CudaStream>) -> Result<u64, CudaError> {
    let context = Arc::clone(slice.context());
    cudarc([&context, stream.context()], || {
        let (address, used) = slice.device_ptr_mut(stream);
        drop(used);
        Ok(address)
    })
}

fn address<T>(slice: &mut CudaSlice<T>, stream: &Arc<CudaStream>) -> Result<u64, CudaError> {
    join(stream, slice.stream())?;
    order(slice, stream)
}

impl<T: Element> NativeArray<Cuda> for ShapedSlice<T> {
    fn into_library(self) -> Result<CudaArray, ConversionError<Self>> {
        let ShapedSlice { mut slice, shape } = self;
        let back = |error, slice, shape| {
            Err(ConversionError::new(error, Some(ShapedSlice { slice, shape })))
        };
        let layout = match Layout::row_major(&shape) {
            Ok(layout) => layout,
            Err(error) => return back(error, slice, shape),
        };
        if layout.len() != slice.len() {
            let found = vec![slice.len()];
            let error = Error::ShapeMismatch {
                operation: "array of a slice",
                expected: shape.clone(),
                found,
            };
            return back(error, slice, shape);
        }
        let context = match runtime::of_cuda(slice.context()) {
            Ok(context) => context,
            Err(error) => return back(error, slice, shape),
        };
        let stream = stream::current(&context);
        let address = match address(&mut slice, &stream) {
            Ok(address) => address,
            Err(error) => return back(foreign("taking a slice", error), slice, shape),
        };
        let nbytes = slice.num_bytes();
        let keeper = Keeper::other(Kept(Some(slice)));
        let memory = Memory::new(&context, address, nbytes, keeper, &stream);
        Ok(CudaArray::new(memory, address, T::DTYPE, layout))
    }

    fn from_library(array: CudaArray) -> Result<Self, ConversionError<CudaArray>> {
        if array.dtype() != T::DTYPE {
            let error = Error::DtypeMismatch { expected: T::DTYPE, found: array.dtype() };
            return Err(ConversionError::new(error, Some(array)));
        }
        let shape = array.shape().to_vec();
        match release(array) {
            Ok(slice) => Ok(ShapedSlice { slice, shape }),
            Err((error, array)) => Err(ConversionError::new(error, Some(array))),
        }
    }
}

impl<T: Element> TryFrom<ShapedSlice<T>> for CudaArray {
    type Error = ConversionError<ShapedSlice<T>>;

    /// Makes an array over the slice's memory.
    fn try_from(slice: ShapedSlice<T>) -> Result<CudaArray, Self::Error> {
        slice.into_library()
    }
}

impl<T: Element> TryFrom<CudaArray> for ShapedSlice<T> {
    type Error = ConversionError<CudaArray>;

    /// Returns the slice that the array began as, or one over its memory; over a copy where that is
    /// shared, strided, a part of something or somebody else's.
    fn try_from(array: CudaArray) -> Result<ShapedSlice<T>, Self::Error> {
        ShapedSlice::from_library(array)
    }
}

/// Forgets a slice: its memory stays its array's.
fn leak<T>(slice: CudaSlice<T>) {
    let _notes = lock(&NOTES);
    slice.leak();
}

/// Turns an array into a slice: the one that it began as, else one over its memory, else (where that is
/// shared, strided, a part, or somebody else's) over a copy.
fn release<T: Element>(mut array: CudaArray) -> Result<CudaSlice<T>, (Error, CudaArray)> {
    let failed = |error| foreign("giving a slice", error);
    let (begins, nbytes) = (array.address(), array.nbytes());
    let row_major = array.layout().is_row_major();
    let stream = stream::current(array.context());
    if let Some(memory) = array.exclusive().filter(|_| row_major) {
        let whole = memory.address == begins && memory.nbytes == nbytes && !memory.is_exported();
        let kept = if whole { memory.take_keeper::<Kept<T>>(&stream) } else { Ok(None) };
        match kept.map(|kept| kept.and_then(|mut kept| kept.0.take())) {
            // What this crate queued is done before what the slice's own stream queues next, and
            // before what others do with it.
            Ok(Some(mut slice)) => {
                let joined = join(slice.stream(), &stream);
                return match joined.and_then(|()| order(&mut slice, &stream)) {
                    Ok(_) => Ok(slice),
                    Err(error) => {
                        memory.keep(Kept(Some(slice)));
                        Err((failed(error), array))
                    }
                };
            }
            Ok(None) if whole && memory.is_own() => return adopt(array),
            Ok(None) => {}
            Err(error) => return Err((failed(error), array)),
        }
    }
    match Task::of(&array).and_then(|task| task.gather(&array)) {
        Ok(copy) => adopt(copy),
        Err(error) => Err((error, array)),
    }
}

/// Makes a slice over an array's own memory, which it fills and nobody else reaches.
fn adopt<T: Element>(mut array: CudaArray) -> Result<CudaSlice<T>, (Error, CudaArray)> {
    let failed = |error| foreign("giving a slice", error);
    let _thread = match Bound::preserve() {
        Ok(thread) => thread,
        Err(error) => return Err((failed(error), array)),
    };
    let stream = stream::current(array.context());
    if array.layout().is_empty() {
        let (operation, message) = ("a slice of cudarc", "it has no elements to allocate".into());
        return Err((Error::LayoutUnsupported { operation, message }, array));
    }
    let ordered = match array.exclusive() {
        Some(memory) => memory.write_on(&stream).map_err(failed),
        None => Err(Error::already_taken("giving a slice")),
    };
    if let Err(error) = ordered {
        return Err((error, array));
    }
    let (address, count) = (array.address(), array.layout().len());
    // SAFETY: initialised memory of so many elements, which cudarc frees as it was allocated: from a
    // pool exactly where its context has them. `forget` below leaves that to the slice. cudarc
    // panics where it cannot make events.
    let make = || unsafe { stream.upgrade_device_ptr::<T>(address, count) };
    let made = cudarc([stream.context(); 2], || {
        // Dropped with another failure, it would free the memory, which is the array's still.
        let made = catch_unwind(AssertUnwindSafe(make)).map(ManuallyDrop::new);
        made.map_err(|_| CudaError::from_code(2))
    });
    let mut slice = match made {
        Ok(slice) => ManuallyDrop::into_inner(slice),
        Err(error) => return Err((failed(error), array)),
    };
    // Notes the write, so that other streams of cudarc wait for it.
    if let Err(error) = order(&mut slice, &stream) {
        leak(slice);
        return Err((failed(error), array));
    }
    match array.into_memory() {
        Ok(memory) => {
            memory.forget();
            Ok(slice)
        }
        Err(array) => {
            leak(slice);
            Err((Error::already_taken("giving a slice"), array))
        }
    }
}
