//! The same walk over events as a live server answers them.

use std::collections::BTreeMap;
use std::sync::Arc;

use seriatim_api::message::{App, Definitions, Event};
use seriatim_node::{Reader, schema};
use seriatim_storage::Store;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::core::name;
use seriatim_types::{
    EntityKey, EntityRow, Number, PartitionId, PartitionRef, RecordRow, WorkspaceId,
};
use seriatim_verify::{Client, Error, LiveWalk, Visitor, Workspace};

use crate::world::{Checkpoints, World};

/// Asks a reader for everything that is expected, as a client of a live server would.
struct Asking<'a> {
    reader: Reader<'a>,
    asked: usize,
}

impl Visitor for Asking<'_> {
    fn workspace(&mut self, workspace: &Workspace) -> Result<(), Error> {
        let head = self.reader.head(workspace.id).unwrap();
        assert_eq!((head.size, head.root), (workspace.now.tree.size(), workspace.now.tree.root()));
        self.asked += 1;
        Ok(())
    }

    fn client(&mut self, client: &Client) -> Result<(), Error> {
        let state = self.reader.client(client.workspace, &client.client).unwrap().unwrap();
        assert_eq!((state.last_client_sequence, state.last_offset), client.now);
        self.asked += 1;
        Ok(())
    }

    fn record(
        &mut self,
        workspace: WorkspaceId,
        id: Number,
        row: Option<&RecordRow>,
    ) -> Result<(), Error> {
        assert_eq!(self.reader.record(workspace, id).unwrap().as_ref(), row);
        self.asked += 1;
        Ok(())
    }

    fn entity(
        &mut self,
        workspace: WorkspaceId,
        key: &EntityKey,
        row: Option<&EntityRow>,
    ) -> Result<(), Error> {
        let shown = self.reader.entity(workspace, key, seriatim_types::Time(0)).unwrap();
        assert!(shown.is_none() || shown.as_ref() == row, "{key}");
        self.asked += 1;
        Ok(())
    }
}

#[test]
fn a_walk_over_pages_of_a_live_node_expects_what_its_reads_answer() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    let mut world = World::open(store, Checkpoints::Soon);
    world.define();
    world.work(10);
    let apps = world.node.apps().unwrap();
    for named in ["shop", "kiosk"] {
        let defined = apps.iter().find(|it| it.app.name == name(named)).unwrap();
        for index in 0..defined.app.partitions {
            let asked = compare(&world, defined, PartitionId(index));
            assert!(asked > 20, "{asked} of {named}");
        }
    }
    world.end();
}

/// Reads a partition in pages, as messages. Returns how many rows were compared.
fn compare(world: &World, defined: &seriatim_types::Definitions, index: PartitionId) -> usize {
    let (app, definitions) = (App::from(&defined.app), Definitions::from(defined));
    let partition = PartitionRef { app: defined.app.app, partition: index };
    let (view, prefix) = world.node.view(partition).unwrap();
    let reader = Reader::new(&view, prefix, world.node.schema());
    let retention = defined.app.retention;
    let mut walk = LiveWalk::new(partition, (&app, retention), &definitions, 1 << 20).unwrap();
    let mut names = BTreeMap::new();
    let mut from = 1;
    loop {
        let page = reader.partition_events(from, 7).unwrap();
        let Some(last) = page.last() else { break };
        from = last.event.partition_offset.get() + 1;
        for it in &page {
            let name = it.event.workspace_name.as_ref().map(ToString::to_string);
            let id = it.event.workspace.0;
            let name = names.entry(id).or_insert_with(|| name.unwrap_or(id.to_string()));
            walk.event(&Event::new(&it.event, name, index, &it.leaf)).unwrap();
        }
    }
    let mut asking = Asking { reader, asked: 0 };
    walk.finish().unwrap().visit(None, &mut asking).unwrap();
    asking.asked
}
