//! The mocks that are meant to conform do; the suite runs, skipping, where a runtime is absent too.

macro_rules! conforming {
    ($($module:ident: $library:ident),+ $(,)?) => {$(
        mod $module {
            use arraybridge_testkit::mock::$library;

            arraybridge_testkit::conformance!($library);
        }
    )+};
}

conforming! {
    wrapping: Wrapping,
    accelerated: Accelerated,
    accelerator_only: AcceleratorOnly,
    named_device: NamedDevice,
    immutable: Immutable,
    shared_storage: SharedStorage,
    declining: Declining,
    absent: Absent,
}
