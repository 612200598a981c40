//! What may have been meant by a name that nothing has.

use seriatim_core::NoApp;
use seriatim_types::Name;

/// That there is no app of a name, with the known one that is most like it.
#[must_use]
pub fn no_app<'n>(name: &Name, known: impl IntoIterator<Item = &'n Name>) -> NoApp {
    let distance = |it: &Name| strsim::damerau_levenshtein(name.as_str(), it.as_str());
    let nearest = known.into_iter().map(|it| (distance(it), it)).min();
    // One letter of three may be wrong: more than that is another word.
    let chars_max = name.as_str().chars().count() / 3;
    let similar = nearest.filter(|(distance, _)| *distance <= chars_max);
    NoApp { name: name.clone(), similar: similar.map(|(_, it)| it.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_mistyped_is_found_and_another_word_is_not() {
        let known = ["shop", "warehouse", "bank"].map(|text| Name::new(text).unwrap());
        for (asked, similar) in [
            ("shpo", Some("shop")),
            ("Shop", Some("shop")),
            ("warehuose", Some("warehouse")),
            ("x", None),
            ("payments", None),
        ] {
            let no_app = no_app(&Name::new(asked).unwrap(), &known);
            assert_eq!(no_app.similar.as_ref().map(Name::as_str), similar, "{asked}");
        }
        let no_app = no_app(&known[0], &[]);
        assert_eq!(no_app.to_string(), "there is no app \"shop\"");
    }
}
