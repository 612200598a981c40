//! Futures that await several others, polled in the order given.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(crate) type Branch<T> = Pin<Box<dyn Future<Output = T>>>;

/// The first of several that is ready, by its index. The others are dropped.
pub(crate) struct Race<T>(pub(crate) Vec<Branch<T>>);

/// All of several.
pub(crate) struct All<T> {
    branches: Vec<Option<Branch<T>>>,
    results: Vec<Option<T>>,
}

impl<T> All<T> {
    pub(crate) fn of(branches: Vec<Branch<T>>) -> Self {
        let results = branches.iter().map(|_| None).collect();
        Self { branches: branches.into_iter().map(Some).collect(), results }
    }
}

impl<T> Future for Race<T> {
    type Output = (usize, T);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(usize, T)> {
        let mut branches = self.0.iter_mut().enumerate();
        let ready = branches.find_map(|(index, branch)| match branch.as_mut().poll(cx) {
            Poll::Ready(value) => Some((index, value)),
            Poll::Pending => None,
        });
        match ready {
            Some(ready) => {
                self.0.clear();
                Poll::Ready(ready)
            }
            None => Poll::Pending,
        }
    }
}

impl<T: Unpin> Future for All<T> {
    type Output = Vec<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Vec<T>> {
        let this = &mut *self;
        for (branch, result) in this.branches.iter_mut().zip(&mut this.results) {
            let polled = branch.as_mut().map(|it| it.as_mut().poll(cx));
            if let Some(Poll::Ready(value)) = polled {
                *branch = None;
                *result = Some(value);
            }
        }
        if this.branches.iter().any(Option::is_some) {
            return Poll::Pending;
        }
        Poll::Ready(this.results.drain(..).flatten().collect())
    }
}
