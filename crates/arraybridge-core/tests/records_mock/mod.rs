//! Libraries in main memory for the tests of records: each wraps a `HostArray` in a type of its own.
#![allow(dead_code, reason = "each test binary uses a part")]

use arraybridge_core::roles::{Duplicate, HostOffer, HostShare};
use arraybridge_core::{
    Access, ArrayLibrary, Availability, Convert, DeclineReason, Description, Device, DeviceKinds,
    Error, HOST, HostArray, NativeArray, Obstacle, Owner,
};

/// Declares a library of main memory, whose `adopt` is given.
macro_rules! library {
    ($(#[$doc:meta])* $library:ident, $array:ident, $name:literal, shares: $shares:literal, $adopt:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $library;

        #[derive(Debug)]
        pub(crate) struct $array(pub(crate) HostArray);

        impl ArrayLibrary for $library {
            type Array = $array;
            const INSTANCE: &'static Self = &$library;
            const NAME: &'static str = $name;
            const KINDS: DeviceKinds = DeviceKinds::HOST;

            fn availability(&self) -> Availability {
                Availability::Available
            }

            fn devices(&self) -> Result<Vec<Device>, Error> {
                Ok(vec![HOST])
            }

            fn has_device(&self, device: Device) -> Result<bool, Error> {
                Ok(device.is_host())
            }

            fn describe(&self, array: &$array) -> Result<Description, Error> {
                let host = &array.0;
                Ok(Description::new(host.dtype(), host.layout().clone(), HOST, host.address()))
            }

            fn download(&self, array: &$array) -> Result<HostArray, Error> {
                if $shares { Ok(array.0.clone()) } else { array.0.gather() }
            }

            fn upload(&self, array: &HostArray, _: Device) -> Result<$array, Error> {
                array.gather().map($array)
            }

            fn host_share(&self) -> Option<&dyn HostShare<Self>> {
                Some(self)
            }

            fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
                Some(self)
            }
        }

        impl HostShare<$library> for $library {
            fn kinds(&self) -> DeviceKinds {
                DeviceKinds::HOST
            }

            fn lend(&self, slot: &mut Option<$array>) -> Result<HostArray, Obstacle> {
                let missing = Error::Unsupported {
                    library: $name,
                    operation: "lending",
                    remedy: "lend what is there",
                };
                slot.take().map(|array| array.0).ok_or(missing.into())
            }

            fn adopt(&self, offer: HostOffer, _: Device) -> Result<$array, Obstacle> {
                let adopt: fn(HostOffer) -> Result<HostArray, Obstacle> = $adopt;
                adopt(offer).map($array)
            }

            fn reclaim(&self, array: HostArray) -> Result<$array, Owner> {
                Ok($array(array))
            }
        }

        impl Duplicate<$library> for $library {
            fn shares(&self) -> bool {
                $shares
            }

            fn duplicate(&self, array: &$array) -> Result<$array, Error> {
                if $shares { Ok($array(array.0.clone())) } else { array.0.gather().map($array) }
            }
        }

        arraybridge_core::register_library!($library);
    };
}

library!(
    /// Never writes: takes any memory, and shares its own.
    Frozen, FrozenArray, "frozen", shares: true, |offer| Ok(offer.into_array())
);

library!(
    /// Writes: takes exclusive memory only.
    Writable, WritableArray, "writable", shares: false, |offer| {
        match offer.access() {
            Access::Exclusive => Ok(offer.into_array()),
            _ => Err(DeclineReason::Shared.into()),
        }
    }
);

library!(
    /// Says that it shares memory, and copies it.
    Copier, CopierArray, "copier", shares: false, |offer| Ok(offer.array().gather()?)
);

/// A foreign type of the library `Frozen`: a plain vector.
#[derive(Debug)]
pub(crate) struct Samples(pub(crate) Vec<f32>);

impl NativeArray<Frozen> for Samples {
    fn into_library(self) -> Result<FrozenArray, arraybridge_core::ConversionError<Samples>> {
        let shape = [self.0.len()];
        HostArray::from_vec(self.0, &shape)
            .map(FrozenArray)
            .map_err(|error| error.map_array(|vec| Some(Samples(vec))))
    }

    fn from_library(
        array: FrozenArray,
    ) -> Result<Samples, arraybridge_core::ConversionError<FrozenArray>> {
        array.0.into_vec().map(Samples).map_err(|array| {
            let error = Error::Unsupported {
                library: "frozen",
                operation: "vectors of this array",
                remedy: "gather it",
            };
            arraybridge_core::ConversionError::new(error, Some(FrozenArray(array)))
        })
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
