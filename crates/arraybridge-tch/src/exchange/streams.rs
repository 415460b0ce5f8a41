//! Who waits for whom when memory of a CUDA device changes hands.

use std::num::NonZeroUsize;

use arraybridge_core::dlpack::{DlpackStream, StreamHandle};
use arraybridge_core::{Device, Error};

use crate::library::foreign;
use crate::torch::{Stream, TorchError};

/// CUDA's handles of its two default streams, as they may be given in place of a stream.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;
/// What torch has for the handle of the default stream.
const DEFAULT: usize = 0;

/// Names this thread's current stream of a device, on which torch will use imported memory: `None`
/// for main memory.
pub(super) fn current(device: Device) -> Result<Option<DlpackStream>, Error> {
    let Device::Accelerator(index) = device else { return Ok(None) };
    let (_, handle) = Stream::current(index as i32)
        .map_err(|error| foreign("asking for the current stream", error))?;
    Ok(Some(match (numbered(handle), NonZeroUsize::new(handle)) {
        (PER_THREAD, _) => DlpackStream::PerThreadDefault,
        (DEFAULT, _) | (_, None) => DlpackStream::LegacyDefault,
        // SAFETY: the handle of this thread's current stream. Those of torch's pool are never
        // destroyed; another one became the current one by unsafe code, which answers for it.
        (_, Some(handle)) => DlpackStream::Handle(unsafe { StreamHandle::new(handle) }),
    }))
}

/// Returns a handle, by its one number where it has two.
fn numbered(handle: usize) -> usize {
    if handle == LEGACY { DEFAULT } else { handle }
}

/// What a producer does so that a consumer finds the elements ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handover {
    /// The consumer sees to it, or works on the producer's stream.
    Nothing,
    /// The consumer names no stream: the producer's own work is finished.
    Finish,
    /// The consumer's stream, of this handle, waits.
    Wait(usize),
}

fn handover(consumer: Option<DlpackStream>, producer: usize) -> Handover {
    let handle = match consumer {
        None => return Handover::Finish,
        Some(DlpackStream::NoSynchronisation) => return Handover::Nothing,
        Some(DlpackStream::LegacyDefault) => DEFAULT,
        Some(DlpackStream::PerThreadDefault) => PER_THREAD,
        Some(DlpackStream::Handle(handle)) => handle.get(),
        // A way of naming streams that this does not know.
        Some(_) => return Handover::Finish,
    };
    let handle = numbered(handle);
    if handle == numbered(producer) { Handover::Nothing } else { Handover::Wait(handle) }
}

/// Makes what this thread queued on a device ready for a consumer's stream. Never waits for a whole
/// device.
pub(super) fn hand_over(device: Device, consumer: Option<DlpackStream>) -> Result<(), Error> {
    let Device::Accelerator(index) = device else { return Ok(()) };
    order(index as i32, consumer).map_err(|error| foreign("ordering streams", error))
}

fn order(index: i32, consumer: Option<DlpackStream>) -> Result<(), TorchError> {
    let (own, handle) = Stream::current(index)?;
    match handover(consumer, handle) {
        Handover::Nothing => Ok(()),
        Handover::Finish => own.finish(),
        Handover::Wait(handle) => match Stream::of_handle(index, handle)? {
            Some(theirs) => theirs.wait_for(own),
            None => own.finish(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(value: usize) -> DlpackStream {
        // SAFETY: nothing is queued on it.
        DlpackStream::Handle(unsafe { StreamHandle::new(NonZeroUsize::new(value).unwrap()) })
    }

    #[test]
    fn a_consumer_without_a_stream_finds_the_work_done() {
        assert_eq!(handover(None, 0), Handover::Finish);
        assert_eq!(handover(None, 0x7000), Handover::Finish);
    }

    #[test]
    fn a_consumer_that_synchronises_by_itself_waits_for_nothing() {
        assert_eq!(handover(Some(DlpackStream::NoSynchronisation), 0x7000), Handover::Nothing);
    }

    #[test]
    fn another_stream_waits_and_the_same_one_does_not() {
        assert_eq!(handover(Some(handle(0x7000)), 0x8000), Handover::Wait(0x7000));
        assert_eq!(handover(Some(handle(0x8000)), 0x8000), Handover::Nothing);
        assert_eq!(handover(Some(DlpackStream::LegacyDefault), 0), Handover::Nothing);
        assert_eq!(handover(Some(DlpackStream::LegacyDefault), 0x8000), Handover::Wait(0));
        assert_eq!(handover(Some(DlpackStream::PerThreadDefault), 0), Handover::Wait(PER_THREAD));
        assert_eq!(handover(Some(handle(LEGACY)), 0), Handover::Nothing, "1 is the legacy stream");
    }

    #[test]
    fn main_memory_has_no_streams() {
        assert_eq!(current(Device::Host).unwrap(), None);
        hand_over(Device::Host, Some(DlpackStream::LegacyDefault)).unwrap();
    }
}
