//! Functions of PTX modules as the threads of a litmus test: a kernel as compiled, in the model.
//!
//! A [`Test`] describes which functions run in which threads, the objects that they share, and the conditions that must
//! hold. [`compile`] makes a litmus test from it and a module: calls are inlined, parameters and special registers are
//! constants, every object has an address, and accesses to memory of a single thread are not events. An instruction
//! that is not modelled ends a path as unknown, and [`Compiled::unknown`] gives its source line.
//!
//! 1. [`words`] reads the test, and `thread` makes a thread from a function. `objects` holds the contents of memory,
//!    `origins` and `places` the source lines of the code.
//! 2. `shrink` finds out which memory the threads share, and drops the rest.

mod line;
mod names;
mod objects;
mod origins;
mod shrink;
mod thread;
pub mod words;

use std::str::FromStr;

use ptx_isa::{
    Axis, Function, Module, ModuleErrors, Places, Special, SpecialScalar, SpecialVector,
    flat::{Flat, Library},
};

pub use self::{
    line::{Line, SourceLine},
    names::source_name,
    words::Test,
};
use self::{
    names::is_called,
    objects::Objects,
    origins::Origins,
    shrink::Accessed,
    thread::{LIMITS, RETURN, Run, TRAP},
    words::{Argument, At, AtomWords, ThreadWords},
};
use crate::{
    condition::{Atom, Condition, Formula, Quantifier},
    limit::Limit,
    litmus::{Error, Errors, Litmus},
    place::Place,
    program::{Instruction, Location, Register, Stop, Value},
    ptx::{Conventions, Program, Thread},
    unfold::unfold_all,
};

/// A module whose functions are threads.
#[derive(Clone, Debug)]
pub struct Kernels {
    module: Module,
    places: Places,
}

impl FromStr for Kernels {
    type Err = ModuleErrors;

    fn from_str(text: &str) -> Result<Self, ModuleErrors> {
        Ok(Self { module: text.parse()?, places: Places::read_text(text) })
    }
}

impl Kernels {
    /// The paths of the source files, as the compiler wrote them.
    pub fn files(&self) -> Vec<String> {
        self.places.files()
    }
}

/// A test of functions, compiled to a litmus test.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The threads and the condition.
    pub litmus: Litmus,
    /// For each thread, the source lines of its statements.
    pub lines: Vec<Vec<Line>>,
    /// The functions that the threads run, with their names in the source.
    pub functions: Vec<String>,
}

/// The litmus tests of a test of functions, one for each condition.
///
/// # Errors
/// All parts of the test that do not fit the module.
pub fn compile(
    kernels: &Kernels,
    test: &Test,
    conventions: Conventions,
    rounds: usize,
) -> Result<Vec<Compiled>, Errors> {
    let Kernels { module, places } = kernels;
    let mut errors = Vec::new();
    if test.threads.is_empty() {
        let message = "the test has no thread: add one, as in `litmus: thread P0 = producer(data) @ cta 0`";
        return Err(At::default().error(message).into());
    }
    let mut ctas: Vec<Place> = Vec::new();
    for thread in &test.threads {
        if !ctas.contains(&thread.place) {
            ctas.push(thread.place);
        }
    }
    let mut objects = Objects::new(module, &test.declared, ctas);
    let (library, origins) = (Library::new(module), Origins::new(module, places));
    let mut started = Vec::new();
    let mut functions = Vec::new();
    for (index, thread) in test.threads.iter().enumerate() {
        match start(module, test, index, &mut objects) {
            Ok((function, arguments)) => {
                let flat = Flat::inline_calls(&library, function, LIMITS);
                // The arguments of a later thread may refer to shared memory of this thread's CTA.
                let named = thread::named(&flat, index, thread.place, &mut objects);
                started.push((thread.place, flat, arguments, named));
                functions.push(source_name(&function.name));
            }
            Err(found) => errors.extend(found),
        }
    }
    let specials: Vec<_> =
        (0..test.threads.len()).map(|index| move |name: Special| special(test, index, name)).collect();
    let runs = started.iter().zip(&specials).enumerate().map(|(thread, ((place, flat, arguments, _), special))| Run {
        thread,
        place: *place,
        flat,
        arguments: arguments.clone(),
        special,
    });
    let runs: Vec<_> = runs.collect();
    let named = named(test, &mut objects, &mut errors);
    if !errors.is_empty() {
        return Err(Errors(errors));
    }

    let threads = test.threads.iter();
    let threads =
        threads.map(|of| Thread { place: of.place, registers: Vec::new(), labels: Vec::new(), code: Vec::new() });
    let mut program = Program { locations: Vec::new(), threads: threads.collect() };
    objects.declare_all(&mut program);
    let threads = runs.iter().zip(&started);
    let lines: Vec<_> =
        threads.map(|(run, (.., named))| thread::read(&mut program, run, &objects, named, &origins)).collect();
    let unmodelled = |limit: Limit| Errors(vec![At::default().error(limit.to_string())]);
    for thread in &mut program.threads {
        let traps = thread.code.iter().any(|statement| statement.instruction == Instruction::Stop(Stop::Trap));
        for register in &mut thread.registers {
            let returned = register.name == RETURN || register.name.starts_with(&format!("{RETURN}$"));
            register.observed = returned || traps && register.name == TRAP;
            register.name = register.name.replace('$', if returned { "+" } else { "$" });
        }
        shrink::share_registers(thread).map_err(unmodelled)?;
    }
    shrink::without_lone_barriers(&mut program);
    let mut accessed = shrink::accessed(&mut program, conventions.unfolding(rounds)).map_err(unmodelled)?;
    named.into_iter().for_each(|(at, bytes)| accessed.name(at, bytes));
    accessed.rebuild(&mut program, &objects);

    let mut resolver = Resolver { program: &mut program, objects: &mut objects, accessed: &accessed, errors };
    let conditions: Vec<Condition> = test.conditions.iter().map(|condition| resolver.condition(condition)).collect();
    let errors = resolver.errors;
    if !errors.is_empty() {
        return Err(Errors(errors));
    }
    let conditions = with_traps(&program, conditions)?;
    let one = conditions.len() == 1;
    let compiled = conditions.into_iter().enumerate().map(|(index, condition)| {
        let number = if one { String::new() } else { format!("#{}", index + 1) };
        let litmus =
            Litmus { name: test.name.clone() + &number, comments: Vec::new(), program: program.clone(), condition };
        Compiled { litmus, lines: lines.clone(), functions: functions.clone() }
    });
    Ok(compiled.collect())
}

impl Compiled {
    /// The statements at which paths of the threads end because their continuation is unknown for the given reason,
    /// each with its thread. Some of these paths may not be part of any execution.
    pub fn unknown(&self, conventions: Conventions, rounds: usize, limit: Limit) -> Vec<(usize, &Line)> {
        let Ok(threads) = unfold_all(&self.litmus.program, conventions.unfolding(rounds)) else { return Vec::new() };
        let mut found = Vec::new();
        for (thread, paths) in threads.iter().enumerate() {
            for statement in
                paths.iter().filter_map(|path| path.cut_at()).filter(|(of, _)| *of == limit).map(|(_, at)| at)
            {
                if let Some(line) = self.lines[thread].get(statement)
                    && !found.contains(&(thread, line))
                {
                    found.push((thread, line));
                }
            }
        }
        found
    }
}

/// The bytes that conditions name. Each of them is part of an object, whether or not it is accessed.
fn named(test: &Test, objects: &mut Objects<'_>, errors: &mut Vec<Error>) -> Vec<(Value, u64)> {
    let mut named = Vec::new();
    for atom in test.conditions.iter().flat_map(|condition| condition.formula.atoms()) {
        let AtomWords::Memory { name, offset, at } = atom else { continue };
        match objects.named(&name) {
            Ok(object) => {
                let object = &objects.all[object];
                let (start, bytes) = object.part(offset);
                if object.has(start, bytes) {
                    named.push((object.base + start, bytes));
                }
            }
            Err(why) => errors.push(at.error(why)),
        }
    }
    named
}

/// The function that a thread runs, and the values of its parameters.
fn start<'m>(
    module: &'m Module,
    test: &Test,
    index: usize,
    objects: &mut Objects<'_>,
) -> Result<(&'m Function, Vec<Option<Value>>), Vec<Error>> {
    let ThreadWords { function: name, arguments, at, .. } = &test.threads[index];
    let called = module.functions().filter(|function| function.body.is_some() && is_called(&function.name, name));
    let called: Vec<&Function> = called.collect();
    let function = match called[..] {
        [one] => one,
        [] => {
            let known = module.functions().filter(|function| function.body.is_some());
            let known: Vec<String> = known.map(|function| format!("`{}`", source_name(&function.name))).collect();
            return Err(vec![
                at.error(format!("the module has no function `{name}`; its functions are {}", known.join(", "))),
            ]);
        }
        _ => return Err(vec![at.error(format!("several functions are called `{name}`"))]),
    };
    let count = function.head.parameters.len();
    let mut errors = Vec::new();
    if arguments.len() > count {
        errors.push(at.error(format!("`{name}` takes {count} arguments, found {}", arguments.len())));
    }
    let mut given: Vec<Option<Argument>> = arguments.iter().cloned().map(Some).collect();
    given.resize(count, None);
    for bound in test.bound.iter().filter(|bound| is_called(&function.name, &bound.function)) {
        match given.get_mut(bound.parameter) {
            Some(slot) => {
                slot.get_or_insert_with(|| bound.argument.clone());
            }
            None => errors.push(bound.at.error(format!("`{name}` has {count} parameters, numbered from 0"))),
        }
    }
    let mut values = Vec::new();
    for argument in given {
        values.push(match argument {
            None => None,
            Some(Argument::Number(value)) => Some(value),
            Some(Argument::Address { name, offset, at }) => match objects.named(&name) {
                Ok(object) => {
                    let object = &objects.all[object];
                    Some(object.base.wrapping_add(object.part(offset).0))
                }
                Err(why) => {
                    errors.push(at.error(why));
                    None
                }
            },
        });
    }
    if errors.is_empty() { Ok((function, values)) } else { Err(errors) }
}

/// The value of a special register in a thread.
fn special(test: &Test, index: usize, special: Special) -> Option<Value> {
    let thread = &test.threads[index];
    if let Some((_, value)) = thread.special.iter().find(|(own, _)| *own == special) {
        return Some(*value);
    }
    let place = thread.place;
    let tid = |of: usize| {
        let words = &test.threads[of];
        let before = || test.threads[..of].iter().filter(|other| other.place == words.place).count() as Value;
        words.tid.unwrap_or_else(before)
    };
    let all = || 0..test.threads.len();
    let places = || test.threads.iter().map(|thread| thread.place).filter(|other| other.gpu == place.gpu);
    let above = |last: Option<Value>| last.map_or(1, |last| last.saturating_add(1));
    // All CTAs of a grid have the same size.
    let in_grid = |of: &ThreadWords| of.place == place || of.function == thread.function;
    let threads = above(all().filter(|&of| in_grid(&test.threads[of])).map(tid).max());
    let in_cluster = places().filter(|other| other.cluster == place.cluster);
    let ctas_of_cluster = above(in_cluster.map(|other| other.cta.into()).max());
    let cluster = Value::from(place.cluster.unwrap_or_default());
    let clusters = above(places().map(|other| other.cluster.unwrap_or_default().into()).max());
    let (cta, rank, ranks) = match place.cluster {
        Some(_) => {
            let before = cluster.saturating_mul(ctas_of_cluster);
            (before.saturating_add(place.cta.into()), place.cta.into(), ctas_of_cluster)
        }
        None => (place.cta.into(), 0, 1),
    };
    let ctas = if place.cluster.is_some() { clusters.saturating_mul(ctas_of_cluster) } else { ctas_of_cluster };
    use SpecialVector::*;
    // All threads and CTAs lie along the first dimension.
    let first = |vector: SpecialVector| match vector {
        Tid => tid(index),
        Ntid => threads,
        Ctaid => cta,
        Nctaid => ctas,
        Clusterid => {
            if place.cluster.is_some() {
                cluster
            } else {
                cta
            }
        }
        Nclusterid => {
            if place.cluster.is_some() {
                clusters
            } else {
                ctas
            }
        }
        ClusterCtaid => rank,
        ClusterNctaid => ranks,
    };
    Some(match special {
        Special::Vector(vector, Axis::X) => first(vector),
        Special::Vector(Tid | Ctaid | Clusterid | ClusterCtaid, _) => 0,
        Special::Vector(Ntid | Nctaid | Nclusterid | ClusterNctaid, _) => 1,
        Special::Scalar(SpecialScalar::ClusterCtarank) => rank,
        Special::Scalar(SpecialScalar::ClusterNctarank) => ranks,
        Special::Scalar(SpecialScalar::Laneid) => tid(index) % 32,
        Special::Scalar(SpecialScalar::Warpid) => tid(index) / 32,
        Special::Scalar(SpecialScalar::IsExplicitCluster) => place.cluster.is_some().into(),
        Special::WarpSize => 32,
        Special::Scalar(_)
        | Special::Environment(_)
        | Special::Counter(_)
        | Special::WideCounter(_)
        | Special::ReservedSmemOffset(_) => return None,
    })
}

/// Adds to each condition that no thread reaches a `trap`.
fn with_traps(program: &Program, mut conditions: Vec<Condition>) -> Result<Vec<Condition>, Errors> {
    let traps = program.threads.iter().enumerate().filter_map(|(thread, of)| {
        let index = of.registers.iter().position(|register| register.observed && register.name == TRAP)?;
        Some(Atom::Register { thread, register: Register(index as u16) })
    });
    let traps: Vec<Atom> = traps.collect();
    if conditions.is_empty() {
        if traps.is_empty() {
            let message =
                "the test has no condition: add `litmus: forall P0:return == 1`, or an assertion to the source";
            return Err(At::default().error(message).into());
        }
        conditions.push(Condition { quantifier: Quantifier::Forall, formula: Formula::True });
    }
    for Condition { quantifier, formula } in &mut conditions {
        for trap in &traps {
            let before = Box::new(std::mem::replace(formula, Formula::True));
            let none = Formula::Equal(*trap, Atom::Value(0));
            *formula = match quantifier {
                // A condition holds of no execution that a trap ends.
                Quantifier::Exists | Quantifier::Forall => match *before {
                    Formula::True => none,
                    formula => Formula::And(Box::new(none), Box::new(formula)),
                },
                Quantifier::NotExists => Formula::Or(before, Box::new(Formula::Not(Box::new(none)))),
            };
        }
    }
    Ok(conditions)
}

/// Resolves the names in conditions.
struct Resolver<'r, 'm> {
    program: &'r mut Program,
    objects: &'r mut Objects<'m>,
    accessed: &'r Accessed,
    errors: Vec<Error>,
}

impl Resolver<'_, '_> {
    fn condition(&mut self, words: &Condition<AtomWords>) -> Condition {
        Condition { quantifier: words.quantifier, formula: words.formula.map(&mut |atom| self.atom(atom)) }
    }

    fn atom(&mut self, words: &AtomWords) -> Atom {
        let found = match words {
            AtomWords::Value(value) => Ok(Atom::Value(*value)),
            AtomWords::Register { thread, name, at } => self.register(*thread, name).map_err(|why| at.error(why)),
            AtomWords::Memory { name, offset, at } => self.memory(name, *offset).map_err(|why| at.error(why)),
        };
        found.unwrap_or_else(|error| {
            self.errors.push(error);
            Atom::Value(0)
        })
    }

    fn register(&self, thread: usize, name: &str) -> Result<Atom, String> {
        let of = self.program.threads.get(thread).ok_or_else(|| format!("the test has no thread P{thread}"))?;
        let index = of.registers.iter().position(|register| register.observed && register.name == name);
        let index = index.ok_or_else(|| match name {
            RETURN => format!("P{thread} returns nothing"),
            _ => format!("expected `P{thread}:{RETURN}` in the condition, found `{name}`"),
        })?;
        Ok(Atom::Register { thread, register: Register(index as u16) })
    }

    fn memory(&mut self, name: &str, offset: words::Offset) -> Result<Atom, String> {
        let object = self.objects.named(name)?;
        let object = &self.objects.all[object];
        let (start, bytes) = object.part(offset);
        if !object.has(start, bytes) {
            return Err(format!("`{name}` has {} bytes", object.bytes));
        }
        let at = object.base + start;
        if self.accessed.is(at, bytes) {
            let variable = self.program.locations.iter().position(|variable| variable.address == Some(at));
            let Some(index) = variable else { return Err(format!("`{name}` is accessed in another way")) };
            // A variable that a condition names has a last value.
            self.program.locations[index].private = false;
            return Ok(Atom::Location(Location(index as u16)));
        }
        if self.accessed.touches(at, bytes) {
            return Err(format!("the accesses to `{name}` have other sizes than {bytes} bytes"));
        }
        // A part of an object that is never accessed keeps its initial value.
        Ok(Atom::Value(object.initial(start, bytes)))
    }
}
