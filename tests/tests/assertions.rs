//! What the public types promise to threads and trait objects, checked by the compiler.

#![allow(clippy::too_many_arguments)]

use std::cell::Cell;

use arraybridge::ndarray::{NdArray, Ndarray};
use arraybridge::{
    AnyArray, ConversionError, ConversionObserver, ConversionRecord, Declaration, Description,
    Device, DeviceScope, Error, HostArray, HostView, KnownLibrary, Layout, Library, ObserverGuard,
    ObserverScope, Owner, Plan, dlpack::DlpackPayload, roles,
};

/// Fails to compile unless the type does *not* have the trait: two impls would then apply.
macro_rules! assert_not {
    ($trait:path: $($type:ty),+ $(,)?) => {$(
        const _: fn() = || {
            trait Ambiguous<A> {
                fn check() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Has;
            impl<T: ?Sized + $trait> Ambiguous<Has> for T {}
            <$type as Ambiguous<_>>::check();
        };
    )+};
}

macro_rules! assert_is {
    ($($bound:tt)+) => {
        const _: fn() = || {
            fn check<T: ?Sized + $($bound)+>() {}
            checked!(check);
        };
    };
}

macro_rules! shared_between_threads {
    ($($type:ty),+ $(,)?) => {
        macro_rules! checked {
            ($check:ident) => { $($check::<$type>();)+ };
        }
        assert_is!(Send + Sync);
    };
}

shared_between_threads!(
    HostArray,
    HostView<'static>,
    Owner,
    NdArray,
    Layout,
    Device,
    Error,
    Library,
    Declaration,
    Description,
    KnownLibrary,
    Plan,
    ObserverScope,
    // An error carries its array, whatever that is, and is still an error for `anyhow`.
    ConversionError<AnyArray>,
    ConversionError<NdArray>,
    ConversionError<Cell<u8>>,
    ConversionRecord<'static>,
);

const _: fn() = || {
    fn sent<T: Send>() {}
    sent::<AnyArray>();
    sent::<DlpackPayload>();
};

assert_not!(Sync: AnyArray, DlpackPayload, ObserverGuard, DeviceScope);
assert_not!(Send: ObserverGuard, DeviceScope);

/// Every role, and the observer, can be a trait object.
const _: fn() = || {
    fn objects(
        _: &dyn ConversionObserver,
        _: &dyn roles::DlpackExport<Ndarray>,
        _: &dyn roles::DlpackImport<Ndarray>,
        _: &dyn roles::HostShare<Ndarray>,
        _: &dyn roles::HostVisible<Ndarray>,
        _: &dyn roles::DeviceMove<Ndarray>,
        _: &dyn roles::Duplicate<Ndarray>,
        _: &dyn roles::Accelerator,
        _: &dyn arraybridge::ops::ArrayOps<Ndarray>,
        _: &dyn arraybridge::ops::ArrayMath<Ndarray>,
    ) {
    }
    let _ = objects;
};

#[test]
fn an_error_of_any_array_goes_into_a_boxed_error() {
    fn fails() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let error = Error::AxisOutOfRange { axis: 2, rank: 1 };
        Err(ConversionError::new(error, None::<AnyArray>))?
    }
    assert_eq!(fails().unwrap_err().to_string(), "axis 2 is out of range for an array of 1 axes");
}
