//! Points in streams.

use std::sync::Arc;

use arraybridge_core::dlpack::StreamHandle;
use cudarc::driver::sys::CUevent;
use cudarc::driver::{CudaContext, CudaStream};

use super::{Bound, entries};
use crate::CudaError;
use crate::error::check;
use crate::faults::report;

/// A point in a stream: the work that was queued until then.
pub(crate) struct Event {
    raw: CUevent,
    context: Arc<CudaContext>,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; nothing is changed through a shared reference but by the driver.
unsafe impl Sync for Event {}

impl Event {
    /// Notes the work that a stream has queued until now.
    pub(crate) fn of(stream: &CudaStream) -> Result<Event, CudaError> {
        const DISABLE_TIMING: u32 = 2;
        let entries = entries()?;
        let context = Arc::clone(stream.context());
        let _bound = Bound::to(&context)?;
        let mut raw: CUevent = std::ptr::null_mut();
        // SAFETY: the call writes a handle.
        check(unsafe { (entries.cuEventCreate)(&mut raw, DISABLE_TIMING) })?;
        let event = Event { raw, context: Arc::clone(&context) };
        // SAFETY: both are alive and of one context.
        check(unsafe { (entries.cuEventRecord)(raw, stream.cu_stream()) })?;
        Ok(event)
    }

    /// Makes what a stream queues from now on wait for the event, on the device.
    pub(crate) fn delay(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let entries = entries()?;
        let _bound = Bound::to(stream.context())?;
        // SAFETY: both are alive.
        check(unsafe { (entries.cuStreamWaitEvent)(stream.cu_stream(), self.raw, 0) })
    }

    /// Makes a stream of somebody else's wait: a default one of this event's context, or one by its
    /// handle.
    pub(crate) fn delay_foreign(&self, stream: Foreign) -> Result<(), CudaError> {
        let stream = match stream {
            Foreign::LegacyDefault => 1,
            Foreign::PerThreadDefault => 2,
            Foreign::Handle(handle) => handle.get(),
        };
        let entries = entries()?;
        let _bound = Bound::to(&self.context)?;
        let stream = std::ptr::without_provenance_mut(stream);
        // SAFETY: the default streams always exist; whoever named another vouched that it is alive
        // during the exchange.
        check(unsafe { (entries.cuStreamWaitEvent)(stream, self.raw, 0) })
    }

    /// Waits on the host.
    pub(crate) fn wait(&self) -> Result<(), CudaError> {
        let entries = entries()?;
        let _bound = Bound::to(&self.context)?;
        // SAFETY: the event is alive.
        check(unsafe { (entries.cuEventSynchronize)(self.raw) })
    }

    /// Returns whether the work is done, without waiting.
    pub(crate) fn is_done(&self) -> Result<bool, CudaError> {
        let entries = entries()?;
        let _bound = Bound::to(&self.context)?;
        // SAFETY: the event is alive.
        match check(unsafe { (entries.cuEventQuery)(self.raw) }) {
            // CUDA_ERROR_NOT_READY
            Err(error) if error.code() == 600 => Ok(false),
            other => other.map(|()| true),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let destroyed = entries().and_then(|entries| {
            let _bound = Bound::to(&self.context)?;
            // SAFETY: destroyed once; the driver keeps what streams still wait for.
            check(unsafe { (entries.cuEventDestroy_v2)(self.raw) })
        });
        if let Err(error) = destroyed {
            report("an event was not destroyed", error);
        }
    }
}

/// A stream that is not cudarc's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Foreign {
    LegacyDefault,
    PerThreadDefault,
    Handle(StreamHandle),
}

/// Makes what `later` queues from now on wait for what `earlier` has queued.
pub(crate) fn join(later: &CudaStream, earlier: &CudaStream) -> Result<(), CudaError> {
    if later == earlier {
        return Ok(());
    }
    Event::of(earlier)?.delay(later)
}
