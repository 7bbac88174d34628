//! Several instructions on a line: each analysis gives the same findings for a module and for the module with each
//! function on one line.

use std::{collections::BTreeMap, fs, path::PathBuf};

use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    execute::Given,
    hazards::{self, Budget},
    optimize::text as optimize,
    ptx::{Code, InstId, InstPlace, Module, Stop},
    races::check::{RaceOptions, check},
};
use testing::root;

/// The folders of the modules.
const FOLDERS: [&str; 5] = ["examples/check", "tests/async", "tests/races", "tests/rewrite", "tests/run"];

pub fn trials() -> Vec<Trial> {
    let paths = FOLDERS.iter().flat_map(|folder| fs::read_dir(root().join(folder)).expect("a folder"));
    let mut paths: Vec<PathBuf> = paths.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "ptx"));
    paths.sort();
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(root()).expect("a file of ours").display().to_string();
        Trial::test(name, move || is_same(&fs::read_to_string(path)?))
    };
    paths.into_iter().map(trial).collect()
}

/// The module with the body of each function on one line. Line directives need separate lines and are removed.
fn joined(module: &Module) -> Module {
    let mut module = module.clone();
    for function in module.functions_mut() {
        let is_source = |code: &Code| matches!(code, Code::Directive(text) if text.trim_start().starts_with(".loc"));
        function.body.iter_mut().for_each(|body| body.retain(|line| !is_source(&line.code)));
    }
    let mut text = String::new();
    let mut is_within = false;
    for line in module.to_string().lines() {
        is_within = line == "{" || is_within && line != "}";
        text += line.trim();
        text.push(if is_within { ' ' } else { '\n' });
    }
    text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The findings of every analysis, by the instructions that they name.
fn findings(module: &Module) -> BTreeMap<String, Vec<String>> {
    let id = |at: InstPlace| at.id;
    let name = |pair: Vec<Option<InstId>>| format!("{pair:?}");
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for report in check(module, &RaceOptions::default()) {
        let found = report.obstacles.iter().map(|finding| {
            let changes = finding.remedy.iter().flat_map(|remedy| &remedy.changes).map(|change| id(change.at()));
            format!("{} {} {}", finding.class, name(finding.pair.map(id).into()), name(changes.collect()))
        });
        all.entry(format!("races of {}", report.kernel)).or_default().extend(found);
    }
    for kernel in hazards::read(module) {
        let report = hazards::check(&kernel, Default::default());
        let given = Given::default();
        let shown =
            hazards::witnesses(module, &kernel.name, &report.findings, &given, &Budget::default(), &Stop::never());
        let own = all.entry(format!("asynchronous operations of {}", kernel.name)).or_default();
        own.extend(report.findings.iter().map(|finding| {
            let edits = finding.remedy.iter().flat_map(|remedy| &remedy.edits).map(|edit| id(edit.at));
            let pair = vec![finding.first.and_then(id), id(finding.at)];
            format!("{:?} {} {} {}", finding.rule, finding.claim, name(pair), name(edits.collect()))
        }));
        own.extend(shown.iter().flat_map(|shown| &shown.found).map(|witness| {
            let (first, second) = witness.pair();
            let sites = [&witness.found.other, &Some(witness.found.site.clone())];
            let words = sites.map(|site| site.as_ref().map(|site| site.instruction.clone()));
            format!("{:?} {} {words:?}", witness.shows, name(vec![id(first), id(second)]))
        }));
    }
    all
}

fn is_same(text: &str) -> Result<(), Failed> {
    let (module, _) = Module::read_partly(text);
    // In the printed module, each instruction is on a separate line.
    let module: Module = joined(&module).to_string().parse()?;
    let joined = joined(&module);
    let (apart, together) = (findings(&module), findings(&joined));
    if apart != together {
        return Err(format!("apart: {apart:#?}\ntogether: {together:#?}\n{joined}").into());
    }
    let rewritten = |module: &Module| -> Result<String, Failed> {
        let Ok(rewritten) = optimize::rewrite(&module.to_string(), &optimize::TextOptions::default()) else {
            return Ok(String::new());
        };
        Ok(rewritten.text.parse::<Module>()?.to_string())
    };
    let [apart, together] = [&module, &joined].map(rewritten);
    if apart? != together? { Err("the optimizer's code depends on the lines".into()) } else { Ok(()) }
}
