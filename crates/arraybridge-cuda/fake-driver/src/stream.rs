//! Streams as threads, and events.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::memory::Work;
use crate::state::{Answer, INVALID_HANDLE, State, current, state};

type Job = Box<dyn FnOnce() + Send>;

/// A queue of work that a thread does in order.
pub(crate) struct Stream {
    pub(crate) id: u64,
    pub(crate) device: usize,
    /// Whether it waits for the legacy default stream, and that one for it.
    blocking: bool,
    legacy: bool,
    queue: Mutex<mpsc::Sender<Job>>,
    clock: Mutex<Clock>,
}

impl Stream {
    fn new(id: u64, device: usize, blocking: bool, legacy: bool) -> Arc<Stream> {
        let (sender, receiver) = mpsc::channel::<Job>();
        std::thread::spawn(move || {
            for job in receiver {
                let delay = state().delay_us;
                if delay > 0 {
                    std::thread::sleep(Duration::from_micros(delay));
                }
                job();
            }
        });
        let (queue, clock) = (Mutex::new(sender), Mutex::default());
        Arc::new(Stream { id, device, blocking, legacy, queue, clock })
    }

    fn push(&self, job: impl FnOnce() + Send + 'static) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread ends only with this sender.
        let _ = queue.send(Box::new(job));
    }

    fn clock(&self) -> std::sync::MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an operation, which is given what it knows to be done.
    pub(crate) fn queue(&self, name: &'static str, job: impl FnOnce(&Work) + Send + 'static) {
        self.await_default_stream();
        let work = {
            let host = state().host.clone();
            let mut clock = self.clock();
            clock.merge(&host);
            let moment = clock.advance(self.id);
            Work { moment, clock: clock.clone(), name, device: self.device }
        };
        self.push(move || job(&work));
    }

    /// The legacy default stream and blocking streams wait for each other.
    fn await_default_stream(&self) {
        let partner = |other: &Stream| {
            other.device == self.device
                && other.id != self.id
                && ((self.legacy && other.blocking) || (self.blocking && other.legacy))
        };
        let partners: Vec<Arc<Stream>> =
            state().streams.values().filter(|other| partner(other)).map(Arc::clone).collect();
        for other in partners {
            let event = Event::new(self.device);
            event.record(&other);
            self.wait(&event);
        }
    }

    /// Makes everything queued from now on wait for an event's last record.
    pub(crate) fn wait(&self, event: &Arc<Event>) {
        let (generation, clock) = event.recorded();
        self.clock().merge(&clock);
        let event = Arc::clone(event);
        self.push(move || event.await_generation(generation));
    }

    /// Waits on the host for all that is queued.
    pub(crate) fn synchronize(&self) {
        let clock = self.clock().clone();
        let (sender, receiver) = mpsc::channel();
        self.push(move || {
            let _ = sender.send(());
        });
        let _ = receiver.recv();
        state().host.merge(&clock);
    }
}

/// A point in a stream of a device.
pub(crate) struct Event {
    pub(crate) device: usize,
    inner: Mutex<Recorded>,
    done: Condvar,
}

#[derive(Default)]
struct Recorded {
    /// How often it was recorded, and which of these records is done.
    generation: u64,
    done: u64,
    clock: Clock,
    time: Option<Instant>,
}

impl Event {
    pub(crate) fn new(device: usize) -> Arc<Event> {
        Arc::new(Event { device, inner: Mutex::default(), done: Condvar::new() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recorded> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record(self: &Arc<Event>, stream: &Stream) {
        let generation = {
            let clock = stream.clock().clone();
            let mut inner = self.lock();
            inner.generation += 1;
            inner.clock = clock;
            inner.generation
        };
        let event = Arc::clone(self);
        stream.push(move || {
            let mut inner = event.lock();
            inner.done = inner.done.max(generation);
            inner.time = Some(Instant::now());
            event.done.notify_all();
        });
    }

    fn recorded(&self) -> (u64, Clock) {
        let inner = self.lock();
        (inner.generation, inner.clock.clone())
    }

    fn await_generation(&self, generation: u64) {
        let mut inner = self.lock();
        while inner.done < generation {
            inner = self.done.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits on the host.
    pub(crate) fn synchronize(&self) {
        let (generation, clock) = self.recorded();
        self.await_generation(generation);
        state().host.merge(&clock);
    }

    /// Returns whether it is done, which the host then knows.
    pub(crate) fn is_done(&self) -> bool {
        let done = {
            let inner = self.lock();
            (inner.done >= inner.generation).then(|| inner.clock.clone())
        };
        if let Some(clock) = &done {
            state().host.merge(clock);
        }
        done.is_some()
    }

    pub(crate) fn time(&self) -> Option<Instant> {
        self.lock().time
    }
}

/// Makes a stream of a device.
pub(crate) fn create(device: usize, blocking: bool) -> usize {
    let mut state = state();
    let handle = state.handle();
    state.streams.insert(handle, Stream::new(handle as u64, device, blocking, false));
    handle
}

/// Returns a stream by its handle: 0 and 1 are the legacy default stream of the current device, 2 is
/// the per-thread one.
pub(crate) fn stream(handle: usize) -> Answer<Arc<Stream>> {
    if handle > 2 {
        return state().streams.get(&handle).map(Arc::clone).ok_or(INVALID_HANDLE);
    }
    let device = current()?;
    let mut state = state();
    Ok(default_stream(&mut state, device, handle == 2))
}

fn default_stream(state: &mut State, device: usize, per_thread: bool) -> Arc<Stream> {
    let key = 0x100 + device * 2 + usize::from(per_thread);
    let make = || Stream::new(key as u64, device, per_thread, !per_thread);
    let streams: &mut HashMap<usize, Arc<Stream>> = &mut state.streams;
    Arc::clone(streams.entry(key).or_insert_with(make))
}

pub(crate) fn event(handle: usize) -> Answer<Arc<Event>> {
    state().events.get(&handle).map(Arc::clone).ok_or(INVALID_HANDLE)
}

/// Waits for all streams of a device.
pub(crate) fn synchronize_device(device: usize) {
    let streams: Vec<Arc<Stream>> = {
        let state = state();
        state.streams.values().filter(|stream| stream.device == device).map(Arc::clone).collect()
    };
    for stream in streams {
        stream.synchronize();
    }
}
