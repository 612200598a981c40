//! What is defined holds in all partitions of its app: before whoever waits for it is told so, and in
//! the end in any case.

use seriatim_node::parts::{SYSTEM, outbox_of, partitions_of, prefix_of};
use seriatim_node::{ReadFailed, Reader, State};
use seriatim_storage::Store as _;
use seriatim_types::{AppId, Definitions, PartitionRef};

use super::{Violation, show_partition};
use crate::server::Server;
use crate::world::World;

/// Whoever has asked for a definition is told that it holds. One that is known already does not wait
/// for partitions that have stopped.
pub(crate) fn check_answered(
    world: &World,
    app: AppId,
    version: u64,
    is_new: bool,
) -> Result<(), Violation> {
    let mut settled = world.oracle.settled().filter(|(name, _)| name.app == app);
    let count = settled.find_map(|(_, model)| Some(model.definitions()?.app.partitions));
    // Before any of them has a definition, the app has the partitions that run.
    let running = || {
        let states = world.server.iter().flat_map(Server::states);
        u16::try_from(states.filter(|(name, _)| name.app == app).count()).unwrap_or(u16::MAX)
    };
    let count = count.unwrap_or_else(running);
    let has_stopped = |partition| {
        let shared = world.server.as_ref().and_then(|server| server.shared(partition));
        shared.is_some_and(|shared| matches!(shared.state(), State::Stopped(_)))
    };
    for partition in partitions_of(app, count) {
        let has = version_of(world, partition);
        if has < Some(version) && (is_new || !has_stopped(partition)) {
            let name = show_partition(partition);
            let what =
                format!("version {version} is acknowledged, and partition {name} has {has:?}");
            return Err(wrong(what));
        }
    }
    Ok(())
}

/// Looks at the partitions of a server that has nothing to do.
pub(crate) fn check(world: &World) -> Result<(), Violation> {
    let Some(server) = &world.server else { return Ok(()) };
    let Some(view) = server.shared(SYSTEM).and_then(|shared| shared.view()) else { return Ok(()) };
    let Some(apps) = apps(server) else { return Ok(()) };
    let schema = server.store().schema();
    let apps = apps.map_err(|failed| wrong(format!("the apps cannot be read: {failed:?}")))?;
    for Definitions { app, version, .. } in apps {
        for partition in partitions_of(app.app, app.partitions) {
            let name = show_partition(partition);
            if !serves(server, partition) {
                return Err(wrong(format!("partition {name} of an app does not serve")));
            }
            let has = version_of(world, partition);
            if has != Some(version) {
                let what = format!("partition {name} has version {has:?}, decided is {version}");
                return Err(wrong(what));
            }
            let left = outbox_of(&view, schema, partition, None);
            let left = left.map_err(|failed| wrong(format!("no outbox: {failed:?}")))?;
            if !left.is_empty() {
                return Err(wrong(format!("messages to partition {name} are left: {left:?}")));
            }
        }
    }
    Ok(())
}

/// The apps with what was decided for them; `None` before they can be read.
fn apps(server: &Server) -> Option<Result<Vec<Definitions>, ReadFailed>> {
    let view = server.shared(SYSTEM)?.view()?;
    Some(Reader::new(&view, prefix_of(SYSTEM), server.store().schema()).apps())
}

fn version_of(world: &World, partition: PartitionRef) -> Option<u64> {
    let mut settled = world.oracle.settled();
    let (_, model) = settled.find(|(name, _)| *name == partition)?;
    model.definitions().map(|definitions| definitions.version)
}

fn serves(server: &Server, partition: PartitionRef) -> bool {
    server.states().any(|(name, state)| name == partition && state == State::Serving)
}

fn wrong(what: String) -> Violation {
    Violation::new("definitions", what)
}
