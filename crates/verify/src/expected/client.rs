//! A client of a workspace: the count of its commands.

use seriatim_types::{ClientId, Number, WorkspaceId};

use super::{Client, Fold, breach};
use crate::difference::{Error, Kind};
use crate::sort::Item;
use crate::walk::facts::ClientFact;

impl Fold<'_> {
    pub(super) fn client(
        &mut self,
        workspace: WorkspaceId,
        client: ClientId,
        first: Item,
    ) -> Result<u64, Error> {
        let (rules, through) = (self.rules, self.covered);
        let mut now: Option<(Number, Number)> = None;
        let mut covered = None;
        let count = self.each(first, |_, payload| {
            let fact = ClientFact::decode(&payload);
            // A command counts once, whatever its events.
            let last = now.map_or(0, |(sequence, _)| sequence.get());
            let next = last.saturating_add(u64::from(fact.is_first));
            let found = fact.sequence.get();
            if found != next {
                let is_behind = found < next;
                let kind =
                    if is_behind { Kind::ClientSequenceRepeated } else { Kind::ClientSequenceGap };
                let client = String::from_utf8_lossy(client.as_bytes());
                let about = format!("workspace {}, client {client:?}", workspace.0);
                return Err(breach(rules, kind, (fact.event, about), next, found));
            }
            now = Some((fact.sequence, fact.offset));
            if Some(fact.event) <= through {
                covered = now;
            }
            Ok(())
        })?;
        let now = now.expect("a row has a fact");
        self.visitor.client(&Client { workspace, client, now, covered })?;
        Ok(count)
    }
}
