//! The tables of the HTTP reference are made of the table of methods and the list of codes.
//!
//! They stand between `<!-- generated: NAME -->` and `<!-- end of NAME -->`; what is around them is written
//! by hand. With `SERIATIM_WRITE_REFERENCE=1` the test writes the page instead of comparing it.

use std::collections::BTreeSet;
use std::path::Path;

use seriatim_api::code::ErrorCode;
use seriatim_api::method::{METHODS, Method, Parameter, Takes};
use seriatim_types::limits::{CLIENT_ID_CHARS_MAX, NAME_BYTES_MAX};

const WRITE: &str = "SERIATIM_WRITE_REFERENCE";

#[test]
fn the_tables_of_the_http_reference_are_those_of_the_contract() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/http.md");
    let written = std::fs::read_to_string(&path).unwrap();
    let tables = [("methods", methods()), ("parameters", parameters()), ("errors", errors())];
    let page =
        tables.iter().fold(written.clone(), |page, (name, table)| replaced(&page, name, table));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let is_same = page == written;
    assert!(is_same, "run `{WRITE}=1 cargo test -p seriatim-api --test it reference`");
}

/// The page with this table between its markers.
fn replaced(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) =
        page.split_once(&begin).unwrap_or_else(|| panic!("{begin} is in the page"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{end} is in the page"));
    format!("{before}{begin}\n{table}\n{end}{after}")
}

fn methods() -> String {
    let mut table =
        "| method | path | parameters and headers | answers | what it does |\n".to_owned();
    table.push_str("|---|---|---|---|---|\n");
    for method in METHODS {
        let parameters: Vec<String> =
            [method.query, method.headers].concat().iter().map(named).collect();
        let parameters =
            if parameters.is_empty() { "–".to_owned() } else { parameters.join(", ") };
        let (verb, path, summary) = (method.verb.as_str(), method.template(), method.summary);
        let statuses = statuses(method);
        table.push_str(&format!(
            "| `{verb}` | `{path}` | {parameters} | {statuses} | {summary} |\n"
        ));
    }
    table
}

fn named(parameter: &Parameter) -> String {
    let required = if parameter.is_required { " (required)" } else { "" };
    format!("`{}`{required}", parameter.name)
}

fn statuses(method: &Method) -> String {
    let answers = method.answers.iter().map(|answer| answer.status);
    let errors = method.error_codes().into_iter().map(ErrorCode::status);
    let statuses: BTreeSet<u16> = answers.chain(errors).collect();
    statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(" ")
}

fn parameters() -> String {
    let mut table =
        "| parameter | in | takes | unless given | what it is |\n|---|---|---|---|---|\n"
            .to_owned();
    let mut rows = BTreeSet::new();
    let of_path = METHODS.iter().flat_map(|it| it.parts).map(|it| parameter_row("path", it));
    let of_query = METHODS.iter().flat_map(|it| it.query).map(|it| parameter_row("query", it));
    let headers = METHODS.iter().flat_map(|it| it.headers).map(|it| parameter_row("header", it));
    let all = of_path.chain(of_query).chain(headers);
    all.filter(|row| rows.insert(row.clone())).for_each(|row| table.push_str(&row));
    table
}

fn parameter_row(place: &str, parameter: &Parameter) -> String {
    let takes = match parameter.takes {
        Takes::Text { bytes_max } => format!("text of 1 to {bytes_max} bytes"),
        Takes::App => format!("text of 1 to {NAME_BYTES_MAX} bytes, not of digits alone"),
        Takes::Client => format!("text of 1 to {CLIENT_ID_CHARS_MAX} characters"),
        Takes::Workspace => "name or id".to_owned(),
        Takes::Whole { min, max, .. } => format!("{min} to {max}"),
        Takes::Uuid => "UUID".to_owned(),
        Takes::Moment => "RFC 3339".to_owned(),
        Takes::Flag => "`true` or `false`".to_owned(),
    };
    let default = match (parameter.is_required, parameter.default()) {
        (true, _) => "required".to_owned(),
        (false, Some(default)) => default.to_string(),
        (false, None) => "–".to_owned(),
    };
    let (name, about) = (parameter.name, parameter.about);
    format!("| `{name}` | {place} | {takes} | {default} | {about} |\n")
}

fn errors() -> String {
    let mut table = "| code | status | gRPC | what it says |\n|---|---|---|---|\n".to_owned();
    for code in ErrorCode::ALL {
        let (status, grpc, about) = (code.status(), code.grpc(), code.about());
        let link = format!("[`{code}`](../errors/{code}.md)");
        table.push_str(&format!("| {link} | {status} | `{grpc:?}` | {about} |\n"));
    }
    table
}
