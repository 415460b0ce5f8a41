//! Releases of memory that queued work may still use: one thread per device waits for them, so that
//! nobody else has to.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use arraybridge_core::Owner;

/// Work that can be waited for.
pub(crate) trait Fence: Send + 'static {
    /// Waits until the work is done; `false` if that cannot be known any more.
    fn wait(&self) -> bool;
}

/// The threads, each started when its device first releases something.
pub(crate) struct Reaper<F> {
    queues: Mutex<BTreeMap<u32, Sender<(F, Owner)>>>,
}

impl<F: Fence> Reaper<F> {
    pub(crate) const fn new() -> Reaper<F> {
        Reaper { queues: Mutex::new(BTreeMap::new()) }
    }

    /// Drops `owner` on the device's thread, after the work. Does not wait.
    pub(crate) fn release(&self, device: u32, work: F, owner: Owner) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = match queues.get(&device) {
            Some(queue) => queue.send((work, owner)).map_err(|refused| refused.0),
            None => Err((work, owner)),
        };
        // The first release of the device.
        let Err(first) = refused else { return };
        let here = match start(device) {
            Some(queue) => {
                // The thread holds the other end, and never ends.
                let _ = queue.send(first);
                queues.insert(device, queue);
                None
            }
            None => Some(first),
        };
        // What an owner lets go of may be released here as well.
        drop(queues);
        here.into_iter().for_each(settle);
    }
}

fn start<F: Fence>(device: u32) -> Option<Sender<(F, Owner)>> {
    let (queue, releases) = channel();
    let thread = thread::Builder::new().name(format!("arraybridge-tch release {device}"));
    let run = move || releases.into_iter().for_each(settle);
    thread.spawn(run).ok().map(|_| queue)
}

fn settle<F: Fence>((work, owner): (F, Owner)) {
    if !work.wait() {
        // Memory that work may be using is never to be used again.
        std::mem::forget(owner);
        return;
    }
    // With this thread would go all that it has not come to, before its work is done. What a panic
    // carries is leaked: dropping that could panic once more.
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(owner))) {
        std::mem::forget(thrown);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);

    /// Done when told so.
    struct Work(Mutex<Receiver<bool>>);

    impl Fence for Work {
        fn wait(&self) -> bool {
            self.0.lock().unwrap().recv().unwrap()
        }
    }

    /// Tells when it is dropped, and on which thread.
    struct Dropped(Sender<String>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().name().unwrap_or_default().to_owned());
        }
    }

    fn work() -> (Sender<bool>, Work) {
        let (done, waiting) = channel();
        (done, Work(Mutex::new(waiting)))
    }

    #[test]
    fn an_owner_is_released_after_its_work_and_by_another_thread() {
        let reaper = Reaper::new();
        let ((done, first), (released, seen)) = (work(), channel());
        reaper.release(0, first, Owner::new(Dropped(released)));
        assert!(seen.recv_timeout(SOON).is_err(), "released while the work runs");
        done.send(true).unwrap();
        assert_eq!(seen.recv_timeout(LONG).unwrap(), "arraybridge-tch release 0");
    }

    #[test]
    fn a_device_does_not_wait_for_another() {
        let reaper = Reaper::new();
        let ((_never, stuck), (done, other)) = (work(), work());
        let (released, seen) = channel();
        reaper.release(0, stuck, Owner::new(()));
        reaper.release(1, other, Owner::new(Dropped(released)));
        done.send(true).unwrap();
        assert_eq!(seen.recv_timeout(LONG).unwrap(), "arraybridge-tch release 1");
    }

    #[test]
    fn memory_whose_work_is_lost_is_kept_for_good() {
        let reaper = Reaper::new();
        let ((lost, first), (done, second)) = (work(), work());
        let (released, seen) = channel();
        reaper.release(0, first, Owner::new(Dropped(released.clone())));
        reaper.release(0, second, Owner::new(Dropped(released)));
        lost.send(false).unwrap();
        done.send(true).unwrap();
        assert!(seen.recv_timeout(LONG).is_ok(), "the second one");
        // Releases come in order, so the first one's turn is over.
        assert!(seen.try_recv().is_err(), "the first one");
    }

    #[test]
    fn an_owner_that_panics_takes_no_other_along() {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("an owner that panics");
            }
        }
        let reaper = Reaper::new();
        let ((done, first), (later, second)) = (work(), work());
        let (released, seen) = channel();
        reaper.release(0, first, Owner::new(Panics));
        reaper.release(0, second, Owner::new(Dropped(released)));
        done.send(true).unwrap();
        assert!(seen.recv_timeout(SOON).is_err(), "released while its work runs");
        later.send(true).unwrap();
        assert_eq!(seen.recv_timeout(LONG).unwrap(), "arraybridge-tch release 0");
    }
}
