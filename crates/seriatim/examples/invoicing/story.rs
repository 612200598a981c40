//! What happens in the shops, told in a few lines.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use seriatim::{Clock, ClockAhead, Time, random_key};

use super::invoices::{Failure, Invoice, Invoicing, IssueError, Shop};

/// Where the data is unless another folder is named. A store holds nothing but its own files, so this
/// lies in no other one.
pub(crate) const FOLDER: &str = "invoicing-data";

pub(crate) const SHOPS: [&str; 3] = ["north", "south", "harbour"];
const CLERKS: [&str; 2] = ["ada", "ben"];
const INVOICES_PER_CLERK: u64 = 10;

/// What there is at the end: how many invoices each shop has in each year.
pub(crate) type Count = BTreeMap<&'static str, BTreeMap<u16, u64>>;

/// A clock that the story sets ahead, and that goes on by itself.
#[derive(Debug)]
pub(crate) struct StoryClock {
    began: Instant,
    began_at_ms: AtomicU64,
}

impl StoryClock {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    /// Noon on the 15th of June 2026, UTC.
    pub(crate) const SUMMER_2026: Time = Time(1_781_524_800_000);

    pub(crate) fn at(time: Time) -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), began_at_ms: AtomicU64::new(time.0) })
    }

    /// Goes on from a time, if that is later.
    pub(crate) fn catch_up(&self, time: Time) {
        self.began_at_ms.fetch_max(time.0, Ordering::Relaxed);
    }

    pub(crate) fn pass_days(&self, days: u64) {
        self.began_at_ms.fetch_add(days.saturating_mul(Self::DAY_MS), Ordering::Relaxed);
    }
}

impl Clock for StoryClock {
    fn now(&self) -> Result<Time, ClockAhead> {
        let passed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Time(self.began_at_ms.load(Ordering::Relaxed).saturating_add(passed)))
    }
}

/// Runs the story on the data of a folder, which may be there from an earlier time.
pub(crate) fn run(folder: &Path, out: &mut dyn Write) -> Result<Count, Failure> {
    let clock = StoryClock::at(StoryClock::SUMMER_2026);
    let invoicing = Invoicing::open(folder, clock.clone())?;
    writeln!(out, "The data is in {}.", folder.display())?;
    for name in SHOPS {
        let last = invoicing.shop(name)?.last_time()?;
        last.into_iter().for_each(|time| clock.catch_up(time));
    }

    let clerks = SHOPS.len().saturating_mul(CLERKS.len());
    writeln!(out, "1. {clerks} clerks in {} shops issue invoices at the same time,", SHOPS.len())?;
    writeln!(out, "   and send every command twice with the same key.")?;
    issue_everywhere(&invoicing, out)?;

    writeln!(out, "2. A draft is changed while somebody issues it.")?;
    let north = invoicing.shop("north")?;
    let seen = north.draft("ada", random_key(), "Ms. O'Neill \"the\" Baker", 4_200)?;
    north.change("ben", random_key(), &seen, 4_500)?;
    let key = random_key();
    match north.issue("ada", key, &seen) {
        Err(refused @ IssueError::Changed) => writeln!(out, "   Refused: {refused}.")?,
        Err(IssueError::Write(error)) => return Err(error.into()),
        Ok(invoice) => return Err(format!("issued unseen: {}", invoice.number).into()),
    }
    let now = north.find(seen.id)?;
    let issued = north.issue("ada", key, &now)?;
    writeln!(out, "   As it is now it becomes {}: no number was lost.", issued.number)?;
    invoicing.close()?;

    let invoicing = Invoicing::open(folder, clock.clone())?;
    let again = invoicing.shop("north")?.issue("ada", key, &now)?;
    check(again == Invoice { is_repeated: true, ..issued }, "the same invoice")?;
    writeln!(out, "3. Closed and opened. The same command again gives {}.", again.number)?;

    clock.pass_days(365);
    writeln!(out, "4. A year later the numbers begin anew.")?;
    issue_everywhere(&invoicing, out)?;

    writeln!(out, "5. Every shop's log was read, event by event:")?;
    let mut count = Count::new();
    for name in SHOPS {
        let years = invoicing.shop(name)?.count_by_year()?;
        let shown: Vec<String> =
            years.iter().map(|(year, n)| format!("{year}: 1 to {n}")).collect();
        writeln!(out, "   {name:8} {}", shown.join(", "))?;
        count.insert(name, years);
    }
    writeln!(out, "   No number is missing, none was given twice. Run this again: it goes on.")?;
    invoicing.close()?;
    Ok(count)
}

/// All clerks of all shops at once.
fn issue_everywhere(invoicing: &Invoicing, out: &mut dyn Write) -> Result<(), Failure> {
    let mut shops = Vec::new();
    for name in SHOPS {
        shops.push((name, invoicing.shop(name)?));
    }
    let issued: Vec<_> = thread::scope(|scope| {
        let mut clerks = Vec::new();
        for (name, shop) in &shops {
            let begin = |clerk| (*name, scope.spawn(move || issue_some(shop, clerk)));
            clerks.extend(CLERKS.map(begin));
        }
        let join = |(name, clerk): (_, thread::ScopedJoinHandle<'_, _>)| {
            (name, clerk.join().expect("a clerk does not panic"))
        };
        clerks.into_iter().map(join).collect()
    });
    let mut numbers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, issued) in issued {
        numbers.entry(name).or_default().extend(issued?);
    }
    for (name, numbers) in &numbers {
        if let (Some(first), Some(last)) = (numbers.iter().min(), numbers.iter().max()) {
            writeln!(out, "   {name:8} {first} to {last}")?;
        }
    }
    Ok(())
}

fn issue_some(shop: &Shop, clerk: &str) -> Result<Vec<String>, Failure> {
    let mut numbers = Vec::new();
    for index in 0..INVOICES_PER_CLERK {
        let draft = shop.draft(clerk, random_key(), "Passer-by", index.saturating_mul(100))?;
        let key = random_key();
        let first = shop.issue(clerk, key, &draft)?;
        let second = shop.issue(clerk, key, &draft)?;
        check(second == Invoice { is_repeated: true, ..first.clone() }, "the same invoice")?;
        numbers.push(first.number);
    }
    Ok(numbers)
}

fn check(holds: bool, what: &str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(format!("expected {what}").into()) }
}
