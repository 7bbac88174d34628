//! Code outside `isa/` reads an instruction by its type. The places that still take its mnemonic apart are counted, and may only become
//! fewer. Readers of the assembly of hosts have mnemonics of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::LazyLock,
};

use syn::{Expr, ExprMethodCall, Item, ItemFn, ItemMod, Member, Pat, PatTupleStruct, Type, Variant, visit::Visit};
use testing::root;

use crate::sizes::{is_test, sources};

/// The places in each crate, by its folder. A crate without a row has none.
const PLACES: [(&str, usize); 10] = [
    ("analysis/hazards", 19),
    ("analysis/optimize", 9),
    ("analysis/races", 7),
    ("docs/reference", 2),
    // Opcodes of the machine code.
    ("lowering", 1),
    ("models/execute", 3),
    // One is of the language of sources, and one the name of a function that is called.
    ("models/memory-model", 4),
    ("products/cli", 1),
    ("products/conformance", 1),
    ("products/golden", 1),
];

/// Sources whose mnemonics may be read as text: PTX itself, and the assembly of hosts.
const FREE: [&str; 2] = ["isa/", "models/memory-model/src/litmus/host/"];

/// The variants of `flat::Action` that begin with a text, as `Compute`.
static ACTIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let source = fs::read_to_string(root().join("isa/src/flat.rs")).expect("a source");
    let items = syn::parse_file(&source).expect("Rust").items.into_iter();
    let actions = items.filter_map(|item| match item {
        Item::Enum(own) if own.ident == "Action" => Some(own.variants),
        _ => None,
    });
    let is_text = |ty: &Type| matches!(ty, Type::Path(path) if path.path.is_ident("String"));
    let begins = |variant: &Variant| variant.fields.iter().next().is_some_and(|first| is_text(&first.ty));
    actions.flatten().filter(begins).map(|variant| variant.ident.to_string()).collect()
});
/// The fields that hold a mnemonic: of an instruction that is not modelled, and of a site of an execution.
const FIELDS: [&str; 2] = ["mnemonic", "instruction"];
/// The methods that take a text apart.
const METHODS: [&str; 8] =
    ["starts_with", "ends_with", "contains", "split", "split_once", "strip_prefix", "strip_suffix", "find"];

/// The places of a file where the text of a mnemonic is taken apart.
#[derive(Default)]
struct Reader {
    /// The names that patterns give to mnemonics.
    names: BTreeSet<String>,
    lines: Vec<usize>,
}

impl Reader {
    /// Whether an expression is a mnemonic, or a call of a method on a mnemonic.
    fn is_mnemonic(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| {
                let name = name.to_string();
                name.contains("mnemonic") || self.names.contains(&name)
            }),
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

    fn visit_pat_tuple_struct(&mut self, pattern: &PatTupleStruct) {
        let is_action = pattern.path.segments.last().is_some_and(|last| ACTIONS.iter().any(|own| last.ident == own));
        if let (true, Some(Pat::Ident(name))) = (is_action, pattern.elems.first()) {
            self.names.insert(name.ident.to_string());
        }
        syn::visit::visit_pat_tuple_struct(self, pattern);
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
fn fewer_places_take_mnemonics_apart() {
    let (mut files, mut found) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
    sources(root(), &mut files);
    files.sort();
    for path in &files {
        let own = path.strip_prefix(root()).expect("a file of ours").display().to_string();
        let Some(folder) = of_crate(&own).filter(|_| !FREE.iter().any(|free| own.starts_with(free))) else { continue };
        let places = lines(&fs::read_to_string(path).expect("a source")).into_iter();
        found.entry(folder.to_owned()).or_default().extend(places.map(|line| format!("{own}:{line}")));
    }
    assert!(found.len() > 20, "only {} crates", found.len());
    found.retain(|_, places| !places.is_empty());
    let counts: Vec<_> = found.iter().map(|(own, places)| (&**own, places.len())).collect();
    assert_eq!(counts, PLACES, "expected the numbers of PLACES, which may only fall, found\n{found:#?}");
}

#[test]
fn uses_of_mnemonics_are_found() {
    let source = "
        fn all(step: &Step, site: &Site, text: &str, other: &Other) {
            if let Action::Compute(words, _) = &step.action { words.split('.'); }
            match &step.action { Action::Unknown(name) => name.contains(\"mma\"), _ => text.contains(\"mma\") };
            site.instruction.starts_with(\"ld.\");
            mnemonic(text).split('.');
            other.mnemonic.strip_prefix(\"ld\");
            text.split(' ');
        }
        #[cfg(test)]
        mod tests { fn f(mnemonic: &str) { mnemonic.split('.'); } }";
    assert_eq!(lines(source), [3, 4, 5, 6, 7]);
    assert!(ACTIONS.len() > 2, "{ACTIONS:?}");
}
