//! What conversions and observers allocate, counted by the allocator.

#![allow(clippy::unwrap_used, reason = "tests")]

mod records_mock;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use arraybridge_core::{
    ArrayLibrary, ConversionCounters, Convert, DType, Declaration, HOST, HostArray, Plan, observe,
    plan, register,
};

use records_mock::{Copier, Frozen, FrozenArray, Writable, convert, frozen, samples};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // Allocations while a thread ends are nobody's.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns how often this thread allocates while `body` runs.
fn allocations<R>(body: impl FnOnce() -> R) -> (R, u64) {
    let before = ALLOCATIONS.get();
    let result = black_box(body());
    (result, ALLOCATIONS.get() - before)
}

#[test]
fn the_counter_counts() {
    let (_, count) = allocations(|| (Box::new(1), vec![1u8; 10]));
    assert_eq!(count, 2);
}

#[test]
fn a_typed_conversion_without_a_copy_allocates_at_most_twice() {
    let native = samples(1 << 20);
    let address = native.0.as_ptr() as usize;
    let (array, count) = allocations(|| native.convert_to::<Writable>(HOST).unwrap());
    assert_eq!(array.address(), address);
    assert!(count <= 2, "{count} allocations");
}

#[test]
fn what_a_conversion_allocates_does_not_grow_with_the_array() {
    let counts = [16, 1 << 20].map(|length| {
        let native = samples(length);
        allocations(|| native.convert_to::<Writable>(HOST).unwrap()).1
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn between_library_arrays_a_conversion_allocates_nothing_itself() {
    let array = frozen(100);
    let (_, count) = allocations(|| array.convert_to::<Writable>(HOST).unwrap());
    assert_eq!(count, 0);
}

#[test]
fn a_copy_allocates_its_memory_and_the_owner_of_it() {
    let array = frozen(1000);
    let shared = array.alias();
    let (_, once) = allocations(|| HostArray::scratch(DType::F32, &[1000]).unwrap());
    let (_, count) = allocations(|| shared.convert_to::<Writable>(HOST).unwrap());
    assert!(count <= once, "{count} allocations, {once} for one array");
}

#[test]
fn plans_allocate_nothing() {
    register::<Frozen>();
    register::<Writable>();
    let (_, count) = allocations(|| plan("frozen", HOST, "writable", HOST).unwrap());
    assert_eq!(count, 0);
    let between = || {
        let (source, target) = (Declaration::of::<Frozen>(), Declaration::of::<Copier>());
        Plan::between(source, HOST, target, HOST).unwrap()
    };
    assert_eq!(allocations(between).1, 0);
}

#[test]
fn counters_allocate_for_a_key_once() {
    let counters = ConversionCounters::new();
    let watch = counters.install();
    // A copy, so that the key holds a decline too.
    let array = frozen(10);
    let handles: Vec<FrozenArray> = (0..3).map(|_| array.alias()).collect();
    let counts: Vec<u64> = handles
        .into_iter()
        .map(|handle| allocations(|| handle.convert_to::<Writable>(HOST).unwrap()).1)
        .collect();
    assert!(counts[0] > counts[1] && counts[1] == counts[2], "{counts:?}");
    drop(watch);
    let unobserved = array.alias();
    let (_, without) = allocations(|| unobserved.convert_to::<Writable>(HOST).unwrap());
    assert_eq!(counts[1], without);
    assert_eq!(counters.totals().conversions, 3);
}

#[test]
fn polls_of_a_wrapped_future_allocate_nothing() {
    let counters = ConversionCounters::new();
    let watch = counters.install();
    let array = convert(1);
    let mut task = pin!(observe(std::future::pending::<()>()));
    drop(watch);
    let mut context = Context::from_waker(Waker::noop());
    let mut poll = || task.as_mut().poll(&mut context);
    assert_eq!(poll(), Poll::Pending);
    assert_eq!(allocations(&mut poll), (Poll::Pending, 0));
    assert_eq!(Writable::INSTANCE.describe(&array).unwrap().device, HOST);
}

#[test]
fn installing_allocates_one_handle() {
    let counters = ConversionCounters::new();
    drop(counters.install());
    assert_eq!(allocations(|| counters.install()).1, 1);
}
