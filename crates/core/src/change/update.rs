//! Other values for some fields of a record. Fields that are not named stay as they are.

use std::ops::Range;

use seriatim_codec::Stored;
use seriatim_types::{Change, CommandLimits, FieldTemplates, Fields, Number, RecordRow};

use super::{At, Deciding, Stop};
use crate::decide::{at_most, fill_fields};
use crate::effects::Fault;
use crate::home::Home;
use crate::refusal::{Current, CurrentValue, Refusal, Subject};
use crate::rows::Draft;

pub(super) fn decide(
    deciding: &Deciding<'_>,
    draft: &Draft<'_>,
    (asked, if_version): (u64, Option<u64>),
    fields: &FieldTemplates,
    part: &Range<usize>,
) -> Result<Change, Stop> {
    let (id, row) = existing(deciding, draft, asked, if_version)?;
    let fields = fill_fields(fields, deciding.numbers, part);
    let mut updated = row.fields;
    replace(&mut updated, &fields);
    check_size(&updated, deciding.limits())?;
    let version = row.version.checked_add(1).expect("a version is one of fewer than 2^53 events");
    Ok(Change::Update { id, version, fields })
}

pub(super) fn evolve(
    draft: &mut Draft<'_>,
    home: Home,
    at: At,
    id: Number,
    version: u64,
    fields: &Fields,
) -> Result<(), Fault> {
    let key = home.record(at.workspace, id);
    let row: Option<RecordRow> = draft.read(Some(at.workspace), &key)?;
    let mut row = row.ok_or_else(|| at.unfounded("it updates a record that is not there"))?;
    if row.version.checked_add(1) != Some(version) {
        return Err(at.unfounded("it updates a record to another version than the next"));
    }
    row.version = version;
    row.offset = at.offset;
    replace(&mut row.fields, fields);
    draft.put(key, row.to_bytes());
    Ok(())
}

/// A record that must be there, in the version that was expected.
pub(super) fn existing(
    deciding: &Deciding<'_>,
    draft: &Draft<'_>,
    asked: u64,
    if_version: Option<u64>,
) -> Result<(Number, RecordRow), Stop> {
    let id = deciding.numbers.id(asked);
    let row = deciding.record(draft, id)?.ok_or(Refusal::RecordNotFound { id: asked })?;
    if if_version.is_some_and(|expected| expected != row.version) {
        let (version, value) = (row.version, CurrentValue::Record(row.fields));
        let (subject, current) = (Subject::Record(id), Current { version, value });
        return Err(Refusal::VersionMismatch { subject, current }.into());
    }
    Ok((id, row))
}

/// A record must fit into a row, whatever was added to it over the years.
pub(super) fn check_size(fields: &Fields, limits: &CommandLimits) -> Result<(), Refusal> {
    at_most("fields of a record", fields.len(), limits.fields)?;
    let mut bytes = 0_usize;
    for (name, value) in fields {
        // The holes are filled by now.
        at_most("bytes of a field", value.len(), limits.field_bytes)?;
        bytes = bytes.saturating_add(name.as_str().len()).saturating_add(value.len());
    }
    at_most("bytes of a record", bytes, limits.record_bytes)
}

/// Both lists are ascending, and stay so.
fn replace(fields: &mut Fields, new: &Fields) {
    for (name, value) in new {
        match fields.binary_search_by(|(known, _)| known.cmp(name)) {
            Ok(at) => {
                if let Some((_, held)) = fields.get_mut(at) {
                    held.clone_from(value);
                }
            }
            Err(at) => fields.insert(at, (name.clone(), value.clone())),
        }
    }
}
