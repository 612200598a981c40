//! Apps and partitions: finding them, and the view of a partition that readers have.

use std::time::Duration;

use seriatim_codec::PartitionPrefix;
use seriatim_core::{
    DeclareOutcome, DefineOutcome, Defined, SYSTEM_APP, SYSTEM_NAME, system_settings,
};
use seriatim_node::{AskError, Node, Reply, State, View, no_app};
use seriatim_types::{Declare, DefineRequest, Definitions, Name, PartitionId, PartitionRef};

/// The partition that holds the apps and their definitions.
pub const SYSTEM: PartitionRef = PartitionRef { app: SYSTEM_APP, partition: PartitionId(0) };

/// Readers cannot see a partition yet: what it is doing, or `None` if it was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotServing(pub Option<State>);

/// The definitions of an app, also of the system's. All apps are read.
///
/// # Errors
///
/// There is no such app, or they could not be read.
pub fn find_app(node: &Node, app: &Name) -> Result<Definitions, AskError> {
    if app.as_str() == SYSTEM_NAME {
        return Ok(Defined::new(system_settings()).plain().clone());
    }
    let mut apps = node.apps()?;
    match apps.iter().position(|definitions| definitions.app.name == *app) {
        Some(found) => Ok(apps.swap_remove(found)),
        None => Err(AskError::AppNotFound(no_app(app, apps.iter().map(|known| &known.app.name)))),
    }
}

/// A partition of an app, also of the system's.
///
/// # Errors
///
/// There is no such app, it has fewer partitions, or the apps could not be read.
pub fn find_partition(
    node: &Node,
    app: &Name,
    partition: PartitionId,
) -> Result<PartitionRef, AskError> {
    let settings = find_app(node, app)?.app;
    if partition.0 >= settings.partitions {
        return Err(AskError::PartitionNotFound { last: settings.partitions.saturating_sub(1) });
    }
    Ok(PartitionRef { app: settings.app, partition })
}

/// Asks for a definition, and waits until all partitions of the app have it.
///
/// # Errors
///
/// When not all of them had it in time, or there is no such app.
pub fn define(
    node: &Node,
    app: &Name,
    request: DefineRequest,
    within: Duration,
) -> Result<Reply<DefineOutcome>, AskError> {
    Ok(node.define(app, request, within)?.map_err(|error| error.of_app(app)))
}

/// Settles the kind of a workspace.
///
/// # Errors
///
/// When it was not answered in time, or there is no such app.
pub fn declare(
    node: &Node,
    app: &Name,
    declare: Declare,
    within: Duration,
) -> Result<Reply<DeclareOutcome>, AskError> {
    Ok(node.declare(app, declare, within)?.map_err(|error| error.of_app(app)))
}

/// What readers may see of a partition, with the prefix of its keys.
///
/// # Errors
///
/// Before it has served for the first time.
pub fn view(node: &Node, partition: PartitionRef) -> Result<(View, PartitionPrefix), NotServing> {
    node.view(partition).ok_or_else(|| NotServing(state(node, partition)))
}

/// What a partition is doing; `None` if it was not started.
#[must_use]
pub fn state(node: &Node, partition: PartitionRef) -> Option<State> {
    let mut partitions = node.partitions().into_iter();
    partitions.find(|(name, _)| *name == partition).map(|(_, doing)| doing)
}
