//! Which stream work runs on.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use arraybridge_core::{DeviceScope, Error};
use cudarc::driver::CudaStream;

use crate::CudaError;
use crate::context::Context;
use crate::driver::Bound;
use crate::library::foreign;
use crate::runtime;

/// The handle that means the default stream of the calling thread (`CU_STREAM_PER_THREAD`).
const PER_THREAD: usize = 2;

thread_local! {
    /// The streams that scopes chose on this thread, the innermost last.
    static CHOSEN: RefCell<Vec<(u64, Arc<CudaStream>)>> = const { RefCell::new(Vec::new()) };
    /// This thread's own streams, one per context.
    static OWN: RefCell<Vec<Arc<CudaStream>>> = const { RefCell::new(Vec::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Returns the stream on which this thread works in a context: that of the innermost scope, else the
/// context's main one.
pub(crate) fn current(context: &Context) -> Arc<CudaStream> {
    let chosen = CHOSEN.try_with(|chosen| {
        let chosen = chosen.borrow();
        let mut of_context =
            chosen.iter().rev().filter(|(_, stream)| stream.context() == &context.cuda);
        of_context.next().map(|(_, stream)| Arc::clone(stream))
    });
    chosen.ok().flatten().unwrap_or_else(|| Arc::clone(&context.main))
}

fn choose(stream: Arc<CudaStream>) -> DeviceScope {
    let number = NEXT.replace(NEXT.get() + 1);
    CHOSEN.with_borrow_mut(|chosen| chosen.push((number, stream)));
    DeviceScope::new(move || {
        // Guards may be dropped in any order.
        let _ = CHOSEN.try_with(|chosen| {
            chosen.borrow_mut().retain(|(chosen, _)| *chosen != number);
        });
    })
}

/// Makes this thread's work on a device run on the thread's own stream, made on first use.
pub(crate) fn own_scope(context: &Context) -> Result<DeviceScope, CudaError> {
    let found = OWN.with_borrow(|own| {
        own.iter().find(|stream| stream.context() == &context.cuda).map(Arc::clone)
    });
    let stream = match found {
        Some(stream) => stream,
        None => {
            let _thread = Bound::preserve()?;
            let stream = context.cuda.new_stream()?;
            OWN.with_borrow_mut(|own| own.push(Arc::clone(&stream)));
            stream
        }
    };
    Ok(choose(stream))
}

/// Makes this thread's work in the stream's context run on the stream until the guard is dropped.
///
/// The stream may be the caller's own, also one that another library made
/// (`CudaContext::wrap_borrowed_stream`). Arrays that are made meanwhile keep it.
///
/// ```no_run
/// # fn run(context: std::sync::Arc<cudarc::driver::CudaContext>) -> Result<(), Box<dyn std::error::Error>> {
/// let stream = context.new_stream()?;
/// let _scope = arraybridge_cuda::use_stream(&stream)?;
/// // Uploads, operations and exchanges of this thread run on the stream here.
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for the per-thread default stream, which is another one on each thread
/// that uses the arrays; the failure to use the stream's context.
pub fn use_stream(stream: &Arc<CudaStream>) -> Result<DeviceScope, Error> {
    if stream.cu_stream() as usize == PER_THREAD {
        return Err(Error::InvalidArgument {
            operation: "using a stream",
            message: "the per-thread default stream is another one on each thread, and arrays are \
                      handed on; make one with `CudaContext::new_stream`"
                .into(),
        });
    }
    runtime::of_cuda(stream.context())?;
    Ok(choose(Arc::clone(stream)))
}

/// Returns the stream on which this thread works on a device.
///
/// # Errors
/// [`Error::DeviceUnavailable`] and the failure to open the device.
pub fn current_stream(device: arraybridge_core::Device) -> Result<Arc<CudaStream>, Error> {
    Ok(current(&*runtime::context(device)?))
}

/// Wraps the failure of a stream.
pub(crate) fn failed(error: CudaError) -> Error {
    foreign("using a stream", error)
}
