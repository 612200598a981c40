//! A workspace: its log without a hole, its numbers, its tree.

use std::collections::BTreeMap;

use seriatim_merkle::Frontier;
use seriatim_sequencer::built_in;
use seriatim_types::{Number, SequenceId, WorkspaceId, Year};

use super::{Fold, Node, Numbers, Workspace, breach};
use crate::difference::{Error, Kind};
use crate::rules::Rules;
use crate::sort::Item;
use crate::spans::{Given, Wrong};
use crate::walk::facts::{NumberFact, WorkspaceFact};

/// What was seen of a workspace.
#[derive(Default)]
struct State {
    given: BTreeMap<(SequenceId, Option<Year>), Given>,
    tree: Frontier,
    first: Option<WorkspaceFact>,
    covered: Option<Numbers>,
}

impl Fold<'_> {
    pub(super) fn workspace(&mut self, id: WorkspaceId, first: Item) -> Result<u64, Error> {
        let (rules, covered) = (self.rules, self.covered);
        let mut state = State::default();
        let count = self.each(first, |visitor, payload| {
            let fact = WorkspaceFact::decode(&payload);
            let is_covered = Some(fact.event) <= covered;
            if !is_covered && state.covered.is_none() && state.first.is_some() {
                state.covered = Some(state.numbers(rules)).filter(|_| state.is_covered(covered));
            }
            state.take_place(rules, id, &fact)?;
            visitor.place(id, fact.offset, fact.event)?;
            fact.numbers.iter().try_for_each(|it| state.take_number(rules, id, &fact, *it))?;
            let mut nodes = Vec::new();
            state.tree.push(fact.leaf, &mut |node, hash| nodes.push((node, hash)));
            for (node, hash) in nodes {
                visitor.node(&Node { workspace: id, node, hash, is_covered })?;
            }
            state.first.get_or_insert(fact);
            Ok(())
        })?;
        let now = state.numbers(rules);
        let is_covered = state.is_covered(covered);
        let State { first, covered, .. } = state;
        let first = first.expect("a row has a fact");
        let covered = covered.or_else(|| is_covered.then(|| now.clone()));
        self.visitor.workspace(&Workspace {
            id,
            kind: first.kind,
            name: first.name,
            now,
            covered,
        })?;
        Ok(count)
    }
}

impl State {
    /// Whether the checkpoint covers the first event.
    fn is_covered(&self, covered: Option<seriatim_types::PartitionOffset>) -> bool {
        self.first.as_ref().is_some_and(|first| Some(first.event) <= covered)
    }

    /// The event is the next of the workspace's log, and of the same kind.
    fn take_place(
        &self,
        rules: &Rules,
        id: WorkspaceId,
        fact: &WorkspaceFact,
    ) -> Result<(), Error> {
        let at = || (fact.event, format!("workspace {}", id.0));
        let next = self.tree.size().saturating_add(1);
        let found = fact.offset.get();
        if found != next {
            let kind = if found < next { Kind::OffsetRepeated } else { Kind::OffsetGap };
            let show = |offset| format!("offset {offset}");
            return Err(breach(rules, kind, at(), show(next), show(found)));
        }
        match &self.first {
            Some(first) if first.kind != fact.kind => {
                let show = |kind: seriatim_types::KindId| format!("kind {}", kind.0);
                Err(breach(rules, Kind::Workspace, at(), show(first.kind), show(fact.kind)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The number is the next of its series.
    fn take_number(
        &mut self,
        rules: &Rules,
        id: WorkspaceId,
        fact: &WorkspaceFact,
        drawn: NumberFact,
    ) -> Result<(), Error> {
        let NumberFact { sequence, year, number, is_import } = drawn;
        let spans = rules.spans(sequence).expect("the sequence was looked up in the log");
        let given = self.given.entry((sequence, year)).or_default();
        let before = *given;
        let taken = if is_import { given.import(spans, number) } else { given.draw(spans, number) };
        let Err(wrong) = taken else { return Ok(()) };
        let rule = rules.sequence(sequence);
        let kind = match (rule.is_some(), wrong) {
            (true, Wrong::Gap(_)) => Kind::NumberGap,
            (true, Wrong::Repeat) => Kind::NumberRepeated,
            (true, Wrong::Outside) => Kind::NumberOutside,
            (false, Wrong::Gap(_)) => Kind::RecordIdGap,
            (false, Wrong::Repeat) => Kind::RecordIdRepeated,
            (false, Wrong::Outside) => Kind::RecordIdOutside,
        };
        let name = rule.map_or("record ids".to_owned(), |rule| format!("sequence {}", rule.name));
        let year = year.map_or(String::new(), |year| format!(" of {}", year.get()));
        let about = format!("workspace {}, {name}{year}", id.0);
        let next = before.next(spans).map_or("no more number".to_owned(), |next| next.to_string());
        Err(breach(rules, kind, (fact.event, about), next, number))
    }

    fn numbers(&self, rules: &Rules) -> Numbers {
        let offset = Number::new(self.tree.size());
        let offset = offset.map(|offset| (built_in::WORKSPACE_OFFSETS, None, offset));
        let drawn = self.given.iter().filter_map(|((sequence, year), given)| {
            let last = given.last(rules.spans(*sequence)?)?;
            Some((*sequence, *year, Number::new(last)?))
        });
        // The built-in sequence of offsets has the lowest id of all.
        Numbers { series: offset.into_iter().chain(drawn).collect(), tree: self.tree.clone() }
    }
}
