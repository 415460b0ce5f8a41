//! The mock libraries in main memory whose conversions the tests of records watch.
#![allow(dead_code, reason = "each test binary uses a part")]

use arraybridge_core::{ConversionError, Convert, Error, HOST, HostArray, NativeArray};
use arraybridge_testkit::mock::{Act, Character, Mock, MockArray, Storage, Traits};

/// Declares a mock library and its arrays.
macro_rules! library {
    ($(#[$doc:meta])* $library:ident, $kind:ident, $array:ident: $traits:expr) => {
        pub(crate) enum $kind {}

        impl Character for $kind {
            const TRAITS: Traits = $traits;
        }

        $(#[$doc])*
        pub(crate) type $library = Mock<$kind>;
        pub(crate) type $array = MockArray<$kind>;
    };
}

library!(
    /// Never writes what others reach: takes such memory, and shares its own.
    Frozen, FrozenKind, FrozenArray: Traits {
        name: "frozen",
        storage: Storage::CopyOnWrite,
        ..Traits::HOST_ONLY
    }
);

library!(
    /// Writes: takes exclusive memory only.
    Writable, WritableKind, WritableArray: Traits { name: "writable", ..Traits::HOST_ONLY }
);

library!(
    /// Says that it shares memory, and copies it.
    Copier, CopierKind, CopierArray: Traits {
        name: "copier",
        habit: Some(Act::Copy),
        ..FrozenKind::TRAITS
    }
);

/// A foreign type of the library `Frozen`: a plain vector.
#[derive(Debug)]
pub(crate) struct Samples(pub(crate) Vec<f32>);

impl NativeArray<Frozen> for Samples {
    fn into_library(self) -> Result<FrozenArray, ConversionError<Samples>> {
        let shape = [self.0.len()];
        let host = HostArray::from_vec(self.0, &shape)
            .map_err(|error| error.map_array(|vec| Some(Samples(vec))))?;
        FrozenArray::new(host, HOST).map_err(|error| ConversionError::new(error, None))
    }

    fn from_library(array: FrozenArray) -> Result<Samples, ConversionError<FrozenArray>> {
        let no_vec = || Error::Unsupported {
            library: "frozen",
            operation: "vectors of this array",
            remedy: "gather it",
        };
        let host =
            array.into_host().map_err(|array| ConversionError::new(no_vec(), Some(array)))?;
        let again = |host| ConversionError::new(no_vec(), FrozenArray::new(host, HOST).ok());
        host.into_vec().map(Samples).map_err(again)
    }
}

/// Returns `count` floats that nothing else reaches.
pub(crate) fn samples(count: usize) -> Samples {
    Samples((0..count).map(|index| index as f32).collect())
}

/// Returns an array of the library `Frozen`.
pub(crate) fn frozen(count: usize) -> FrozenArray {
    samples(count).into_library().unwrap()
}

/// Converts `count` floats from `Frozen` to `Writable`: 4 bytes each, without a copy.
pub(crate) fn convert(count: usize) -> WritableArray {
    samples(count).convert_to::<Writable>(HOST).unwrap()
}
