//! A new record: with a number that is drawn, with the fixed one of its kind, or imported.

use std::ops::Range;

use seriatim_codec::Stored;
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::IdClass;
use seriatim_types::{
    Change, FieldTemplates, Name, Number, RecordClass, RecordRow, TrustLevel, WorkspaceId,
};

use super::update::check_size;
use super::{Deciding, Stop};
use crate::decide::fill_fields;
use crate::home::Home;
use crate::refusal::Refusal;
use crate::rows::Draft;

/// What is asked for.
pub(super) struct Create<'a> {
    pub(super) id: u64,
    pub(super) kind: &'a Name,
    pub(super) parent: Option<u64>,
    pub(super) fields: &'a FieldTemplates,
}

pub(super) fn decide(
    deciding: &Deciding<'_>,
    draft: &Draft<'_>,
    create: Create<'_>,
    part: &Range<usize>,
) -> Result<Change, Stop> {
    let definition = deciding.defined.record(create.kind).expect("the shape was checked");
    let id = deciding.numbers.id(create.id);
    let is_raw = IdClass::of(create.id) == IdClass::Raw;
    // A number that was just drawn is new. The others may be taken.
    if (definition.singleton.is_some() || !is_raw) && deciding.record(draft, id)?.is_some() {
        let kind = create.kind.clone();
        let refusal = match definition.singleton {
            Some(_) => Refusal::SingletonExists { kind, id },
            None => Refusal::RecordExists { id },
        };
        return Err(refusal.into());
    }
    let parent = create.parent.map(|parent| (parent, deciding.numbers.id(parent)));
    if let Some((asked, parent)) = parent {
        // A parent that the same command creates may stand further down.
        let is_of_command = IdClass::of(asked) == IdClass::Raw;
        if !is_of_command && deciding.record(draft, parent)?.is_none() {
            return Err(Refusal::RecordNotFound { id: asked }.into());
        }
    }
    let fields = fill_fields(create.fields, deciding.numbers, part);
    check_size(&fields, deciding.limits())?;
    let as_asked = |id| Number::new(id).filter(|_| planted::is(Bug::RawParentKept));
    Ok(Change::Create {
        raw: u16::try_from(create.id).ok().filter(|_| is_raw),
        id,
        kind: create.kind.clone(),
        class: definition.class,
        parent: parent.map(|(asked, real)| as_asked(asked).unwrap_or(real)),
        fields,
    })
}

pub(super) fn evolve(
    draft: &mut Draft<'_>,
    home: Home,
    trust: TrustLevel,
    workspace: WorkspaceId,
    id: Number,
    row: &RecordRow,
) {
    let is_checked = trust == TrustLevel::Zero;
    draft.insert(home.record(workspace, id), row.to_bytes(), is_checked);
    if row.class == RecordClass::C {
        // Records of this class can be listed by their kind.
        let listed = home.record_of_kind(workspace, &row.kind, id);
        draft.put(listed, bytes::Bytes::new());
    }
}
