//! The limits for the lengths of functions and files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::Span;
use syn::{Attribute, ImplItemFn, ItemFn, ItemMod, visit::Visit};
use testing::root;

/// The maximum number of lines of a function and of a file.
struct Most {
    function: usize,
    file: usize,
}

const OF_SOURCES: Most = Most { function: 100, file: 900 };
const OF_TESTS: Most = Most { function: 150, file: 1_000 };

/// The functions of a file that exceed the limit.
struct Reader {
    is_test: bool,
    found: Vec<(String, usize)>,
}

/// Whether an item exists only for tests.
pub fn is_test(attributes: &[Attribute]) -> bool {
    let of_tests = |attribute: &Attribute| attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"));
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") && of_tests(attribute))
}

impl Reader {
    fn function(&mut self, name: &syn::Ident, begin: Span, end: Span) {
        let lines = end.end().line + 1 - begin.start().line;
        let most = if self.is_test { OF_TESTS } else { OF_SOURCES };
        if lines > most.function {
            self.found.push((name.to_string(), lines));
        }
    }
}

impl Visit<'_> for Reader {
    fn visit_item_mod(&mut self, item: &ItemMod) {
        let before = self.is_test;
        self.is_test |= is_test(&item.attrs);
        syn::visit::visit_item_mod(self, item);
        self.is_test = before;
    }

    fn visit_item_fn(&mut self, item: &ItemFn) {
        self.function(&item.sig.ident, item.sig.fn_token.span, item.block.brace_token.span.close());
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &ImplItemFn) {
        self.function(&item.sig.ident, item.sig.fn_token.span, item.block.brace_token.span.close());
        syn::visit::visit_impl_item_fn(self, item);
    }
}

/// The functions and the file that exceed the limits, for a text.
fn too_long(text: &str, is_test: bool) -> Vec<(String, usize)> {
    let mut reader = Reader { is_test, found: Vec::new() };
    reader.visit_file(&syn::parse_file(text).expect("Rust"));
    let lines = text.lines().count();
    let most = if is_test { OF_TESTS } else { OF_SOURCES };
    if lines > most.file {
        reader.found.push(("the file".to_owned(), lines));
    }
    reader.found
}

/// The sources of the repository below a folder.
pub fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&&*name) {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn functions_and_files_are_short() {
    let (mut files, mut wrong) = (Vec::new(), String::new());
    sources(root(), &mut files);
    for file in &files {
        let name = file.strip_prefix(root()).expect("a file of the repository");
        // `tests/testing/src` has sources, not tests.
        let is_test =
            name.iter().rev().take_while(|part| *part != "src").any(|part| part == "tests" || part == "tests.rs");
        for (what, lines) in too_long(&fs::read_to_string(file).expect("a text"), is_test) {
            wrong += &format!("  {}: {what} has {lines} lines\n", name.display());
        }
    }
    assert!(files.len() > 400, "only {} files", files.len());
    assert!(wrong.is_empty(), "too long:\n{wrong}");
}

#[test]
fn long_functions_and_files_are_found() {
    let function = |lines: usize| format!("fn f() {{\n{}}}\n", "g();\n".repeat(lines - 2));
    let check = |text: &str, is_test: bool, expected: &[(&str, usize)]| {
        let found = too_long(text, is_test);
        let found: Vec<_> = found.iter().map(|(what, lines)| (&**what, *lines)).collect();
        assert_eq!(found, expected);
    };
    check(&function(100), false, &[]);
    check(&function(101), false, &[("f", 101)]);
    check(&function(150), true, &[]);
    check(&function(151), true, &[("f", 151)]);
    check(&format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(120)), false, &[]);
    check(&format!("impl A {{\n{}}}\n", function(120)), false, &[("f", 120)]);
    check(&"// A line.\n".repeat(901), false, &[("the file", 901)]);
}
