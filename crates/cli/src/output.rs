//! What commands print: tables for people, JSON for programs.
//!
//! **Invariant:** only what was asked for goes to standard output. Progress and errors go to
//! standard error, so a pipe gets nothing else.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::thread;

use clap::ValueEnum;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;
use tokio::sync::oneshot;
use unicode_width::UnicodeWidthStr;

use crate::document::members_of;

/// The form of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Table,
    Json,
}

impl Form {
    /// Prints a thing: a line for each of its members, or as it is.
    pub(crate) fn print(self, document: &impl Serialize) -> io::Result<()> {
        self.print_as(document, || Table::of(document))
    }

    /// Prints a document for programs, or something else for people.
    pub(crate) fn print_as<T: ToString>(
        self,
        document: &impl Serialize,
        text: impl FnOnce() -> T,
    ) -> io::Result<()> {
        match self {
            Self::Table => print(&text().to_string()),
            Self::Json => print(&serde_json::to_string(document)?),
        }
    }
}

/// Prints a text with a line end, and lets a pipe have it at once.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.trim_end_matches('\n').as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Waits until nobody reads standard output any more, such as `head` that has seen enough. Whoever waits
/// for something to print would learn that only by printing it.
pub(crate) async fn abandoned() -> io::Error {
    let (sender, gone) = oneshot::channel();
    let wait = move || {
        if io::stdout().as_fd().try_clone_to_owned().and_then(wait_for_reader).is_ok() {
            let _ = sender.send(());
        }
    };
    let waits = thread::Builder::new().name("output".to_owned()).spawn(wait);
    if waits.is_err() || gone.await.is_err() {
        // Then a write that fails still tells.
        std::future::pending::<()>().await;
    }
    ErrorKind::BrokenPipe.into()
}

/// Returns when the reader of a pipe has gone. A file, a terminal and /dev/null have none.
fn wait_for_reader(out: OwnedFd) -> io::Result<()> {
    let out = File::from(out);
    let kind = out.metadata()?.file_type();
    if !kind.is_fifo() && !kind.is_socket() {
        return Err(ErrorKind::Unsupported.into());
    }
    // Nothing is asked for: that nobody is there is told all the same.
    let mut asked = [PollFd::new(&out, PollFlags::empty())];
    loop {
        match poll(&mut asked, None) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A text of somebody else's, as it is shown to people: control characters as JSON escapes them, so that
/// what is stored cannot command a terminal, and a cell stays in its line.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            control if control.is_control() => {
                shown.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => shown.push(other),
        }
    }
    shown
}

/// Columns of text.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Many things, below the names of their columns.
    pub(crate) fn list<const N: usize>(
        columns: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        let head = columns.map(|name| name.to_uppercase()).to_vec();
        let rows = rows.into_iter().map(|row| row.iter().map(|cell| shown(cell)).collect());
        Self { rows: std::iter::once(head).chain(rows).collect() }
    }

    /// Many things, below the names of their columns: of each, these members.
    pub(crate) fn rows<T: Serialize, const N: usize>(
        columns: [(&str, &str); N],
        things: impl IntoIterator<Item = T>,
    ) -> Self {
        let rows = things.into_iter().map(|thing| {
            let members = members_of(&thing);
            columns.map(|(_, member)| {
                let found = members.iter().find(|(name, _)| name == member);
                found.map(|(_, value)| value.clone()).unwrap_or_default()
            })
        });
        Self::list(columns.map(|(column, _)| column), rows)
    }

    /// One thing, a line for each of its members.
    pub(crate) fn of(thing: &impl Serialize) -> Self {
        let members = members_of(thing).into_iter();
        Self::members(members.map(|(name, value)| (name.replace('_', " "), value)))
    }

    /// One thing, a line for each of its members.
    pub(crate) fn members(members: impl IntoIterator<Item = (String, String)>) -> Self {
        let row = |(name, value): (String, String)| vec![shown(&name), shown(&value)];
        Self { rows: members.into_iter().map(row).collect() }
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max()
        };
        let widths: Vec<usize> = (0..columns).filter_map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width.saturating_sub(cell.width()).saturating_add(2)));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_reader_of_a_pipe_can_go() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        wait_for_reader(writer.into()).unwrap();
        let nothing = File::options().write(true).open("/dev/null").unwrap();
        for other in [nothing, tempfile::tempfile().unwrap()] {
            let error = wait_for_reader(other.into()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
    }

    #[test]
    fn a_cell_stays_in_its_line_and_commands_no_terminal() {
        let members = [("name".to_owned(), "a\u{1b}[31m\u{9b}2J\n\t\r\u{7f}é日".to_owned())];
        let expected = r"name  a\u001b[31m\u009b2J\n\t\r\u007fé日";
        assert_eq!(Table::members(members).to_string(), format!("{expected}\n"));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1"], ["日本", "22"]].map(|row| row.map(str::to_owned));
        assert_eq!(Table::list(["name", "n"], rows).to_string(), "NAME  N\na     1\n日本  22\n");
    }
}
