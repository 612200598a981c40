//! A whole node with its threads.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use seriatim_codec::{CheckpointHead, PartitionPrefix, Stored, head_key, partition_key};
use seriatim_core::{CommandOutcome, DefineOutcome};
use seriatim_node::{
    AskError, Clock, ClockAhead, Node, Partition, Reader, Reply, Settings, State, SystemClock,
    View, schema,
};
use seriatim_storage::memory::{MemoryDisk, MemoryStore};
use seriatim_storage::{Read, Store};
use seriatim_testkit::core::{changes, command, name};
use seriatim_types::{
    AppId, Body, Command, CommandLimits, Declare, Define, DefineRequest, Incarnation, Key,
    PartitionId, PartitionRef, PartitionRow, Receipt, RecordClass, RecordIdScheme, Reset,
    Retention, Time, TrustLevel, WorkspaceRef,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn open(disk: &MemoryDisk) -> Node {
    open_with(disk, Settings::default())
}

pub(crate) fn open_with(disk: &MemoryDisk, settings: Settings) -> Node {
    open_at(disk, settings, Arc::new(SystemClock::new()))
}

fn open_at(disk: &MemoryDisk, settings: Settings, clock: Arc<dyn Clock>) -> Node {
    let store = MemoryStore::open(disk, &schema()).unwrap();
    let node = Node::open(Arc::new(store), clock, settings);
    assert!(node.wait_until_ready(PATIENCE));
    node
}

fn define(node: &Node, request: DefineRequest) -> DefineOutcome {
    let reply = node.define(&name("shop"), request, PATIENCE).unwrap();
    let Ok(outcome) = reply else { panic!("it is applied: {reply:?}") };
    outcome
}

/// A request for an app with so many partitions.
pub(crate) fn app(partitions: u16) -> DefineRequest {
    DefineRequest::App {
        partitions,
        record_ids: RecordIdScheme::Single,
        trust_level: TrustLevel::Zero,
        retention: Retention::Milliseconds(86_400_000),
        keys_max: None,
        limits: CommandLimits::default(),
    }
}

pub(crate) fn set_up(node: &Node) {
    define(node, app(3));
    define(
        node,
        DefineRequest::Record { name: name("order"), class: RecordClass::C, singleton: false },
    );
    define(
        node,
        DefineRequest::Sequence {
            name: name("ticket"),
            kind: name("default"),
            ranges: vec![(1, 1_000_000)],
            format: "{n}".to_owned(),
            reset: Reset::Never,
            utc_offset_minutes: 0,
        },
    );
}

pub(crate) fn ask(client: &str, key: u128, workspace: &str) -> Command {
    let json = "{'create': {'id': 1, 'kind': 'order', 'fields': {'no': {'$next': 'ticket'}}}}";
    command(client, Key(key.to_be_bytes()), workspace, changes(json))
}

/// Sends all at once and waits for all answers.
pub(crate) fn send(node: &Node, commands: Vec<Command>) -> Vec<Reply<CommandOutcome>> {
    let (sender, receiver) = mpsc::channel();
    let count = commands.len();
    for (index, command) in commands.into_iter().enumerate() {
        let sender = sender.clone();
        node.submit(&name("shop"), command, move |reply| sender.send((index, reply)).unwrap())
            .unwrap();
    }
    let mut replies: Vec<_> =
        (0..count).map(|_| receiver.recv_timeout(PATIENCE).unwrap()).collect();
    replies.sort_by_key(|(index, _)| *index);
    replies.into_iter().map(|(_, reply)| reply).collect()
}

pub(crate) fn receipt(reply: &Reply<CommandOutcome>) -> &Receipt {
    let Ok(CommandOutcome::Committed(receipt)) = reply else {
        panic!("it is carried out: {reply:?}")
    };
    receipt
}

#[test]
fn sixty_four_commands_of_one_client_at_once_all_succeed() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    let replies = send(&node, (1..=64).map(|key| ask("pos-4", key, "store-1")).collect());
    let sequences: BTreeSet<u64> =
        replies.iter().map(|reply| receipt(reply).client_sequence.get()).collect();
    assert_eq!(sequences, (1..=64).collect());
    let tickets: BTreeSet<u64> =
        replies.iter().map(|reply| receipt(reply).numbers[0].number.get()).collect();
    assert_eq!(tickets, (1..=64).collect());
}

#[test]
fn twenty_equal_commands_at_once_make_one_event() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    let replies = send(&node, vec![ask("pos-4", 7, "store-1"); 20]);
    let ranges: BTreeSet<(u64, u64)> = replies
        .iter()
        .map(|reply| {
            if let Ok(CommandOutcome::Duplicate { first, count }) = reply {
                (first.get(), u64::from(*count))
            } else {
                (receipt(reply).first_partition_offset.get(), 1)
            }
        })
        .collect();
    assert_eq!(ranges.len(), 1);
}

#[test]
fn a_node_goes_on_where_it_ended_and_reads_no_event_after_a_clean_end() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    send(&node, (1..=30).map(|key| ask("a", key, &format!("{}", key % 7))).collect());
    drop(node);
    check_checkpoints(&disk);
    let node = open(&disk);
    assert_eq!(define(&node, DefineRequest::Kind { name: name("depot") }), {
        let app = seriatim_types::AppId(1);
        DefineOutcome { app, version: 4, is_new: true }
    });
    let replies = send(&node, (31..=40).map(|key| ask("a", key, "3")).collect());
    let first = receipt(&replies[0]);
    assert_eq!(first.first_offset.get(), 5, "three, ten, seventeen and twenty-four came before");
    for (partition, state) in node.partitions() {
        assert_eq!(state, State::Serving, "{partition:?}");
    }
}

/// The limits of keys that the partitions of the shop go by, and the one that readers are shown.
fn key_limits(node: &Node) -> (Vec<Option<u64>>, Option<u64>) {
    let shown = node.apps().unwrap()[0].app.clone();
    let partitions = (0..shown.partitions).map(|partition| {
        let partition = PartitionRef { app: shown.app, partition: PartitionId(partition) };
        let (view, prefix) = node.view(partition).expect("it serves");
        let definitions = Reader::new(&view, prefix, node.schema()).definitions().unwrap();
        definitions.expect("it has some").app.keys_max
    });
    (partitions.collect(), shown.keys_max)
}

#[test]
fn limit_of_keys_is_answered_once_all_partitions_have_it_and_outlives_the_node() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    let version = |version, is_new| {
        let app = seriatim_types::AppId(1);
        DefineOutcome { app, version, is_new }
    };
    let limit = |node: &Node, keys_max| define(node, DefineRequest::KeyLimit { keys_max });
    assert_eq!(key_limits(&node), (vec![None; 3], None));
    assert_eq!(limit(&node, Some(2)), version(4, true));
    assert_eq!(key_limits(&node), (vec![Some(2); 3], Some(2)));
    assert_eq!(limit(&node, Some(2)), version(4, false));
    send(&node, (1..=2).map(|key| ask("a", key, "3")).collect());
    drop(node);
    let node = open(&disk);
    assert_eq!(key_limits(&node), (vec![Some(2); 3], Some(2)));
    let full = send(&node, vec![ask("a", 3, "3")]).remove(0);
    assert_eq!(full.unwrap_err().code(), "KEY_WINDOW_FULL");
    assert_eq!(limit(&node, None), version(5, true));
    drop(node);
    let node = open(&disk);
    assert_eq!(key_limits(&node), (vec![None; 3], None));
    receipt(&send(&node, vec![ask("a", 3, "3")])[0]);
}

/// Everything that is committed is in the checkpoint, so there is nothing to be read.
fn check_checkpoints(disk: &MemoryDisk) {
    let store = MemoryStore::open(disk, &schema()).unwrap();
    let get = |table: &str, key: &[u8]| store.get(schema().table(table).unwrap(), key).unwrap();
    for partition in 0..3 {
        let (app, partition) = (AppId(1), PartitionId(partition));
        let prefix = PartitionPrefix { app, partition, incarnation: Incarnation(1) };
        let row = get("partition", &partition_key(prefix)).unwrap();
        let row = PartitionRow::from_bytes(&row).unwrap();
        let head = CheckpointHead::decode(&get("numbers", &head_key(prefix)).unwrap()).unwrap();
        assert_eq!(head.through, row.offset, "{partition}");
    }
}

/// It can be looked up since it can be followed.
#[test]
fn nobody_but_the_node_writes_into_the_system_app() {
    let node = open(&MemoryDisk::new());
    let sent = node.submit_and_wait(&name("system"), ask("a", 1, "store-1"), PATIENCE);
    assert!(matches!(sent, Err(AskError::AppNotFound(_))));
    let declare = Declare { workspace: WorkspaceRef::Name(name("store-1")), kind: name("x") };
    let declared = node.declare(&name("system"), declare, PATIENCE);
    assert!(matches!(declared, Err(AskError::AppNotFound(_))));
}

#[test]
fn readers_wait_for_an_offset_and_see_what_is_durable() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    let replies = send(&node, vec![ask("a", 1, "store-1")]);
    let last = receipt(&replies[0]).last_partition_offset;
    let workspace = WorkspaceRef::Name(name("store-1"));
    let partition = node.partition_of(&name("shop"), &workspace).unwrap();
    let (view, _) = node.view(partition).unwrap();
    assert_eq!(view.offset, Some(last), "what is answered can be read");
    let soon = std::time::Instant::now() + Duration::from_millis(20);
    assert!(!node.wait(partition, soon, |view| view.offset > Some(last)), "nothing else came");
}

/// A view that was never renewed kept the store from freeing anything that was written over since:
/// tables on disk and in memory grew with every commit of the other partitions.
#[test]
fn a_partition_in_which_nothing_happens_does_not_hold_on_to_an_old_snapshot() {
    let disk = MemoryDisk::new();
    let renewed = Settings { view_renewal: Duration::from_millis(1), ..Settings::default() };
    let node = open_with(&disk, renewed);
    set_up(&node);
    let last = receipt(&send(&node, vec![ask("a", 1, "1")])[0]).last_partition_offset;
    for (partition, _) in node.partitions() {
        let (first, _) = node.view(partition).unwrap();
        let deadline = std::time::Instant::now() + PATIENCE;
        let younger = loop {
            let (view, _) = node.view(partition).unwrap();
            if !Arc::ptr_eq(&view.snapshot, &first.snapshot) {
                break view;
            }
            assert!(std::time::Instant::now() < deadline, "{partition:?} keeps its snapshot");
            std::thread::yield_now();
        };
        assert_eq!(younger.offset, first.offset, "{partition:?}");
    }
    let partition = PartitionRef { app: AppId(1), partition: PartitionId(1) };
    assert_eq!(node.view(partition).unwrap().0.offset, Some(last));
}

/// What the system app has decided and nobody was told of yet reaches the partitions at the next
/// start, in order.
#[test]
fn definitions_reach_their_partitions_across_a_crash_in_the_middle() {
    let disk = MemoryDisk::new();
    let prefix =
        |app| PartitionPrefix { app, partition: PartitionId(0), incarnation: Incarnation(1) };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::open(&disk, &schema()).unwrap());
    let system = prefix(seriatim_core::SYSTEM_APP);
    let mut system = Partition::<usize>::new(store.clone(), system, Settings::default());
    let kinds = ["one", "two", "three"].map(|kind| DefineRequest::Kind { name: name(kind) });
    let mut now = Time(1_782_000_000_000);
    let mut run = |system: &mut Partition<usize>| {
        now = Time(now.0 + 1);
        let flight = system.work(now).flight;
        if flight.is_some() {
            store.sync().unwrap();
            system.landed();
        }
    };
    while system.state() != State::Serving {
        run(&mut system);
    }
    for request in std::iter::once(app(3)).chain(kinds) {
        let define = Define { app: name("shop"), request };
        assert!(system.take(Body::Define(define), 0).is_ok());
        run(&mut system);
    }
    drop(system);
    drop(store);
    let node = open_at(&disk, Settings::default(), Hands::at(now.0));
    let partition = PartitionRef { app: AppId(1), partition: PartitionId(0) };
    let schema = schema();
    let has_all = |view: &View| {
        let definitions = Reader::new(view, prefix(AppId(1)), &schema).definitions().unwrap();
        definitions.is_some_and(|it| it.version == 4 && it.kinds.len() == 3)
    };
    assert!(node.wait(partition, std::time::Instant::now() + PATIENCE, has_all));
}

#[test]
fn definitions_that_are_asked_for_at_once_all_reach_every_partition() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    define(&node, app(3));
    std::thread::scope(|scope| {
        for index in 0..16 {
            let node = &node;
            let kind = DefineRequest::Kind { name: name(&format!("kind-{index}")) };
            scope.spawn(move || define(node, kind));
        }
    });
    assert_eq!(node.apps().unwrap()[0].version, 17);
}

/// A clock that is set by hand.
struct Hands(AtomicU64);

impl Hands {
    fn at(time: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(time)))
    }
}

impl Clock for Hands {
    fn now(&self) -> Result<Time, ClockAhead> {
        Ok(Time(self.0.load(Ordering::Relaxed)))
    }
}

const NOON: u64 = 1_782_000_000_000;

/// Checkpoints went by the clock alone: one that stood still let the end of a node wait for its
/// bound, and left nothing to go on from.
#[test]
fn a_node_whose_clock_stands_still_ends_with_a_checkpoint() {
    let disk = MemoryDisk::new();
    let node = open_at(&disk, Settings::default(), Hands::at(NOON));
    set_up(&node);
    send(&node, (1..=30).map(|key| ask("a", key, &format!("{}", key % 7))).collect());
    node.shutdown(Duration::from_secs(3600)).unwrap();
    drop(node);
    check_checkpoints(&disk);
}

/// A clock that was corrected by an hour kept numbers from being written for an hour, and soon the
/// partition turned everybody away.
#[test]
fn a_clock_that_is_set_back_does_not_hold_up_checkpoints() {
    let disk = MemoryDisk::new();
    let clock = Hands::at(NOON);
    let few = Settings { unflushed_rows_max: 1, batch_entries_max: 1, ..Settings::default() };
    let node = open_at(&disk, few, clock.clone());
    set_up(&node);
    send(&node, vec![ask("a", 1, "3")]);
    clock.0.store(NOON - 3_600_000, Ordering::Relaxed);
    for key in 2..100 {
        // Each in a workspace of its own, so that each leaves two more rows to be written.
        let reply =
            node.submit_and_wait(&name("shop"), ask("a", key, &format!("{}", 3 * key)), PATIENCE);
        receipt(&reply.unwrap());
        clock.0.fetch_add(1, Ordering::Relaxed);
    }
}
