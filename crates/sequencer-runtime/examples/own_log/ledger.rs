//! A ledger whose log is a text file, numbered by the sequencer.
//!
//! ```text
//!  start ─► draw ─► append a line, sync ─► flush ─► checkpoint, in the background
//!                        │ failed
//!                        └─► actualize: the file is read again
//! ```
//!
//! The file is the truth and the checkpoint a cache of it: whatever is lost of the numbers is read
//! from the lines behind the checkpoint.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use seriatim_codec::PartitionPrefix;
use seriatim_sequencer::{
    Begin, LogEvent, Ranges, RecordIds, Sequence, Sequences, Series, built_in,
};
use seriatim_sequencer_runtime::{
    EventLog, LogError, NumberStorage, Runtime, RuntimeSettings, StorageError, StoreNumbers, tables,
};
use seriatim_storage::{Cancel, Schema};
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_types::{
    AppId, Incarnation, NUMBER_MAX, Number, PartitionId, PartitionOffset, SequenceId, Time,
    WorkspaceId,
};

/// Each shop has a series of invoice numbers of its own.
const INVOICE: SequenceId = built_in::FIRST_OF_APP;

/// The log: one line for each invoice, `shop line-of-the-shop invoice amount`. The number of the line
/// is its offset.
struct Lines(PathBuf);

/// The ledger.
pub(crate) struct Ledger {
    runtime: Runtime,
    file: File,
}

impl Ledger {
    /// Opens the ledger of a folder, and waits until its numbers are known.
    pub(crate) fn open(folder: &Path) -> Result<Self, Box<dyn Error>> {
        fs::create_dir_all(folder)?;
        let path = folder.join("invoices.txt");
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let schema = Schema::new([tables::NUMBERS])?;
        let store = FjallStore::open(&folder.join("numbers"), &schema, Settings::default())?;
        let (app, partition, incarnation) = (AppId(1), PartitionId(0), Incarnation(1));
        let prefix = PartitionPrefix { app, partition, incarnation };
        let numbers = StoreNumbers::new(Arc::new(store), prefix).ok_or("the table is there")?;
        Self::with(file, Arc::new(numbers), Lines(path))
    }

    fn with(
        file: File,
        numbers: Arc<dyn NumberStorage>,
        lines: Lines,
    ) -> Result<Self, Box<dyn Error>> {
        let mut sequences = Sequences::new(RecordIds::single());
        let all = Sequence::plain(Ranges::new(&[(1, NUMBER_MAX)])?);
        sequences.define(Sequences::DEFAULT_KIND, INVOICE, all)?;
        let settings = RuntimeSettings::default();
        let runtime = Runtime::new(numbers, Arc::new(lines), sequences, settings)?;
        runtime.wait_until_serving()?;
        Ok(Self { runtime, file })
    }

    /// Issues an invoice, and returns its number.
    ///
    /// One that fails has used no number: the next one gets it.
    pub(crate) fn issue(&mut self, shop: u64, amount: u64) -> Result<u64, Box<dyn Error>> {
        let (workspace, kind) = (WorkspaceId(shop), Sequences::DEFAULT_KIND);
        let mut started =
            self.runtime.start(Begin { workspace, kind, client: None, time: Time(0) })?;
        let invoice = started.next(INVOICE)?.number;
        if amount == 0 {
            // Dropped: the transaction forgets its draws and nothing else.
            return Err("an invoice has an amount".into());
        }
        let line = format!("{shop} {} {invoice} {amount}\n", started.event().workspace);
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => started.flush(),
            Err(error) => {
                // The line may be there or not. The file tells.
                started.actualize();
                return Err(error.into());
            }
        }
        Ok(invoice.get())
    }

    /// Writes the last checkpoint. Without it the next start reads more of the file.
    pub(crate) fn close(self) {
        let _ = self.runtime.shutdown(Duration::from_secs(5));
    }
}

impl EventLog for Lines {
    fn last_offset(&self) -> Result<Option<PartitionOffset>, StorageError> {
        let file = File::open(&self.0).map_err(|error| failed(&error))?;
        let count = BufReader::new(file).lines().count();
        Ok(u64::try_from(count).ok().and_then(PartitionOffset::new))
    }

    fn read(
        &self,
        after: Option<PartitionOffset>,
        cancel: &Cancel,
        visit: &mut dyn FnMut(LogEvent) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        let file = File::open(&self.0).map_err(|error| failed(&error))?;
        let after = after.map_or(0, PartitionOffset::get);
        for (offset, line) in (1..).zip(BufReader::new(file).lines()) {
            if cancel.is_cancelled() {
                return Err(LogError::Cancelled);
            }
            let line = line.map_err(|error| failed(&error))?;
            if offset <= after {
                continue;
            }
            let damaged = || LogError::Damaged { cause: format!("line {offset}: {line}") };
            let event = event_of(offset, &line).ok_or_else(damaged)?;
            if visit(event).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The numbers of a line.
fn event_of(offset: u64, line: &str) -> Option<LogEvent> {
    let mut words = line.split(' ').map(|word| word.parse::<u64>().ok());
    let [shop, own, invoice, _amount] =
        [words.next()??, words.next()??, words.next()??, words.next()??];
    let of = |sequence| Series { sequence, year: None };
    Some(LogEvent {
        offset: PartitionOffset::new(offset)?,
        workspace: WorkspaceId(shop),
        kind: Sequences::DEFAULT_KIND,
        values: vec![
            (of(built_in::WORKSPACE_OFFSETS), Number::new(own)?),
            (of(INVOICE), Number::new(invoice)?),
        ],
        client: None,
        frontier: None,
    })
}

fn failed(error: &std::io::Error) -> StorageError {
    StorageError { cause: error.to_string() }
}

/// Issues a few invoices for two shops; one of them is refused.
pub(crate) fn run(folder: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut ledger = Ledger::open(folder)?;
    for (shop, amount) in [(1, 1250), (2, 990), (1, 0), (1, 400)] {
        match ledger.issue(shop, amount) {
            Ok(number) => writeln!(out, "shop {shop}: invoice {number} over {amount}")?,
            Err(error) => writeln!(out, "shop {shop}: no invoice, and no number used: {error}")?,
        }
    }
    ledger.close();
    Ok(())
}
