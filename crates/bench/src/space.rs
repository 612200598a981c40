//! What a command takes up on disk, and the process in memory.

use anyhow::Result;

use crate::filled::Filled;
use crate::report::Table;

pub(crate) fn measure(filled: &Filled) -> Result<Table> {
    let per_command = |bytes: u64| bytes as f64 / filled.commands as f64;
    let raw = filled.rows.batch(0, 1).bytes() as f64;
    let (disk, journal) = (per_command(filled.disk_bytes), per_command(filled.journal_bytes));
    let [written, reopened] = filled.said;
    let row = |said: crate::fill::Filled| {
        let resident = said.resident_kib * 1024;
        vec![
            raw,
            disk,
            disk / raw,
            journal,
            resident as f64 / 1_048_576.0,
            per_command(resident) / raw,
        ]
    };
    Ok(Table {
        title: "bytes on disk and in memory",
        meaning: "The store of the reads above after it was filled, closed and opened again. \
                  Raw bytes are the keys and values of all rows as they were written; the \
                  workspaces rows overwrite each other, so old versions of them are part of it. \
                  The journal is bounded and counts less the larger the store. Resident memory \
                  is that of a process that did nothing but fill the store, before and after it \
                  opened it again.",
        columns: vec![
            "raw bytes/command",
            "disk bytes/command",
            "disk / raw",
            "journal bytes/command",
            "resident MiB",
            "resident / raw",
        ],
        rows: vec![
            ("after filling".to_owned(), row(written)),
            ("after reopening".to_owned(), row(reopened)),
        ],
    })
}
