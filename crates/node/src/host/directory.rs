//! The directory: which apps and partitions there are, and what goes from one partition to another.
//!
//! ```text
//!  define ─► system partition ─► outbox ─► every partition of the app ─► "delivered" ─► system
//!                                             └ answered once all of them have applied it
//! ```
//!
//! **Invariant:** a definition is acknowledged once it holds in all partitions, also across a crash
//! in the middle: what is in the outbox is delivered again at the start.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use seriatim_codec::PartitionPrefix;
use seriatim_core::{DefineOutcome, DeliveryOutcome, Outgoing, SYSTEM_APP, system_settings};
use seriatim_planted::{self as planted, Bug};
use seriatim_storage::Schema;
use seriatim_types::{
    AppId, AppSettings, Body, Define, Incarnation, Name, PartitionId, PartitionRef,
};

use super::definitions::{Changed, Decided, Definitions, Has, made_by};
use super::events::{delivered_again, not_delivered, restarts};
use super::outbox::{After, after, outbox_of};
use super::{Address, Caller, ReplyTo, ToDirectory, ToPartition, shutting_down};
use crate::chain::Link;
use crate::partition::State;
use crate::reads::{ReadFailed, Reader};
use crate::reply::{Reply, RequestError};
use crate::settings::Settings;

/// The partition that holds the apps and their definitions.
pub const SYSTEM: PartitionRef = PartitionRef { app: SYSTEM_APP, partition: PartitionId(0) };

/// The one life of a partition's data that there is without snapshots.
const INCARNATION: Incarnation = Incarnation(1);

/// Where an app's workspaces are. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppHome {
    /// The app.
    pub app: AppId,
    /// How many partitions it has.
    pub partitions: u16,
}

/// What callers find their way by: a read-only copy of the directory.
pub struct Routes<C> {
    /// The apps, by name.
    pub apps: BTreeMap<Name, AppHome>,
    /// The partitions that run.
    pub partitions: BTreeMap<PartitionRef, Arc<Address<C>>>,
    /// Whether the partitions of all apps were started.
    pub is_resumed: bool,
}

impl<C> Routes<C> {
    /// Sends a caller's request to a partition, unless too many wait for it already.
    ///
    /// # Errors
    ///
    /// Who is to be answered at once, and what.
    pub fn send(
        &self,
        partition: PartitionRef,
        body: Body,
        link: Option<Link>,
        caller: C,
        settings: &Settings,
    ) -> Result<(), (C, Reply)> {
        let Some(address) = self.partitions.get(&partition) else {
            let why = "the partition is not known yet".to_owned();
            let reply = Err(RequestError::NotWritten { why });
            link.iter().for_each(|link| link.answered(&reply));
            return Err((caller, reply));
        };
        address.request(body, link, caller, settings)
    }
}

/// Lets a partition run.
pub type Start<C> = Box<dyn FnMut(PartitionRef) -> Arc<Address<C>> + Send>;

/// Which apps and partitions there are, and what goes from one partition to another.
pub struct Directory<C> {
    routes: Routes<C>,
    definitions: Definitions<C>,
    schema: Schema,
    settings: Settings,
    start: Start<C>,
    has_changed: bool,
    has_ended: bool,
    /// Partitions to which a delivery has failed, and none has reached them since.
    undelivered: BTreeSet<PartitionRef>,
}

impl<C: Caller> Directory<C> {
    /// The directory of a node that begins. The system partition is started.
    pub fn new(schema: Schema, settings: Settings, start: Start<C>) -> Self {
        let AppSettings { name, app, partitions, .. } = system_settings();
        let apps = BTreeMap::from([(name, AppHome { app, partitions })]);
        let routes = Routes { apps, partitions: BTreeMap::new(), is_resumed: false };
        let mut directory = Self {
            routes,
            definitions: Definitions::new(),
            schema,
            settings,
            start,
            has_changed: true,
            has_ended: false,
            undelivered: BTreeSet::new(),
        };
        directory.address(SYSTEM);
        directory
    }

    /// What callers find their way by.
    #[must_use]
    pub fn routes(&self) -> &Routes<C> {
        &self.routes
    }

    /// Whether it was told that the node ends. It still [takes](Self::take) what is sent, and answers.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// A copy for the callers, if there is something new in it.
    pub fn changed_routes(&mut self) -> Option<Routes<C>> {
        let Routes { apps, partitions, is_resumed } = &self.routes;
        std::mem::take(&mut self.has_changed).then(|| Routes {
            apps: apps.clone(),
            partitions: partitions.clone(),
            is_resumed: *is_resumed,
        })
    }

    /// Takes what was sent to it. Returns who is to be answered, once the
    /// [routes](Self::changed_routes) are published: whoever is told that an app is there finds it.
    pub fn take(&mut self, message: ToDirectory<C>, now: Duration) -> Vec<(C, Reply)> {
        match message {
            ToDirectory::Define { caller, .. } if self.has_ended => {
                self.definitions.refuse(caller, shutting_down());
            }
            // What it would carry stays in the outbox.
            _ if self.has_ended => {}
            ToDirectory::Carry(messages) => {
                messages.into_iter().for_each(|message| self.deliver(message));
            }
            ToDirectory::Serves(SYSTEM) => self.resume_apps(),
            ToDirectory::Serves(partition) => {
                if !planted::is(Bug::ResendForgotten) {
                    self.deliver_outbox(partition, None);
                }
                self.look_at_definitions(Changed::Partition(partition));
            }
            ToDirectory::Stopped(partition) => {
                // Whoever waits for the apps looks again.
                self.has_changed |= partition == SYSTEM;
                self.look_at_definitions(Changed::Partition(partition));
                self.answer_undecided(partition);
            }
            ToDirectory::Answered { target, number, reply } => {
                self.answered(target, number, &reply);
                self.look_at_definitions(Changed::Partition(target));
            }
            ToDirectory::Define { define, by, caller } => self.define(define, (now, by), caller),
            ToDirectory::Defined { number, reply } => self.defined(number, reply),
            ToDirectory::Revive(partition) => self.revive(partition),
            ToDirectory::Shutdown => {
                self.has_ended = true;
                self.definitions.answer_all();
            }
        }
        self.definitions.answered()
    }

    /// Starts the partitions of all apps. Those that serve already are sent what is in the outbox.
    fn resume_apps(&mut self) {
        // Where they cannot be read, the reader has stopped the system partition.
        let Ok(apps) = self.read_apps() else { return };
        for app in &apps {
            let home = self.know(app);
            for partition in partitions_of(home.app, home.partitions) {
                if self.address(partition).shared().serves() {
                    self.deliver_outbox(partition, None);
                }
            }
        }
        self.has_changed = true;
        self.routes.is_resumed = true;
        self.look_at_definitions(Changed::Any);
    }

    /// Delivers what is in the outbox for a partition.
    fn deliver_outbox(&mut self, target: PartitionRef, expected: Option<u64>) {
        let view = self.routes.partitions.get(&SYSTEM).and_then(|system| system.shared().view());
        let Some(view) = view else { return };
        // Where it cannot be read, the reader has stopped the system partition.
        let Ok(messages) = outbox_of(&view, &self.schema, target, expected) else { return };
        messages.into_iter().for_each(|message| self.deliver(message));
    }

    fn deliver(&mut self, message: Outgoing) {
        let Outgoing { target, delivery } = message;
        let to = ReplyTo::Outbox { target, number: delivery.number };
        self.send(target, Body::Delivery(delivery), to);
    }

    /// A message was answered: its source is told when it is durable where it belongs.
    fn answered(&mut self, target: PartitionRef, number: u64, reply: &Reply<DeliveryOutcome>) {
        match after(target, number, reply) {
            After::Tell(delivered) => {
                if self.undelivered.remove(&target) {
                    delivered_again(&self.address(target));
                }
                self.send(SYSTEM, Body::Delivered(delivered), ReplyTo::Nobody);
            }
            After::Again { expected } => self.deliver_outbox(target, Some(expected)),
            // Once for each partition, or a definition that nobody has would be logged again and again.
            After::Wait if self.undelivered.contains(&target) => {}
            After::Wait => {
                if let Err(error) = reply
                    && not_delivered(&self.address(target), number, error)
                {
                    self.undelivered.insert(target);
                }
            }
        }
    }

    fn send(&mut self, partition: PartitionRef, body: Body, to: ReplyTo<C>) {
        // What a partition that has ended does not take stays in the outbox.
        drop(self.address(partition).send(ToPartition::Request(body, to)));
    }

    fn define(&mut self, define: Define, (now, by): (Duration, Duration), caller: C) {
        self.definitions.prune(now);
        if made_by(&define).is_some() {
            // How many partitions there are is not known before the system partition can be read.
            if let Err(error) = self.address(SYSTEM).shared().check_readable() {
                return self.definitions.refuse(caller, error);
            }
            // Where they cannot be read, the reader has stopped the system partition.
            let apps = match self.read_apps() {
                Ok(apps) => apps,
                Err(failed) => {
                    return self.definitions.refuse(caller, RequestError::Stopped(failed.reason()));
                }
            };
            let max = self.settings.partitions_max;
            if let Err(refusal) = self.definitions.check_room(&define, &apps, max) {
                return self.definitions.refuse(caller, refusal.into());
            }
        }
        let system = self.address(SYSTEM);
        // Its driver may be gone while what it is sent is still taken.
        if let (true, State::Stopped(reason)) = (system.shared().is_over(), system.shared().state())
        {
            return self.definitions.refuse(caller, RequestError::Stopped(reason));
        }
        let number = self.definitions.wait(&define, by, caller);
        if let Err(error) = system.define(Body::Define(define), number, &self.settings) {
            self.definitions.answer(number, Err(error));
        }
    }

    /// The system partition has answered: a definition that is decided must reach all partitions.
    fn defined(&mut self, number: u64, reply: Reply<DefineOutcome>) {
        let DefineOutcome { app, version, is_new } = match reply {
            Ok(outcome) => outcome,
            Err(error) => return self.definitions.answer(number, Err(error)),
        };
        // What routes know of an app never changes, and there may be many apps. Callers know a new one
        // also if nobody waits for its definition any more.
        let known = self.routes.apps.values().find(|home| home.app == app).copied();
        let found = known.or_else(|| {
            // Where they cannot be read, the reader has stopped the system partition.
            let apps = self.read_apps().unwrap_or_default();
            apps.iter().find(|it| it.app == app).map(|it| self.know(it))
        });
        let Some(home) = found else {
            let why = "the definition is decided, and its app cannot be read".to_owned();
            return self.definitions.answer(number, Err(RequestError::Unknown { why }));
        };
        let partitions = partitions_of(home.app, home.partitions);
        let missing = partitions.map(|partition| (partition, false)).collect();
        self.definitions
            .decided(number, Decided { outcome: DefineOutcome { app, version, is_new }, missing });
        self.look_at_definitions(Changed::Definition(number));
    }

    fn look_at_definitions(&mut self, changed: Changed) {
        let Self { definitions, routes, schema, .. } = self;
        definitions.look_at(changed, |partition| {
            let Some(address) = routes.partitions.get(&partition) else {
                return Has { through: None, stopped: None };
            };
            let found = address.shared().view().and_then(|view| {
                let reader = Reader::new(&view, prefix_of(partition), schema);
                reader.definitions().ok().flatten()
            });
            let stopped = match address.shared().state() {
                State::Stopped(reason) => Some(reason.to_string()),
                State::Actualizing(_) | State::Serving => None,
            };
            Has { through: found.map(|definitions| definitions.version), stopped }
        });
    }

    /// Where the system partition has no driver any more, what it had taken is not answered by it.
    fn answer_undecided(&mut self, stopped: PartitionRef) {
        let Some(system) = self.routes.partitions.get(&SYSTEM).filter(|_| stopped == SYSTEM) else {
            return;
        };
        if let (true, State::Stopped(reason)) = (system.shared().is_over(), system.shared().state())
        {
            self.definitions.answer_undecided(&reason.to_string());
        }
    }

    /// Starts a partition anew whose driver has ended. Of two who ask, the second finds it started.
    fn revive(&mut self, partition: PartitionRef) {
        let has_ended = |address: &Arc<Address<C>>| address.shared().is_over();
        if self.routes.partitions.get(&partition).is_some_and(has_ended) {
            self.answer_undecided(partition);
            self.routes.partitions.remove(&partition);
            restarts(&self.address(partition));
        }
    }

    /// How a partition is reached. It is started if it does not run.
    fn address(&mut self, partition: PartitionRef) -> Arc<Address<C>> {
        if let Some(address) = self.routes.partitions.get(&partition) {
            return address.clone();
        }
        let address = (self.start)(partition);
        let known = self.routes.apps.iter().find(|(_, home)| home.app == partition.app);
        if let Some((name, _)) = known {
            address.set_app_name(name);
        }
        self.routes.partitions.insert(partition, address.clone());
        self.has_changed = true;
        address
    }

    /// Callers know the app from now on, and its partitions run.
    fn know(&mut self, app: &AppSettings) -> AppHome {
        let home = AppHome { app: app.app, partitions: app.partitions };
        self.routes.apps.insert(app.name.clone(), home);
        self.has_changed = true;
        for partition in partitions_of(home.app, home.partitions) {
            self.address(partition).set_app_name(&app.name);
        }
        home
    }

    /// The apps, as far as the system partition shows them.
    fn read_apps(&self) -> Result<Vec<AppSettings>, ReadFailed> {
        let view = self.routes.partitions.get(&SYSTEM).and_then(|system| system.shared().view());
        let Some(view) = view else { return Ok(Vec::new()) };
        let apps = Reader::new(&view, prefix_of(SYSTEM), &self.schema).apps()?;
        Ok(apps.into_iter().map(|it| it.app).collect())
    }
}

/// Where the keys of a partition begin.
#[must_use]
pub fn prefix_of(partition: PartitionRef) -> PartitionPrefix {
    let PartitionRef { app, partition } = partition;
    PartitionPrefix { app, partition, incarnation: INCARNATION }
}

/// All partitions of an app.
pub fn partitions_of(app: AppId, count: u16) -> impl Iterator<Item = PartitionRef> {
    (0..count).map(move |index| PartitionRef { app, partition: PartitionId(index) })
}
