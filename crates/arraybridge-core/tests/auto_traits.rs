//! What may cross threads, and how large what is passed around is: checked when this compiles.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;
use std::error::Error as StdError;

use arraybridge_core::dlpack::{DlpackDevice, DlpackPayload, DlpackStream};
use arraybridge_core::*;
use arraybridge_testkit::mock::Wrapping;

/// Checks that every type has all bounds.
macro_rules! all {
    ($bounds:tt => $($type:ty),+ $(,)?) => {$( all!(@one $bounds $type); )+};
    (@one [$($bound:tt)+] $type:ty) => {
        const _: fn() = || {
            fn check<T: ?Sized + $($bound)+>() {}
            check::<$type>();
        };
    };
}

/// Checks that no type has a bound: if one had it, the method would be ambiguous.
macro_rules! none {
    ($bound:path => $($type:ty),+ $(,)?) => {$(
        const _: fn() = || {
            trait Ambiguous<A> {
                fn check() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct HasBound;
            impl<T: ?Sized + $bound> Ambiguous<HasBound> for T {}
            <$type as Ambiguous<_>>::check();
        };
    )+};
}

all!([Send + Sync + Copy] => Device, DeviceName, DType, Mechanism, CopyPolicy, Access, Decline, Plan);
all!([Send + Sync + Copy] => DeclineReason, Declaration, Library, DlpackDevice, DlpackStream);
all!([Send + Sync] => HostArray, Layout, Owner, Description, AxisSlice, KnownLibrary, Availability);
all!([Send + Sync] => ConversionCounters, CounterRow, ObserverScope, FanOut, Observed<()>);
all!([Send + Sync] => HostView<'static>, ConversionRecord<'static>, dyn ConversionObserver);
all!([Send] => AnyArray, DlpackPayload, Obstacle);
// Errors go everywhere, also with an array that is only `Send`, which they do not lend.
all!([StdError + Send + Sync] => Error, ConversionError<AnyArray>, ConversionError<Cell<u8>>);

// Some libraries' arrays belong to one thread at a time.
none!(Sync => AnyArray, DlpackPayload);
none!(Send => ConversionError<*const u8>);
none!(Sync => ConversionError<*const u8>);
// Guards restore something of the thread that made them.
none!(Send => ObserverGuard, DeviceScope);
none!(Sync => ObserverGuard, DeviceScope);
// Arrays have one owner; a second one is asked for by name.
none!(Clone => AnyArray, DlpackPayload);

/// Every role, and the observer, can be a trait object.
const _: fn() = || {
    #[allow(clippy::too_many_arguments, reason = "one for each trait")]
    fn objects<L: ArrayLibrary>(
        _: &dyn ConversionObserver,
        _: &dyn roles::DlpackExport<L>,
        _: &dyn roles::DlpackImport<L>,
        _: &dyn roles::HostShare<L>,
        _: &dyn roles::HostVisible<L>,
        _: &dyn roles::DeviceMove<L>,
        _: &dyn roles::Duplicate<L>,
        _: &dyn roles::Accelerator,
        _: &dyn ops::ArrayOps<L>,
        _: &dyn ops::ArrayMath<L>,
    ) {
    }
    let _ = objects::<Wrapping>;
};

#[test]
fn an_owner_of_something_that_is_only_send_may_be_dropped_elsewhere() {
    let owner = Owner::new(Cell::new(1));
    let handle = owner.clone();
    std::thread::spawn(move || drop(handle)).join().unwrap();
    assert_eq!(owner.into_inner::<Cell<i32>>().unwrap().get(), 1);
}

/// The sizes of what conversions return: a regression here is paid for in every call.
#[test]
fn results_are_small() {
    assert_eq!(size_of::<AnyArray>(), 4 * size_of::<usize>());
    assert_eq!(size_of::<ConversionError<AnyArray>>(), size_of::<usize>());
    assert_eq!(size_of::<Library>(), 2 * size_of::<usize>());
    assert!(size_of::<Device>() <= 24);
    assert!(size_of::<Error>() <= 88, "{}", size_of::<Error>());
    assert!(size_of::<Obstacle>() <= size_of::<Error>() + 8);
    assert!(size_of::<HostArray>() <= 128, "{}", size_of::<HostArray>());
    let result = size_of::<Result<AnyArray, ConversionError<AnyArray>>>();
    assert_eq!(result, size_of::<AnyArray>());
}

fn refused() -> Result<Device, Error> {
    "gpu".parse()
}

fn with_array() -> Result<(), ConversionError<Vec<u8>>> {
    HostArray::from_vec(vec![1u8], &[2]).map(drop)
}

#[test]
fn errors_convert_with_a_question_mark() {
    fn boxed() -> Result<(), Box<dyn StdError + Send + Sync>> {
        with_array()?;
        refused()?;
        Ok(())
    }
    fn boxed_with_any_array() -> Result<(), Box<dyn StdError + Send + Sync>> {
        let error = Error::AxisOutOfRange { axis: 2, rank: 1 };
        Err(ConversionError::new(error, None::<AnyArray>))?
    }
    fn any() -> anyhow::Result<()> {
        refused()?;
        Ok(())
    }
    fn any_with_array() -> anyhow::Result<()> {
        Ok(with_array()?)
    }
    fn plain() -> Result<(), Error> {
        with_array()?;
        Ok(())
    }
    let mismatch = "array from vector: expected shape [2], found [1]";
    assert_eq!(boxed().unwrap_err().to_string(), mismatch);
    let axis = "axis 2 is out of range for an array of 1 axes";
    assert_eq!(boxed_with_any_array().unwrap_err().to_string(), axis);
    assert_eq!(plain().unwrap_err().to_string(), mismatch);
    assert_eq!(any_with_array().unwrap_err().to_string(), mismatch);
    let label = "`gpu` is not a device; expected `host`, `accelerator:N` or `device:NAME`";
    let error = any().unwrap_err();
    assert_eq!(error.to_string(), label);
    assert!(matches!(error.downcast_ref(), Some(Error::InvalidLabel { what: "device", .. })));
}

fn full() -> Error {
    Error::OutOfMemory {
        library: "torch",
        device: Device::Accelerator(0),
        requested: Some(1 << 30),
        available: None,
    }
}

#[test]
fn causes_are_told_once() {
    let native = Error::foreign("torch", "import", "the driver's own words");
    let error = ConversionError::new(native, None::<AnyArray>);
    let chain: Vec<String> = anyhow::Error::from(error).chain().map(|e| e.to_string()).collect();
    assert_eq!(chain, ["torch failed in import", "the driver's own words"]);
}

/// A user's closure may box the error of a conversion; a retry must still see why it failed.
#[test]
fn out_of_memory_is_found_through_every_wrapper() {
    #[derive(Debug, thiserror::Error)]
    #[error("the user's own")]
    struct Users(#[source] BoxError);

    let conversion = || ConversionError::new(full(), Some(Cell::new(1)));
    let foreign = |inner: BoxError| Error::foreign("torch", "a call", inner);
    assert!(full().is_out_of_memory());
    assert!(foreign(Box::new(full())).is_out_of_memory());
    assert!(foreign(Box::new(conversion())).is_out_of_memory());
    assert!(foreign(Box::new(Users(Box::new(conversion())))).is_out_of_memory());
    assert!(!foreign("out of patience".into()).is_out_of_memory());
}
