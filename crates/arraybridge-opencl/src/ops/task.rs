//! A kernel of this library on its way to the device.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use arraybridge_core::Error;

use super::walk::Walk;
use crate::ClArray;
use crate::cl::Kernel;
use crate::library::failed;
use crate::memory::{Command, Memory, events};
use crate::place::Place;
use crate::program::Built;

/// Work items of a work-group, of kernels that work on one element each.
const GROUP: usize = 64;

/// A file of kernels.
pub(super) struct Family {
    name: &'static str,
    source: &'static str,
}

macro_rules! family {
    ($constant:ident, $file:literal) => {
        pub(super) const $constant: Family = Family {
            name: $file,
            source: concat!(
                include_str!("../kernels/elements.cl"),
                include_str!(concat!("../kernels/", $file))
            ),
        };
    };
}

family!(CAST, "cast.cl");
family!(COPY, "copy.cl");
family!(REDUCE, "reduce.cl");
family!(SCALE, "scale.cl");
family!(PLANES, "planes.cl");
family!(LOGICAL, "logical.cl");
family!(MADE, "made.cl");
family!(OUTER, "outer.cl");

/// A value that a kernel takes as it lies in memory.
pub(crate) trait Value: Copy {}

impl Value for i32 {}
impl Value for u32 {}
impl Value for u64 {}
impl Value for i64 {}
impl Value for f32 {}
impl Value for f64 {}
impl Value for Walk {}

/// A kernel whose arguments are set one after another.
pub(crate) struct Task<'a> {
    place: &'a Arc<Place>,
    built: Arc<Built>,
    name: CString,
    kernel: Kernel,
    next: u32,
    reads: Vec<&'a Memory>,
    writes: Vec<&'a Memory>,
    failed: Option<Error>,
}

impl<'a> Task<'a> {
    /// Takes a kernel of a family, specialised by options (`NAME=VALUE`, or `NAME`).
    pub(super) fn new(
        place: &'a Arc<Place>,
        family: &Family,
        kernel: &str,
        options: &[&str],
    ) -> Result<Task<'a>, Error> {
        let wrap = |error| failed("compiling a kernel", place.device(), 0, error);
        let facts = &place.known.facts;
        let mut text = String::from("-cl-std=CL1.2");
        if facts.rounds_division {
            text.push_str(" -cl-fp32-correctly-rounded-divide-sqrt");
        }
        for option in options.iter().chain(facts.fp64.then_some(&"HAS_F64")) {
            text.push_str(" -D ");
            text.push_str(option);
        }
        let built = place.programs.get(place, family.name, family.source, &text).map_err(wrap)?;
        let name = CString::new(kernel).unwrap_or_default();
        let kernel = built.take(&name).map_err(wrap)?;
        Ok(Task::of(place, &built, name, kernel))
    }

    /// Takes a kernel of a program, which goes back to it.
    pub(crate) fn of(
        place: &'a Arc<Place>,
        built: &Arc<Built>,
        name: CString,
        kernel: Kernel,
    ) -> Task<'a> {
        let (built, reads, writes) = (Arc::clone(built), Vec::new(), Vec::new());
        Task { place, built, name, kernel, next: 0, reads, writes, failed: None }
    }

    /// Returns the largest work-group that the kernel runs with here.
    pub(super) fn work_group(&self) -> usize {
        self.kernel.work_group_size(self.place.known.id).unwrap_or(1).max(1)
    }

    fn set(&mut self, size: usize, value: *const c_void) {
        // SAFETY: the callers below give bytes that live, and handles that are valid.
        let set = unsafe { self.kernel.set(self.next, size, value) };
        self.next += 1;
        if let Err(error) = set {
            self.note(failed("setting an argument", self.place.device(), 0, error));
        }
    }

    fn note(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }

    fn buffer(&mut self, memory: &Memory) {
        match memory.mem() {
            Ok(mem) => {
                let raw = mem.raw();
                self.set(size_of::<*mut c_void>(), (&raw const raw).cast());
            }
            Err(error) => self.note(error),
        }
    }

    /// Sets the next arguments: an array to read, the place of its first element.
    pub(super) fn read(mut self, array: &'a ClArray) -> Task<'a> {
        self.buffer(array.memory());
        self.reads.push(array.memory());
        self.value(array.offset() as u64)
    }

    /// Sets the next argument: an array to read that begins its buffer.
    pub(crate) fn read_whole(self, array: &'a ClArray) -> Task<'a> {
        self.read_memory(array.memory())
    }

    /// Sets the next argument: memory to read.
    pub(crate) fn read_memory(mut self, memory: &'a Memory) -> Task<'a> {
        self.buffer(memory);
        self.reads.push(memory);
        self
    }

    /// Sets the next argument: memory to write.
    pub(crate) fn write(mut self, memory: &'a Memory) -> Task<'a> {
        self.buffer(memory);
        self.writes.push(memory);
        self
    }

    /// Sets the next argument: a value.
    pub(crate) fn value<T: Value>(mut self, value: T) -> Task<'a> {
        self.set(size_of::<T>(), (&raw const value).cast());
        self
    }

    /// Sets the next argument: a value as it lies in memory.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Task<'a> {
        self.set(bytes.len(), bytes.as_ptr().cast());
        self
    }

    /// Sets the next argument: memory of a work-group.
    pub(crate) fn local(mut self, nbytes: usize) -> Task<'a> {
        self.set(nbytes, std::ptr::null());
        self
    }

    /// Queues the kernel with a work item for each of `count` elements, and some more.
    ///
    /// # Safety
    /// As [`Task::run`]; the kernel ends work items beyond `count`.
    pub(super) unsafe fn run_over(self, count: usize) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let group = GROUP.min(self.place.known.facts.work_group);
        let global = [count.div_ceil(group).saturating_mul(group)];
        // SAFETY: as the caller says.
        unsafe { self.run(&global, Some(&[group])) }
    }

    /// Queues the kernel.
    ///
    /// # Safety
    /// The arguments are those that the kernel declares, and over these work items it reads and
    /// writes within the arrays; nobody but the caller has a handle on what it writes.
    pub(crate) unsafe fn run(self, global: &[usize], local: Option<&[usize]>) -> Result<(), Error> {
        let Task { place, built, name, kernel, reads, writes, failed: wrong, .. } = self;
        if let Some(error) = wrong {
            return Err(error);
        }
        let launched = (|| {
            let stream = place.stream();
            let mut waits = Vec::new();
            for memory in &reads {
                memory.with_uses(|uses| uses.before_reading(&stream, &mut waits))?;
            }
            for memory in &writes {
                memory.with_uses(|uses| uses.before_writing(&stream, &mut waits));
            }
            let list = events(&waits);
            // SAFETY: as the caller says; `waits` is what earlier commands on the buffers left.
            let event = unsafe { stream.queue.launch(&kernel, global, local, &list) }?;
            // Noted first: the kernel is queued, whatever becomes of the flush.
            let command = Command::new(event, &stream);
            for memory in &reads {
                memory.with_uses(|uses| uses.reads(Arc::clone(&command)));
            }
            for memory in &writes {
                memory.with_uses(|uses| uses.writes(Arc::clone(&command)));
            }
            stream.queue.flush()
        })();
        built.give_back(&name, kernel);
        launched.map_err(|error| failed("running a kernel", place.device(), 0, error))
    }
}
