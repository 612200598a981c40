//! Everything around a sequencer, in memory: a log, a checkpoint, and a way to crash.

use std::collections::{BTreeMap, VecDeque};

use seriatim_sequencer::{
    Begin, Checkpoint, Drawn, EventOffsets, LogEvent, Row, RowKey, RowsRead, Sequencer, Sequences,
    Series, Settings, Ticket, built_in,
};
use seriatim_testkit::full_scan;
use seriatim_types::{ClientId, KindId, PartitionOffset, SequenceId, Time, WorkspaceId};

pub(crate) struct World {
    pub(crate) sequencer: Sequencer,
    pub(crate) log: Vec<LogEvent>,
    pub(crate) rows: BTreeMap<RowKey, Row>,
    pub(crate) checkpointed_through: Option<PartitionOffset>,
    /// Staged and not committed: the ticket and its events.
    pub(crate) staged: VecDeque<(Ticket, Vec<LogEvent>)>,
    /// A checkpoint that is being written.
    pub(crate) out: Option<Checkpoint>,
    settings: Settings,
    sequences: Sequences,
}

/// What a command asks for.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) workspace: u64,
    pub(crate) client: Option<&'static str>,
    pub(crate) events: Vec<Vec<SequenceId>>,
    pub(crate) time: Time,
}

impl World {
    pub(crate) fn new(sequences: Sequences, settings: Settings) -> Self {
        let sequencer = Sequencer::new(sequences.clone(), settings).unwrap();
        let mut world = Self {
            sequencer,
            log: Vec::new(),
            rows: BTreeMap::new(),
            checkpointed_through: None,
            staged: VecDeque::new(),
            out: None,
            settings,
            sequences,
        };
        world.read_log();
        world
    }

    /// Reads what is needed, draws, and returns the events without staging them.
    pub(crate) fn draw(&mut self, asked: &Asked) -> (seriatim_sequencer::Draws, Vec<LogEvent>) {
        let client = asked.client.map(|name| ClientId::new(name.as_bytes()).unwrap());
        let begin = Begin {
            workspace: WorkspaceId(asked.workspace),
            kind: Sequences::DEFAULT_KIND,
            client: client.as_ref(),
            time: asked.time,
        };
        let read = self.read(begin.row_keys().collect());
        let mut draws = self.sequencer.draw(begin, &read).unwrap();
        let sequences = self.sequencer.sequences().clone();
        let client = client.clone().map(|name| {
            let number = draws.next_of_client(&sequences).unwrap();
            (name, number)
        });
        let mut events = Vec::new();
        for (index, wanted) in asked.events.iter().enumerate() {
            let EventOffsets { partition, workspace } =
                if index == 0 { draws.event() } else { draws.next_event(&sequences).unwrap() };
            let mut values = vec![(series(built_in::WORKSPACE_OFFSETS), workspace)];
            for sequence in wanted {
                let Drawn { number, series } = draws.next(&sequences, *sequence).unwrap();
                values.push((series, number));
            }
            values.reverse();
            events.push(LogEvent {
                offset: partition,
                workspace: begin.workspace,
                kind: begin.kind,
                values,
                client: client.clone(),
                frontier: None,
            });
        }
        (draws, events)
    }

    pub(crate) fn stage(&mut self, asked: &Asked) -> Vec<LogEvent> {
        let (draws, events) = self.draw(asked);
        let ticket = self.sequencer.stage(draws).unwrap();
        self.staged.push_back((ticket, events.clone()));
        events
    }

    /// The earliest staged transaction gets into the log.
    pub(crate) fn commit(&mut self) {
        if let Some((ticket, events)) = self.staged.pop_front() {
            self.log.extend(events);
            self.sequencer.flush(ticket).unwrap();
        }
    }

    pub(crate) fn run(&mut self, asked: &Asked) -> Vec<LogEvent> {
        let events = self.stage(asked);
        self.commit();
        events
    }

    /// The rows that are not in memory, as storage has them.
    pub(crate) fn read(&self, keys: Vec<RowKey>) -> RowsRead {
        let missing = keys.into_iter().filter(|key| !self.sequencer.holds(key));
        let rows = missing.map(|key| (key.clone(), self.rows.get(&key).cloned()));
        RowsRead::new(self.sequencer.stamp(), rows.collect::<Vec<_>>())
    }

    pub(crate) fn write(&mut self, checkpoint: &Checkpoint) {
        self.rows.extend(checkpoint.rows.iter().cloned());
        self.checkpointed_through = checkpoint.through;
    }

    pub(crate) fn checkpoint(&mut self) {
        if let Some(checkpoint) = self.sequencer.take_checkpoint() {
            self.write(&checkpoint);
            self.sequencer.written(checkpoint);
        }
    }

    /// The owner dies: what was staged is gone, and what was in memory.
    pub(crate) fn crash(&mut self) {
        self.staged.clear();
        self.out = None;
        self.sequencer = Sequencer::new(self.sequences.clone(), self.settings).unwrap();
        self.read_log();
    }

    /// A commit failed: the numbers are read again.
    pub(crate) fn actualize(&mut self) {
        if let Some(out) = self.out.take() {
            self.sequencer.not_written(out);
        }
        self.staged.clear();
        self.sequencer.actualize().unwrap();
        self.read_log();
    }

    fn read_log(&mut self) {
        let done = self.checkpointed_through.map_or(0, PartitionOffset::get);
        let total = u64::try_from(self.log.len()).unwrap() - done;
        self.sequencer.resume(self.checkpointed_through, total).unwrap();
        for event in self.log.clone().into_iter().skip(usize::try_from(done).unwrap()) {
            let read = self.read(event.row_keys().collect());
            self.sequencer.observe(&event, &read).unwrap();
            if self.sequencer.is_full() {
                self.checkpoint();
            }
        }
        self.sequencer.serve().unwrap();
    }

    /// Compares the numbers with the old way, row by row, through memory and storage alike.
    pub(crate) fn check_against_full_scan(&self) {
        let staged = self.staged.iter().flat_map(|(_, events)| events);
        let expected = full_scan(self.sequencer.sequences(), self.log.iter().chain(staged));
        for (key, expected) in &expected {
            let row = self.sequencer.row(key).or_else(|| self.rows.get(key));
            assert_eq!(row, Some(expected), "{key:?}");
        }
    }
}

pub(crate) fn series(sequence: SequenceId) -> Series {
    Series { sequence, year: None }
}

pub(crate) fn ask(workspace: u64, sequences: &[SequenceId]) -> Asked {
    Asked { workspace, client: None, events: vec![sequences.to_vec()], time: Time(0) }
}

pub(crate) fn number_of(events: &[LogEvent], sequence: SequenceId) -> u64 {
    let values = events.iter().flat_map(|event| &event.values);
    values.rev().find(|(series, _)| series.sequence == sequence).unwrap().1.get()
}

pub(crate) const DEFAULT: KindId = Sequences::DEFAULT_KIND;
