//! The table is complete, and its examples are what they say.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_row_is_complete_and_no_two_are_the_same() {
    let ids: BTreeSet<MethodId> = METHODS.iter().map(|method| method.id).collect();
    assert!(ids.iter().eq(MethodId::ALL) && ids.len() == METHODS.len());
    let places: BTreeSet<_> = METHODS.iter().map(|it| (it.verb.as_str(), it.path)).collect();
    assert_eq!(places.len(), METHODS.len());
    for method in METHODS {
        let id = method.id;
        assert_eq!(id.method().path, method.path);
        assert!(method.summary.ends_with('.') && !method.answers.is_empty(), "{id:?}");
        assert!(!method.writes || method.verb != Verb::Get, "{id:?}: GET only reads");
        let written = method.path.split('/').filter(|part| part.starts_with('{'));
        let written = written.map(|part| part.trim_matches(['{', '}', '*']));
        assert!(written.eq(method.parts.iter().map(|part| part.name)), "{id:?}");
        for parameter in [method.parts, method.query, method.headers].concat() {
            let name = parameter.name;
            assert!(
                parameter.about.ends_with('.') && !parameter.example.is_empty(),
                "{id:?} {name}"
            );
        }
        // A path or a Host that cannot be taken is refused before there is a handler.
        for code in [ErrorCode::InvalidArgument, ErrorCode::PermissionDenied] {
            assert!(method.error_codes().contains(&code), "{id:?}");
        }
    }
}

#[test]
fn every_example_is_its_message_and_says_all_that_the_message_says() {
    let bodies = METHODS.iter().filter_map(|it| Some(&it.request.as_ref()?.message));
    let answers = METHODS.iter().flat_map(|it| it.answers).filter_map(|it| match &it.body {
        AnswerBody::Json(message) => Some(message),
        AnswerBody::Text(_) | AnswerBody::OpenApi => None,
    });
    for message in bodies.chain(answers) {
        let rewritten = (message.rewrite)(message.example).unwrap();
        let example: serde_json::Value = serde_json::from_str(message.example).unwrap();
        assert_eq!(rewritten, example);
    }
}

#[test]
fn errors_are_answered_where_something_is_written_or_read() {
    for method in METHODS {
        let codes = method.error_codes();
        let of_reads = [ErrorCode::NotYet, ErrorCode::Lagged];
        assert!(!method.writes || !of_reads.iter().any(|it| codes.contains(it)), "{:?}", method.id);
        assert!(method.writes || !codes.contains(&ErrorCode::OutcomeUnknown), "{:?}", method.id);
        assert_eq!(method.streams, codes.contains(&ErrorCode::Lagged), "{:?}", method.id);
    }
    // Answered where there is no method, or not yet.
    let nowhere = [ErrorCode::Unauthenticated, ErrorCode::MethodNotAllowed, ErrorCode::NotLeader];
    for code in ErrorCode::ALL {
        let is_listed = METHODS.iter().any(|method| method.error_codes().contains(code));
        assert_eq!(is_listed, !nowhere.contains(code), "{code}");
    }
}

#[test]
fn methods_are_found_by_verb_and_path() {
    let found = |verb, path| Method::find(verb, path).map(|method| method.id);
    assert_eq!(found("GET", "/v1/apps"), Some(MethodId::ListApps));
    assert_eq!(found("HEAD", "/v1/apps"), Some(MethodId::ListApps));
    assert_eq!(found("POST", "/v1/apps"), Some(MethodId::CreateApp));
    assert_eq!(found("DELETE", "/v1/apps"), None);
    assert_eq!(found("GET", "/v1/apps/shop"), None, "a path is matched by routers, not here");
    assert_eq!(MethodId::CreateApp.method().operation_id(), "createApp");
    let entity = MethodId::GetEntity.method();
    assert_eq!(entity.template(), "/v1/apps/{app}/workspaces/{ws}/entities/{key}");
}

#[test]
fn paths_hold_their_parts_percent_encoded() {
    let parts = [("ws", "a b"), ("app", "shop"), ("key", "stock/../A%7?ü")];
    let path = MethodId::GetEntity.path_with(&parts);
    assert_eq!(path, "/v1/apps/shop/workspaces/a%20b/entities/stock%2F..%2FA%257%3F%C3%BC");
    assert_eq!(MethodId::Live.path_with(&[]), "/livez");
}

#[test]
#[should_panic(expected = "/v1/apps/{app} needs its part app")]
fn a_path_without_one_of_its_parts_is_a_bug_of_the_caller() {
    drop(MethodId::GetApp.path_with(&[("ws", "x")]));
}
