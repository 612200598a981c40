//! Which sequences there are: the built-in ones and those that an app defines.
//!
//! ```text
//!  0 │ 1 ..= 65535 │ 65536 ..= 66047 │ ..= 200000 │ 200001 ..
//!  ──┼─────────────┼─────────────────┼────────────┼──────────
//! no │ raw, chosen │ singletons, one │  reserved  │ drawn
//! rec│ in a command│ fixed id a kind │            │
//! ```

use std::collections::BTreeMap;

use seriatim_types::limits::{SEQUENCES_PER_KIND_MAX, SINGLETONS_MAX};
use seriatim_types::{KindId, NUMBER_MAX, Number, RecordClass, Reset, SequenceId};

use crate::format::Format;
use crate::period::UtcOffset;
use crate::ranges::Ranges;

/// The sequences that every kind of workspaces has. Their ids are stored and never reused.
pub mod built_in {
    use seriatim_types::SequenceId;

    /// Offsets in the workspace's log.
    pub const WORKSPACE_OFFSETS: SequenceId = SequenceId(1);
    /// Record ids of all classes, in the single scheme.
    pub const RECORD_IDS: SequenceId = SequenceId(2);
    /// Record ids of class c, in the split scheme.
    pub const RECORD_IDS_C: SequenceId = SequenceId(3);
    /// Record ids of classes o and w, in the split scheme.
    pub const RECORD_IDS_OW: SequenceId = SequenceId(4);
    /// The commands of one client. It stands in the client's own row.
    pub const CLIENT: SequenceId = SequenceId(5);
    /// The place of a client's last event in the workspace's log. It stands in the client's own
    /// row, and nothing is drawn from it.
    pub const CLIENT_OFFSETS: SequenceId = SequenceId(6);
    /// The first id that an app's own sequence can have.
    pub const FIRST_OF_APP: SequenceId = SequenceId(256);
}

const SINGLETON_FIRST: u64 = 65_536;
const SINGLETON_LAST: u64 = 66_047;
const RESERVED_LAST: u64 = 200_000;
const SPLIT_OW_FIRST: u64 = 322_680_000_131_072;
const SPLIT_C_FIRST: u64 = 322_685_000_131_072;

/// What an id says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdClass {
    /// No record.
    Null,
    /// Chosen by a client, valid inside one command.
    Raw,
    /// Fixed for a record kind.
    Singleton,
    /// Never given.
    Reserved,
    /// Drawn, or imported.
    User,
}

impl IdClass {
    /// The class of an id.
    #[must_use]
    pub fn of(id: u64) -> Self {
        match id {
            0 => Self::Null,
            1..SINGLETON_FIRST => Self::Raw,
            SINGLETON_FIRST..=SINGLETON_LAST => Self::Singleton,
            _ if id <= RESERVED_LAST => Self::Reserved,
            _ => Self::User,
        }
    }
}

/// How an app numbers its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordIds(Scheme);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Scheme {
    /// One sequence for all classes.
    Single(Ranges),
    /// One sequence for class c and one for classes o and w.
    Split { c: Ranges, ow: Ranges },
}

/// Ranges that cannot serve for record ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordIdsError {
    /// A range with ids that mean something else.
    #[error("record ids are drawn from {}; {first} lies below", RESERVED_LAST.saturating_add(1))]
    NotUser {
        /// The first number of the range.
        first: Number,
    },
    /// An id that both sequences would give.
    #[error("both sequences of the split scheme would give {number}")]
    Overlap {
        /// The lowest such id.
        number: Number,
    },
}

impl RecordIds {
    /// The single scheme, from 200001 on.
    #[must_use]
    pub fn single() -> Self {
        let first = RESERVED_LAST.saturating_add(1);
        Self(Scheme::Single(Ranges::new(&[(first, NUMBER_MAX)]).expect("one good range")))
    }

    /// The single scheme with other ranges.
    ///
    /// # Errors
    ///
    /// When a range is not for users' records.
    pub fn single_with(ranges: Ranges) -> Result<Self, RecordIdsError> {
        check_user(&ranges)?;
        Ok(Self(Scheme::Single(ranges)))
    }

    /// The split scheme with its usual ranges: o and w end where c begins.
    #[must_use]
    pub fn split() -> Self {
        let last = SPLIT_C_FIRST.saturating_sub(1);
        Self(Scheme::Split {
            c: Ranges::new(&[(SPLIT_C_FIRST, NUMBER_MAX)]).expect("one good range"),
            ow: Ranges::new(&[(SPLIT_OW_FIRST, last)]).expect("one good range"),
        })
    }

    /// The split scheme with other ranges.
    ///
    /// # Errors
    ///
    /// When a range is not for users' records, or the two sequences could give the same id.
    pub fn split_with(c: Ranges, ow: Ranges) -> Result<Self, RecordIdsError> {
        check_user(&c)?;
        check_user(&ow)?;
        for (first, last) in c.iter() {
            for (other_first, other_last) in ow.iter() {
                let number = first.max(other_first);
                if number <= last.min(other_last) {
                    return Err(RecordIdsError::Overlap { number });
                }
            }
        }
        Ok(Self(Scheme::Split { c, ow }))
    }

    /// What the ids of a class are drawn from.
    #[must_use]
    pub fn ranges_of(&self, class: RecordClass) -> &Ranges {
        match (&self.0, class) {
            (Scheme::Single(ranges), _) | (Scheme::Split { c: ranges, .. }, RecordClass::C) => {
                ranges
            }
            (Scheme::Split { ow, .. }, RecordClass::O | RecordClass::W) => ow,
        }
    }

    /// The sequence that gives ids to a class.
    #[must_use]
    pub fn sequence_of(&self, class: RecordClass) -> SequenceId {
        match (&self.0, class) {
            (Scheme::Single(_), _) => built_in::RECORD_IDS,
            (Scheme::Split { .. }, RecordClass::C) => built_in::RECORD_IDS_C,
            (Scheme::Split { .. }, RecordClass::O | RecordClass::W) => built_in::RECORD_IDS_OW,
        }
    }
}

fn check_user(ranges: &Ranges) -> Result<(), RecordIdsError> {
    let other = ranges.iter().find(|(first, _)| IdClass::of(first.get()) != IdClass::User);
    other.map_or(Ok(()), |(first, _)| Err(RecordIdsError::NotUser { first }))
}

/// One sequence, as it is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// What it draws from.
    pub ranges: Ranges,
    /// Whether it begins anew.
    pub reset: Reset,
    /// Where its years turn, and the year that its presentation shows.
    pub utc_offset: UtcOffset,
    /// How its numbers are shown.
    pub format: Format,
}

impl Sequence {
    /// A sequence that draws from the ranges, never begins anew and shows plain numbers.
    #[must_use]
    pub fn plain(ranges: Ranges) -> Self {
        let (reset, utc_offset, format) = (Reset::Never, UtcOffset::default(), Format::default());
        Self { ranges, reset, utc_offset, format }
    }
}

/// All sequences of an app, by the kinds of its workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequences {
    record_ids: RecordIds,
    client: Sequence,
    kinds: BTreeMap<KindId, BTreeMap<SequenceId, Sequence>>,
}

/// Why a sequence could not be defined. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefineError {
    /// No such kind of workspaces.
    #[error("there is no workspace kind {}", kind.0)]
    UnknownKind {
        /// The kind.
        kind: KindId,
    },
    /// An id that is not an app's to use.
    #[error("sequence ids of apps begin with {}; {} is built in", built_in::FIRST_OF_APP.0, sequence.0)]
    BuiltIn {
        /// The id.
        sequence: SequenceId,
    },
    /// The sequence exists and something else than its presentation would change.
    #[error("sequence {} exists, and only its format may change", sequence.0)]
    Conflict {
        /// The sequence.
        sequence: SequenceId,
    },
    /// The kind has as many as it can have.
    #[error("a workspace kind has at most {SEQUENCES_PER_KIND_MAX} sequences")]
    TooMany,
}

impl Sequences {
    /// The kind that every app has.
    pub const DEFAULT_KIND: KindId = KindId(0);

    /// The built-in sequences alone, for the default kind.
    #[must_use]
    pub fn new(record_ids: RecordIds) -> Self {
        let all = Ranges::new(&[(1, NUMBER_MAX)]).expect("one good range");
        let client = Sequence::plain(all);
        let mut sequences = Self { record_ids, client, kinds: BTreeMap::new() };
        sequences.add_kind(Self::DEFAULT_KIND);
        sequences
    }

    /// Adds a kind of workspaces, with the built-in sequences. Adding it again does nothing.
    pub fn add_kind(&mut self, kind: KindId) {
        let record_ids = match &self.record_ids.0 {
            Scheme::Single(ranges) => vec![(built_in::RECORD_IDS, ranges.clone())],
            Scheme::Split { c, ow } => {
                vec![(built_in::RECORD_IDS_C, c.clone()), (built_in::RECORD_IDS_OW, ow.clone())]
            }
        };
        let offsets = (built_in::WORKSPACE_OFFSETS, self.client.ranges.clone());
        let built_in = record_ids.into_iter().chain([offsets]);
        let built_in = built_in.map(|(id, ranges)| (id, Sequence::plain(ranges)));
        self.kinds.entry(kind).or_insert_with(|| built_in.collect());
    }

    /// Defines a sequence for a kind, or changes the presentation of one.
    ///
    /// # Errors
    ///
    /// When the kind is unknown, the id is built in or in use for something else, or the kind is
    /// full.
    pub fn define(
        &mut self,
        kind: KindId,
        sequence: SequenceId,
        definition: Sequence,
    ) -> Result<(), DefineError> {
        if sequence < built_in::FIRST_OF_APP {
            return Err(DefineError::BuiltIn { sequence });
        }
        let defined = self.kinds.get_mut(&kind).ok_or(DefineError::UnknownKind { kind })?;
        if let Some(existing) = defined.get_mut(&sequence) {
            let renamed = Sequence { format: definition.format.clone(), ..existing.clone() };
            if renamed != definition {
                return Err(DefineError::Conflict { sequence });
            }
            *existing = definition;
            return Ok(());
        }
        if defined.len() >= SEQUENCES_PER_KIND_MAX {
            return Err(DefineError::TooMany);
        }
        defined.insert(sequence, definition);
        Ok(())
    }

    /// How this app numbers its records.
    #[must_use]
    pub fn record_ids(&self) -> &RecordIds {
        &self.record_ids
    }

    /// A sequence of a kind.
    #[must_use]
    pub fn get(&self, kind: KindId, sequence: SequenceId) -> Option<&Sequence> {
        self.kinds.get(&kind)?.get(&sequence)
    }

    /// Whether there is such a kind.
    #[must_use]
    pub fn has_kind(&self, kind: KindId) -> bool {
        self.kinds.contains_key(&kind)
    }

    pub(crate) fn client(&self) -> &Sequence {
        &self.client
    }
}

/// The fixed ids of singleton kinds, given in the order in which the kinds are defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Singletons {
    defined: usize,
}

/// There are no more fixed ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an app has at most {SINGLETONS_MAX} singleton kinds")]
pub struct SingletonsError;

impl Singletons {
    /// The fixed id of the next kind.
    ///
    /// # Errors
    ///
    /// When all are taken.
    pub fn define(&mut self) -> Result<Number, SingletonsError> {
        let index = u64::try_from(self.defined).map_err(|_| SingletonsError)?;
        let id = SINGLETON_FIRST.checked_add(index).filter(|id| *id <= SINGLETON_LAST);
        let id = id.and_then(Number::new).ok_or(SingletonsError)?;
        self.defined = self.defined.saturating_add(1);
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(list: &[(u64, u64)]) -> Ranges {
        Ranges::new(list).unwrap()
    }

    #[test]
    fn ids_are_classed_at_every_edge() {
        use IdClass::{Null, Raw, Reserved, Singleton, User};
        let edges = [
            (0, Null),
            (1, Raw),
            (65_535, Raw),
            (65_536, Singleton),
            (66_047, Singleton),
            (66_048, Reserved),
            (200_000, Reserved),
            (200_001, User),
            (u64::MAX, User),
        ];
        for (id, class) in edges {
            assert_eq!(IdClass::of(id), class, "{id}");
        }
    }

    #[test]
    fn the_513th_singleton_kind_is_refused() {
        let mut singletons = Singletons::default();
        let ids: Vec<u64> = (0..512).map(|_| singletons.define().unwrap().get()).collect();
        assert_eq!((ids[0], ids[511]), (65_536, 66_047));
        assert!(ids.iter().all(|id| IdClass::of(*id) == IdClass::Singleton));
        assert_eq!(singletons.define(), Err(SingletonsError));
        assert_eq!(singletons.define(), Err(SingletonsError), "and stays so");
    }

    #[test]
    fn the_two_sequences_of_the_split_scheme_never_meet() {
        let split = RecordIds::split();
        let (c, ow) = (split.ranges_of(RecordClass::C), split.ranges_of(RecordClass::W));
        assert_eq!(c.after(None).unwrap().get(), 322_685_000_131_072);
        assert_eq!(ow.after(None).unwrap().get(), 322_680_000_131_072);
        assert_eq!(ow.after(Number::new(322_685_000_131_071)), None, "exhausted, not into c");
        assert!(RecordIds::split_with(c.clone(), ow.clone()).is_ok());
        let overlapping = ranges(&[(322_685_000_131_000, 322_685_000_131_080)]);
        let error = RecordIds::split_with(c.clone(), overlapping).unwrap_err();
        let number = Number::new(322_685_000_131_072).unwrap();
        assert_eq!(error, RecordIdsError::Overlap { number });
        let low = ranges(&[(200_000, 200_009)]);
        let error = RecordIds::split_with(c.clone(), low.clone());
        assert!(matches!(error, Err(RecordIdsError::NotUser { .. })));
        assert!(matches!(RecordIds::single_with(low), Err(RecordIdsError::NotUser { .. })));
    }

    #[test]
    fn only_the_presentation_of_a_sequence_may_change() {
        let (kind, id) = (Sequences::DEFAULT_KIND, SequenceId(300));
        let mut sequences = Sequences::new(RecordIds::single());
        let invoice = Sequence::plain(ranges(&[(1, 999_999)]));
        sequences.define(kind, id, invoice.clone()).unwrap();
        sequences.define(kind, id, invoice.clone()).unwrap();
        let renamed = Sequence { format: Format::new("INV-{n:06}").unwrap(), ..invoice.clone() };
        sequences.define(kind, id, renamed.clone()).unwrap();
        assert_eq!(sequences.get(kind, id), Some(&renamed));
        let conflict = Err(DefineError::Conflict { sequence: id });
        let wider = Sequence { ranges: ranges(&[(1, 9_999_999)]), ..renamed.clone() };
        assert_eq!(sequences.define(kind, id, wider), conflict);
        let yearly = Sequence { reset: Reset::Yearly, ..renamed.clone() };
        assert_eq!(sequences.define(kind, id, yearly), conflict);
        assert_eq!(sequences.get(kind, id), Some(&renamed), "a conflict changes nothing");
    }

    #[test]
    fn what_cannot_be_defined_is_refused() {
        let mut sequences = Sequences::new(RecordIds::single());
        let plain = Sequence::plain(ranges(&[(1, 9)]));
        let kind = KindId(7);
        let unknown = sequences.define(kind, SequenceId(300), plain.clone());
        assert_eq!(unknown, Err(DefineError::UnknownKind { kind }));
        sequences.add_kind(kind);
        let sequence = SequenceId(255);
        let built_in = sequences.define(kind, sequence, plain.clone());
        assert_eq!(built_in, Err(DefineError::BuiltIn { sequence }));
        for n in 0..62 {
            sequences.define(kind, SequenceId(256 + n), plain.clone()).unwrap();
        }
        assert_eq!(sequences.define(kind, SequenceId(999), plain), Err(DefineError::TooMany));
    }
}
