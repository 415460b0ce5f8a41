//! An observer that goes with a future, on whichever threads it is polled.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::ObserverScope;

pin_project! {
    /// A future that is polled under the observer that was current when it was wrapped; made by
    /// [`observe`] and [`ObserveFuture::observed`].
    ///
    /// Between polls the observer is not installed, so it sees nothing of other tasks that share the
    /// thread.
    #[derive(Clone, Debug)]
    #[must_use = "a future does nothing unless it is polled"]
    pub struct Observed<F> {
        scope: ObserverScope,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Observed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _guard = this.scope.enter();
        this.future.poll(context)
    }
}

/// Wraps a future, so that every poll of it runs under this thread's current observer. Without an
/// observer the future is polled as it is.
///
/// ```
/// use arraybridge_core::{ConversionCounters, observe};
///
/// let counters = ConversionCounters::new();
/// let task = {
///     let _watch = counters.install();
///     observe(async { /* convert here, on any thread of an executor */ })
/// };
/// ```
pub fn observe<F: Future>(future: F) -> Observed<F> {
    Observed { scope: ObserverScope::current(), future }
}

/// [`observe`] as a method of futures.
pub trait ObserveFuture: Future + Sized {
    /// Wraps the future, so that every poll of it runs under this thread's current observer.
    fn observed(self) -> Observed<Self> {
        observe(self)
    }
}

impl<F: Future> ObserveFuture for F {}
