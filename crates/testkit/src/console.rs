//! Pages that are carried out: what a page shows is what a program says.
//!
//! ```text
//!  page ─► blocks marked `console` ─► "$ command" and the lines below it ─► run ─► compare
//! ```
//!
//! In what a page expects, `…` stands for any text within a line, and a line that is only `…` for any
//! lines. Everything else has to be there to the letter.

/// A command of a page, and what the page says that it prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The line of the page that it stands in, from 1.
    pub line: usize,
    /// The command, without the prompt. It goes on where a line ends with a backslash.
    pub command: String,
    /// The lines that it prints.
    pub expected: Vec<String>,
}

/// All commands of a page, in their order.
#[must_use]
pub fn shown(page: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut is_console = false;
    let mut goes_on = false;
    for (text, line) in page.lines().zip(1..) {
        if let Some(language) = text.strip_prefix("```") {
            is_console = !is_console && language == "console";
            goes_on = false;
            continue;
        }
        if !is_console {
            continue;
        }
        if let Some(command) = text.strip_prefix("$ ") {
            all.push(Shown { line, command: command.to_owned(), expected: Vec::new() });
        } else if let Some(last) = all.last_mut() {
            if goes_on {
                last.command.push('\n');
                last.command.push_str(text);
            } else {
                last.expected.push(text.to_owned());
            }
        }
        goes_on = (goes_on || text.starts_with("$ ")) && text.ends_with('\\');
    }
    for one in &mut all {
        while one.expected.last().is_some_and(String::is_empty) {
            one.expected.pop();
        }
    }
    all
}

/// Whether a program has printed what a page shows.
#[must_use]
pub fn is_as_shown(expected: &[String], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], []) => true,
        ([any, rest @ ..], _) if any == "…" => {
            is_as_shown(rest, printed)
                || printed.split_first().is_some_and(|(_, later)| is_as_shown(expected, later))
        }
        ([first, rest @ ..], [line, later @ ..]) => {
            is_line(first, line) && is_as_shown(rest, later)
        }
        _ => false,
    }
}

fn is_line(expected: &str, printed: &str) -> bool {
    // Spaces at the end of a line are not to be seen on a page.
    let printed = printed.trim_end();
    let Some((first, rest)) = expected.split_once('…') else { return expected == printed };
    let Some(left) = printed.strip_prefix(first) else { return false };
    let mut ends = (0..=left.len()).filter_map(|at| left.get(at..));
    ends.any(|left| is_line(rest, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_console_blocks_alone() {
        let page =
            "a\n```sh\n$ no\n```\n```console\n$ one \\\n  more\nx\n\ny\n\n$ two\n```\n$ not\n";
        let expected = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        assert_eq!(
            shown(page),
            [
                Shown {
                    line: 6,
                    command: "one \\\n  more".to_owned(),
                    expected: expected(&["x", "", "y"])
                },
                Shown { line: 12, command: "two".to_owned(), expected: Vec::new() },
            ]
        );
    }

    #[test]
    fn only_what_is_left_open_may_differ() {
        let page = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        for (expected, printed, is_same) in [
            ("a\nb", "a\nb", true),
            ("a\nb", "a", false),
            ("a", "a\nb", false),
            ("a …c", "a b c", true),
            ("a …c", "a b d", false),
            ("…", "a\nb", true),
            ("a\n…\nz", "a\nb\nc\nz", true),
            ("a\n…\nz", "a\nz", true),
            ("a\n…\nz", "a\ny", false),
            ("a … b … c", "a 1 b 2 c", true),
            ("", "", true),
            ("a", "a  ", true),
        ] {
            let printed: Vec<&str> = printed.lines().collect();
            assert_eq!(is_as_shown(&page(expected), &printed), is_same, "{expected}");
        }
    }
}
