//! What the parts of a server send each other, and their answers to whoever asked.
//!
//! **Invariant:** whoever asks is answered once, as long as the process runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use seriatim_node::parts::{Caller, DirectoryMailbox, Mailbox, ReplyTo, ToDirectory, ToPartition};
use seriatim_node::{Partition, Reply};
use seriatim_types::PartitionRef;

use super::Address;

/// Who asks something.
#[derive(Debug, Clone)]
pub(crate) enum Asker {
    /// A client, over which connection and by which number.
    Client {
        connection: u64,
        id: u64,
        asked: usize,
        partition: PartitionRef,
        /// Where it comes among all that have arrived.
        arrived: u64,
        /// The generation of a command of a stream.
        generation: Option<u64>,
    },
    /// Whoever defines things.
    Definer {
        number: u64,
    },
    Nobody,
}

/// The way back to whoever asks.
pub(crate) struct Handle {
    asker: Option<Asker>,
    mail: Weak<Mutex<Mail>>,
}

/// What is sent and not received.
#[derive(Default)]
pub(super) struct Mail {
    /// Partitions that the directory has started.
    pub(super) started: Vec<Started>,
    pub(super) to_partitions: VecDeque<(PartitionRef, ToPartition<Handle>)>,
    pub(super) to_directory: VecDeque<ToDirectory<Handle>>,
    pub(super) answers: Vec<(Asker, Reply)>,
    /// Who was not answered, and never will be.
    pub(super) dropped: Vec<Asker>,
    /// Whether nothing is started any more.
    pub(super) is_ending: bool,
}

/// A partition that was started.
type Started = (PartitionRef, Partition<ReplyTo<Handle>>, Address);

/// The mail of a process.
pub(super) struct Post(Arc<Mutex<Mail>>);

/// The same, for whoever does not outlive the process.
pub(super) struct WeakPost(Weak<Mutex<Mail>>);

impl Post {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }

    pub(super) fn mail(&self) -> MutexGuard<'_, Mail> {
        lock(&self.0)
    }

    pub(super) fn handle(&self, asker: Asker) -> Handle {
        Handle { asker: Some(asker), mail: Arc::downgrade(&self.0) }
    }

    pub(super) fn downgrade(&self) -> WeakPost {
        WeakPost(Arc::downgrade(&self.0))
    }

    /// The mailbox of the directory.
    pub(super) fn directory(&self) -> DirectoryMailbox<Handle> {
        let mail = Arc::downgrade(&self.0);
        Arc::new(move |message| {
            if let Some(mail) = mail.upgrade() {
                lock(&mail).to_directory.push_back(message);
            }
        })
    }
}

impl WeakPost {
    /// Starts a partition. Once the process ends, none is started.
    pub(super) fn start(
        &self,
        name: PartitionRef,
        partition: Partition<ReplyTo<Handle>>,
    ) -> Address {
        let mail = self.0.upgrade().expect("the directory is a part of the process");
        let is_ending = lock(&mail).is_ending;
        let to = if is_ending { Weak::new() } else { self.0.clone() };
        let mailbox: Mailbox<Handle> = Arc::new(move |message| match to.upgrade() {
            Some(mail) => {
                lock(&mail).to_partitions.push_back((name, message));
                Ok(())
            }
            None => Err(Box::new(message)),
        });
        let state = partition.state();
        let address = seriatim_node::parts::Address::new(name, state, mailbox, &Arc::default());
        if is_ending {
            address.shared().end();
        } else {
            lock(&mail).started.push((name, partition, address.clone()));
        }
        address
    }
}

impl Caller for Handle {
    fn answer(mut self, reply: Reply) {
        if let (Some(asker), Some(mail)) = (self.asker.take(), self.mail.upgrade()) {
            lock(&mail).answers.push((asker, reply));
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let (Some(asker), Some(mail)) = (self.asker.take(), self.mail.upgrade()) {
            lock(&mail).dropped.push(asker);
        }
    }
}

fn lock(mail: &Mutex<Mail>) -> MutexGuard<'_, Mail> {
    mail.lock().unwrap_or_else(PoisonError::into_inner)
}
