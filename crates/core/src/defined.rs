//! What is defined for an app, ready to be looked up.
//!
//! The plain [`Definitions`] are what is stored and sent; here they are indexed by name, and
//! their sequences are those that the sequencer draws from. Definitions change in steps, and a
//! step is taken only if it is the next: every partition has them in the same order.

use std::collections::BTreeMap;

use seriatim_sequencer::{
    Format, IdClass, Ranges, RecordIds, Sequence, Sequences, UtcOffset, built_in,
};
use seriatim_types::limits::SEQUENCES_PER_KIND_MAX;
use seriatim_types::{
    AppSettings, Definition, Definitions, KindDefinition, KindId, Name, Number, RecordDefinition,
    RecordIdScheme, SequenceDefinition, Unknown,
};

use crate::change::key_limit_contradiction;

/// The name of the kind that every app has.
pub const DEFAULT_KIND: &str = "default";

/// What is defined for an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defined {
    plain: Definitions,
    kinds: BTreeMap<Name, KindId>,
    sequences: BTreeMap<Name, usize>,
    records: BTreeMap<Name, usize>,
}

/// A step that does not follow, or cannot be. Definitions are checked where they are made, so
/// either the order was broken or something was damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// Another version than the next.
    #[error("version {found} of the definitions was to be applied where {expected} comes next")]
    Version {
        /// What comes next.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// A step that cannot have been decided on the version before it.
    #[error("version {version} of the definitions cannot follow: {why}")]
    Unfounded {
        /// The version.
        version: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A sequence that cannot be drawn from.
    #[error("sequence {name:?} cannot be drawn from")]
    Sequence {
        /// Its name.
        name: Name,
    },
}

impl Defined {
    /// The definitions of a new app.
    #[must_use]
    pub fn new(app: AppSettings) -> Self {
        let plain = Definitions {
            version: 1,
            app,
            kinds: Vec::new(),
            sequences: Vec::new(),
            records: Vec::new(),
            unknown: Unknown::default(),
        };
        let default = Name::new(DEFAULT_KIND).expect("a plain word is a name");
        let kinds = BTreeMap::from([(default, Sequences::DEFAULT_KIND)]);
        Self { plain, kinds, sequences: BTreeMap::new(), records: BTreeMap::new() }
    }

    /// Definitions as they were stored.
    #[must_use]
    pub fn restore(plain: Definitions) -> Self {
        let mut defined = Self::new(plain.app.clone());
        let kinds = plain.kinds.iter().map(|kind| (kind.name.clone(), kind.id));
        defined.kinds.extend(kinds);
        let sequences = plain.sequences.iter().zip(0..);
        defined.sequences = sequences.map(|(it, index)| (it.name.clone(), index)).collect();
        let records = plain.records.iter().zip(0..);
        defined.records = records.map(|(it, index)| (it.name.clone(), index)).collect();
        Self { plain, ..defined }
    }

    /// Takes the next step. On an error nothing has changed.
    ///
    /// # Errors
    ///
    /// When the step is not the next.
    pub fn step(&mut self, version: u64, definition: &Definition) -> Result<(), StepError> {
        let expected = self.plain.version.saturating_add(1);
        if version != expected {
            return Err(StepError::Version { expected, found: version });
        }
        if let Some(why) = self.contradiction(definition) {
            return Err(StepError::Unfounded { version, why });
        }
        match definition {
            Definition::App(_) => unreachable!("a second app is a contradiction"),
            Definition::Kind(kind) => self.add_kind(kind),
            Definition::Sequence(sequence) => {
                compile(sequence)?;
                self.put_sequence(sequence);
            }
            Definition::Record(record) => self.add_record(record),
            Definition::KeyLimit(keys_max) => self.plain.app.keys_max = *keys_max,
        }
        self.plain.version = version;
        Ok(())
    }

    /// What a step has against what is defined already.
    fn contradiction(&self, definition: &Definition) -> Option<&'static str> {
        match definition {
            Definition::App(_) => Some("the app is defined once, first of all"),
            Definition::Kind(kind) => {
                let is_next = usize::from(kind.id.0) == self.plain.kinds.len().saturating_add(1);
                let is_new = self.kind(&kind.name).is_none() && is_next;
                (!is_new).then_some("a kind is new, and has the next id")
            }
            Definition::Sequence(sequence) => {
                let has_kind = self.kinds.values().any(|kind| *kind == sequence.kind);
                let is_same = match self.sequence(&sequence.name) {
                    Some(existing) => {
                        let format = existing.format.clone();
                        *existing == SequenceDefinition { format, ..sequence.clone() }
                    }
                    None => {
                        let first = usize::from(built_in::FIRST_OF_APP.0);
                        let next = self.plain.sequences.len().saturating_add(first);
                        usize::from(sequence.id.0) == next && self.has_room(sequence.kind)
                    }
                };
                let why = "a sequence is new with the next id, or changes its format alone";
                (!has_kind || !is_same).then_some(why)
            }
            Definition::Record(record) => {
                let is_fixed = |id: Number| IdClass::of(id.get()) == IdClass::Singleton;
                let is_taken = |id| self.plain.records.iter().any(|it| it.singleton == Some(id));
                let is_free = record.singleton.is_none_or(|id| is_fixed(id) && !is_taken(id));
                let is_new = self.record(&record.name).is_none() && is_free;
                (!is_new).then_some("a kind of records is new, and a fixed id is its own")
            }
            Definition::KeyLimit(keys_max) => key_limit_contradiction(self.app(), *keys_max),
        }
    }

    /// Whether a kind can have one more sequence. The built-in ones count too: offsets, and one or
    /// two for record ids.
    pub(crate) fn has_room(&self, kind: KindId) -> bool {
        let count = self.plain.sequences.iter().filter(|it| it.kind == kind).count();
        count.saturating_add(3) < SEQUENCES_PER_KIND_MAX
    }

    fn add_kind(&mut self, kind: &KindDefinition) {
        self.kinds.insert(kind.name.clone(), kind.id);
        self.plain.kinds.push(kind.clone());
    }

    fn put_sequence(&mut self, sequence: &SequenceDefinition) {
        let index = self.sequences.get(&sequence.name).copied();
        match index.and_then(|index| self.plain.sequences.get_mut(index)) {
            Some(existing) => existing.format.clone_from(&sequence.format),
            None => {
                self.sequences.insert(sequence.name.clone(), self.plain.sequences.len());
                self.plain.sequences.push(sequence.clone());
            }
        }
    }

    fn add_record(&mut self, record: &RecordDefinition) {
        self.records.insert(record.name.clone(), self.plain.records.len());
        self.plain.records.push(record.clone());
    }

    /// The definitions as they are stored and shown.
    #[must_use]
    pub fn plain(&self) -> &Definitions {
        &self.plain
    }

    /// The app's settings.
    #[must_use]
    pub fn app(&self) -> &AppSettings {
        &self.plain.app
    }

    /// A kind of workspaces, by its name.
    #[must_use]
    pub fn kind(&self, name: &Name) -> Option<KindId> {
        self.kinds.get(name).copied()
    }

    /// The name of a kind of workspaces.
    #[must_use]
    pub fn kind_name(&self, kind: KindId) -> Option<&Name> {
        self.kinds.iter().find(|(_, id)| **id == kind).map(|(name, _)| name)
    }

    /// A sequence, by its name.
    #[must_use]
    pub fn sequence(&self, name: &Name) -> Option<&SequenceDefinition> {
        self.plain.sequences.get(*self.sequences.get(name)?)
    }

    /// A kind of records, by its name.
    #[must_use]
    pub fn record(&self, name: &Name) -> Option<&RecordDefinition> {
        self.plain.records.get(*self.records.get(name)?)
    }

    /// The sequences that numbers are drawn from.
    ///
    /// # Errors
    ///
    /// When one of them cannot be drawn from.
    pub fn sequences(&self) -> Result<Sequences, StepError> {
        let record_ids = match self.plain.app.record_ids {
            RecordIdScheme::Single => RecordIds::single(),
            RecordIdScheme::Split => RecordIds::split(),
        };
        let mut sequences = Sequences::new(record_ids);
        self.kinds.values().for_each(|kind| sequences.add_kind(*kind));
        for definition in &self.plain.sequences {
            let unfit = |_| StepError::Sequence { name: definition.name.clone() };
            let sequence = compile(definition)?;
            sequences.define(definition.kind, definition.id, sequence).map_err(unfit)?;
        }
        Ok(sequences)
    }
}

/// The sequence that a definition describes.
pub(crate) fn compile(definition: &SequenceDefinition) -> Result<Sequence, StepError> {
    let build = || {
        let ranges = Ranges::new(&definition.ranges).ok()?;
        let utc_offset = UtcOffset::from_minutes(definition.utc_offset_minutes)?;
        let format = Format::new(&definition.format).ok()?;
        Some(Sequence { ranges, reset: definition.reset, utc_offset, format })
    };
    build().ok_or_else(|| StepError::Sequence { name: definition.name.clone() })
}
