//! Panics where they hurt: in a C deleter, in an observer, in a library in the middle of a
//! conversion.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arraybridge::dlpack::{DlpackDevice, DlpackPayload};
use arraybridge::ndarray::{NdArray, Ndarray};
use arraybridge::{
    Access, ConversionRecord, Convert, DType, HOST, HostArray, Layout, ObserverScope, Owner,
    install, library, register,
};
use arraybridge_tests::Frozen;

/// Panics when it is dropped, with another of its kind, as often as [`FUSE`] says. It has no size,
/// so that one which is leaked leaks nothing.
struct Bomb;

thread_local! {
    static FUSE: Cell<u32> = const { Cell::new(0) };
}

impl Drop for Bomb {
    fn drop(&mut self) {
        let left = FUSE.get();
        if left > 0 {
            FUSE.set(left - 1);
            // Without the hook, which would print.
            resume_unwind(Box::new(Bomb));
        }
    }
}

#[test]
fn an_owner_that_panics_in_a_c_deleter_does_not_unwind_into_c() {
    let layout = Layout::row_major(&[0]).unwrap();
    // SAFETY: there are no elements.
    let payload = unsafe {
        DlpackPayload::new(
            Owner::new(Bomb),
            std::ptr::null_mut(),
            0,
            DType::U8,
            layout,
            DlpackDevice::CPU,
            Access::Exclusive,
        )
    };
    let tensor = payload.unwrap().into_versioned().unwrap();
    // SAFETY: the tensor was just exported.
    let imported = unsafe { DlpackPayload::from_versioned(tensor, Access::Exclusive) };
    // Once for the owner, once for what that throws.
    FUSE.set(2);
    drop(imported.unwrap());
    assert_eq!(FUSE.replace(0), 1);
}

#[test]
fn an_owner_that_panics_leaves_the_new_array_behind() {
    let memory: &'static [u8] = &[1, 2, 3];
    let layout = Layout::row_major(&[3]).unwrap();
    // SAFETY: a static slice that nobody writes.
    let array = unsafe {
        HostArray::from_raw(
            Owner::new(Bomb),
            memory.as_ptr().cast_mut(),
            DType::U8,
            layout,
            Access::Immutable,
        )
    };
    let mut array = array.unwrap();
    FUSE.set(1);
    let thrown = catch_unwind(AssertUnwindSafe(|| array.make_mut()));
    assert!(thrown.is_err());
    assert_eq!(array.as_slice_mut::<u8>().unwrap(), [1, 2, 3]);
}

fn array() -> NdArray {
    NdArray::from_host(HostArray::from_vec(vec![1.0f32, 2.0], &[2]).unwrap())
}

#[test]
fn an_observer_that_panics_unwinds_through_its_conversion_alone() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let guard = install(Arc::new(move |_: &ConversionRecord<'_>| {
        if seen.fetch_add(1, Ordering::SeqCst) == 0 {
            panic_any("observer");
        }
    }));
    let thrown = catch_unwind(|| array().convert_to::<Frozen>(HOST).map(drop).is_ok());
    assert!(thrown.is_err());
    // The next conversion is observed as if nothing had been.
    assert_eq!(array().convert_to::<Frozen>(HOST).unwrap().elements::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    drop(guard);
    array().convert_to::<Frozen>(HOST).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_scope_ends_when_its_body_panics() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let scope = {
        let _guard = install(Arc::new(move |_: &ConversionRecord<'_>| {
            seen.fetch_add(1, Ordering::SeqCst);
        }));
        ObserverScope::current()
    };
    let thrown = catch_unwind(AssertUnwindSafe(|| {
        scope.run(|| {
            array().convert_to::<Frozen>(HOST).unwrap();
            panic_any("body");
        });
    }));
    assert!(thrown.is_err());
    array().convert_to::<Frozen>(HOST).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn observers_come_and_go_while_a_thread_ends() {
    struct AtTheEnd;
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            let _guard = install(Arc::new(|_: &ConversionRecord<'_>| {}));
            let there = array().convert_to::<Frozen>(HOST).unwrap();
            there.convert_to::<Ndarray>(HOST).unwrap();
        }
    }
    thread_local! {
        static END: AtTheEnd = const { AtTheEnd };
    }
    for installed_before in [false, true] {
        let thread = std::thread::spawn(move || {
            // Thread-locals are dropped in the order in which they came to be, or in reverse.
            let early = installed_before.then(|| install(Arc::new(|_: &ConversionRecord<'_>| {})));
            END.with(|_| ());
            drop(early);
            array().convert_to::<Frozen>(HOST).unwrap();
        });
        thread.join().unwrap();
    }
}

#[test]
fn a_panic_while_looking_up_a_library_breaks_no_lock() {
    register::<Frozen>();
    let thread = std::thread::spawn(|| {
        let _found = library("frozen").unwrap();
        resume_unwind(Box::new("thread"));
    });
    assert!(thread.join().is_err());
    assert!(library("frozen").is_ok());
}
