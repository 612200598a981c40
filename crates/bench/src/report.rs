//! What was measured, as text, Markdown and JSON.

use std::fmt::Write;

/// All measurements of a run.
#[derive(Debug)]
pub struct Report {
    /// What was measured.
    pub title: String,
    /// When, on what, and how it was asked for.
    pub facts: Vec<(&'static str, String)>,
    /// The measurements.
    pub tables: Vec<Table>,
}

/// One measurement.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub title: &'static str,
    /// What the figures mean, for somebody who has not read the code.
    pub meaning: &'static str,
    /// What the values of a row are, with their units.
    pub columns: Vec<&'static str>,
    /// A label, and a value per column.
    pub rows: Vec<(String, Vec<f64>)>,
}

impl Report {
    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.facts {
            writeln!(text, "{name:<13}{value}").expect(INFALLIBLE);
        }
        for table in &self.tables {
            text.push_str(&table.text());
        }
        text
    }

    /// For the repository.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", self.title);
        text.push_str(INTRODUCTION);
        text.push_str("\n| | |\n|---|---|\n");
        for (name, value) in &self.facts {
            writeln!(text, "| {name} | {value} |").expect(INFALLIBLE);
        }
        for table in &self.tables {
            writeln!(text, "\n## {}\n\n{}\n", table.title, table.meaning).expect(INFALLIBLE);
            writeln!(text, "| | {} |", table.columns.join(" | ")).expect(INFALLIBLE);
            writeln!(text, "|---|{}", "---:|".repeat(table.columns.len())).expect(INFALLIBLE);
            for (label, values) in &table.rows {
                let values: Vec<String> = values.iter().map(|value| number(*value)).collect();
                writeln!(text, "| {label} | {} |", values.join(" | ")).expect(INFALLIBLE);
            }
        }
        text
    }

    /// For programs: the facts, and per table a list of rows with a value per column.
    #[must_use]
    pub fn json(&self) -> String {
        let facts = self.facts.iter().map(|(name, value)| (*name, quoted(value)));
        let tables = self.tables.iter().map(|table| {
            let rows: Vec<String> = table.rows.iter().map(|row| table.row_json(row)).collect();
            (table.title, format!("[\n    {}\n  ]", rows.join(",\n    ")))
        });
        format!("{{\n  {}\n}}\n", members(facts.chain(tables), ",\n  "))
    }
}

const INFALLIBLE: &str = "a string takes whatever is written to it";

const INTRODUCTION: &str = "\
Each ratio is the median of the ratios of several rounds, and within a round the two things
that are compared ran right after each other. The rates beside a ratio are medians of their
own and for orientation only: on a shared machine they change by the hour.
";

impl Table {
    pub(crate) fn text(&self) -> String {
        let mut text = format!("\n{}\n", self.title);
        self.write_aligned(&mut text);
        text
    }

    fn write_aligned(&self, text: &mut String) {
        let cells = self.rows.iter().map(|(label, values)| {
            let values = values.iter().map(|value| number(*value));
            std::iter::once(label.clone()).chain(values).collect::<Vec<_>>()
        });
        let head = std::iter::once(String::new())
            .chain(self.columns.iter().map(|column| (*column).to_owned()))
            .collect();
        let lines: Vec<Vec<String>> = std::iter::once(head).chain(cells).collect();
        let width_of = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..=self.columns.len()).map(width_of).collect();
        for line in &lines {
            for (place, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let written = match place {
                    0 => write!(text, "  {cell:<width$}"),
                    _ => write!(text, "   {cell:>width$}"),
                };
                written.expect(INFALLIBLE);
            }
            text.push('\n');
        }
    }

    fn row_json(&self, (label, values): &(String, Vec<f64>)) -> String {
        let number = |it: &f64| if it.is_nan() { "null".to_owned() } else { it.to_string() };
        let values = self.columns.iter().zip(values).map(|(name, it)| (*name, number(it)));
        let label = std::iter::once(("row", quoted(label)));
        format!("{{{}}}", members(label.chain(values), ", "))
    }
}

fn members<'a>(members: impl Iterator<Item = (&'a str, String)>, between: &str) -> String {
    let members: Vec<String> =
        members.map(|(name, value)| format!("{}: {value}", quoted(name))).collect();
    members.join(between)
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control < ' ' => quoted.push(' '),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Three figures that mean something, and thousands apart. What there is none of is no number.
fn number(value: f64) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        0.1.. => 2,
        _ => 4,
    };
    let plain = format!("{value:.decimals$}");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if fraction.is_empty() { grouped } else { format!("{grouped}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        let values = [0.004_56, 0.987_6, 12.34, 123.4, 1_234.5, 1_234_567.0, f64::NAN];
        let expected = ["0.0046", "0.99", "12.3", "123", "1,234", "1,234,567", "–"];
        assert_eq!(values.map(number), expected);
    }

    #[test]
    fn a_report_says_the_same_in_all_three_forms() {
        let report = Report {
            title: "T".to_owned(),
            facts: vec![("cpu", "a \"b\"".to_owned())],
            tables: vec![Table {
                title: "one",
                meaning: "It means this.",
                columns: vec!["x", "x / y"],
                rows: vec![("r".to_owned(), vec![1_500.0, 0.5])],
            }],
        };
        let json = "{\n  \"cpu\": \"a \\\"b\\\"\",\n  \"one\": [\n    \
                    {\"row\": \"r\", \"x\": 1500, \"x / y\": 0.5}\n  ]\n}\n";
        assert_eq!(report.json(), json);
        let markdown = report.markdown();
        assert!(
            markdown.contains("## one\n\nIt means this.\n\n| | x | x / y |\n|---|---:|---:|\n")
        );
        assert!(markdown.ends_with("| r | 1,500 | 0.50 |\n"), "{markdown}");
        assert!(report.text().ends_with("\none\n          x   x / y\n  r   1,500    0.50\n"));
    }
}
