//! The example for programs that have a log of their own, run as it stands.

#[path = "../../examples/own_log/ledger.rs"]
mod ledger;

use ledger::Ledger;

#[test]
fn example_numbers_its_own_log_and_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let told = || {
        let mut out = Vec::new();
        ledger::run(folder.path(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let first = "shop 1: invoice 1 over 1250\nshop 2: invoice 1 over 990\n\
                 shop 1: no invoice, and no number used: an invoice has an amount\n\
                 shop 1: invoice 2 over 400\n";
    assert_eq!(told(), first);
    let second = "shop 1: invoice 3 over 1250\nshop 2: invoice 2 over 990\n\
                  shop 1: no invoice, and no number used: an invoice has an amount\n\
                  shop 1: invoice 4 over 400\n";
    assert_eq!(told(), second);
}

#[test]
fn example_without_its_checkpoints_reads_its_numbers_from_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    for number in 1..=20 {
        assert_eq!(ledger.issue(7, 5).unwrap(), number);
    }
    drop(ledger);
    std::fs::remove_dir_all(folder.path().join("numbers")).unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    assert_eq!(ledger.issue(7, 5).unwrap(), 21);
    assert_eq!(ledger.issue(8, 5).unwrap(), 1);
    ledger.close();
    let lines = std::fs::read_to_string(folder.path().join("invoices.txt")).unwrap();
    assert_eq!(lines.lines().last(), Some("8 1 1 5"));
}

#[test]
fn example_says_which_line_of_its_log_makes_no_sense() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("invoices.txt"), "1 1 1 5\n1 2 two 5\n").unwrap();
    let error = Ledger::open(folder.path()).err().unwrap().to_string();
    assert!(error.contains("line 2: 1 2 two 5"), "{error}");
}
