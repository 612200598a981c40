//! The end of a record. Its id is not drawn again; somebody may import it.

use seriatim_planted::{self as planted, Bug};
use seriatim_types::{Change, Number, RecordClass, RecordRow};

use super::update::existing;
use super::{At, Deciding, Stop};
use crate::effects::Fault;
use crate::home::Home;
use crate::rows::Draft;

pub(super) fn decide(
    deciding: &Deciding<'_>,
    draft: &Draft<'_>,
    asked: u64,
    if_version: Option<u64>,
) -> Result<Change, Stop> {
    let (id, row) = existing(deciding, draft, asked, if_version)?;
    Ok(Change::Delete { id, version: row.version })
}

pub(super) fn evolve(draft: &mut Draft<'_>, home: Home, at: At, id: Number) -> Result<(), Fault> {
    let key = home.record(at.workspace, id);
    let row: Option<RecordRow> = draft.read(Some(at.workspace), &key)?;
    let row = row.ok_or_else(|| at.unfounded("it removes a record that is not there"))?;
    if row.class == RecordClass::C && !planted::is(Bug::DeleteLeavesKindRow) {
        draft.delete(home.record_of_kind(at.workspace, &row.kind, id));
    }
    draft.delete(key);
    Ok(())
}
