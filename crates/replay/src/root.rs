//! The root future of a run: code is called when it is polled first, not before.
//!
//! **Invariant:** the function that makes the future runs inside of the machine too, so that what
//! it creates is matched, and a panic in it is caught.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use crate::{Context, End};

/// Code that has not been called, or its future.
enum Root<C, F> {
    NotCalled(Option<(Context, C)>),
    Called(Pin<Box<F>>),
}

pub(crate) fn root<C, F>(context: Context, code: C) -> Pin<Box<dyn Future<Output = End>>>
where
    C: FnOnce(Context) -> F + 'static,
    F: Future<Output = End> + 'static,
{
    Box::pin(Root::NotCalled(Some((context, code))))
}

// The future is pinned in a box of its own, and the closure is never pinned.
impl<C, F> Unpin for Root<C, F> {}

impl<C, F> Future for Root<C, F>
where
    C: FnOnce(Context) -> F,
    F: Future<Output = End>,
{
    type Output = End;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<End> {
        if let Self::NotCalled(code) = &mut *self {
            let (context, code) = code.take().expect("a root that panicked is not polled again");
            *self = Self::Called(Box::pin(code(context)));
        }
        let Self::Called(future) = &mut *self else { return Poll::Pending };
        future.as_mut().poll(cx)
    }
}
