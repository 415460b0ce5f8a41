//! The one error type, and the error of a conversion, which gives the array back.

mod conversion;

use std::error::Error as StdError;

use crate::{DType, Device, DeviceKinds, Mechanism};

pub use conversion::ConversionError;

/// Any error that another crate may raise: a closure's, a native library's.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// What went wrong, with what was asked for, what is there and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A library does not have the device that was asked for.
    #[error("{library} has no device `{device}`; it has {}", list(available))]
    DeviceUnavailable {
        /// The library that was asked.
        library: &'static str,
        /// The device that was asked for.
        device: Device,
        /// The devices that the library has on this machine.
        available: Vec<Device>,
    },
    /// A library never has devices of this kind, whatever the machine.
    #[error("{library} has no arrays on `{device}`; it keeps arrays on: {kinds}")]
    DeviceKindUnsupported {
        /// The library that was asked.
        library: &'static str,
        /// The device that was asked for.
        device: Device,
        /// The kinds of device that the library has arrays on.
        kinds: DeviceKinds,
    },
    /// No library of this name is registered.
    #[error("no library `{name}` is registered; registered: {}{}", list(registered), hint(*feature, *remedy))]
    LibraryNotRegistered {
        /// The name that was asked for.
        name: String,
        /// The canonical names of all registered libraries, sorted.
        registered: Vec<&'static str>,
        /// The feature of the crate `arraybridge` that would add the library, where one does.
        feature: Option<&'static str>,
        /// What it takes to use a library that is declared.
        remedy: Option<&'static str>,
    },
    /// Two libraries are registered under one name, usually by two crates; other names work.
    #[error(
        "two libraries are registered as `{name}`: {first} and {second}; use another name of the one \
         that is meant, or its type, or leave the crate of the other out"
    )]
    LibraryAmbiguous {
        /// The name that both claim.
        name: String,
        /// The type of one library, which begins with its crate.
        first: &'static str,
        /// The type of another.
        second: &'static str,
    },
    /// A library's runtime is absent or does not work.
    #[error("{library} is not usable here: {cause}")]
    LibraryUnavailable {
        /// The library that was asked.
        library: &'static str,
        /// What is missing or broken, and the remedy.
        cause: String,
    },
    /// An array belongs to another library than was stated.
    #[error("the array belongs to {found}, not to {expected}")]
    WrongLibrary {
        /// The library that was stated.
        expected: &'static str,
        /// The library (or type) that the array is of.
        found: &'static str,
    },
    /// A library or operation does not have this dtype.
    #[error("{library} does not support dtype {dtype} for {operation}")]
    DtypeUnsupported {
        /// The library that was asked.
        library: &'static str,
        /// What was to be done.
        operation: &'static str,
        /// The dtype that was met.
        dtype: DType,
    },
    /// An array has another dtype than was asked for; nothing is cast without being asked.
    #[error("expected dtype {expected}, found {found}; cast with `astype` where a cast is meant")]
    DtypeMismatch {
        /// The dtype that was asked for.
        expected: DType,
        /// The dtype that was met.
        found: DType,
    },
    /// An array's memory layout does not fit what was asked.
    #[error("{operation} cannot take this layout: {message}")]
    LayoutUnsupported {
        /// What was to be done.
        operation: &'static str,
        /// What is wrong with the layout.
        message: String,
    },
    /// A shape and strides that do not make a layout.
    #[error("not a layout: {message}")]
    InvalidLayout {
        /// What is wrong.
        message: String,
    },
    /// A size that does not fit in the address space.
    #[error("an array of shape {shape:?} does not fit in the address space")]
    SizeOverflow {
        /// The shape that was asked for.
        shape: Vec<usize>,
    },
    /// Shapes that had to agree do not.
    #[error("{operation}: expected shape {expected:?}, found {found:?}")]
    ShapeMismatch {
        /// What was to be done.
        operation: &'static str,
        /// The shape that was asked for.
        expected: Vec<usize>,
        /// The shape that was met.
        found: Vec<usize>,
    },
    /// An axis that the array does not have.
    #[error("axis {axis} is out of range for an array of {rank} axes")]
    AxisOutOfRange {
        /// The axis that was asked for (negative ones count from the end).
        axis: isize,
        /// The number of axes that there are.
        rank: usize,
    },
    /// An argument that an operation cannot take.
    #[error("{operation}: {message}")]
    InvalidArgument {
        /// What was to be done.
        operation: &'static str,
        /// What is wrong with the argument.
        message: String,
    },
    /// Text that does not parse.
    #[error("`{text}` is not a {what}; expected {expected}")]
    InvalidLabel {
        /// What the text was to name.
        what: &'static str,
        /// The text (shortened).
        text: String,
        /// What is expected.
        expected: &'static str,
    },
    /// Memory handed in from outside that breaks the rules of its exchange format.
    #[error("refused a foreign array: {field}: {message}")]
    InvalidPayload {
        /// The field that breaks a rule.
        field: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// No memory for what was asked.
    #[error("{library} is out of memory on `{device}`{}", sizes(*requested, *available))]
    OutOfMemory {
        /// The library that allocates.
        library: &'static str,
        /// The device that is full.
        device: Device,
        /// The bytes that were asked for, where known.
        requested: Option<usize>,
        /// The bytes that are free, where known.
        available: Option<usize>,
    },
    /// A conversion would copy although [`CopyPolicy::Never`](crate::CopyPolicy::Never) was asked.
    #[error(
        "{source_library} to {target_library} on `{device}` would copy ({mechanism}), and a copy was refused{}",
        declined_text(declined)
    )]
    WouldCopy {
        /// The library that has the array.
        source_library: &'static str,
        /// The library that was to receive it.
        target_library: &'static str,
        /// The device that was asked for.
        device: Device,
        /// The mechanism that would have copied.
        mechanism: Mechanism,
        /// The mechanisms that would not have copied, each with the reason why it declined.
        declined: Vec<(Mechanism, crate::Decline)>,
    },
    /// Memory that others may reach, where sole ownership is needed.
    #[error("{operation} needs an array whose memory nobody else can reach: {message}")]
    Shared {
        /// What was to be done.
        operation: &'static str,
        /// Who may reach it, and what to do.
        message: String,
    },
    /// Something that a library does not do.
    #[error("{library} does not support {operation}: {remedy}")]
    Unsupported {
        /// The library that was asked.
        library: &'static str,
        /// What was to be done.
        operation: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The result of an array function broke its declared contract.
    #[error("the result of `{function}`{} breaks its output contract{}", plane_text(*plane), contract_text(contract))]
    OutputContract {
        /// The function's name.
        function: String,
        /// The contract's description (may be empty).
        contract: String,
        /// The plane, where the function ran slice by slice.
        plane: Option<usize>,
    },
    /// An array function was given or returned something that it cannot work with.
    #[error("`{function}`{}: {message}", plane_text(*plane))]
    FunctionUsage {
        /// The function's name.
        function: String,
        /// The plane, where the function ran slice by slice.
        plane: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// The body of an array function failed; its own error is the source.
    #[error("`{function}`{} failed", plane_text(*plane))]
    Function {
        /// The function's name.
        function: String,
        /// The plane, where the function ran slice by slice.
        plane: Option<usize>,
        /// The error that the function returned.
        #[source]
        source: BoxError,
    },
    /// Counters in a form that cannot be read.
    #[error("not counters of arraybridge: {field}: {problem}")]
    CountersFormat {
        /// The field that is missing or wrong.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A native library failed; its own error is the source.
    #[error("{library} failed in {operation}")]
    Foreign {
        /// The library that failed.
        library: &'static str,
        /// What was to be done.
        operation: &'static str,
        /// The native error.
        #[source]
        source: BoxError,
    },
}

impl Error {
    /// Wraps a native library's error, which becomes the [`source`](std::error::Error::source).
    pub fn foreign(
        library: &'static str,
        operation: &'static str,
        source: impl Into<BoxError>,
    ) -> Error {
        Error::Foreign { library, operation, source: source.into() }
    }

    /// Says that a slot, from which a role was to take an array, is empty.
    pub fn already_taken(operation: &'static str) -> Error {
        Error::InvalidArgument { operation, message: "the array was already taken".into() }
    }

    /// Returns whether this error, or one that caused it, is core's own out-of-memory error.
    ///
    /// A native library's errors are recognised by that library:
    /// [`Library::is_out_of_memory`](crate::Library::is_out_of_memory).
    pub fn is_out_of_memory(&self) -> bool {
        is_own_out_of_memory(self)
    }
}

/// Returns whether an error, or one that caused it, is [`Error::OutOfMemory`].
pub(crate) fn is_own_out_of_memory(error: &(dyn StdError + 'static)) -> bool {
    causes(error).any(|cause| matches!(cause.downcast_ref(), Some(Error::OutOfMemory { .. })))
}

/// Returns an error, what caused it, what caused that, and so on.
///
/// ```
/// use arraybridge_core::{Error, causes};
///
/// let error = Error::foreign("torch", "reading", std::fmt::Error);
/// assert!(causes(&error).any(|cause| cause.is::<std::fmt::Error>()));
/// ```
pub fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    if items.is_empty() {
        return "none".into();
    }
    items.iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

fn hint(feature: Option<&'static str>, remedy: Option<&'static str>) -> String {
    match (feature, remedy) {
        (Some(feature), _) => {
            format!("; enable it with the feature `{feature}` of the crate `arraybridge`")
        }
        (None, Some(remedy)) => format!("; {remedy}"),
        (None, None) => String::new(),
    }
}

fn sizes(requested: Option<usize>, available: Option<usize>) -> String {
    match (requested, available) {
        (Some(requested), Some(available)) => {
            format!(": asked for {requested} bytes, {available} are free")
        }
        (Some(requested), None) => format!(": asked for {requested} bytes"),
        (None, Some(available)) => format!(": {available} bytes are free"),
        (None, None) => String::new(),
    }
}

fn plane_text(plane: Option<usize>) -> String {
    plane.map_or_else(String::new, |plane| format!(" (plane {plane})"))
}

fn contract_text(contract: &str) -> String {
    if contract.is_empty() { String::new() } else { format!(": {contract}") }
}

fn declined_text(declined: &[(Mechanism, crate::Decline)]) -> String {
    declined
        .iter()
        .map(|(mechanism, decline)| format!("; {mechanism} declined: {decline}"))
        .collect()
}
