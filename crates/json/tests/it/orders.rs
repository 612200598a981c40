//! Properties of templates, for any document.

use std::collections::BTreeMap;

use proptest::prelude::*;
use seriatim_json::{CommandBody, canonical};
use seriatim_storage::faulty::Dice;
use seriatim_types::{CommandChange, Filler, Hole, Shown, Template};

use crate::commands::read;

/// A value that can be written with its members in any order.
#[derive(Debug, Clone)]
enum Json {
    Scalar(String),
    /// A `$next`.
    Hole(Shown),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

/// Writes a document, and names the sequence of each hole by its place in it.
struct Writer {
    dice: Dice,
    holes: usize,
    out: String,
}

impl Writer {
    fn write(&mut self, json: &Json) {
        match json {
            Json::Scalar(text) => self.out.push_str(text),
            Json::Hole(shown) => {
                let as_text = if *shown == Shown::Text { r#","as":"text""# } else { "" };
                self.out.push_str(&format!(r#"{{"$next":"s{:05}"{as_text}}}"#, self.holes));
                self.holes += 1;
            }
            Json::Array(items) => {
                self.out.push('[');
                self.list(items, |writer, item| writer.write(item));
                self.out.push(']');
            }
            Json::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                shuffle(&mut self.dice, &mut members);
                self.out.push('{');
                self.list(&members, |writer, (name, value)| {
                    writer.out.push_str(&serde_json::to_string(name).unwrap());
                    writer.out.push(':');
                    writer.write(value);
                });
                self.out.push('}');
            }
        }
    }

    fn list<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(" ,\n");
            }
            write(self, item);
        }
    }
}

/// A command with these members in an order that depends on the seed.
fn command(args: &Json, fields: &Json, value: &Json, seed: u64) -> CommandBody {
    let mut writer = Writer { dice: Dice::new(seed), holes: 0, out: String::new() };
    writer.out.push_str(r#"{"events":[{"name":"X","args":"#);
    writer.write(args);
    writer.out.push_str(r#","changes":[{"create":{"id":1,"kind":"k","fields":"#);
    writer.write(fields);
    writer.out.push_str(r#"}},{"set":{"key":"k","value":"#);
    writer.write(value);
    writer.out.push_str("}}]}]}");
    read(&writer.out)
}

/// The templates that are counted together: the arguments, and those of each change.
fn groups(body: &CommandBody) -> Vec<Vec<&Template>> {
    let event = &body.events[0];
    let changes = event.changes.iter().map(|change| change.templates().collect());
    [vec![&event.args]].into_iter().chain(changes).collect()
}

/// The text with its holes filled.
pub(crate) fn filled(template: &Template) -> Vec<u8> {
    let mut out = Vec::new();
    let mut from = 0;
    for hole in template.holes() {
        out.extend_from_slice(&template.text()[from..hole.at]);
        let (Filler::Next { shown, .. } | Filler::Draw { shown, .. }) = hole.filler else {
            out.extend_from_slice(b"200001");
            from = hole.at;
            continue;
        };
        out.extend_from_slice(if shown == Shown::Text { b"\"N-7\"" } else { b"7" });
        from = hole.at;
    }
    out.extend_from_slice(&template.text()[from..]);
    out
}

/// All templates of a command.
pub(crate) fn templates(body: &CommandBody) -> impl Iterator<Item = &Template> {
    body.events.iter().flat_map(|event| {
        let changes = event.changes.iter().flat_map(CommandChange::templates);
        [&event.args].into_iter().chain(changes)
    })
}

fn without_turns(template: &Template) -> (Vec<u8>, Vec<(usize, Option<Shown>)>) {
    let shown = |hole: &Hole| match hole.filler {
        Filler::Next { shown, .. } | Filler::Draw { shown, .. } => Some(shown),
        Filler::Ref(_) => None,
    };
    let holes = template.holes().iter().map(|hole| (hole.at, shown(hole))).collect();
    (template.text().to_vec(), holes)
}

fn json() -> impl Strategy<Value = Json> {
    let number = any::<f64>().prop_filter_map("no JSON", |number| {
        number.is_finite().then(|| Json::Scalar(format!("{number:?}")))
    });
    let leaf = prop_oneof![
        Just(Json::Scalar("null".to_owned())),
        any::<bool>().prop_map(|flag| Json::Scalar(flag.to_string())),
        any::<i32>().prop_map(|number| Json::Scalar(number.to_string())),
        number,
        any::<String>().prop_map(|text| Json::Scalar(serde_json::to_string(&text).unwrap())),
        Just(Json::Hole(Shown::Number)),
        Just(Json::Hole(Shown::Text)),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
            members(inner),
        ]
    })
}

fn members(value: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    let name = prop_oneof!["[a-z$é€😀\u{fb33}\n]{0,3}", any::<String>()];
    prop::collection::btree_map(name, value, 0..6).prop_map(
        |mut members: BTreeMap<String, Json>| {
            // Alone it would be a marker, and one that is not known.
            if members.len() == 1 && members.keys().all(|name| name.starts_with('$')) {
                members.insert("beside".to_owned(), Json::Scalar("null".to_owned()));
            }
            Json::Object(members)
        },
    )
}

proptest! {
    #[test]
    fn a_filled_template_is_canonical(
        args in members(json()), fields in members(json()), value in json(), seed: u64,
    ) {
        let body = command(&args, &fields, &value, seed);
        for template in templates(&body) {
            let bytes = filled(template);
            prop_assert_eq!(canonical(&bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn members_in_another_order_change_nothing_but_the_turns(
        args in members(json()), fields in members(json()), value in json(), seeds: [u64; 2],
    ) {
        let [one, other] = seeds.map(|seed| command(&args, &fields, &value, seed));
        prop_assert!(templates(&one).map(without_turns).eq(templates(&other).map(without_turns)));
    }

    #[test]
    fn turns_follow_the_document(
        args in members(json()), fields in members(json()), value in json(), seed: u64,
    ) {
        let body = command(&args, &fields, &value, seed);
        let mut sequences = Vec::new();
        for group in groups(&body) {
            let mut holes: Vec<&Hole> = group.into_iter().flat_map(Template::holes).collect();
            holes.sort_by_key(|hole| hole.order);
            prop_assert!(holes.iter().zip(0..).all(|(hole, turn)| hole.order == turn));
            sequences.extend(holes.iter().map(|hole| hole.filler.draws().unwrap().clone()));
        }
        // They were named by their places.
        prop_assert!(sequences.is_sorted());
    }
}

fn shuffle<T>(dice: &mut Dice, items: &mut [T]) {
    for index in (1..items.len()).rev() {
        items.swap(index, dice.index_below(index + 1));
    }
}
