//! As much of Markdown as the checks need: links, headings, tables.

/// The links of a document with their lines. What stands in code is an example, not a link.
pub(super) fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        found.extend(line_links(&without_code(line)).into_iter().map(|target| (number, target)));
    }
    found
}

/// The links of one line whose code is blanked out: `[text](target)` and `[label]: target`.
pub(super) fn line_links(line: &str) -> Vec<String> {
    let mut targets: Vec<&str> = line.split("](").skip(1).map(up_to_bracket).collect();
    let definition = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    if let Some((label, target)) = definition
        && !label.starts_with('^')
        && !label.contains(']')
    {
        targets.push(target);
    }
    let clean = |target: &str| {
        let first = target.split_whitespace().next().unwrap_or_default();
        first.trim_start_matches('<').trim_end_matches('>').to_owned()
    };
    targets.into_iter().map(clean).collect()
}

/// The anchors of a document's headings, made as GitHub makes them.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        let level = line.len().saturating_sub(title.len());
        if !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let anchor = slug(title.trim().trim_end_matches('#').trim_end());
        let numbered = (1..).map(|count| format!("{anchor}-{count}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|it| !anchors.contains(it));
        anchors.extend(free);
    }
    anchors
}

/// The cells of a table row; a bar in code or behind a backslash does not divide.
pub(super) fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = Vec::new();
    let (mut rest, mut start) = (inner, 0_usize);
    let blanked = without_code(inner).replace("\\|", "  ");
    for (bar, _) in blanked.match_indices('|') {
        let (cell, after) = rest.split_at(bar.saturating_sub(start));
        cells.push(cell.trim());
        (rest, start) = (after.trim_start_matches('|'), bar.saturating_add(1));
    }
    cells.push(rest.trim());
    Some(cells)
}

/// A line with its code spans blanked out, byte for byte.
pub(super) fn without_code(line: &str) -> String {
    let mut blanked = String::new();
    let mut rest = line;
    while let Some(open) = rest.find('`') {
        let (before, span) = rest.split_at(open);
        let body = span.trim_start_matches('`');
        let (ticks, _) = span.split_at(span.len().saturating_sub(body.len()));
        blanked.push_str(before);
        match body.split_once(ticks) {
            Some((code, after)) => {
                let bytes = ticks.len().saturating_mul(2).saturating_add(code.len());
                blanked.push_str(&" ".repeat(bytes));
                rest = after;
            }
            None => {
                blanked.push_str(ticks);
                rest = body;
            }
        }
    }
    blanked.push_str(rest);
    blanked
}

/// Where a link leads: a path from the root and a fragment. Nothing when it leaves the repository.
pub(super) fn resolve(from: &str, target: &str) -> Option<(String, Option<String>)> {
    let (path, fragment) = match target.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment.to_owned())),
        None => (target, None),
    };
    if path.is_empty() {
        return Some((from.to_owned(), fragment));
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        parts.clear();
    }
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some((parts.join("/"), fragment))
}

/// The lines outside fenced blocks.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for (line, number) in text.lines().zip(1..) {
        let start = line.trim_start();
        let marks = if start.starts_with("~~~") { '~' } else { '`' };
        let rest = start.trim_start_matches(marks);
        let (ticks, _) = start.split_at(start.len().saturating_sub(rest.len()));
        match fence {
            Some(open) if ticks.starts_with(open) && rest.trim().is_empty() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && !rest.contains('`') => fence = Some(ticks),
            None => lines.push((number, line)),
        }
    }
    lines
}

fn up_to_bracket(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth = depth.saturating_add(1),
            ')' if depth == 0 => return text.split_at(at).0,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text
}

fn slug(title: &str) -> String {
    // A link counts with its text alone.
    let mut shown = String::new();
    for (index, piece) in title.split("](").enumerate() {
        let target = if index == 0 { "" } else { up_to_bracket(piece) };
        shown.push_str(piece.strip_prefix(target).unwrap_or(piece));
    }
    let letters = shown.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    letters.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_code_are_examples() {
        let text =
            "[a](x.md) `[b](no)` [`c`](y.rs#f \"t\")\n```\n[d](no)\n```\n[e]: <z.md>\n[^1]: no\n";
        let found: Vec<String> = links(text).into_iter().map(|(_, target)| target).collect();
        assert_eq!(found, ["x.md", "y.rs#f", "z.md"]);
        assert_eq!(links("a\n[w](W_(x).md)"), [(2, "W_(x).md".to_owned())]);
    }

    #[test]
    fn anchors_are_what_github_makes_of_headings() {
        let text = "# A `b`: c_d, e-f!\n## [Link](x) it\n```\n# no\n```\n## A\n## A\n#no\n";
        assert_eq!(anchors(text), ["a-b-c_d-e-f", "link-it", "a", "a-1"]);
    }

    #[test]
    fn a_bar_in_code_does_not_divide_a_row() {
        assert_eq!(cells("| a | `b|c` | d\\|e || f |"), Some(vec!["a", "`b|c`", "d\\|e", "", "f"]));
        assert_eq!(cells("a | b"), None);
    }

    #[test]
    fn a_link_is_resolved_from_its_own_directory() {
        let path = |target| resolve("docs/a.md", target).map(|(path, _)| path);
        assert_eq!(path("../src/b.rs#x").as_deref(), Some("src/b.rs"));
        assert_eq!(path("./c.md").as_deref(), Some("docs/c.md"));
        assert_eq!(path("#here").as_deref(), Some("docs/a.md"));
        assert_eq!(path("../../out.md"), None);
    }
}
