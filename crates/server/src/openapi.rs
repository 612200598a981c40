//! `GET /openapi.json`: every endpoint, parameter, body and error of the HTTP contract.
//!
//! The document is a file that people and tools read as it is; tests compare it with the router,
//! with the table of codes and with the reference.

use axum::response::Response;

use crate::answer;

const DOCUMENT: &str = include_str!("openapi.json");

/// The document.
pub(crate) async fn get() -> Response {
    answer::ok(DOCUMENT.into())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::codes::CODES;

    #[test]
    fn the_document_has_every_code_where_its_status_is() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
        let codes = document["components"]["schemas"]["Error"]["properties"]["code"]["enum"]
            .as_array()
            .unwrap();
        assert!(codes.iter().eq(CODES.iter().map(|it| it.code)), "in the order of the table");
        // Reserved, or answered where there is no operation.
        let nowhere = ["UNAUTHENTICATED", "METHOD_NOT_ALLOWED", "NOT_LEADER"];
        for it in CODES.iter().filter(|it| !nowhere.contains(&it.code)) {
            let responses = document["components"]["responses"].as_object().unwrap();
            let mut naming = responses.iter().filter(|(_, response)| {
                let text = response["description"].as_str().unwrap();
                text.split([' ', ',', '.', ':']).any(|word| word == it.code)
            });
            let (name, _) = naming.next().unwrap_or_else(|| panic!("{} has a response", it.code));
            assert_eq!(naming.next(), None, "{} has one response", it.code);
            let (status, reference) =
                (it.status.as_str(), format!("#/components/responses/{name}"));
            let operations = document["paths"].as_object().unwrap().values();
            let operations = operations.flat_map(|path| path.as_object().unwrap().values());
            let answers = operations.flat_map(|it| it["responses"].as_object().unwrap());
            let of_code: Vec<&str> = answers
                .filter(|(_, answer)| answer["$ref"] == reference.as_str())
                .map(|(status, _)| status.as_str())
                .collect();
            assert!(!of_code.is_empty() && of_code.iter().all(|it| *it == status), "{name}");
        }
    }
}
