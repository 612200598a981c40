//! Other values for some fields of a record. Fields that are not named stay as they are.

use std::ops::Range;

use seriatim_codec::Stored;
use seriatim_types::{Change, CommandLimits, FieldTemplates, Fields, Number, RecordRow};

use super::{At, Deciding, Stop};
use crate::decide::fill_fields;
use crate::home::Home;
use crate::refusal::{Current, CurrentValue, Refusal, Subject};
use crate::rows::{Draft, Unreadable};

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
) -> Result<(), Unreadable> {
    let key = home.record(at.workspace, id);
    let row: Option<RecordRow> = draft.read(Some(at.workspace), &key)?;
    let mut row = row.expect("an update was decided on a record that was there");
    assert_eq!(row.version.checked_add(1), Some(version), "versions follow each other");
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
        let (subject, current) = (Subject::Record(id), Some(Current { version, value }));
        return Err(Refusal::VersionMismatch { subject, current }.into());
    }
    Ok((id, row))
}

/// A record must fit into a row, whatever was added to it over the years.
pub(super) fn check_size(fields: &Fields, limits: &CommandLimits) -> Result<(), Refusal> {
    let count = fields.len();
    let size = |(name, value): &(seriatim_types::FieldName, bytes::Bytes)| {
        name.as_str().len().saturating_add(value.len())
    };
    let bytes = fields.iter().map(size).fold(0, usize::saturating_add);
    let checks = [
        ("fields of a record", count, limits.fields),
        ("bytes of a record", bytes, limits.record_bytes),
    ];
    for (what, found, max) in checks {
        let (found, max) = (u64::try_from(found).unwrap_or(u64::MAX), u64::from(max));
        if found > max {
            return Err(Refusal::TooLarge { what, max, found });
        }
    }
    Ok(())
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
