//! Stores written by a real node, with every kind of row that there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use seriatim_core::{CommandOutcome, DeclareOutcome, DefineOutcome};
use seriatim_node::{Clock, ClockAhead, Node, RequestError, Settings};
use seriatim_storage::Store;
use seriatim_testkit::core::{command, events, name};
use seriatim_types::{
    CommandLimits, Declare, DefineRequest, Key, Receipt, RecordClass, RecordIdScheme, Reset,
    Retention, Time, TrustLevel, WorkspaceId, WorkspaceRef,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Longer than a store is filled.
const LATE: Duration = Duration::from_secs(2 * 86_400);

/// Half a day before the end of 2026, so that a year ends while commands are sent.
const BEGIN: u64 = 1_798_718_400_000;

/// A clock that goes when it is told to.
pub(crate) struct Watch(AtomicU64);

impl Clock for Watch {
    fn now(&self) -> Result<Time, ClockAhead> {
        Ok(Time(self.0.load(Ordering::SeqCst)))
    }
}

/// A node that writes to a store.
pub(crate) struct World {
    pub(crate) node: Node,
    watch: Arc<Watch>,
    checkpoints: Checkpoints,
    keys: u128,
}

/// How numbers reach the checkpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checkpoints {
    /// Soon, and all of them at the end.
    Soon,
    /// Never, once the first commands were sent.
    Late,
}

impl World {
    pub(crate) fn open(store: Arc<dyn Store>, checkpoints: Checkpoints) -> Self {
        let watch = Arc::new(Watch(AtomicU64::new(BEGIN)));
        let checkpoint_delay = match checkpoints {
            Checkpoints::Soon => Duration::from_millis(1),
            Checkpoints::Late => LATE,
        };
        let settings = Settings { checkpoint_delay, ..Settings::default() };
        let node = Node::open(store, watch.clone(), settings);
        assert!(node.wait_until_ready(PATIENCE), "{:?}", node.partitions());
        Self { node, watch, checkpoints, keys: 0 }
    }

    /// Writes everything, ends the node and returns when nothing more is written.
    pub(crate) fn fill(store: &Arc<dyn Store>, rounds: u64) {
        let mut world = Self::open(store.clone(), Checkpoints::Soon);
        world.define();
        world.work(rounds);
        world.end();
    }

    /// Ends the node, with a checkpoint. If that is late, its time must come first.
    pub(crate) fn end(self) {
        if self.checkpoints == Checkpoints::Late {
            self.advance(u64::try_from(LATE.as_millis()).unwrap());
        }
        self.node.shutdown(PATIENCE).expect("the node ends");
    }

    pub(crate) fn advance(&self, ms: u64) {
        self.watch.0.fetch_add(ms, Ordering::SeqCst);
    }

    fn ask(&self, app: &str, request: DefineRequest) {
        let reply = self.node.define(&name(app), request, PATIENCE).expect("it is answered");
        assert!(matches!(reply, Ok(DefineOutcome { .. })), "{reply:?}");
    }

    /// Two apps that differ in all settings, and one of which nothing but its definition is there.
    pub(crate) fn define(&self) {
        let app = |partitions, record_ids, trust_level, retention| DefineRequest::App {
            partitions,
            record_ids,
            trust_level,
            retention,
            keys_max: None,
            limits: CommandLimits::default(),
        };
        let day = Retention::Milliseconds(86_400_000);
        let shop = app(2, RecordIdScheme::Single, TrustLevel::Zero, day);
        let brief = Retention::Milliseconds(2_000);
        let kiosk = app(1, RecordIdScheme::Split, TrustLevel::Two, brief);
        self.ask("shop", shop);
        self.ask("kiosk", kiosk);
        self.ask("idle", app(3, RecordIdScheme::Single, TrustLevel::One, Retention::Forever));
        for keys_max in [Some(100_000), Some(50_000), None, Some(1_000_000)] {
            self.ask("kiosk", DefineRequest::KeyLimit { keys_max });
        }
        for app in ["shop", "kiosk"] {
            self.ask(app, DefineRequest::Kind { name: name("warehouse") });
            self.sequence(
                app,
                "invoice",
                "default",
                &[(1, 999_999)],
                "INV-{yyyy}-{n:06}",
                Reset::Yearly,
            );
            self.sequence(
                app,
                "ticket",
                "default",
                &[(1_000, 1_002), (50, 999)],
                "{n}",
                Reset::Never,
            );
            self.sequence(app, "pallet", "warehouse", &[(1, 99_999)], "P{n:02}", Reset::Never);
            let kinds = [
                ("order", RecordClass::C, false),
                ("line", RecordClass::W, false),
                ("note", RecordClass::O, false),
                ("settings", RecordClass::C, true),
                ("profile", RecordClass::O, true),
            ];
            for (kind, class, singleton) in kinds {
                self.ask(app, DefineRequest::Record { name: name(kind), class, singleton });
            }
            let named = |text: &str| WorkspaceRef::Name(name(text));
            for workspace in [named("depot"), named("bare"), WorkspaceRef::Id(WorkspaceId(900))] {
                self.declare(app, workspace, "warehouse");
            }
        }
    }

    fn sequence(
        &self,
        app: &str,
        sequence: &str,
        kind: &str,
        ranges: &[(u64, u64)],
        format: &str,
        reset: Reset,
    ) {
        let (name, kind, ranges) = (name(sequence), name(kind), ranges.to_vec());
        let format = format.to_owned();
        let utc_offset_minutes = 60;
        self.ask(
            app,
            DefineRequest::Sequence { name, kind, ranges, format, reset, utc_offset_minutes },
        );
    }

    fn declare(&self, app: &str, workspace: WorkspaceRef, kind: &str) {
        let declare = Declare { workspace, kind: name(kind) };
        let reply = self.node.declare(&name(app), declare, PATIENCE).expect("it is answered");
        assert!(matches!(reply, Ok(DeclareOutcome { .. })), "{reply:?}");
    }

    /// Commands of all kinds, over several workspaces and clients, while a year ends.
    pub(crate) fn work(&mut self, rounds: u64) {
        for round in 0..rounds {
            let (app, workspace) = match (round % 3, round % 5) {
                (2, 0..=2) => ("kiosk", "1"),
                (2, _) => ("kiosk", "store-1"),
                (_, 0) => ("shop", "1"),
                (_, 1) => ("shop", "4"),
                (_, 2) => ("shop", "store-1"),
                (_, 3) => ("shop", "store-3"),
                (_, _) => ("shop", "store-4"),
            };
            self.round(app, workspace, round);
            self.advance(700);
            if round == rounds / 2 {
                // Over the end of the year, and of all that expires.
                self.advance(86_400_000);
                self.sequence(
                    app,
                    "ticket",
                    "default",
                    &[(1_000, 1_002), (50, 999)],
                    "T{n:04}",
                    Reset::Never,
                );
            }
        }
    }

    fn round(&mut self, app: &str, workspace: &str, round: u64) {
        let receipt = self.send(app, workspace, round, &format!(
            "{{'name': 'Ordered', 'args': {{'round': {round}, 'no': {{'$next': 'invoice', 'as': 'text'}}}}, 'changes': [
               {{'create': {{'id': 1, 'kind': 'order', 'fields': {{'open': true, 'no': {{'$draw': 0}}}}}}}},
               {{'create': {{'id': 2, 'kind': 'line', 'parent': 1, 'fields': {{'sku': 'A-{round}'}}}}}},
               {{'set': {{'key': 'stock/A', 'value': {{'left': {round}}}}}}}]}},
             {{'name': 'Noted', 'changes': [
               {{'create': {{'id': 3, 'kind': 'note', 'fields': {{'of': {{'$ref': 1}}}}}}}},
               {{'draw': {{'sequence': 'ticket'}}}}]}}"
        ));
        let Some(receipt) = receipt else { panic!("a new command is carried out") };
        let ids: Vec<u64> = receipt.ids.iter().map(|(_, id)| id.get()).collect();
        let (order, note) = (ids[0], ids[2]);
        self.send(app, workspace, round, &format!(
            "{{'name': 'Changed', 'changes': [{{'update': {{'id': {order}, 'fields': {{'open': false, 'by': 'ü'}}}}}}]}}"
        ));
        if round.is_multiple_of(2) {
            self.send(app, workspace, round, &format!(
                "{{'name': 'Removed', 'changes': [{{'delete': {{'id': {note}}}}}, {{'unset': {{'key': 'stock/A'}}}}]}}"
            ));
        }
        let soon = json_time(self.watch.0.load(Ordering::SeqCst) + 1_000 + 5_000 * (round % 2));
        self.send(app, workspace, round, &format!(
            "{{'name': 'Held', 'changes': [{{'set': {{'key': 'hold/{}', 'value': {round}, 'expires_at': '{soon}'}}}}]}}",
            round % 4
        ));
        let import = 400_000_000_000_000 + round * 10;
        self.send(app, workspace, round, &format!(
            "{{'name': 'Imported', 'changes': [{{'create': {{'id': {import}, 'kind': 'order', 'fields': {{}}}}}}]}}"
        ));
        self.once(app, workspace, round);
    }

    /// What happens once in a workspace, is refused the second time, or is repeated.
    fn once(&mut self, app: &str, workspace: &str, round: u64) {
        for kind in ["settings", "profile"] {
            let json = format!(
                "{{'name': 'Set up', 'changes': [{{'create': {{'id': 9, 'kind': '{kind}', 'fields': {{'a': [1, null]}}}}}}]}}"
            );
            self.send(app, workspace, round, &json);
        }
        self.send(
            app,
            "depot",
            round,
            "{'name': 'Stored', 'changes': [{'draw': {'sequence': 'pallet'}}]}",
        );
        let refused = "{'name': 'Never', 'changes': [{'delete': {'id': 299999}}, {'draw': {'sequence': 'ticket'}}]}";
        assert_eq!(self.send(app, workspace, round, refused), None);
        let plain = "{'name': 'Pinged', 'args': {'text': 'nothing but arguments'}}";
        for key in [7_u128, 7, 8] {
            let command = command("pos-9", Key(key.to_be_bytes()), "store-1", events(plain));
            let reply = self.node.submit_and_wait(&name(app), command, PATIENCE);
            assert!(matches!(reply, Ok(Ok(_))), "{reply:?}");
        }
    }

    /// Sends a command with a new key. Returns its receipt, unless it is refused.
    pub(crate) fn send(
        &mut self,
        app: &str,
        workspace: &str,
        round: u64,
        json: &str,
    ) -> Option<Receipt> {
        self.keys += 1;
        let now = u128::from(self.watch.0.load(Ordering::SeqCst));
        let key = Key(((now << 32) + self.keys).to_be_bytes());
        // One is called by more bytes than one byte can count.
        let client = if round % 4 == 1 { "é".repeat(200) } else { format!("pos-{}", round % 3) };
        let json = json.replace('\n', " ");
        let command = command(&client, key, workspace, events(&json));
        match self.node.submit_and_wait(&name(app), command, PATIENCE) {
            Ok(Ok(CommandOutcome::Committed(receipt))) => Some(receipt),
            Ok(Err(RequestError::Refused(_))) => None,
            other => panic!("{other:?}"),
        }
    }
}

/// A time as clients write it.
fn json_time(ms: u64) -> String {
    // The run lasts from the last day of 2026 to the second of 2027.
    const NEW_YEAR: u64 = 1_798_761_600_000;
    let (day, of_day) = match ms.checked_sub(NEW_YEAR) {
        Some(behind) => (format!("2027-01-{:02}", 1 + behind / 86_400_000), behind % 86_400_000),
        None => ("2026-12-31".to_owned(), 86_400_000 - (NEW_YEAR - ms)),
    };
    let (hours, minutes) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (seconds, ms) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{day}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z")
}
