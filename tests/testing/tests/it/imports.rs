//! Imports between the files of a crate, and between its folders, form no cycle, so that a reader can read them in an
//! order.
//!
//! A file uses another file if a path in it leads to that file: in a `use`, in code or in the arguments of a macro. A
//! re-export, such as `pub use`, is not a use by the module; a file that imports the re-exported name uses the file
//! that defines it. Between crates, cargo forbids cycles; the crates have the order of ARCHITECTURE.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proc_macro2::{Spacing, TokenStream, TokenTree};
use serde_json::Value;
use syn::{Attribute, Item, UseTree, Visibility, visit::Visit};
use testing::{root, success};

/// The path of a module from the root of its crate.
type ModulePath = Vec<String>;

/// A module: a file, or a module within a file.
#[derive(Default)]
struct Module {
    file: PathBuf,
    defined: BTreeSet<String>,
    /// The names that `use` imports, each with its path.
    imported: BTreeMap<String, Vec<String>>,
    /// The modules whose names a `use` imports by a glob.
    globs: Vec<Vec<String>>,
    /// The paths in its code and in its private imports.
    used: Vec<Vec<String>>,
}

#[derive(Default)]
struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test") || path.is_ident("doctest"))
    })
}

impl Crate {
    fn read(root: &Path) -> Self {
        let mut crate_ = Self::default();
        crate_.read_file(root, root.parent().expect("a file is in a folder"), Vec::new());
        crate_
    }

    /// Reads a file whose submodules are in `folder`.
    fn read_file(&mut self, file: &Path, folder: &Path, path: ModulePath) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.read_items(file, folder, path, parsed.items);
    }

    fn read_items(&mut self, file: &Path, folder: &Path, path: ModulePath, items: Vec<Item>) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items {
            match item {
                // A module with a `path` attribute is one of several alternatives, or belongs to another crate.
                Item::Mod(inner) if inner.attrs.iter().any(|of| of.path().is_ident("path")) => {}
                Item::Mod(inner) if !is_test(&inner.attrs) => {
                    let name = inner.ident.to_string();
                    let path: ModulePath = path.iter().cloned().chain([name.clone()]).collect();
                    match inner.content {
                        Some((_, items)) => self.read_items(file, &folder.join(&name), path, items),
                        None => {
                            let inside = folder.join(&name);
                            let file = [inside.with_extension("rs"), inside.join("mod.rs")];
                            let file = file.into_iter().find(|file| file.exists());
                            let file = file.unwrap_or_else(|| panic!("{}: no module {name}", inside.display()));
                            self.read_file(&file, &inside, path);
                        }
                    }
                }
                Item::Use(import) if !is_test(&import.attrs) => {
                    let passed_on = !matches!(import.vis, Visibility::Inherited);
                    module.import(&import.tree, Vec::new(), passed_on);
                }
                item => module.read(&item),
            }
        }
        self.modules.insert(path, module);
    }

    /// The file that defines the target of a path within a module; `None` if the target is not an item of this crate.
    fn file(&self, module: &[String], path: &[String], depth: usize) -> Option<&Path> {
        let (first, rest) = path.split_first()?;
        // Re-exports that name each other would recurse forever.
        let depth = depth.checked_sub(1)?;
        match &**first {
            "crate" => return self.inside(&[], rest, depth),
            "self" => return self.inside(module, rest, depth),
            "super" => return self.inside(module.split_last()?.1, rest, depth),
            _ => {}
        }
        self.inside(module, path, depth)
    }

    fn inside(&self, module: &[String], path: &[String], depth: usize) -> Option<&Path> {
        let found = self.modules.get(module)?;
        let Some((first, rest)) = path.split_first() else { return Some(&found.file) };
        if first == "super" {
            return self.file(module, path, depth);
        }
        let child: ModulePath = module.iter().cloned().chain([first.clone()]).collect();
        if self.modules.contains_key(&child) {
            return self.inside(&child, rest, depth);
        }
        if found.defined.contains(first) {
            return Some(&found.file);
        }
        if let Some(path) = found.imported.get(first) {
            return self.file(module, &path.iter().chain(rest).cloned().collect::<Vec<_>>(), depth);
        }
        found
            .globs
            .iter()
            .find_map(|glob| self.file(module, &glob.iter().chain(path).cloned().collect::<Vec<_>>(), depth))
    }

    /// The files that each file uses.
    fn uses(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut uses: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (path, module) in &self.modules {
            let of = uses.entry(&module.file).or_default();
            let found = module.used.iter().filter_map(|used| self.file(path, used, 6));
            of.extend(found.filter(|file| **file != module.file));
        }
        uses
    }
}

impl Module {
    fn import(&mut self, tree: &UseTree, path: Vec<String>, passed_on: bool) {
        let with = |name: String| path.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(tree) => self.import(&tree.tree, with(tree.ident.to_string()), passed_on),
            UseTree::Name(name) if name.ident == "self" => {
                let name = path.last().cloned().expect("`self` follows a path");
                self.name(name, path, passed_on);
            }
            UseTree::Name(name) => self.name(name.ident.to_string(), with(name.ident.to_string()), passed_on),
            UseTree::Rename(name) => self.name(name.rename.to_string(), with(name.ident.to_string()), passed_on),
            UseTree::Glob(_) => self.globs.push(path),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, path.clone(), passed_on));
            }
        }
    }

    fn name(&mut self, name: String, path: Vec<String>, passed_on: bool) {
        if !passed_on {
            self.used.push(path.clone());
        }
        // `use x;` would resolve to itself.
        if path != [name.clone()] {
            self.imported.insert(name, path);
        }
    }

    fn read(&mut self, item: &Item) {
        let (name, attributes) = match item {
            Item::Const(item) => (Some(&item.ident), &item.attrs),
            Item::Enum(item) => (Some(&item.ident), &item.attrs),
            Item::Fn(item) => (Some(&item.sig.ident), &item.attrs),
            Item::Macro(item) => (item.ident.as_ref(), &item.attrs),
            Item::Static(item) => (Some(&item.ident), &item.attrs),
            Item::Struct(item) => (Some(&item.ident), &item.attrs),
            Item::Trait(item) => (Some(&item.ident), &item.attrs),
            Item::Type(item) => (Some(&item.ident), &item.attrs),
            Item::Impl(item) => (None, &item.attrs),
            _ => return,
        };
        if is_test(attributes) {
            return;
        }
        self.defined.extend(name.map(ToString::to_string));
        self.visit_item(item);
    }
}

impl Visit<'_> for Module {
    /// The path in a visibility is not a use.
    fn visit_visibility(&mut self, _: &Visibility) {}

    fn visit_path(&mut self, path: &syn::Path) {
        self.used.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, of: &syn::Macro) {
        // Items that a macro defines count as definitions of this file.
        let mut tokens = Vec::new();
        flatten(of.tokens.clone(), &mut tokens);
        for pair in tokens.windows(2) {
            if matches!(&*pair[0], "enum" | "struct" | "fn" | "const" | "mod") {
                self.defined.insert(pair[1].clone());
            }
        }
        let mut path = Vec::new();
        for token in tokens.iter().chain([&String::new()]) {
            match &**token {
                "::" => {}
                word if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                    if path.last().is_some_and(|last: &String| last != "::") {
                        self.used.push(path.drain(..).filter(|part| part != "::").collect());
                    }
                    path.push(word.to_owned());
                    continue;
                }
                _ => {
                    self.used.push(path.drain(..).filter(|part| part != "::").collect());
                    continue;
                }
            }
            path.push(token.clone());
        }
        syn::visit::visit_macro(self, of);
    }
}

/// The identifiers and the `::` of tokens, in order.
fn flatten(tokens: TokenStream, into: &mut Vec<String>) {
    let mut joint = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                into.push(String::from("("));
                flatten(group.stream(), into);
                into.push(String::from(")"));
            }
            TokenTree::Punct(colon) if colon.as_char() == ':' && colon.spacing() == Spacing::Joint => joint = true,
            TokenTree::Punct(colon) if colon.as_char() == ':' && joint => {
                joint = false;
                into.push("::".into());
            }
            token => into.push(token.to_string()),
        }
    }
}

/// A cycle of uses, if there is one: its files in order.
fn circle<'p>(uses: &BTreeMap<&'p Path, BTreeSet<&'p Path>>) -> Option<Vec<&'p Path>> {
    let path_to = |from: &'p Path, to: &'p Path| {
        let mut before: BTreeMap<&Path, &Path> = BTreeMap::new();
        let mut left = vec![from];
        while let Some(file) = left.pop() {
            for next in uses.get(file).into_iter().flatten() {
                if *next == to {
                    let mut path = vec![to, file];
                    while *path.last().expect("the path has a file") != from {
                        path.push(before[path.last().expect("the path has a file")]);
                    }
                    path.reverse();
                    return Some(path);
                }
                if *next != from && !before.contains_key(next) {
                    before.insert(next, file);
                    left.insert(0, next);
                }
            }
        }
        None
    };
    uses.keys().filter_map(|file| path_to(file, file)).min_by_key(Vec::len)
}

/// The folders of a file and of a file that it uses, at the level where they differ: if `a/b.rs` uses `c/d.rs`, the
/// folder `a` uses the folder `c`. The file `a.rs` belongs to the folder `a`. `None` if one folder contains the other.
fn folders(file: &Path, used: &Path) -> Option<[PathBuf; 2]> {
    let [file, used] = [file, used].map(|file| file.with_extension(""));
    let common = file.iter().zip(used.iter()).take_while(|(part, other)| part == other).count();
    let at_level = |file: &Path| (file.iter().count() > common).then(|| file.iter().take(common + 1).collect());
    Some([at_level(&file)?, at_level(&used)?])
}

/// The folders that each folder uses.
fn uses_of_folders(uses: &BTreeMap<&Path, BTreeSet<&Path>>) -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
    let mut found: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for (file, used) in uses {
        for [folder, used] in used.iter().filter_map(|used| folders(file, used)) {
            found.entry(folder).or_default().insert(used);
        }
    }
    found
}

/// A crate of the repository, as cargo knows it.
struct Package {
    /// Its folder from the root of the repository.
    folder: PathBuf,
    /// The root files of its library and programs.
    roots: Vec<PathBuf>,
    /// The folders of the crates that it depends on, except its tests.
    depends_on: Vec<PathBuf>,
}

fn packages() -> Vec<Package> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root());
    let metadata: Value = serde_json::from_str(&success(&mut cargo).expect("metadata")).expect("JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let path = |value: &Value| PathBuf::from(value.as_str().unwrap_or_default());
    let own = |path: PathBuf| path.strip_prefix(root()).map(Path::to_owned).ok();
    let package = |package: &Value| {
        let is_code = |target: &&Value| {
            list(&target["kind"])
                .iter()
                .any(|kind| kind == "bin" || kind.as_str().is_some_and(|kind| kind.ends_with("lib")))
        };
        let targets = list(&package["targets"]);
        let dependencies = list(&package["dependencies"]);
        let used = dependencies.iter().filter(|of| of["kind"] != "dev").map(|of| path(&of["path"]));
        Package {
            folder: own(path(&package["manifest_path"]))
                .and_then(|file| Some(file.parent()?.to_owned()))
                .expect("a folder"),
            roots: targets.iter().filter(is_code).map(|target| path(&target["src_path"])).collect(),
            depends_on: used.filter(|path| path.is_absolute()).filter_map(own).collect(),
        }
    };
    list(&metadata["packages"]).iter().map(package).collect()
}

/// The folders of the crates in the order of ARCHITECTURE.md. Each crate may use only the crates above it.
fn layers() -> Vec<PathBuf> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let table = text.split("\n## ").find(|part| part.starts_with("Layers")).expect("the layers");
    let row = |line: &str| Some(PathBuf::from(line.strip_prefix("| `")?.split_once("/`")?.0));
    table.lines().filter_map(row).collect()
}

/// The crates that judge results of other crates. They use no crate except each other and `isa`.
const ORACLES: &str = "models";

#[test]
fn crates_use_crates_of_upper_layers() {
    let layers = layers();
    // The facade is the root of the repository; its code is in `src/`.
    let layer = |folder: &Path| {
        let folder = if folder == Path::new("") { Path::new("src") } else { folder };
        layers.iter().position(|layer| folder == layer)
    };
    let (mut wrong, mut uses) = (String::new(), 0);
    for package in packages() {
        let Some(user) = layer(&package.folder) else {
            wrong += &format!("  {} is not in the table\n", package.folder.display());
            continue;
        };
        for used in &package.depends_on {
            uses += 1;
            let is_oracle = package.folder.starts_with(ORACLES);
            if layer(used).is_none_or(|used| used > user)
                || is_oracle && !used.starts_with(ORACLES) && used != Path::new("isa")
            {
                wrong += &format!("  {} uses {}\n", package.folder.display(), used.display());
            }
        }
    }
    assert!(uses > 50, "only {uses} uses between crates");
    assert!(wrong.is_empty(), "against the layers of ARCHITECTURE.md:\n{wrong}");
}

/// All cycles, one in each line.
fn circles(mut uses: BTreeMap<&Path, BTreeSet<&Path>>) -> String {
    let mut circles = String::new();
    while let Some(found) = circle(&uses) {
        let names = found.iter().map(|file| file.strip_prefix(root()).unwrap_or(file).display().to_string());
        circles += &format!("  {}\n", names.collect::<Vec<_>>().join(" uses "));
        // Without this use, the search finds the next cycle.
        uses.get_mut(found[0]).expect("the use exists").remove(found[1]);
    }
    circles
}

#[test]
fn files_and_folders_form_no_circle() {
    let mut files = 0;
    let mut found = String::new();
    for root_file in packages().iter().flat_map(|package| &package.roots) {
        let crate_ = Crate::read(root_file);
        let uses = crate_.uses();
        files += uses.len();
        let folders = uses_of_folders(&uses);
        let folders = folders.iter().map(|(folder, used)| (&**folder, used.iter().map(|used| &**used).collect()));
        found += &circles(folders.collect());
        found += &circles(uses);
    }
    assert!(files > 400, "only {files} files are read");
    assert!(found.is_empty(), "files or folders use each other:\n{found}");
}

/// The test finds the cycles in small crates.
#[test]
fn circles_are_seen() {
    let check = |files: &[(&str, &str)], expected: Option<&[&str]>| {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        }
        let crate_ = Crate::read(&folder.path().join("lib.rs"));
        let uses = crate_.uses();
        let folders = uses_of_folders(&uses);
        let folders = folders.iter().map(|(folder, used)| (&**folder, used.iter().map(|used| &**used).collect()));
        let found = circle(&uses).or_else(|| circle(&folders.collect())).map(|found| {
            let names =
                found.iter().map(|file| file.strip_prefix(folder.path()).expect("inside").display().to_string());
            names.collect::<Vec<_>>()
        });
        assert_eq!(found, expected.map(|names| names.iter().map(ToString::to_string).collect()), "{files:?}");
    };
    let lib = ("lib.rs", "mod a; mod b; pub use self::a::A;");
    check(&[lib, ("a.rs", "pub struct A;"), ("b.rs", "use crate::a::A; pub struct B(A);")], None);
    let both = Some(&["a.rs", "b.rs", "a.rs"][..]);
    check(&[lib, ("a.rs", "use crate::b; pub struct A(b::B);"), ("b.rs", "pub struct B(crate::A);")], both);
    check(
        &[lib, ("a.rs", "pub struct A; fn f() { g!(crate::b::B) }"), ("b.rs", "use super::*; pub struct B(A);")],
        both,
    );
    // Tests may use any file.
    check(
        &[lib, ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b; }"), ("b.rs", "pub struct B(crate::A);")],
        None,
    );
    // A re-export is not a use. A submodule should not use an item that its parent defines if the parent uses the
    // submodule.
    let parent =
        |text: &'static str| [("lib.rs", "mod a;"), ("a/mod.rs", text), ("a/b.rs", "use super::A; pub struct B(A);")];
    check(&parent("mod b; pub use self::b::B; pub struct A;"), None);
    check(&parent("mod b; use self::b::B; pub struct A; fn f(b: B) {}"), Some(&["a/b.rs", "a/mod.rs", "a/b.rs"]));
    // Folders that use each other through files that do not.
    let shared = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod c; mod d;"),
        ("b.rs", "pub struct B(crate::a::d::D);"),
        ("a/c.rs", "use crate::b::B; pub struct C(B);"),
        ("a/d.rs", "pub struct D;"),
    ];
    check(&shared, Some(&["a", "b", "a"]));
    check(&shared[..4].iter().copied().chain([("b.rs", "pub struct B;"), ("a/d.rs", "")]).collect::<Vec<_>>(), None);
}
