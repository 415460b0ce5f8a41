//! Who sees which conversions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod records_mock;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use arraybridge_core::{
    ConversionCounters, ConversionObserver, ConversionRecord, FanOut, ObserveFuture, ObserverScope,
    install, observe,
};

use records_mock::convert;

fn seen(counters: &ConversionCounters) -> u64 {
    counters.totals().conversions
}

#[test]
fn an_inner_observer_replaces_the_outer_one_for_its_block() {
    let (outer, inner) = (ConversionCounters::new(), ConversionCounters::new());
    let _outer = outer.install();
    convert(1);
    {
        let _inner = inner.install();
        convert(2);
        convert(3);
    }
    convert(4);
    assert_eq!((seen(&outer), seen(&inner)), (2, 2));
    assert_eq!((outer.totals().nbytes, inner.totals().nbytes), (4 + 16, 8 + 12));
}

#[test]
fn guards_dropped_out_of_order_restore_the_observer_that_is_left() {
    let [first, second, third] = [(); 3].map(|()| ConversionCounters::new());
    let first_guard = first.install();
    let second_guard = second.install();
    let third_guard = third.install();
    drop(second_guard);
    convert(1);
    assert_eq!([seen(&first), seen(&second), seen(&third)], [0, 0, 1]);
    drop(third_guard);
    convert(1);
    assert_eq!([seen(&first), seen(&second), seen(&third)], [1, 0, 1]);
    drop(first_guard);
    convert(1);
    assert_eq!([seen(&first), seen(&second), seen(&third)], [1, 0, 1]);
}

#[test]
fn the_same_counters_may_be_installed_twice() {
    let counters = ConversionCounters::new();
    let outer = counters.install();
    let inner = counters.install();
    convert(1);
    drop(outer);
    convert(1);
    drop(inner);
    convert(1);
    assert_eq!(seen(&counters), 2);
}

#[test]
fn a_new_thread_has_no_observer_until_one_is_carried_there() {
    let counters = ConversionCounters::new();
    let _watch = counters.install();
    thread::spawn(|| convert(1)).join().unwrap();
    assert_eq!(seen(&counters), 0);

    let scope = ObserverScope::current();
    thread::spawn(move || {
        scope.run(|| convert(1));
        convert(1);
        let _guard = scope.enter();
        convert(1);
    })
    .join()
    .unwrap();
    assert_eq!(seen(&counters), 2);
}

#[test]
fn a_scope_without_an_observer_leaves_the_one_that_is_there() {
    let empty = ObserverScope::current();
    let counters = ConversionCounters::new();
    let _watch = counters.install();
    assert!(empty.enter().is_none());
    empty.run(|| convert(1));
    assert_eq!(seen(&counters), 1);
}

#[test]
fn closures_observe_and_see_every_field() {
    let texts = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&texts);
    let guard = install(Arc::new(move |record: &ConversionRecord<'_>| {
        let ConversionRecord { source_library, source_device, nbytes, copied, .. } = *record;
        sink.lock().unwrap().push(format!(
            "{source_library} {source_device} {} {} {} {copied} {nbytes} {} {}",
            record.target_library,
            record.target_device,
            record.mechanism,
            record.declined.len(),
            record.seconds >= 0.0,
        ));
    }));
    convert(16);
    drop(guard);
    convert(16);
    let expected = "frozen host writable host shared host buffer false 64 0 true";
    assert_eq!(*texts.lock().unwrap(), [expected]);
}

#[test]
fn a_fan_out_hands_records_to_all_and_adds_to_the_outer_observer() {
    let (outer, inner) = (ConversionCounters::new(), ConversionCounters::new());
    let _outer = outer.install();
    {
        let both = FanOut::new()
            .with(Arc::new(ObserverScope::current()))
            .with(Arc::new(inner.clone()))
            .with(Arc::new(inner.clone()));
        let _inner = install(Arc::new(both));
        convert(1);
    }
    convert(1);
    assert_eq!((seen(&outer), seen(&inner)), (2, 2));
}

fn panics(_: &ConversionRecord<'_>) {
    panic!("observer");
}

#[test]
fn an_observer_that_panics_stays_installed_and_breaks_nothing() {
    let counters = ConversionCounters::new();
    let _outer = counters.install();
    {
        let _inner = install(Arc::new(panics));
        assert!(catch_unwind(|| convert(1)).is_err());
        // It is called again: the thread did not stay marked as recording.
        assert!(catch_unwind(|| convert(1)).is_err());
    }
    convert(1);
    assert_eq!(seen(&counters), 1);
}

#[test]
fn a_panic_in_a_fan_out_keeps_the_record_from_no_other_observer() {
    let counters = ConversionCounters::new();
    let both = FanOut::new().with(Arc::new(panics)).with(Arc::new(counters.clone()));
    let _watch = install(Arc::new(both));
    let caught = catch_unwind(|| convert(1)).unwrap_err();
    assert_eq!(caught.downcast_ref(), Some(&"observer"));
    assert_eq!(seen(&counters), 1);
}

#[test]
fn a_panic_between_install_and_drop_removes_the_observer() {
    let counters = ConversionCounters::new();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let _watch = counters.install();
        convert(1);
        panic!("between");
    }));
    assert!(result.is_err());
    convert(1);
    assert_eq!(seen(&counters), 1);
}

/// Converts in `record`, on this thread and on another, and installs observers there.
struct Converting(ConversionCounters);

impl ConversionObserver for Converting {
    fn record(&self, record: &ConversionRecord<'_>) {
        self.0.record(record);
        convert(1000);
        let _inner = self.0.install();
        convert(1000);
        let scope = ObserverScope::current();
        thread::spawn(move || scope.run(|| convert(1000))).join().unwrap();
    }
}

#[test]
fn conversions_that_an_observer_makes_are_seen_by_none() {
    let counters = ConversionCounters::new();
    let _watch = install(Arc::new(Converting(counters.clone())));
    convert(1);
    assert_eq!((seen(&counters), counters.totals().nbytes), (1, 4));
    convert(1);
    assert_eq!(seen(&counters), 2);
}

/// Pending on every other poll.
struct Twice<F>(F, bool);

impl<F: FnMut() + Unpin> Future for Twice<F> {
    type Output = &'static str;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<&'static str> {
        (self.0)();
        self.1 = !self.1;
        if self.1 { Poll::Pending } else { Poll::Ready("done") }
    }
}

#[test]
fn a_wrapped_future_is_polled_under_its_observer_wherever_it_is_polled() {
    let (counters, other) = (ConversionCounters::new(), ConversionCounters::new());
    let mut task = {
        let _watch = counters.install();
        Box::pin(observe(Twice(|| drop(convert(1)), false)))
    };
    let mut context = Context::from_waker(Waker::noop());

    let _other = other.install();
    assert!(task.as_mut().poll(&mut context).is_pending());
    // Between polls the observer is gone.
    convert(1);
    assert_eq!((seen(&counters), seen(&other)), (1, 1));

    let done = thread::spawn(move || {
        let mut context = Context::from_waker(Waker::noop());
        let done = task.as_mut().poll(&mut context);
        convert(1);
        done
    });
    assert_eq!(done.join().unwrap(), Poll::Ready("done"));
    assert_eq!((seen(&counters), seen(&other)), (2, 1));
}

#[test]
fn a_future_that_panics_removes_its_observer() {
    let counters = ConversionCounters::new();
    let mut task = {
        let _watch = counters.install();
        Box::pin(async { panic!("in a poll") }.observed())
    };
    let mut context = Context::from_waker(Waker::noop());
    let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut context)));
    assert!(polled.is_err());
    convert(1);
    assert_eq!(seen(&counters), 0);
}
