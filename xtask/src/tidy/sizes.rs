//! No file and no function outgrows a reader.

use super::Finding;
use super::tree::Tree;

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, file) in tree.rust_files() {
        if let Some((line, error)) = &file.error {
            findings.push(Finding::new(path, *line, format!("cannot be read as Rust: {error}")));
        }
        let line_count = tree.text(path).unwrap_or_default().lines().count();
        if line_count > FILE_LINES_MAX {
            let sentence = format!(
                "{line_count} lines; a file has at most {FILE_LINES_MAX}: move a type with its \
                 impl, or the tests, to a file of their own"
            );
            findings.push(Finding::new(path, FILE_LINES_MAX, sentence));
        }
        for function in file.functions.iter().filter(|it| it.line_count > FUNCTION_LINES_MAX) {
            let sentence = format!(
                "`{}` has {} lines; a function has at most {FUNCTION_LINES_MAX}: keep the \
                 branches here and move what each one does to a function with a name",
                function.name, function.line_count
            );
            findings.push(Finding::new(path, function.line, sentence));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    /// A method that takes `line_count` lines, its signature and its last bracket included.
    fn method(line_count: usize) -> String {
        let body = "        x();\n".repeat(line_count.saturating_sub(2));
        format!("impl A {{\n    /// Doc.\n    fn long(&self) {{\n{body}    }}\n}}\n")
    }

    fn findings(text: &str) -> Vec<String> {
        printed(&check(&Tree::of(&[("a.rs", text)])))
    }

    #[test]
    fn the_largest_allowed_function_and_file_pass() {
        assert_eq!(findings(&method(FUNCTION_LINES_MAX)), [""; 0]);
        assert_eq!(findings(&"const A: u8 = 1;\n".repeat(FILE_LINES_MAX)), [""; 0]);
    }

    #[test]
    fn one_line_more_is_found() {
        let found = findings(&method(FUNCTION_LINES_MAX.saturating_add(1)));
        assert!(found[0].starts_with("a.rs:3: `long` has 71 lines"), "{found:?}");
        let found = findings(&"const A: u8 = 1;\n".repeat(FILE_LINES_MAX.saturating_add(1)));
        assert!(found[0].starts_with("a.rs:800: 801 lines"), "{found:?}");
    }

    #[test]
    fn a_file_that_is_not_rust_is_found() {
        assert!(findings("fn a() {}\nfn }")[0].starts_with("a.rs:2: cannot be read"));
    }
}
