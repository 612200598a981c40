//! A store that no server has open: every byte of its files, and every row.

use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use seriatim_api::message::Timestamp;
use seriatim_node::Ahead;
use seriatim_storage::{OpenError, Store};
use seriatim_storage_fjall::FjallStore;
use seriatim_types::{Name, Time};
use seriatim_verify::{
    Error, Options, Progress as Done, SeriesReport, Step, Totals, Verified, verify_files,
    verify_sequence,
};

use super::different;
use super::series::{self, Series};
use crate::document::{Json, object, of};
use crate::exit::{Exit, Failure, code_of_store};
use crate::output::{Form, Table};
use crate::progress::Progress;
use crate::remote::{missing, not_found};
use crate::serve::private_files;
use crate::welcome::complain;

/// Checks everything, and prints how much that was.
pub(super) fn run(output: Form, data: &Path, accept_torn_tail: bool) -> Result<()> {
    let verified = verified(data, accept_torn_tail)?;
    say_if_future(verified.totals.newest);
    let document = document(&verified);
    Ok(output.print_as(&document, || format!("{}\nNothing differs.", Table::of(&document)))?)
}

/// Checks everything of a store whose server has ended in good order.
pub(crate) fn check(data: &Path) -> Result<Totals, Failure> {
    Ok(verified(data, false)?.totals)
}

fn verified(data: &Path, accept_torn_tail: bool) -> Result<Verified, Failure> {
    check_is_folder(data)?;
    // What opening the store writes is for its owner alone.
    private_files();
    let mut progress = Progress::new();
    let progress = &mut |done| progress.say(|| words(done));
    let verified = verify_files(data, &Options::default(), accept_torn_tail, progress);
    verified.map_err(|error| failure(&error, data))
}

/// Shows that each series of a sequence is complete.
pub(super) fn sequence(output: Form, data: &Path, app: &str, name: &str) -> Result<()> {
    let named = |text: &str| {
        Name::new(text).ok_or_else(|| Failure::usage(format!("{text:?} can be no name")))
    };
    let names = (&named(app)?, &named(name)?);
    let store = open_checked(data)?;
    let snapshot = store.snapshot()?;
    let mut progress = Progress::new();
    let mut all = Vec::new();
    let walked = verify_sequence(
        (snapshot.as_ref(), store.schema()),
        names,
        &Options::default(),
        &mut |report| all.push(series_of(report)),
        &mut |done| progress.say(|| words(done)),
    );
    drop(progress);
    walked.map_err(|error| failure(&error, data))?;
    series::print(output, name, &all)
}

/// Opens a store for reading. The engine panics on some damaged files, so it opens none that were
/// not checked.
pub(super) fn open_checked(data: &Path) -> Result<FjallStore, Failure> {
    check_is_folder(data)?;
    // What opening the store writes is for its owner alone.
    private_files();
    let mut progress = Progress::new();
    let said = &mut |done| progress.say(|| format!("files: {} MiB read", done >> 20));
    let checked = FjallStore::check_files(data, said);
    let opened = checked.and_then(|_| seriatim_verify::open(data)).map_err(Error::Files);
    opened.map_err(|error| failure(&error, data))
}

fn check_is_folder(data: &Path) -> Result<(), Failure> {
    if data.is_dir() { Ok(()) } else { Err(no_store(data)) }
}

fn no_store(data: &Path) -> Failure {
    let failure = not_found(format!("store in {}", data.display()));
    failure
        .advise("`seriatim dev` keeps its data in ./.seriatim, unless --data names another folder")
}

/// Times come from clocks that were believed, and never go back. So one of the future is no damage,
/// and worth knowing: keys, expiries and years ended by it.
fn say_if_future(newest: Option<Time>) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = Time(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    if let Some(newest) = newest.filter(|newest| newest.0 > now.0.saturating_add(FUTURE_MS)) {
        complain(format!(
            "seriatim: the newest time in the store, {}, is {} ahead of this machine's clock: that one is \
             behind, or one that the server believed was ahead",
            Timestamp::from(newest),
            Ahead(newest, now)
        ));
    }
}

/// How far clocks may differ before it is said.
const FUTURE_MS: u64 = 600_000;

fn words(Done { step, done, total }: Done) -> String {
    match step {
        Step::Files => format!("files: {} MiB read", done >> 20),
        Step::Events => format!("events: {done} of {total}"),
        Step::Rows => format!("rows of a partition: {done} of {total} facts compared"),
    }
}

fn document(Verified { files, totals }: &Verified) -> Json {
    object([
        ("files", of(files.files)),
        ("file_bytes", of(files.bytes)),
        ("torn_bytes", of(files.torn_bytes)),
        ("apps", of(totals.apps)),
        ("partitions", of(totals.partitions)),
        ("workspaces", of(totals.workspaces)),
        ("events", of(totals.events)),
        ("records", of(totals.records)),
        ("entities", of(totals.entities)),
        ("series", of(totals.series)),
        ("keys", of(totals.keys)),
        ("rows", of(totals.rows)),
        ("newest_time", of(totals.newest.map(|it| Timestamp::from(it).to_string()))),
    ])
}

fn series_of(report: &SeriesReport) -> Series {
    let fault = report.fault.map(|fault| {
        let expected = fault.expected.map_or("none".to_owned(), |it| it.to_string());
        let (partition, event, found) = (fault.partition, fault.event, fault.found);
        format!(
            "at event {event} of {partition}, {expected} should come next, and {found} has come"
        )
    });
    Series {
        workspace: match &report.workspace_name {
            Some(name) => name.to_string(),
            None => report.workspace.0.to_string(),
        },
        period: report.period.map(|year| year.get()),
        first: report.first.get(),
        last: report.last.get(),
        count: report.count,
        gaps: report.gaps,
        repeats: report.repeats,
        fault,
    }
}

pub(super) fn failure(error: &Error, data: &Path) -> Failure {
    let said = match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    match error {
        Error::Different(difference) => {
            let what = format!("the first difference is at {}", difference.place);
            different(error.code(), what)
                .fact("expected", difference.expected.as_str())
                .fact("found", difference.found.as_str())
                .fact("place", difference.place.to_string())
        }
        Error::Files(open @ OpenError::InUse { .. }) => {
            let what = format!("a server has {} open", data.display());
            let failure = Failure::new(Exit::Failure, what).code(code_of_store(open));
            failure.advise("stop it first, or leave out --data to verify it while it runs")
        }
        Error::Files(OpenError::Damaged { .. }) | Error::Read(_) => different(error.code(), said),
        Error::TornTail { .. } => {
            let failure = different(error.code(), said);
            failure.advise(
                "after a crash this is to be expected: --accept-torn-tail cuts them off, as a start of \
                 the server does, and goes on; keep a copy of the folder if they may be evidence",
            )
        }
        Error::Files(OpenError::Missing { .. }) => no_store(data),
        Error::NoApp { app, apps } => missing("APP_NOT_FOUND", format!("app {app}"))
            .advise(format!("the folder has these apps: {}", join(apps))),
        Error::NoSequence { sequence, sequences } => not_found(format!("sequence {sequence}"))
            .advise(format!("the app has these sequences: {}", join(sequences))),
        Error::Files(open @ (OpenError::Occupied { .. } | OpenError::UnknownTable { .. })) => {
            Failure::new(Exit::Failure, said).code(code_of_store(open))
        }
        Error::Files(open @ OpenError::Foreign { found, .. }) => {
            let failure = Failure::new(Exit::Failure, said).code(code_of_store(open));
            // A store that was put into the folder of another.
            failure.advise(match Path::new(found).join("identity").exists() {
                true => format!(
                    "{found} looks like a store of its own: check it with `seriatim verify --data {found}`, \
                     and move it out to check this one"
                ),
                false => format!("move {found} elsewhere, or name the folder of the store"),
            })
        }
        Error::Files(open @ OpenError::Failed { .. }) => {
            let failure = Failure::new(Exit::Failure, said).code(code_of_store(open));
            failure.advise(
                "nothing was compared yet: the folder and its files must be readable and writable for \
                 whoever verifies them, or verify a copy",
            )
        }
        Error::Scratch(_) => Failure::new(Exit::Failure, said).code(error.code()),
    }
}

fn join(names: &[Name]) -> String {
    let names: Vec<&str> = names.iter().map(Name::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That a folder was denied was told as if its files held something wrong.
    #[test]
    fn a_folder_that_cannot_be_opened_is_not_called_damaged() {
        let (path, cause) = ("data".to_owned(), "Permission denied (os error 13)".to_owned());
        let denied = Error::Files(OpenError::Failed { path, cause });
        let failure = failure(&denied, Path::new("data"));
        assert_eq!(
            failure.message,
            "the store at data could not be opened: Permission denied (os error 13)"
        );
        assert_eq!((&*failure.code, failure.exit), ("STORE_UNREADABLE", Exit::Failure));
        assert!(failure.advice.unwrap().contains("readable and writable"));
    }
}
