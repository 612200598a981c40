//! What somebody reads who sends a command that is wrong.
//!
//! The golden file has a command on one line and what is said about it on the next.

use seriatim_json::command;

#[test]
fn every_bad_command_is_explained_as_the_golden_file_has_it() {
    let golden = include_str!("../../golden/bad_commands.txt");
    let mut lines = golden.lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    while let Some(document) = lines.next() {
        let expected = lines.next().and_then(|line| line.strip_prefix("    ")).unwrap();
        let invalid = command(document.as_bytes()).unwrap_err();
        assert_eq!(format!("{} {invalid}", invalid.code()), expected, "{document}");
        count += 1;
    }
    assert!(count > 100, "only {count} commands were read");
}
