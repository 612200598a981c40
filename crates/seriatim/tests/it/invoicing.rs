//! The example, run as it stands, and what it promises at its edges.

#[path = "../../examples/invoicing/invoices.rs"]
mod invoices;
#[path = "../../examples/invoicing/story.rs"]
mod story;

use std::collections::BTreeMap;
use std::thread;

use seriatim::{Seriatim, random_key};
use seriatim_verify::{Options, verify_files};

use invoices::{Invoicing, IssueError};
use story::StoryClock;

#[test]
fn the_story_ends_with_numbers_without_a_hole_also_when_it_is_told_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut out = Vec::new();
    let first = story::run(folder.path(), &mut out).unwrap();
    let years = |counts: &[(u16, u64)]| counts.iter().copied().collect::<BTreeMap<_, _>>();
    assert_eq!(first["north"], years(&[(2026, 21), (2027, 20)]));
    assert_eq!(first["south"], years(&[(2026, 20), (2027, 20)]));
    assert_eq!(first.len(), story::SHOPS.len());
    let second = story::run(folder.path(), &mut out).unwrap();
    assert_eq!(second["north"], years(&[(2026, 21), (2027, 41), (2028, 20)]));
    assert_eq!(second["harbour"], years(&[(2026, 20), (2027, 40), (2028, 20)]));
    let told = String::from_utf8(out).unwrap();
    assert!(told.contains("As it is now it becomes INV-2026-000021"), "{told}");
    assert!(told.contains("   north    2026: 1 to 21, 2027: 1 to 41, 2028: 1 to 20"), "{told}");
}

/// Its times are of the future, because the story takes a year by a clock of its own: that was called a
/// difference. And its folder lay in that of `seriatim dev`, whose own check then failed.
#[test]
fn nothing_differs_in_what_the_story_has_written_nor_beside_it() {
    let here = tempfile::tempdir().unwrap();
    let (dev, folder) = (here.path().join(".seriatim"), here.path().join(story::FOLDER));
    Seriatim::open(&dev).unwrap().close().unwrap();
    // Told twice, it goes back to its first day and on from its last event.
    for _ in 0..2 {
        story::run(&folder, &mut Vec::new()).unwrap();
    }
    for (data, apps) in [(&dev, 0), (&folder, 1)] {
        let verified = verify_files(data, &Options::default(), false, &mut |_| ());
        assert_eq!(verified.unwrap().totals.apps, apps);
    }
}

#[test]
fn of_many_clerks_who_issue_one_draft_with_their_own_keys_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let clock = StoryClock::at(StoryClock::SUMMER_2026);
    let invoicing = Invoicing::open(folder.path(), clock).unwrap();
    let shop = invoicing.shop("north").unwrap();
    for round in 1..=5 {
        let draft = shop.draft("ada", random_key(), "Passer-by", 100).unwrap();
        let issued: Vec<_> = thread::scope(|scope| {
            let issue = || shop.issue("ben", random_key(), &draft);
            let clerks: Vec<_> = (0..8).map(|_| scope.spawn(issue)).collect();
            clerks.into_iter().map(|clerk| clerk.join().unwrap()).collect()
        });
        assert_eq!(issued.iter().filter(|it| it.is_ok()).count(), 1);
        let others = issued.iter().filter_map(|it| it.as_ref().err());
        assert!(others.clone().all(|error| matches!(error, IssueError::Changed)));
        assert_eq!(shop.count_by_year().unwrap(), BTreeMap::from([(2026, round)]));
    }
}
