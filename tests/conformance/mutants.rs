//! Compilers with a single mistake: they execute an operation twice, or on other memory.
//!
//! This program itself is such a compiler. It runs the command and changes the output.

use std::{collections::BTreeMap, env, fs, path::Path};

use libtest_mimic::Failed;
use ptx_atomics::ptx::{Atom, AtomOp, Code, Function, Instruction, Item, Ld, LdSem, Module, Space, St, StSem};
use serde_json::Value;
use testing::{binary, ptx_atomics, success};

/// The variable that selects a mutant; unset in the test itself.
const MUTANT: &str = "CONFORMANCE_MUTANT";

/// The number of functions of the suite in the sample.
const SAMPLE: &str = "2500";

/// A single mistake.
struct Mutant {
    name: &'static str,
    /// The replacement of an instruction; `None` if the instruction stays.
    mutate: fn(&Instruction) -> Option<Vec<Instruction>>,
    /// The minimum number of functions in the sample that the mutant changes.
    least: usize,
}

const MUTANTS: [Mutant; 9] = [
    Mutant { name: "each addition twice", mutate: |found| twice(found, |atom| atom.op == AtomOp::Add), least: 34 },
    Mutant { name: "each exchange twice", mutate: |found| twice(found, |atom| atom.op == AtomOp::Exch), least: 17 },
    Mutant {
        name: "each compare-and-swap twice",
        mutate: |found| twice(found, |atom| atom.op == AtomOp::Cas),
        least: 7,
    },
    Mutant { name: "each store twice", mutate: store_twice, least: 119 },
    Mutant { name: "a weak store first", mutate: weak_store, least: 54 },
    Mutant { name: "a generic load as global", mutate: global_load, least: 2 },
    Mutant { name: "a generic store as global", mutate: global_store, least: 2 },
    Mutant { name: "a generic update as global", mutate: global_update, least: 2 },
    Mutant { name: "a volatile access twice", mutate: volatile_twice, least: 7 },
];

fn twice(found: &Instruction, is: fn(&Atom) -> bool) -> Option<Vec<Instruction>> {
    let is_one = matches!(found, Instruction::Atom(atom) if is(atom));
    is_one.then(|| vec![found.clone(); 2])
}

fn store_twice(found: &Instruction) -> Option<Vec<Instruction>> {
    matches!(found, Instruction::St(_)).then(|| vec![found.clone(); 2])
}

fn weak_store(found: &Instruction) -> Option<Vec<Instruction>> {
    let Instruction::St(store) = found else { return None };
    let weak = St { sem: StSem::Weak, scope: None, ..store.clone() };
    (weak != *store).then(|| vec![Instruction::St(weak), found.clone()])
}

fn global_load(found: &Instruction) -> Option<Vec<Instruction>> {
    let Instruction::Ld(load @ Ld { space: Space::Generic, .. }) = found else { return None };
    Some(vec![Instruction::Ld(Ld { space: Space::Global, ..load.clone() })])
}

fn global_store(found: &Instruction) -> Option<Vec<Instruction>> {
    let Instruction::St(store @ St { space: Space::Generic, .. }) = found else { return None };
    Some(vec![Instruction::St(St { space: Space::Global, ..store.clone() })])
}

fn global_update(found: &Instruction) -> Option<Vec<Instruction>> {
    let Instruction::Atom(atom @ Atom { space: Space::Generic, .. }) = found else { return None };
    Some(vec![Instruction::Atom(Atom { space: Space::Global, ..atom.clone() })])
}

fn volatile_twice(found: &Instruction) -> Option<Vec<Instruction>> {
    let is_volatile = match found {
        Instruction::Ld(load) => load.sem == LdSem::Volatile,
        Instruction::St(store) => store.sem == StSem::Volatile,
        _ => false,
    };
    is_volatile.then(|| vec![found.clone(); 2])
}

impl Mutant {
    /// Applies the mutation to a function. Returns whether the function changed.
    fn apply(&self, function: &mut Function) -> bool {
        let Some(body) = &mut function.body else { return false };
        let mut changed = false;
        let lines = std::mem::take(body).into_iter().flat_map(|line| {
            let Code::Instruction { guard, instruction } = &line.code else { return vec![line] };
            let Some(others) = (self.mutate)(instruction) else { return vec![line] };
            changed = true;
            let with = |instruction| {
                let mut other = line.clone();
                other.code = Code::Instruction { guard: guard.clone(), instruction };
                other
            };
            others.into_iter().map(with).collect()
        });
        *body = lines.collect();
        changed
    }
}

/// Compiles, if this program is a mutant. Its arguments are the input, the output, the GPU and the PTX version.
pub fn compile() -> Option<Result<(), Failed>> {
    let name = env::var(MUTANT).ok()?;
    let mutant = MUTANTS.iter().find(|mutant| mutant.name == name)?;
    let [input, output, sm, ptx] = env::args().skip(1).collect::<Vec<_>>().try_into().ok()?;
    let done = || -> Result<(), Failed> {
        let mut command = ptx_atomics();
        command.args(["lower", "--mcpu", &sm, "--mattr", &format!("+{ptx}"), &input]);
        let mut module: Module = success(&mut command)?.parse()?;
        for item in &mut module.items {
            if let Item::Function(function) = item {
                mutant.apply(function);
            }
        }
        Ok(fs::write(&output, module.to_string())?)
    };
    Some(done())
}

/// The results of the suite by the names of functions: the verdict, and the PTX.
type SuiteResults = BTreeMap<String, (String, String)>;

fn run_suite(options: &[&str], compiler: &[&str], mutant: Option<&str>) -> Result<SuiteResults, Failed> {
    let mut command = ptx_atomics();
    command
        .args(["conformance", "--no-ptxas", "--format", "json", "--with-ptx"])
        .args(options)
        .arg("--")
        .args(compiler);
    if let Some(name) = mutant {
        command.env(MUTANT, name);
    }
    let output = command.output()?;
    let json: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let functions = json[0]["functions"].as_array().ok_or("no functions")?;
    Ok(functions.iter().map(|f| (text(&f["name"]), (text(&f["verdict"]), text(&f["ptx"])))).collect())
}

/// The correct compiler passes. For each mutant, the suite finds every function that the mutant changes.
pub fn are_found() -> Result<(), Failed> {
    let path = |path: &Path| path.display().to_string();
    let ours = [&*path(binary()), "lower", "--mcpu", "{sm}", "--mattr", "+{ptx}", "{input}", "-o", "{output}"];
    let right = run_suite(&["--sample", SAMPLE], &ours, None)?;
    if let Some((name, (verdict, ptx))) = right.iter().find(|(_, (verdict, _))| verdict != "right") {
        return Err(format!("{name} is {verdict}:\n{ptx}").into());
    }
    let itself = path(&env::current_exe()?);
    let mut missed = Vec::new();
    for mutant in MUTANTS {
        let changes = |ptx: &str| -> Result<bool, Failed> {
            let mut module: Module = format!(".version 9.0\n.target sm_90\n{ptx}").parse()?;
            let Some(Item::Function(function)) = module.items.first_mut() else { return Err("no function".into()) };
            Ok(mutant.apply(function))
        };
        let mut changed = Vec::new();
        for (name, (_, ptx)) in &right {
            if changes(ptx)? {
                changed.push(&**name);
            }
        }
        let filter = format!("^({})$", changed.join("|"));
        let found =
            run_suite(&["--filter", &filter], &[&itself, "{input}", "{output}", "{sm}", "{ptx}"], Some(mutant.name))?;
        let passed: Vec<_> = found.iter().filter(|(_, (verdict, _))| verdict == "right").collect();
        let unchanged = found.iter().find(|(name, (_, ptx))| right[*name].1 == *ptx);
        if found.len() != changed.len() || changed.len() < mutant.least || unchanged.is_some() {
            return Err(format!("{}: {} of {} changed, {unchanged:?}", mutant.name, found.len(), changed.len()).into());
        }
        if let Some((name, (_, ptx))) = passed.first() {
            missed.push(format!("{}: {} of {} pass, as {name}:\n{ptx}", mutant.name, passed.len(), found.len()));
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("\n").into()) }
}
