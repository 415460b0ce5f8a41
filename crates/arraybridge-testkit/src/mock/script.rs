//! What a mock does at a step other than its work, and what it was asked to do: per thread.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use arraybridge_core::{Decline, DeclineReason, Error, Obstacle, Owner};

use super::{Character, Mock};

/// A step of a mock library at which it can be told to decline or fail.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Describing an array.
    Describe,
    /// Reading to the host.
    Download,
    /// Making an array of a host array.
    Upload,
    /// Exporting through DLPack.
    Export,
    /// Importing through DLPack.
    Import,
    /// Lending main memory.
    Lend,
    /// Adopting main memory.
    Adopt,
    /// Moving between devices.
    Move,
    /// Making a second array.
    Duplicate,
    /// Entering a device scope.
    Scope,
    /// Entering a stream scope.
    StreamScope,
    /// Releasing cached memory.
    Release,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Describe => "describe",
            Step::Download => "download",
            Step::Upload => "upload",
            Step::Export => "export",
            Step::Import => "import",
            Step::Lend => "lend",
            Step::Adopt => "adopt",
            Step::Move => "move",
            Step::Duplicate => "duplicate",
            Step::Scope => "scope",
            Step::StreamScope => "stream scope",
            Step::Release => "release",
        }
    }

    fn is_exchange(self) -> bool {
        matches!(self, Step::Export | Step::Import | Step::Lend | Step::Adopt)
    }

    fn is_transfer(self) -> bool {
        matches!(self, Step::Download | Step::Upload | Step::Move)
    }
}

/// What a mock does instead of its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Declines for a reason. A step that cannot decline fails.
    Decline(DeclineReason),
    /// Fails with a native error.
    Fail,
    /// Fails with a native error that the library recognises as out of memory.
    OutOfMemory,
    /// Copies where it should share: without a word at [`Step::Import`] and [`Step::Adopt`],
    /// whatever the policy at [`Step::Export`].
    Copy,
    /// Declines for the dtype, and keeps a handle on the memory that it was given until the script
    /// is dropped ([`Step::Import`] and [`Step::Adopt`]).
    Keep,
    /// Panics.
    Panic,
}

/// A mock's native error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MockFailure {
    /// The error of [`Act::Fail`].
    Broken,
    /// The error of [`Act::OutOfMemory`].
    OutOfMemory,
}

impl fmt::Display for MockFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MockFailure::Broken => "the mock was told to fail",
            MockFailure::OutOfMemory => "the mock was told to run out of memory",
        })
    }
}

impl std::error::Error for MockFailure {}

/// One call that a mock got on this thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The step.
    pub step: Step,
    /// The address of the array that was given, or 0.
    pub address: usize,
}

struct Line {
    id: u64,
    mock: TypeId,
    step: Step,
    act: Act,
    left: u64,
    kept: Vec<Owner>,
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
    static CALLS: RefCell<Option<Vec<(TypeId, Call)>>> = const { RefCell::new(None) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Tells a mock what to do at a step, on this thread, until it is dropped.
#[must_use = "the mock forgets it as soon as this is dropped"]
#[derive(Debug)]
pub struct Script {
    id: u64,
    _thread: PhantomData<*const ()>,
}

impl Script {
    /// Limits it to the first `count` calls; later ones do the mock's work.
    pub fn times(self, count: u64) -> Script {
        LINES.with_borrow_mut(|lines| {
            if let Some(line) = lines.iter_mut().find(|line| line.id == self.id) {
                line.left = count;
            }
        });
        self
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // What the line keeps is released after the borrow: its owner may come back here.
        let line = LINES.try_with(|lines| {
            let mut lines = lines.borrow_mut();
            let at = lines.iter().position(|line| line.id == self.id)?;
            Some(lines.remove(at))
        });
        drop(line);
    }
}

impl<C: Character> Mock<C> {
    /// Makes this mock do `act` at `step`, on this thread, until the script is dropped; the latest
    /// script for a step counts.
    ///
    /// ```
    /// use arraybridge_core::{ArrayLibrary, DType, HOST, HostArray};
    /// use arraybridge_testkit::mock::{Act, Step, Wrapping};
    ///
    /// let host = HostArray::zeros(DType::F32, &[2])?;
    /// let script = Wrapping::script(Step::Upload, Act::OutOfMemory).times(1);
    /// assert!(Wrapping::INSTANCE.upload(&host, HOST).is_err());
    /// assert!(Wrapping::INSTANCE.upload(&host, HOST).is_ok());
    /// # drop(script);
    /// # Ok::<(), arraybridge_core::Error>(())
    /// ```
    pub fn script(step: Step, act: Act) -> Script {
        let id = NEXT.with(|next| next.replace(next.get() + 1));
        let mock = TypeId::of::<C>();
        LINES.with_borrow_mut(|lines| {
            lines.push(Line { id, mock, step, act, left: u64::MAX, kept: Vec::new() });
        });
        Script { id, _thread: PhantomData }
    }
}

/// Returns the calls that a mock got on this thread since [`log_calls`], oldest first.
pub fn calls<C: Character>(_: &'static Mock<C>) -> Vec<Call> {
    let mock = TypeId::of::<C>();
    CALLS.with_borrow(|calls| {
        let all = calls.iter().flatten();
        all.filter(|(of, _)| *of == mock).map(|(_, call)| *call).collect()
    })
}

/// Begins this thread's log of the calls of every mock, or begins it again. Without it mocks note
/// nothing, so that they allocate nothing but what their work needs.
pub fn log_calls() {
    CALLS.set(Some(Vec::with_capacity(64)));
}

/// Notes a call and does what the script says; returns an act that the step has to do itself:
/// [`Act::Copy`] or [`Act::Keep`].
#[allow(clippy::panic, reason = "the script asks for it")]
pub(super) fn enter<C: Character>(step: Step, address: usize) -> Result<Option<Act>, Obstacle> {
    let mock = TypeId::of::<C>();
    // While a thread ends there may be no scripts any more.
    let _ = CALLS.try_with(|calls| {
        calls.borrow_mut().iter_mut().for_each(|calls| calls.push((mock, Call { step, address })));
    });
    let scripted = with_line::<C, _>(step, |line| {
        line.left = line.left.checked_sub(1)?;
        Some(line.act)
    });
    match scripted.flatten().or_else(|| habit::<C>(step)) {
        act @ (None | Some(Act::Copy | Act::Keep)) => Ok(act),
        Some(Act::Panic) => panic!("{} was told to panic in {}", C::TRAITS.name, step.name()),
        Some(Act::Decline(reason)) => Err(Decline::new(reason).note("as scripted").into()),
        Some(Act::Fail) => Err(failure::<C>(step, MockFailure::Broken).into()),
        Some(Act::OutOfMemory) => Err(failure::<C>(step, MockFailure::OutOfMemory).into()),
    }
}

/// Keeps a handle on memory for as long as the step's script.
pub(super) fn keep<C: Character>(step: Step, memory: &Owner) {
    with_line::<C, _>(step, |line| line.kept.push(memory.clone()));
}

/// Asks the latest line of the script for a step.
fn with_line<C: Character, R>(step: Step, ask: impl FnOnce(&mut Line) -> R) -> Option<R> {
    let mock = TypeId::of::<C>();
    let answer = LINES.try_with(|lines| {
        let mut lines = lines.borrow_mut();
        lines.iter_mut().rev().find(|line| line.mock == mock && line.step == step).map(ask)
    });
    answer.ok().flatten()
}

/// As [`enter`] at a step that cannot decline.
pub(super) fn enter_or_fail<C: Character>(step: Step, address: usize) -> Result<(), Error> {
    match enter::<C>(step, address) {
        Ok(_) => Ok(()),
        Err(Obstacle::Failed(error)) => Err(error),
        Err(_) => Err(failure::<C>(step, MockFailure::Broken)),
    }
}

fn habit<C: Character>(step: Step) -> Option<Act> {
    let act = C::TRAITS.habit?;
    let declines = matches!(act, Act::Decline(_));
    (step.is_exchange() || (step.is_transfer() && !declines)).then_some(act)
}

fn failure<C: Character>(step: Step, failure: MockFailure) -> Error {
    Error::foreign(C::TRAITS.name, step.name(), failure)
}
