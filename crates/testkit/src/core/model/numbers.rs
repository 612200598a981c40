//! Which numbers there are, which comes next, and how it is shown.

use seriatim_planted::{self as planted, Bug};
use seriatim_types::{RecordClass, RecordIdScheme, SequenceId, Year};

use super::HIGHEST;

const RAW_LAST: u64 = 65_535;
const RESERVED_LAST: u64 = 200_000;
const SPLIT_C_FIRST: u64 = 322_685_000_131_072;
const SPLIT_OW_FIRST: u64 = 322_680_000_131_072;

/// The id of the sequence that gives offsets in a workspace's log.
pub(super) const OFFSETS: SequenceId = SequenceId(1);
/// The id of the first sequence that an app defines.
pub(super) const APP_FIRST: u16 = 256;
/// The fixed id of the first singleton kind.
pub(super) const SINGLETON_FIRST: u64 = 65_536;

/// Whether an id was chosen by the client, for one command.
pub(super) fn is_raw(id: u64) -> bool {
    (1..=RAW_LAST).contains(&id)
}

/// The sequence that gives ids to records of a class, and its range.
pub(in super::super) fn record_ids(
    scheme: RecordIdScheme,
    class: RecordClass,
) -> (SequenceId, [(u64, u64); 1]) {
    match (scheme, class) {
        (RecordIdScheme::Single, _) => (SequenceId(2), [(RESERVED_LAST + 1, HIGHEST)]),
        (RecordIdScheme::Split, RecordClass::C) => (SequenceId(3), [(SPLIT_C_FIRST, HIGHEST)]),
        (RecordIdScheme::Split, RecordClass::O | RecordClass::W) => {
            (SequenceId(4), [(SPLIT_OW_FIRST, SPLIT_C_FIRST - 1)])
        }
    }
}

/// The number behind the last one; `None` when all are given.
pub(super) fn next(ranges: &[(u64, u64)], last: Option<u64>) -> Option<u64> {
    let mut ranges = ranges.iter();
    let Some(last) = last else { return ranges.next().map(|(first, _)| *first) };
    let (_, end) = ranges.find(|(first, end)| (*first..=*end).contains(&last))?;
    let late = u64::from(planted::is(Bug::RangeBeginsLate));
    if last < *end { Some(last + 1) } else { ranges.next().map(|(first, _)| *first + late) }
}

/// Whether numbers can be drawn from these ranges.
pub(super) fn are_ranges(ranges: &[(u64, u64)]) -> bool {
    let is_range = |(first, last): &(u64, u64)| 0 < *first && first <= last && *last <= HIGHEST;
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let follow = sorted.is_sorted_by(|(_, last), (first, _)| last < first);
    (1..=16).contains(&ranges.len()) && ranges.iter().all(is_range) && follow
}

/// The year of a time, counted off year by year.
pub(super) fn year_of(time: u64, utc_offset_minutes: i16) -> Year {
    let local = i64::try_from(time).expect("a time of this age");
    let local = local + i64::from(utc_offset_minutes) * 60_000;
    let (mut year, mut day) = (1970_u16, local.div_euclid(86_400_000));
    let is_leap = |year: u16| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let days = |year| if is_leap(year) { 366 } else { 365 };
    while day >= days(year) {
        day -= days(year);
        year += 1;
    }
    Year::new(if day < 0 { 1969 } else { year }).expect("a year of this age")
}

/// The text of a number; `None` when the format means nothing.
pub(super) fn show(format: &str, number: u64, year: Year) -> Option<String> {
    let (mut shown, mut rest, mut numbers) = (String::new(), format, 0);
    while let Some(character) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("{n}") {
            shown += &number.to_string();
            (rest, numbers) = (behind, numbers + 1);
        } else if let Some(behind) = rest.strip_prefix("{n:0") {
            let (digits, behind) = behind.split_once('}')?;
            let is_plain = digits.len() <= 2 && digits.chars().all(|digit| digit.is_ascii_digit());
            let width = digits.parse().ok().filter(|width| is_plain && (1..=20).contains(width))?;
            shown += &format!("{number:0width$}");
            (rest, numbers) = (behind, numbers + 1);
        } else if let Some(behind) = rest.strip_prefix("{yyyy}") {
            shown += &format!("{:04}", year.get());
            rest = behind;
        } else if rest.starts_with("{{") || rest.starts_with("}}") {
            shown.push(character);
            rest = &rest[2..];
        } else if character == '{' || character == '}' || character.is_control() {
            return None;
        } else {
            shown.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    (numbers == 1 && format.len() <= 128).then_some(shown)
}
