//! The node that is measured, and what is asked of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use seriatim_core::{CommandOutcome, DefineOutcome};
use seriatim_node::{Node, Reply, Settings, SystemClock, schema};
use seriatim_storage::Store;
use seriatim_storage_fjall::{FjallStore, Settings as FjallSettings};
use seriatim_testkit::core::{command, events, name};
use seriatim_types::{
    Command, CommandEvent, CommandLimits, DefineRequest, Key, Name, Receipt, RecordClass,
    RecordIdScheme, Reset, Retention, TrustLevel,
};

/// Nothing takes this long, unless something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Workspaces over which the commands are spread.
pub(crate) const WORKSPACES: u64 = 1_000;

/// How the app is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shop {
    pub(crate) partitions: u16,
    pub(crate) trust_level: TrustLevel,
}

impl Default for Shop {
    fn default() -> Self {
        Self { partitions: 1, trust_level: TrustLevel::Zero }
    }
}

/// Opens the store on disk that a node has.
pub(crate) fn open_store(folder: &Path) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(FjallStore::open(folder, &schema(), FjallSettings::default())?))
}

/// A node with nothing in it.
pub(crate) fn open(store: Arc<dyn Store>) -> Result<Node> {
    let node = Node::open(store, Arc::new(SystemClock::new()), Settings::default());
    ensure!(node.wait_until_ready(PATIENCE), "the node is not ready: {:?}", node.partitions());
    Ok(node)
}

/// A node with a new shop.
pub(crate) fn open_shop(store: Arc<dyn Store>, shop: Shop) -> Result<Node> {
    let node = open(store)?;
    let app = DefineRequest::App {
        partitions: shop.partitions,
        record_ids: RecordIdScheme::Single,
        trust_level: shop.trust_level,
        retention: Retention::Milliseconds(86_400_000),
        keys_max: None,
        limits: CommandLimits::default(),
    };
    let sequence = DefineRequest::Sequence {
        name: name("invoice"),
        kind: name("default"),
        ranges: vec![(1, 9_999_999_999)],
        format: "INV-{yyyy}-{n:06}".to_owned(),
        reset: Reset::Yearly,
        utc_offset_minutes: 60,
    };
    let record =
        DefineRequest::Record { name: name("line"), class: RecordClass::W, singleton: false };
    for request in [app, sequence, record] {
        let reply = node.define(&app_name(), request, PATIENCE)?;
        ensure!(matches!(reply, Ok(DefineOutcome { .. })), "{reply:?}");
    }
    Ok(node)
}

pub(crate) fn app_name() -> Name {
    name("shop")
}

/// Commands with 256 bytes of arguments that create a record and draw a number.
pub(crate) struct Sales {
    events: Vec<CommandEvent>,
}

impl Sales {
    pub(crate) fn new() -> Self {
        let args = format!("{{'note': '{}'}}", "x".repeat(256 - "{\"note\":\"\"}".len()));
        let changes = "{'create': {'id': 1, 'kind': 'line', \
                       'fields': {'number': {'$next': 'invoice', 'as': 'text'}}}}";
        let sold = format!("{{'name': 'Sold', 'args': {args}, 'changes': [{changes}]}}");
        Self { events: events(&sold) }
    }

    /// The command with this number, in a workspace that is named by its id.
    pub(crate) fn command(&self, number: u64, workspace: u64) -> Command {
        let client = format!("pos-{}", number % 64);
        self.command_of(&client, number, workspace)
    }

    pub(crate) fn command_of(&self, client: &str, number: u64, workspace: u64) -> Command {
        let key = Key((u128::from(number) + 1).to_be_bytes());
        command(client, key, &workspace.to_string(), self.events.clone())
    }
}

/// The receipt of a command that was carried out.
pub(crate) fn committed(reply: &Reply<CommandOutcome>) -> Result<&Receipt> {
    let Ok(CommandOutcome::Committed(receipt)) = reply else {
        bail!("a command was not carried out: {reply:?}")
    };
    Ok(receipt)
}

/// Sends one command and waits.
pub(crate) fn send(node: &Node, command: Command) -> Result<()> {
    let reply = node.submit_and_wait(&app_name(), command, PATIENCE);
    committed(&reply.context("a command was not answered")?)?;
    Ok(())
}
