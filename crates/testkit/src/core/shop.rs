//! An app to try things with: it has a bit of everything, and was defined as apps are.

use seriatim_codec::PartitionPrefix;
use seriatim_core::{DefineOutcome, Effects, Outcome, Refusal, SYSTEM_APP};
use seriatim_sequencer::Settings;
use seriatim_types::{
    AppId, Body, ClientId, Command, CommandEvent, CommandLimits, Define, DefineRequest, Delivery,
    Entry, Fingerprint, Incarnation, Key, Name, PartitionId, RecordClass, RecordIdScheme, Reset,
    Retention, Time, TrustLevel, WorkspaceRef,
};

use super::Node;

/// How the app is set up.
#[derive(Debug, Clone, Copy)]
pub struct ShopSettings {
    /// How its records are numbered.
    pub record_ids: RecordIdScheme,
    /// How much its partition trusts its own numbers.
    pub trust_level: TrustLevel,
    /// How long keys are kept.
    pub retention: Retention,
    /// How many keys are kept.
    pub keys_max: Option<u64>,
    /// What a command may hold.
    pub limits: CommandLimits,
    /// What the sequencer may hold.
    pub sequencer: Settings,
}

impl Default for ShopSettings {
    fn default() -> Self {
        Self {
            record_ids: RecordIdScheme::Single,
            trust_level: TrustLevel::Zero,
            retention: Retention::Milliseconds(86_400_000),
            keys_max: None,
            limits: CommandLimits::default(),
            sequencer: Settings::default(),
        }
    }
}

/// The system app and one app of one partition:
///
/// - workspace kinds `default` and `warehouse`
/// - sequences of the default kind: `invoice` (yearly, `INV-{yyyy}-{n:06}`, +01:00), `ticket`
///   (plain) and `scarce` (7 to 9); of warehouses: `pallet`
/// - records: `order` (class c), `line` (w), `note` (o), and the singletons `settings` (c) and
///   `profile` (o)
#[derive(Debug)]
pub struct Shop {
    /// The system app.
    pub system: Node,
    /// The app.
    pub node: Node,
    /// The time of what is sent next.
    pub now: Time,
    keys_sent: u128,
}

impl Default for Shop {
    fn default() -> Self {
        Self::new(ShopSettings::default())
    }
}

impl Shop {
    /// The app, defined through the system app.
    ///
    /// # Panics
    ///
    /// When a definition is refused.
    #[must_use]
    pub fn new(settings: ShopSettings) -> Self {
        let prefix =
            |app| PartitionPrefix { app, partition: PartitionId(0), incarnation: Incarnation(1) };
        let mut shop = Self {
            system: Node::new(prefix(SYSTEM_APP), Settings::default()),
            node: Node::new(prefix(AppId(1)), settings.sequencer),
            now: NOON,
            keys_sent: 0,
        };
        for request in requests(settings) {
            let outcome = shop.define(request);
            let is_new = matches!(outcome, Ok(Outcome::Define(DefineOutcome { is_new: true, .. })));
            assert!(is_new, "{outcome:?}");
        }
        shop
    }

    /// The messages that define the app, for whoever drives its partition otherwise.
    ///
    /// # Panics
    ///
    /// When a definition is refused.
    #[must_use]
    pub fn deliveries(settings: ShopSettings) -> Vec<Delivery> {
        let mut system = Node::new(prefix(SYSTEM_APP), Settings::default());
        let requests = requests(settings).into_iter();
        let define = |request| Body::Define(Define { app: name("shop"), request });
        let entries = requests.map(|request| Entry { time: NOON, body: define(request) });
        let effects = system.apply(&entries.collect::<Vec<_>>());
        let messages = effects.into_iter().flat_map(|effects| effects.messages);
        messages.map(|message| message.delivery).collect()
    }

    /// Asks the system app for a definition, and delivers what comes of it.
    pub fn define(&mut self, request: DefineRequest) -> Result<Outcome, Refusal> {
        let body = Body::Define(Define { app: name("shop"), request });
        let effects = self.system.apply(&[Entry { time: self.now, body }]).remove(0);
        for message in effects.messages {
            let body = Body::Delivery(message.delivery);
            self.node.apply(&[Entry { time: self.now, body }]);
        }
        effects.outcome
    }

    /// A command of the client `pos-4` with a new key.
    pub fn command(&mut self, workspace: &str, events: Vec<CommandEvent>) -> Command {
        self.keys_sent = self.keys_sent.saturating_add(1);
        let key = Key(self.keys_sent.to_be_bytes());
        command("pos-4", key, workspace, events)
    }

    /// Sends a command, alone in its batch.
    pub fn send(&mut self, command: Command) -> Effects {
        let entry = Entry { time: self.now, body: Body::Command(command) };
        self.node.apply(&[entry]).remove(0)
    }

    /// The same, for its outcome alone.
    pub fn outcome(&mut self, command: Command) -> Result<Outcome, Refusal> {
        self.send(command).outcome
    }
}

/// In the middle of 2026.
const NOON: Time = Time(1_782_000_000_000);

fn prefix(app: AppId) -> PartitionPrefix {
    PartitionPrefix { app, partition: PartitionId(0), incarnation: Incarnation(1) }
}

/// A name.
///
/// # Panics
///
/// When the text is none.
#[must_use]
pub fn name(text: &str) -> Name {
    Name::new(text).expect("a good name")
}

/// A command with its fingerprint. A workspace of digits is meant by its id.
///
/// # Panics
///
/// When client or workspace cannot be.
#[must_use]
pub fn command(client: &str, key: Key, workspace: &str, events: Vec<CommandEvent>) -> Command {
    let workspace = match workspace.parse() {
        Ok(id) => WorkspaceRef::Id(seriatim_types::WorkspaceId(id)),
        Err(_) => WorkspaceRef::Name(name(workspace)),
    };
    let fingerprint: Fingerprint = seriatim_codec::fingerprint(&events, None);
    Command {
        workspace,
        client: ClientId::new(client.as_bytes()).expect("a good client"),
        key,
        fingerprint,
        deadline: None,
        if_offset: None,
        include_proof: false,
        events,
    }
}

fn requests(settings: ShopSettings) -> Vec<DefineRequest> {
    let ShopSettings { record_ids, trust_level, retention, keys_max, limits, .. } = settings;
    let app =
        DefineRequest::App { partitions: 1, record_ids, trust_level, retention, keys_max, limits };
    let sequence = |text: &str, kind: &str, range, format: &str, reset| DefineRequest::Sequence {
        name: name(text),
        kind: name(kind),
        ranges: vec![range],
        format: format.to_owned(),
        reset,
        utc_offset_minutes: 60,
    };
    let record =
        |text: &str, class, singleton| DefineRequest::Record { name: name(text), class, singleton };
    vec![
        app,
        DefineRequest::Kind { name: name("warehouse") },
        sequence("invoice", "default", (1, 999_999), "INV-{yyyy}-{n:06}", Reset::Yearly),
        sequence("ticket", "default", (1, seriatim_types::NUMBER_MAX), "{n}", Reset::Never),
        sequence("scarce", "default", (7, 9), "{n}", Reset::Never),
        sequence("pallet", "warehouse", (1, 99), "P{n:02}", Reset::Never),
        record("order", RecordClass::C, false),
        record("line", RecordClass::W, false),
        record("note", RecordClass::O, false),
        record("settings", RecordClass::C, true),
        record("profile", RecordClass::O, true),
    ]
}
