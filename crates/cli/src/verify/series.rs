//! The series of a sequence, and whether each is complete.

use anyhow::Result;

use super::different;
use crate::document::{Json, object, of};
use crate::output::{Form, Table};

/// One series: a workspace, and the year if the sequence begins anew with each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) workspace: String,
    pub(super) period: Option<u16>,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) count: u64,
    pub(super) gaps: u64,
    pub(super) repeats: u64,
    /// Where it first goes wrong, in words.
    pub(super) fault: Option<String>,
}

impl Series {
    /// One of which no number was seen.
    pub(super) fn new(workspace: &str, period: Option<u16>) -> Self {
        let workspace = workspace.to_owned();
        let (first, last, count, gaps, repeats) = (0, 0, 0, 0, 0);
        Self { workspace, period, first, last, count, gaps, repeats, fault: None }
    }

    /// Takes in a number that was drawn from ranges that are used one after the other.
    pub(super) fn take(
        &mut self,
        number: u64,
        ranges: &[(u64, u64)],
        place: impl FnOnce() -> String,
    ) {
        let place_of = |number| place_among(ranges, number);
        let last = self.last;
        let expected = place_of(last).unwrap_or(0).saturating_add(1);
        if self.count == 0 {
            self.first = number;
        }
        self.count = self.count.saturating_add(1);
        match place_of(number) {
            Some(found) if found >= expected => {
                self.gaps = self.gaps.saturating_add(found.saturating_sub(expected));
                self.last = number;
                if found == expected {
                    return;
                }
            }
            Some(_) => self.repeats = self.repeats.saturating_add(1),
            None => {}
        }
        let workspace = &self.workspace;
        self.fault.get_or_insert_with(|| {
            format!("{number} does not follow {last}, at {} of {workspace}", place())
        });
    }
}

/// The place of a number among all that the ranges hold, from 1.
fn place_among(ranges: &[(u64, u64)], number: u64) -> Option<u64> {
    let mut before = 0_u64;
    for (first, last) in ranges {
        if (*first..=*last).contains(&number) {
            return Some(before.saturating_add(number.saturating_sub(*first)).saturating_add(1));
        }
        before = before.saturating_add(last.saturating_sub(*first)).saturating_add(1);
    }
    None
}

/// Prints all series of a sequence. One that is not complete is a difference.
pub(super) fn print(output: Form, sequence: &str, all: &[Series]) -> Result<()> {
    let documents: Vec<Json> = all.iter().map(document).collect();
    let columns = ["workspace", "period", "first", "last", "count", "gaps", "repeats"];
    let table = Table::rows(columns.map(|name| (name, name)), &documents);
    let fault = all.iter().find_map(|series| series.fault.as_ref());
    let sum = |part: fn(&Series) -> u64| all.iter().map(part).fold(0, u64::saturating_add);
    let (count, gaps, repeats) = (sum(|it| it.count), sum(|it| it.gaps), sum(|it| it.repeats));
    let document = object([
        ("sequence", of(sequence)),
        ("complete", of(fault.is_none())),
        ("count", of(count)),
        ("gaps", of(gaps)),
        ("repeats", of(repeats)),
        ("series", Json::List(documents)),
    ]);
    output.print_as(&document, || {
        format!("{table}\n{sequence}: {count} numbers, {gaps} gaps, {repeats} repeats")
    })?;
    match fault {
        None => Ok(()),
        Some(fault) => {
            Err(different("SEQUENCE_INCOMPLETE", format!("{sequence} is not complete: {fault}"))
                .into())
        }
    }
}

fn document(series: &Series) -> Json {
    object([
        ("workspace", of(series.workspace.as_str())),
        ("period", of(series.period)),
        ("first", of(series.first)),
        ("last", of(series.last)),
        ("count", of(series.count)),
        ("gaps", of(series.gaps)),
        ("repeats", of(series.repeats)),
        ("fault", of(series.fault.clone())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(ranges: &[(u64, u64)], numbers: &[u64]) -> (u64, u64, Option<String>) {
        let mut series = Series::new("store-1", None);
        for (number, at) in numbers.iter().zip(1..) {
            series.take(*number, ranges, || format!("event {at}"));
        }
        assert_eq!(series.count, numbers.len() as u64);
        (series.gaps, series.repeats, series.fault)
    }

    #[test]
    fn a_series_goes_through_its_ranges_one_after_the_other() {
        assert_eq!(series(&[(1, 3), (10, 99)], &[1, 2, 3, 10, 11]), (0, 0, None));
        assert_eq!(series(&[(50, 99), (1, 3)], &[50]), (0, 0, None));
    }

    #[test]
    fn gaps_and_repeats_are_counted_and_the_first_is_named() {
        let ranges = [(1, 3), (10, 99)];
        let (gaps, repeats, fault) = series(&ranges, &[1, 3, 2, 12]);
        assert_eq!((gaps, repeats), (3, 1));
        assert_eq!(fault.unwrap(), "3 does not follow 1, at event 2 of store-1");
        let (gaps, repeats, fault) = series(&ranges, &[1, 7]);
        assert_eq!((gaps, repeats), (0, 0));
        assert!(fault.unwrap().starts_with("7 does not follow"));
        assert_eq!(series(&ranges, &[2]).0, 1, "the first number of a series is the first");
    }
}
