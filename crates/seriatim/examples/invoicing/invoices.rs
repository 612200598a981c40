//! An invoicing module on top of Seriatim: drafts that can be changed, and invoices that cannot.
//!
//! ```text
//!  draft ─► change ─► … ─► issue ─► invoice INV-2026-000001
//!                            └ changed by somebody meanwhile: refused, and no number is taken
//! ```
//!
//! **Invariant:** the invoices of a shop are numbered 1, 2, 3 … in each year, without a hole.
//! A number is taken in the same command that makes the invoice and marks the draft, so there is
//! no moment at which one of them is there without the others.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use seriatim::{
    App, AppOptions, Clock, Key, Number, Numbering, Options, RecordClass, Refusal, Retention,
    Seriatim, Time, Workspace, WriteError,
};

/// What this module's callers are shown when something goes wrong that they cannot help.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Events that are read at a time.
const PAGE: usize = 256;

/// The invoices of all shops.
pub(crate) struct Invoicing {
    seriatim: Seriatim,
    app: App,
}

/// One shop.
pub(crate) struct Shop(Workspace);

/// An invoice to be, in the version that somebody has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) id: Number,
    pub(crate) version: u64,
    pub(crate) customer: String,
    pub(crate) total_cents: u64,
}

/// An invoice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invoice {
    pub(crate) id: Number,
    /// As it is printed.
    pub(crate) number: String,
    /// Whether it had been issued before, by a command with the same key.
    pub(crate) is_repeated: bool,
}

/// Why a draft was not issued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IssueError {
    /// It is not as the clerk has seen it. Look at it again.
    #[error("the draft was changed, or issued, meanwhile")]
    Changed,
    /// Anything else. Sending it again with the same key is safe.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Invoicing {
    /// Opens the folder and defines what is needed, which changes nothing from the second time on.
    pub(crate) fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
        let seriatim = Options { clock, ..Options::default() }.open(folder)?;
        // A clerk who comes back after a year must not issue a second invoice for the same draft.
        let options = AppOptions { retention: Retention::Forever, ..AppOptions::default() };
        let app = seriatim.app("invoicing", options)?;
        app.define_record("draft", RecordClass::C)?;
        app.define_record("invoice", RecordClass::C)?;
        // Years turn at midnight in Berlin, by its winter time.
        let numbering = Numbering::yearly("INV-{yyyy}-{n:06}");
        app.define_sequence("invoice", Numbering { utc_offset_minutes: 60, ..numbering })?;
        Ok(Self { seriatim, app })
    }

    pub(crate) fn shop(&self, name: &str) -> Result<Shop, Failure> {
        Ok(Shop(self.app.workspace(name)?))
    }

    pub(crate) fn close(self) -> Result<(), Failure> {
        Ok(self.seriatim.close()?)
    }
}

impl Shop {
    /// Writes down a new draft.
    pub(crate) fn draft(
        &self,
        clerk: &str,
        key: Key,
        customer: &str,
        total_cents: u64,
    ) -> Result<Draft, Failure> {
        let fields = json!({"state": "open", "customer": customer, "total_cents": total_cents});
        let create = json!({"create": {"id": 1, "kind": "draft", "fields": fields}});
        let submitted = self.0.submit(clerk, key, command("DraftMade", &[create]))?;
        let id = submitted.id(1).ok_or("a create gives an id")?;
        Ok(Draft { id, version: 1, customer: customer.to_owned(), total_cents })
    }

    /// Changes the total of a draft that is still as the clerk has seen it.
    pub(crate) fn change(
        &self,
        clerk: &str,
        key: Key,
        draft: &Draft,
        total_cents: u64,
    ) -> Result<Draft, IssueError> {
        let fields = json!({"total_cents": total_cents});
        let update = json!({"update":
            {"id": draft.id.get(), "fields": fields, "if_version": draft.version}});
        self.0.submit(clerk, key, command("DraftChanged", &[update])).map_err(issue_error)?;
        Ok(Draft { version: draft.version.saturating_add(1), total_cents, ..draft.clone() })
    }

    /// Makes an invoice of a draft that is still as the clerk has seen it. With the same key it
    /// gives the same invoice, however often it is asked for.
    pub(crate) fn issue(
        &self,
        clerk: &str,
        key: Key,
        draft: &Draft,
    ) -> Result<Invoice, IssueError> {
        let mark = json!({"update": {"id": draft.id.get(), "if_version": draft.version,
            "fields": {"state": "issued", "invoice": {"$ref": 1}}}});
        let create = json!({"create": {"id": 1, "kind": "invoice", "parent": draft.id.get(),
            "fields": {"number": {"$next": "invoice", "as": "text"},
                       "customer": draft.customer, "total_cents": draft.total_cents}}});
        let submitted = self.0.submit(clerk, key, command("InvoiceIssued", &[mark, create]));
        let submitted = submitted.map_err(issue_error)?;
        let drawn = submitted.number("invoice").expect("the command draws an invoice number");
        let id = submitted.id(1).expect("the command creates an invoice");
        Ok(Invoice { id, number: drawn.text.clone(), is_repeated: submitted.is_replayed })
    }

    /// A draft as it is now.
    pub(crate) fn find(&self, id: Number) -> Result<Draft, Failure> {
        let record = self.0.record(id)?.ok_or("there is no such draft")?;
        let fields: Value = serde_json::from_slice(&record.fields)?;
        let customer = fields.get("customer").and_then(Value::as_str);
        let customer = customer.ok_or("a draft has a customer")?.to_owned();
        let total_cents = fields.get("total_cents").and_then(Value::as_u64);
        let total_cents = total_cents.ok_or("a draft has a total")?;
        Ok(Draft { id, version: record.version, customer, total_cents })
    }

    /// How many invoices each year has, found by reading the whole log: each must have the number
    /// behind that of the invoice before it in the same year, and the first must have 1.
    pub(crate) fn count_by_year(&self) -> Result<BTreeMap<u16, u64>, Failure> {
        let mut years = BTreeMap::new();
        let mut next = 1;
        loop {
            let page = self.0.events(next, PAGE)?;
            let Some(last) = page.last() else { return Ok(years) };
            next = last.event.offset.get().saturating_add(1);
            for drawn in page.iter().flat_map(|committed| &committed.event.numbers) {
                let year = drawn.year.ok_or("invoices are numbered by year")?.get();
                let before = years.insert(year, drawn.number.get()).unwrap_or(0);
                if before.checked_add(1) != Some(drawn.number.get()) {
                    let found = format!("{year}: {} comes after {before}", drawn.number);
                    return Err(found.into());
                }
            }
        }
    }

    /// When the last event was committed; `None` when there is none.
    pub(crate) fn last_time(&self) -> Result<Option<Time>, Failure> {
        let last = self.0.events(self.0.head()?.size, 1)?.pop();
        Ok(last.map(|committed| committed.event.time))
    }
}

fn command(name: &str, changes: &[Value]) -> String {
    json!({"events": [{"name": name, "changes": changes}]}).to_string()
}

fn issue_error(error: WriteError) -> IssueError {
    let is_changed = matches!(error, WriteError::Refused(Refusal::VersionMismatch { .. }));
    if is_changed { IssueError::Changed } else { error.into() }
}
