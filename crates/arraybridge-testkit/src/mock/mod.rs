//! Mock libraries: real backends over plain memory, whose routes, fallbacks and failures can be
//! watched and provoked without any hardware.
//!
//! All of them are one piece, [`Mock`], with different [`Traits`]; a mock of your own is a type with
//! other traits:
//!
//! ```
//! use arraybridge_testkit::mock::{Character, Mock, Traits};
//!
//! pub enum Mine {}
//!
//! impl Character for Mine {
//!     const TRAITS: Traits = Traits { name: "mine", ..Traits::HOST_ONLY };
//! }
//!
//! pub type MyMock = Mock<Mine>;
//! ```
//!
//! Linking this crate registers none of them: call [`register`](arraybridge_core::register), or
//! convert by type.

mod accelerator;
mod array;
mod exchange;
mod library;
mod ops;
mod script;

use std::fmt;
use std::marker::PhantomData;

use arraybridge_core::{DeclineReason, DeviceKinds};

pub use array::MockArray;
pub use script::{Act, Call, MockFailure, Script, Step, calls, log_calls};

/// What a mock library is like.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The canonical name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Where it has arrays: main memory, two accelerators, `device:mock`.
    pub kinds: DeviceKinds,
    /// Where it exports from through DLPack.
    pub dlpack_export: DeviceKinds,
    /// Where it imports through DLPack.
    pub dlpack_import: DeviceKinds,
    /// Where it exchanges main memory.
    pub host_share: DeviceKinds,
    /// Whether it moves arrays between its devices.
    pub moves: bool,
    /// Whether it has the role of accelerators.
    pub accelerator: bool,
    /// Who may write its arrays.
    pub storage: Storage,
    /// What it does at every exchange unless a script says otherwise.
    pub habit: Option<Act>,
    /// Whether its runtime is not installed: then it has no devices.
    pub absent: bool,
}

/// Who may write a mock's arrays, which decides what it takes from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// Each array owns its memory and may be written: takes exclusive memory only.
    Owned,
    /// Arrays are handles on storage that several of them may write ([`MockArray::alias`]): gives
    /// away storage with one handle only.
    Shared,
    /// Arrays share memory with each other and with host arrays, and whoever writes one copies it
    /// first, as ndarray's counted arrays do: takes immutable memory too.
    CopyOnWrite,
    /// Arrays never change: takes immutable memory too. What is not aligned to 64 bytes it copies
    /// without a word, as XLA does.
    Immutable,
}

impl Traits {
    /// Main memory, written by its owner, exchanged as host arrays.
    pub const HOST_ONLY: Traits = Traits {
        name: "mock",
        aliases: &[],
        kinds: DeviceKinds::HOST,
        dlpack_export: DeviceKinds::NONE,
        dlpack_import: DeviceKinds::NONE,
        host_share: DeviceKinds::HOST,
        moves: false,
        accelerator: false,
        storage: Storage::Owned,
        habit: None,
        absent: false,
    };

    /// Main memory and two accelerators, exchanged through DLPack on both.
    pub const EVERYWHERE: Traits = Traits {
        kinds: HOST_AND_ACCELERATOR,
        dlpack_export: HOST_AND_ACCELERATOR,
        dlpack_import: HOST_AND_ACCELERATOR,
        moves: true,
        accelerator: true,
        ..Traits::HOST_ONLY
    };
}

const HOST_AND_ACCELERATOR: DeviceKinds = DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR);

/// A kind of mock library.
pub trait Character: Send + Sync + Sized + 'static {
    /// What it is like.
    const TRAITS: Traits;
}

/// A mock library of some character.
pub struct Mock<C>(PhantomData<C>);

impl<C: Character> fmt::Debug for Mock<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(C::TRAITS.name)
    }
}

macro_rules! mocks {
    ($($(#[$doc:meta])+ $alias:ident, $kind:ident: $traits:expr;)+) => {
        /// The characters of the mocks in this module.
        pub mod kinds {
            $(
                #[doc = concat!("The character of [`", stringify!($alias), "`](super::", stringify!($alias), ").")]
                #[derive(Debug)]
                pub enum $kind {}
            )+
        }

        $(
            $(#[$doc])+
            pub type $alias = Mock<kinds::$kind>;

            impl Character for kinds::$kind {
                const TRAITS: Traits = $traits;
            }
        )+
    };
}

mocks! {
    /// Main memory only; writable arrays that wrap what is exclusive.
    Wrapping, WrappingKind: Traits { name: "mock-wrapping", ..Traits::HOST_ONLY };
    /// Main memory and two accelerators, as torch has them.
    Accelerated, AcceleratedKind: Traits {
        name: "mock-accelerated",
        aliases: &["mock-gpu"],
        ..Traits::EVERYWHERE
    };
    /// Two accelerators and no main memory, as CUDA has them.
    AcceleratorOnly, AcceleratorOnlyKind: Traits {
        name: "mock-accelerator-only",
        kinds: DeviceKinds::ACCELERATOR,
        dlpack_export: DeviceKinds::ACCELERATOR,
        dlpack_import: DeviceKinds::ACCELERATOR,
        host_share: DeviceKinds::NONE,
        ..Traits::EVERYWHERE
    };
    /// One device known by name, which shares memory with the host, as OpenCL on a CPU does.
    NamedDevice, NamedDeviceKind: Traits {
        name: "mock-named",
        kinds: DeviceKinds::NAMED,
        host_share: DeviceKinds::NAMED,
        ..Traits::HOST_ONLY
    };
    /// Arrays that never change, as XLA's.
    Immutable, ImmutableKind: Traits {
        name: "mock-immutable",
        storage: Storage::Immutable,
        ..Traits::EVERYWHERE
    };
    /// Handles on storage that others may write too, as torch's.
    SharedStorage, SharedStorageKind: Traits {
        name: "mock-shared",
        dlpack_export: DeviceKinds::HOST,
        dlpack_import: DeviceKinds::HOST,
        storage: Storage::Shared,
        ..Traits::HOST_ONLY
    };
    /// A library whose runtime is not installed.
    Absent, AbsentKind: Traits {
        name: "mock-absent",
        absent: true,
        ..Traits::EVERYWHERE
    };
    /// Declares every exchange and declines each.
    Declining, DecliningKind: Traits {
        name: "mock-declining",
        habit: Some(Act::Decline(DeclineReason::Layout)),
        ..Traits::EVERYWHERE
    };
    /// Declares every exchange and fails in each, in transfers too.
    Failing, FailingKind: Traits {
        name: "mock-failing",
        habit: Some(Act::Fail),
        ..Traits::EVERYWHERE
    };
}
