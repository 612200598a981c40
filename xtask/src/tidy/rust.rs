//! What the checks need to know about one Rust file.
//!
//! Two views of the same tokens. The token walk also sees inside macro calls, where many tests
//! live, and so gives the code without comments and strings, the items and the test regions. The
//! parsed file gives what needs grammar: functions with their length, and imports spelled out.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

const ITEM_KEYWORDS: &[&str] =
    &["fn", "struct", "enum", "union", "trait", "const", "static", "mod", "type", "macro_rules"];

#[derive(Default)]
pub(super) struct RustFile {
    /// Where and why the file could not be read as Rust; everything else is then empty.
    pub(super) error: Option<(usize, String)>,
    pub(super) functions: Vec<Function>,
    pub(super) items: Vec<Item>,
    /// Names listed in `case_list![…]`: the functions that a suite runs for everyone who calls it.
    pub(super) cases: Vec<String>,
    /// The modules declared as `#[cfg(test)] mod name;`.
    pub(super) test_modules: Vec<TestModule>,
    test_lines: Vec<RangeInclusive<usize>>,
    /// The lines with comments and literals blanked out.
    code: Vec<String>,
    /// Every imported path in full, so that `use std::{fs, io}` does not hide `std::fs`.
    imports: Vec<(usize, String)>,
}

pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) line_count: usize,
}

pub(super) struct Item {
    pub(super) name: String,
    pub(super) is_test: bool,
}

#[derive(Default, Clone)]
pub(super) struct TestModule {
    pub(super) name: String,
    /// The value of its `#[path]`, if it has one.
    pub(super) path: Option<String>,
}

impl RustFile {
    pub(super) fn parse(text: &str) -> Self {
        let parsed = text.parse::<TokenStream>().map_err(|error| (error.span(), error.to_string()));
        let parsed = parsed.and_then(|tokens| {
            let file = syn::parse2::<syn::File>(tokens.clone());
            file.map(|file| (tokens, file)).map_err(|error| (error.span(), error.to_string()))
        });
        let (tokens, file) = match parsed {
            Ok(parsed) => parsed,
            Err((span, error)) => {
                return Self { error: Some((span.start().line, error)), ..Self::default() };
            }
        };
        let blank = text.bytes().map(|byte| if byte == b'\n' { byte } else { b' ' }).collect();
        let mut walk = Walk { text, code: blank, file: Self::default() };
        walk.level(tokens, true);
        let code = String::from_utf8(walk.code).expect("only whole tokens were copied");
        let mut found = walk.file;
        found.code = code.lines().map(str::to_owned).collect();
        found.visit_file(&file);
        found
    }

    pub(super) fn is_cfg_test(&self, line: usize) -> bool {
        self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// The lines whose code, or whose imports in full, hold `needle` as whole words.
    pub(super) fn lines_with(&self, needle: &str) -> BTreeSet<usize> {
        let code = (1..).zip(self.code.iter());
        let imports = self.imports.iter().map(|(line, path)| (*line, path));
        code.chain(imports)
            .filter(|(_, text)| has_words(text, needle))
            .map(|(line, _)| line)
            .collect()
    }
}

impl<'ast> Visit<'ast> for RustFile {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add_function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add_function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add_function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_imports(&item.tree, "");
    }
}

impl RustFile {
    fn add_function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let line = signature.fn_token.span.start().line;
        let last = block.brace_token.span.close().end().line;
        let line_count = last.saturating_sub(line).saturating_add(1);
        self.functions.push(Function { name: signature.ident.to_string(), line, line_count });
    }

    fn add_imports(&mut self, tree: &syn::UseTree, prefix: &str) {
        let mut leaf = |name: &syn::Ident| {
            self.imports.push((name.span().start().line, format!("{prefix}{name}")));
        };
        match tree {
            syn::UseTree::Path(path) => {
                self.add_imports(&path.tree, &format!("{prefix}{}::", path.ident));
            }
            syn::UseTree::Name(name) => leaf(&name.ident),
            syn::UseTree::Rename(rename) => leaf(&rename.ident),
            syn::UseTree::Glob(glob) => {
                self.imports.push((glob.star_token.span.start().line, format!("{prefix}*")));
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.add_imports(item, prefix));
            }
        }
    }
}

struct Walk<'a> {
    text: &'a str,
    code: Vec<u8>,
    file: RustFile,
}

/// What was read of an item before its body or its semicolon.
#[derive(Default)]
struct Head {
    cfg_test_since: Option<usize>,
    is_test: bool,
    module: TestModule,
}

impl Walk<'_> {
    /// Reads one level of tokens: those of the file, or those between two brackets.
    fn level(&mut self, tokens: TokenStream, is_top: bool) {
        let mut head = Head::default();
        let (mut before_last, mut last) = (String::new(), String::new());
        for token in tokens {
            let word = match &token {
                TokenTree::Group(group) => {
                    match (before_last.as_str(), last.as_str(), group.delimiter()) {
                        (_, "#", Delimiter::Bracket) => attribute(group, &mut head),
                        ("#", "!", Delimiter::Bracket) if is_top && is_cfg_test(group.stream()) => {
                            self.file.test_lines.push(1..=usize::MAX);
                        }
                        ("case_list", "!", _) => self.file.cases.extend(top_idents(group.stream())),
                        _ => {}
                    }
                    self.level(group.stream(), false);
                    if group.delimiter() == Delimiter::Brace {
                        self.end_of_item(std::mem::take(&mut head), group.span_close());
                    }
                    String::new()
                }
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    self.keep(&name, ident.span());
                    let keyword = if last == "!" { &before_last } else { &last };
                    self.name_after(keyword, &name, &mut head);
                    name
                }
                TokenTree::Punct(punct) => {
                    let word = punct.as_char().to_string();
                    self.keep(&word, punct.span());
                    if word == ";" {
                        if head.cfg_test_since.is_some() && !head.module.name.is_empty() {
                            self.file.test_modules.push(head.module.clone());
                        }
                        self.end_of_item(std::mem::take(&mut head), punct.span());
                    }
                    word
                }
                TokenTree::Literal(_) => String::new(),
            };
            before_last = std::mem::replace(&mut last, word);
        }
    }

    fn name_after(&mut self, keyword: &str, name: &str, head: &mut Head) {
        if !ITEM_KEYWORDS.contains(&keyword) || ITEM_KEYWORDS.contains(&name) {
            return;
        }
        if keyword == "mod" {
            head.module.name = name.to_owned();
        }
        let is_test = keyword == "fn" && head.is_test;
        self.file.items.push(Item { name: name.to_owned(), is_test });
    }

    fn end_of_item(&mut self, head: Head, span: Span) {
        self.file.test_lines.extend(head.cfg_test_since.map(|line| line..=span.end().line));
    }

    /// Copies a token into the blanked text. The tokens that stand for a doc comment differ from
    /// what is written at their place: they are left out.
    fn keep(&mut self, word: &str, span: Span) {
        let range = span.byte_range();
        let is_written = self.text.get(range.clone()) == Some(word);
        if let Some(place) = self.code.get_mut(range).filter(|_| is_written) {
            place.copy_from_slice(word.as_bytes());
        }
    }
}

fn attribute(group: &Group, head: &mut Head) {
    let is_test = top_idents(group.stream()).last().is_some_and(|last| last == "test");
    head.is_test |= is_test;
    if let Ok(path) = syn::parse2::<syn::MetaNameValue>(group.stream())
        && path.path.is_ident("path")
        && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(value), .. }) = path.value
    {
        head.module.path = Some(value.value());
    }
    if is_cfg_test(group.stream()) {
        head.cfg_test_since.get_or_insert(group.span_open().start().line);
    }
}

/// Whether an attribute means "only in tests". `any` and `not` mean that it can be something else.
fn is_cfg_test(attribute: TokenStream) -> bool {
    let mut words = Vec::new();
    all_idents(attribute, &mut words);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    words.first().is_some_and(|first| first == "cfg") && has("test") && !has("not") && !has("any")
}

fn top_idents(tokens: TokenStream) -> Vec<String> {
    let idents = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    });
    idents.collect()
}

fn all_idents(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Group(group) => all_idents(group.stream(), words),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn has_words(text: &str, needle: &str) -> bool {
    let is_word = |edge: Option<char>| edge.is_some_and(|it| it.is_alphanumeric() || it == '_');
    let starts_word = is_word(needle.chars().next());
    let ends_word = is_word(needle.chars().next_back());
    text.match_indices(needle).any(|(at, found)| {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(found).unwrap_or_default();
        let glued_before = starts_word && is_word(before.chars().next_back());
        let glued_after = ends_word && is_word(after.chars().next());
        !glued_before && !glued_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        let file = RustFile::parse(
            "/// Inst\n// Inst\nfn a() -> Inst {\n    \"Inst\";\n    m!(Inst)\n}\n",
        );
        assert_eq!(file.lines_with("Inst"), BTreeSet::from([3, 5]));
        assert!(file.lines_with("In").is_empty(), "half a word is not a word");
    }

    #[test]
    fn grouped_imports_are_spelled_out() {
        let file =
            RustFile::parse("use std::{\n    io,\n    time::{Duration, Instant as I},\n};\n");
        assert_eq!(file.lines_with("std::time::Instant"), BTreeSet::from([3]));
        assert!(file.lines_with("std::time::SystemTime").is_empty());
    }

    #[test]
    fn items_are_found_in_macro_calls_too() {
        let text = "m! {\n #[test]\n fn t(x in 0..1) {}\n}\nfn p() {}\n\
                    pub(crate) const fn q() {}\nmacro_rules! mac { () => {} }\n\
                    struct S;\nimpl S { fn method(&self) {} }\n";
        let file = RustFile::parse(text);
        let item = |name: &str| file.items.iter().find(|item| item.name == name).expect("declared");
        assert!(item("t").is_test);
        assert!(["p", "q", "mac", "S", "method"].iter().all(|name| !item(name).is_test));
    }

    #[test]
    fn only_what_is_under_cfg_test_is_test_code() {
        let text = "#[cfg(test)]\nmod t {\n}\nfn a() {}\n#[cfg(any(test, unix))]\nfn b() {}\n\
                    #[cfg(feature = \"test\")]\nfn c() {}\n#[cfg(all(test, unix))]\nuse x::y;\n";
        let file = RustFile::parse(text);
        let lines: Vec<usize> = (1..=10).filter(|line| file.is_cfg_test(*line)).collect();
        assert_eq!(lines, [1, 2, 3, 9, 10]);
        assert!(RustFile::parse("#![cfg(test)]\nfn a() {}\n").is_cfg_test(2));
    }
}
