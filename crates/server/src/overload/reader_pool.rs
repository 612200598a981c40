//! The threads that reads run on.
//!
//! They are fewer than the runtime's own blocking threads, of which there may be 512. Each thread that has
//! built a large answer keeps a few megabytes of freed memory in its allocator's cache, and reads gain
//! nothing from more threads than there are cores and disk requests to serve.

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;

/// Threads that read at the same time.
const THREADS_MAX: usize = 32;

/// How much of the stack a read may use. Nothing recurses deeply: JSON is copied and not parsed.
const STACK_BYTES: usize = 1024 * 1024;

/// A bounded number of threads for reads.
pub(crate) struct ReaderPool {
    /// Used for its blocking threads alone. `None` once it ends.
    runtime: Option<Runtime>,
    turns: Semaphore,
}

impl ReaderPool {
    pub(crate) fn new() -> std::io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        builder.thread_name("reader").thread_stack_size(STACK_BYTES);
        let runtime = Some(builder.max_blocking_threads(THREADS_MAX).build()?);
        Ok(Self { runtime, turns: Semaphore::new(THREADS_MAX) })
    }

    /// A turn to read, first come, first served. It is taken last, so that nobody has one and waits
    /// for something else; and a client that leaves while it waits leaves nothing to be read.
    pub(crate) async fn turn(&self) -> SemaphorePermit<'_> {
        self.turns.acquire().await.expect("turns are never closed")
    }

    /// Reads on a thread that may wait.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.as_ref().expect("there until it is dropped").spawn_blocking(read)
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        // It is dropped on an async thread, which must not wait for reads that go on.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
