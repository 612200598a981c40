//! The end of a record. Its id is not drawn again; somebody may import it.

use seriatim_types::{Change, Number, RecordClass, RecordRow, WorkspaceId};

use super::update::existing;
use super::{Deciding, Stop};
use crate::home::Home;
use crate::rows::{Draft, Unreadable};

pub(super) fn decide(
    deciding: &Deciding<'_>,
    draft: &Draft<'_>,
    asked: u64,
    if_version: Option<u64>,
) -> Result<Change, Stop> {
    let (id, row) = existing(deciding, draft, asked, if_version)?;
    Ok(Change::Delete { id, version: row.version })
}

pub(super) fn evolve(
    draft: &mut Draft<'_>,
    home: Home,
    workspace: WorkspaceId,
    id: Number,
) -> Result<(), Unreadable> {
    let key = home.record(workspace, id);
    let row: Option<RecordRow> = draft.read(Some(workspace), &key)?;
    let row = row.expect("a removal was decided on a record that was there");
    if row.class == RecordClass::C {
        draft.delete(home.record_of_kind(workspace, &row.kind, id));
    }
    draft.delete(key);
    Ok(())
}
