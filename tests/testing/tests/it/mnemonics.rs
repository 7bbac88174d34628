//! Code outside `isa/` reads an instruction by its type and does not parse a mnemonic. No decision depends on the text
//! of a message.

use std::{collections::BTreeSet, fs};

use syn::{Expr, ExprMethodCall, Item, ItemFn, ItemMod, Member, visit::Visit};
use testing::root;

use crate::sizes::{is_test, sources};

/// Sources that may read mnemonics as text: PTX itself, the assembly of hosts, the language of sources, and machine
/// code.
const FREE: [&str; 4] =
    ["isa/", "models/memory-model/src/litmus/host/", "models/memory-model/src/source/", "lowering/src/sass/"];

/// The fields that hold a mnemonic: of an unmodelled instruction, and of a site of an execution.
const FIELDS: [&str; 2] = ["mnemonic", "instruction"];
/// The methods that parse a text.
const METHODS: [&str; 8] =
    ["starts_with", "ends_with", "contains", "split", "split_once", "strip_prefix", "strip_suffix", "find"];

/// Sources that read the messages of another program: MLIR, which has no types for them.
const OF_OTHER_PROGRAMS: [&str; 1] = ["passes/mlir/src/source.rs"];

/// A kind of text that is only for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Mnemonic,
    Message,
}

impl Subject {
    /// Whether a name is the name of such a text.
    fn is_name(self, name: &str) -> bool {
        match self {
            Self::Mnemonic => name.contains("mnemonic"),
            Self::Message => name == "message" || name.ends_with("_message"),
        }
    }

    fn is_field(self, name: &str) -> bool {
        match self {
            Self::Mnemonic => FIELDS.contains(&name),
            Self::Message => name == "message",
        }
    }
}

/// The lines of a file that parse such a text.
struct Reader {
    subject: Subject,
    lines: Vec<usize>,
}

impl Reader {
    /// Whether an expression is such a text, or a method call on it.
    fn is_text(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.subject.is_name(&name.to_string())),
            Expr::Field(field) => {
                matches!(&field.member, Member::Named(name) if self.subject.is_field(&name.to_string()))
            }
            Expr::Call(call) => self.is_text(&call.func),
            Expr::MethodCall(call) => {
                let is_copy = matches!(call.method.to_string().as_str(), "to_string" | "as_str" | "clone");
                self.subject.is_name(&call.method.to_string()) || is_copy && self.is_text(&call.receiver)
            }
            Expr::Reference(inner) => self.is_text(&inner.expr),
            Expr::Unary(inner) => self.is_text(&inner.expr),
            Expr::Paren(inner) => self.is_text(&inner.expr),
            _ => false,
        }
    }
}

impl Visit<'_> for Reader {
    fn visit_item_mod(&mut self, item: &ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &ItemFn) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if METHODS.iter().any(|own| call.method == own) && self.is_text(&call.receiver) {
            self.lines.push(call.method.span().start().line);
        }
        syn::visit::visit_expr_method_call(self, call);
    }
}

/// The lines of a source that parse such a text.
fn lines(subject: Subject, source: &str) -> Vec<usize> {
    let mut reader = Reader { subject, lines: Vec::new() };
    reader.visit_file(&syn::parse_file(source).expect("Rust"));
    reader.lines
}

/// The folder of the crate of a source; `None` for a test.
fn of_crate(own: &str) -> Option<&str> {
    let (folder, rest) = own.split_once("src/")?;
    let is_test = folder.contains("tests/") && !folder.starts_with("tests/testing/") || rest.ends_with("tests.rs");
    (!is_test).then(|| if folder.is_empty() { "src" } else { folder.trim_end_matches('/') })
}

/// The places in all crates that parse such a text, except in the sources `free`.
fn places(subject: Subject, free: &[&str]) -> Vec<String> {
    let (mut files, mut crates, mut found) = (Vec::new(), BTreeSet::new(), Vec::new());
    sources(root(), &mut files);
    for path in &files {
        let own = path.strip_prefix(root()).expect("a file of ours").display().to_string();
        let Some(folder) = of_crate(&own).filter(|_| !free.iter().any(|free| own.starts_with(free))) else { continue };
        crates.insert(folder.to_owned());
        let places = lines(subject, &fs::read_to_string(path).expect("a source")).into_iter();
        found.extend(places.map(|line| format!("{own}:{line}")));
    }
    assert!(crates.len() > 20, "only {} crates", crates.len());
    found
}

#[test]
fn no_place_takes_a_mnemonic_apart() {
    assert_eq!(places(Subject::Mnemonic, &FREE), [""; 0], "expected a type instead of the text");
}

#[test]
fn no_decision_depends_on_a_message() {
    assert_eq!(places(Subject::Message, &OF_OTHER_PROGRAMS), [""; 0], "expected a type instead of the text");
}

/// Findings, verdicts and severities each have a single type.
#[test]
fn findings_verdicts_and_severities_have_one_type() {
    let (mut files, mut found) = (Vec::new(), Vec::new());
    sources(root(), &mut files);
    for path in &files {
        let own = path.strip_prefix(root()).expect("a file of ours").display().to_string();
        if of_crate(&own).is_some() {
            let parsed = syn::parse_file(&fs::read_to_string(path).expect("a source")).expect("Rust");
            let name = |item: &Item| match item {
                Item::Struct(own) => Some(own.ident.to_string()),
                Item::Enum(own) => Some(own.ident.to_string()),
                _ => None,
            };
            let names = parsed.items.iter().filter_map(name);
            let is_one = |name: &String| ["Finding", "Verdict", "Severity"].contains(&&**name);
            found.extend(names.filter(is_one).map(|name| format!("{name}: {own}")));
        }
    }
    found.sort();
    let expected = ["Finding: finding.rs", "Severity: severity.rs", "Verdict: report.rs"];
    assert_eq!(found, expected.map(|name| name.replace(": ", ": analysis/check/src/")));
}

#[test]
fn uses_of_mnemonics_are_found() {
    let source = "
        fn all(step: &Step, site: &Site, text: &str, other: &Other) {
            step.mnemonic.split('.');
            site.instruction.starts_with(\"ld.\");
            mnemonic(text).split('.');
            other.mnemonic.strip_prefix(\"ld\");
            text.split(' ');
        }
        #[cfg(test)]
        mod tests { fn f(mnemonic: &str) { mnemonic.split('.'); } }";
    assert_eq!(lines(Subject::Mnemonic, source), [3, 4, 5, 6]);
    let source = "fn all(fault: &Fault, text: &str) {
        fault.message.starts_with(\"a read\");
        fault.message.to_string().contains(\"by\");
        text.contains(\"by\");
    }";
    assert_eq!(lines(Subject::Message, source), [2, 3]);
}
