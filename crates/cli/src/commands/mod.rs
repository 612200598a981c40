//! The commands that ask a server, one file for each thing that it has: what can be asked of it, and
//! how the answer looks. With `-o json` that is the message of the contract.

pub(crate) mod app;
pub(crate) mod client;
pub(crate) mod clock;
pub(crate) mod entity;
pub(crate) mod kind;
pub(crate) mod log;
pub(crate) mod partition;
pub(crate) mod proof;
pub(crate) mod receipt;
pub(crate) mod record;
pub(crate) mod sequence;
pub(crate) mod workspace;

use clap::Args;
use serde::Serialize;
use seriatim_client::Defined;

use crate::remote::Remote;

/// A definition, and what came of it.
#[derive(Serialize)]
struct Made<T: Serialize> {
    #[serde(flatten)]
    definition: T,
    #[serde(flatten)]
    defined: Defined,
}

/// A workspace, and how new the answer has to be.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceArgs {
    /// The app.
    app: String,
    /// The workspace: its name, or its id.
    workspace: String,
    /// Waits until the workspace has this offset.
    #[arg(long, value_name = "OFFSET", default_value_t = 0, hide_default_value = true)]
    min_offset: u64,
}

impl WorkspaceArgs {
    fn of(&self, remote: &Remote) -> seriatim_client::Workspace {
        remote.client.app(&self.app).workspace(&self.workspace).min_offset(self.min_offset)
    }
}
