//! Code outside `isa/` reads an instruction by its type, and takes no mnemonic apart.

use std::{collections::BTreeSet, fs};

use syn::{Expr, ExprMethodCall, ItemFn, ItemMod, Member, visit::Visit};
use testing::root;

use crate::sizes::{is_test, sources};

/// Sources whose mnemonics may be read as text: PTX itself, the assembly of hosts, the language of sources, and machine code.
const FREE: [&str; 4] =
    ["isa/", "models/memory-model/src/litmus/host/", "models/memory-model/src/source/", "lowering/src/sass/"];

/// The fields that hold a mnemonic: of an instruction that is not modelled, and of a site of an execution.
const FIELDS: [&str; 2] = ["mnemonic", "instruction"];
/// The methods that take a text apart.
const METHODS: [&str; 8] =
    ["starts_with", "ends_with", "contains", "split", "split_once", "strip_prefix", "strip_suffix", "find"];

/// The places of a file where the text of a mnemonic is taken apart.
#[derive(Default)]
struct Reader {
    lines: Vec<usize>,
}

impl Reader {
    /// Whether an expression is a mnemonic, or a call of a method on a mnemonic.
    fn is_mnemonic(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| name.to_string().contains("mnemonic")),
            Expr::Field(field) => matches!(&field.member, Member::Named(name) if FIELDS.iter().any(|own| name == own)),
            Expr::Call(call) => self.is_mnemonic(&call.func),
            Expr::MethodCall(call) => call.method.to_string().contains("mnemonic"),
            Expr::Reference(inner) => self.is_mnemonic(&inner.expr),
            Expr::Unary(inner) => self.is_mnemonic(&inner.expr),
            Expr::Paren(inner) => self.is_mnemonic(&inner.expr),
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
        if METHODS.iter().any(|own| call.method == own) && self.is_mnemonic(&call.receiver) {
            self.lines.push(call.method.span().start().line);
        }
        syn::visit::visit_expr_method_call(self, call);
    }
}

/// The lines of a source where mnemonics are taken apart.
fn lines(source: &str) -> Vec<usize> {
    let mut reader = Reader::default();
    reader.visit_file(&syn::parse_file(source).expect("Rust"));
    reader.lines
}

/// The crate of a source, as its folder; nothing for a test.
fn of_crate(own: &str) -> Option<&str> {
    let (folder, rest) = own.split_once("src/")?;
    let is_test = folder.contains("tests/") && !folder.starts_with("tests/testing/") || rest.ends_with("tests.rs");
    (!is_test).then(|| if folder.is_empty() { "src" } else { folder.trim_end_matches('/') })
}

#[test]
fn no_place_takes_a_mnemonic_apart() {
    let (mut files, mut crates, mut found) = (Vec::new(), BTreeSet::new(), Vec::new());
    sources(root(), &mut files);
    for path in &files {
        let own = path.strip_prefix(root()).expect("a file of ours").display().to_string();
        let Some(folder) = of_crate(&own).filter(|_| !FREE.iter().any(|free| own.starts_with(free))) else { continue };
        crates.insert(folder.to_owned());
        let places = lines(&fs::read_to_string(path).expect("a source")).into_iter();
        found.extend(places.map(|line| format!("{own}:{line}")));
    }
    assert!(crates.len() > 20, "only {} crates", crates.len());
    assert_eq!(found, [""; 0], "expected a type instead of the text");
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
    assert_eq!(lines(source), [3, 4, 5, 6]);
}
