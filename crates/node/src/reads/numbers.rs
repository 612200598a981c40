//! The numbers of a workspace and of its clients.
//!
//! ```text
//!  events of the workspace   1 ……………………………… n  n+1 ……… last
//!                            └ row of numbers ┘  └ behind the checkpoint: taken from the events
//! ```
//!
//! **Invariant:** a checkpoint holds the rows of a workspace and of its clients as of the same
//! event, so the last offset in the workspace's row says from where on all of them lag.

use seriatim_codec::{SeriesLast, Table as RowTable, client_key, decode_row, workspace_key};
use seriatim_core::{Defined, RowId};
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::{Reset, built_in};
use seriatim_types::{ClientId, Event, Name, Number, SequenceId, Time, WorkspaceId, Year};

use super::{ReadFailed, Reader, Workspace};

/// Events behind the checkpoint that are read in one go.
const EVENTS_AT_ONCE: usize = 256;

/// Where a sequence stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceState {
    /// The year of the series, of a sequence that begins anew with each.
    pub period: Option<Year>,
    /// The last number that was given.
    pub last: Option<Number>,
    /// The number that comes next with its text; `None` when there is no more.
    pub next: Option<(Number, String)>,
}

/// Where a client stands in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientState {
    /// The client's count of its commands.
    pub last_client_sequence: Number,
    /// Its last event, in the workspace's log.
    pub last_offset: Number,
}

impl Reader<'_> {
    /// Where a sequence stands: in the year that is asked for, or in the present one.
    /// `None` when the kind of the workspace has no such sequence, or when a year is asked for
    /// and the sequence has none.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn sequence(
        &self,
        workspace: &Workspace,
        name: &Name,
        period: Option<Year>,
        now: Time,
    ) -> Result<Option<SequenceState>, ReadFailed> {
        let Some(defined) = self.definitions()?.map(Defined::restore) else { return Ok(None) };
        let sequences =
            defined.sequences().map_err(|error| self.failed(ReadFailed::Definitions(error)))?;
        let id = defined.sequence(name).map(|definition| definition.id);
        let found = id.and_then(|id| Some((id, sequences.get(workspace.kind, id)?)));
        let Some((id, sequence)) = found else { return Ok(None) };
        let this_year = sequence.utc_offset.year_of(self.latest(now));
        let year = period.unwrap_or(this_year);
        let period = match (sequence.reset, period) {
            (Reset::Yearly, _) => Some(year),
            (Reset::Never, None) => None,
            (Reset::Never, Some(_)) => return Ok(None),
        };
        let numbers = self.numbers(workspace_key(self.prefix, workspace.id))?;
        let mut last = last_of(&numbers, id, period);
        self.visit_behind(workspace.id, &numbers, &mut |event| {
            let drawn = event.numbers.iter();
            for it in drawn.filter(|it| it.sequence == id && it.year == period) {
                last = sequence.ranges.merge(last, it.number);
            }
        })?;
        let next = sequence.ranges.after(last);
        let next = next.map(|next| (next, sequence.format.show(next, year)));
        Ok(Some(SequenceState { period, last, next }))
    }

    /// Where a client stands in a workspace; `None` when nothing of it was carried out there.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn client(
        &self,
        workspace: WorkspaceId,
        client: &ClientId,
    ) -> Result<Option<ClientState>, ReadFailed> {
        let own = self.numbers(client_key(self.prefix, workspace, client))?;
        let last = |sequence| last_of(&own, sequence, None);
        let stored = last(built_in::CLIENT).zip(last(built_in::CLIENT_OFFSETS));
        let mut state = stored.map(|(last_client_sequence, last_offset)| ClientState {
            last_client_sequence,
            last_offset,
        });
        if planted::is(Bug::ClientOfCheckpoint) {
            return Ok(state);
        }
        let numbers = self.numbers(workspace_key(self.prefix, workspace))?;
        self.visit_behind(workspace, &numbers, &mut |event| {
            if let Some(origin) = event.origin.as_ref().filter(|it| it.client == *client) {
                let (last_client_sequence, last_offset) = (origin.client_sequence, event.offset);
                state = Some(ClientState { last_client_sequence, last_offset });
            }
        })?;
        Ok(state)
    }

    /// A row of numbers as of the checkpoint.
    fn numbers(&self, key: Vec<u8>) -> Result<Vec<SeriesLast>, ReadFailed> {
        let row = RowId { table: RowTable::Numbers, key: key.into() };
        let Some(bytes) = self.get(&row)? else { return Ok(Vec::new()) };
        let (series, _) = decode_row(&bytes)
            .map_err(|source| self.failed(ReadFailed::Numbers { row: Box::new(row), source }))?;
        Ok(series)
    }

    /// Shows the events of a workspace that its row of numbers does not cover yet, in order.
    fn visit_behind(
        &self,
        workspace: WorkspaceId,
        numbers: &[SeriesLast],
        visit: &mut dyn FnMut(&Event),
    ) -> Result<(), ReadFailed> {
        let mut through =
            last_of(numbers, built_in::WORKSPACE_OFFSETS, None).map_or(0, Number::get);
        loop {
            let events = self.events(workspace, through.saturating_add(1), EVENTS_AT_ONCE)?;
            let Some(last) = events.last() else { return Ok(()) };
            through = last.event.offset.get();
            events.iter().for_each(|committed| visit(&committed.event));
        }
    }
}

fn last_of(numbers: &[SeriesLast], sequence: SequenceId, year: Option<Year>) -> Option<Number> {
    let found = numbers.iter().find(|it| (it.0, it.1) == (sequence, year));
    found.map(|(.., last)| *last)
}
