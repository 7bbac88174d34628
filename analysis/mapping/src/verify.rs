//! The complete check: every strategy on every family of targets, with every expansion, against sets of programs.

use std::{collections::HashMap, num::NonZero, thread};

use itertools::iproduct;
use ptx_lowering::{
    Access, Policy, PtxVersion, Strategy, Target, Type,
    ptx::{self, Space},
};
use ptx_memory_model::{
    condition::{Atom, Condition, Formula, Quantifier},
    litmus::Litmus,
    outcome::{Layout, Limits},
    program::{AtomOp, Instruction, Location, Program, RmwOp},
    ptx::Ptx,
    source::{Cpp, Order, Rules, read::Source},
};
use ptx_optimize::{OptimizeOptions, Rewrite};
use strum::IntoEnumIterator;

use crate::{
    check::{Checker, Counterexample, Counts},
    programs::{self, Loops, Set, Values},
    translate::{Mapping, NoProgram, typed},
};

/// A GPU and a PTX version of each family with a different lowering: by `membar`, with the memory model, with scope
/// cluster, with one-sided fences; and of each family for which `auto` may choose differently.
pub const TARGETS: [(&str, PtxVersion); 8] = [
    ("sm_60", PtxVersion(6, 0)),
    ("sm_70", PtxVersion(6, 0)),
    ("sm_75", PtxVersion(6, 3)),
    ("sm_80", PtxVersion(7, 8)),
    ("sm_90", PtxVersion(7, 8)),
    ("sm_90", PtxVersion(8, 6)),
    ("sm_100", PtxVersion(8, 8)),
    ("sm_120", PtxVersion(8, 8)),
];

/// A type and an operation of the atomics in programs: each expansion that the models can follow.
#[derive(Clone, Copy, Debug)]
pub struct Expansion {
    pub name: &'static str,
    ty: Type,
    volatile: bool,
    update: RmwOp,
    loops: Loops,
    /// The number of loop iterations of a thread after which the answer is unknown.
    rounds: usize,
    /// Whether programs pass through the optimizer first.
    optimized: bool,
    /// Whether the optimizer knows all threads of a program.
    alone: bool,
}

const fn expansion(name: &'static str, ty: Type, update: RmwOp) -> Expansion {
    Expansion { name, ty, volatile: false, update, loops: Loops::None, rounds: 3, optimized: false, alone: false }
}

const fn looped(name: &'static str, ty: Type, update: RmwOp, loops: Loops) -> Expansion {
    Expansion { loops, ..expansion(name, ty, update) }
}

pub const EXPANSIONS: [Expansion; 8] = [
    expansion("native", Type::I32, RmwOp::Atom(AtomOp::Exch)),
    expansion("native, 64 bits", Type::I64, RmwOp::Atom(AtomOp::Add)),
    Expansion { volatile: true, ..expansion("volatile", Type::I32, RmwOp::Atom(AtomOp::Exch)) },
    expansion("addition of the negated operand", Type::I32, RmwOp::Sub),
    looped("compare-and-swap loop", Type::I64, RmwOp::Atom(AtomOp::Inc), Loops::Updates),
    looped("word around the value", Type::I16, RmwOp::Atom(AtomOp::Or), Loops::Exchanges),
    looped("word around the value, in a loop", Type::I8, RmwOp::Atom(AtomOp::Add), Loops::All),
    looped("word around the value, exchanged", Type::I8, RmwOp::Atom(AtomOp::Exch), Loops::All),
];

/// A loop that need not write if the variable already has at least the value.
pub const MAXIMUM: Expansion =
    looped("maximum of a byte, in a loop", Type::I8, RmwOp::Atom(AtomOp::Max), Loops::All).optimized();

impl Expansion {
    /// The same expansion with the optimizer.
    pub const fn optimized(self) -> Self {
        Self { optimized: true, ..self }
    }

    /// The same expansion with an optimizer that knows all threads of each program.
    pub const fn alone(self) -> Self {
        Self { optimized: true, alone: true, ..self }
    }

    pub fn values(&self) -> Values {
        let ty = match self.ty.bits() {
            8 => ptx::Type::U8,
            16 => ptx::Type::U16,
            32 => ptx::Type::U32,
            _ => ptx::Type::U64,
        };
        Values { update: self.update, ty, loops: self.loops }
    }

    /// Whether the expansion is for one read-modify-write only, and not for all operations.
    fn is_of_updates(&self) -> bool {
        self.update == RmwOp::Sub || self.ty.is_sub_word() || self.loops != Loops::None
    }

    /// Whether the expansion applies to an operation.
    fn does(&self, instruction: &Instruction<Cpp>) -> bool {
        match instruction {
            Instruction::Rmw { op: RmwOp::Atom(AtomOp::Cas), .. } => !self.is_of_updates() || self.ty.is_sub_word(),
            Instruction::Rmw { op, .. } => !self.is_of_updates() || *op == self.update,
            Instruction::Load { access, .. } | Instruction::Store { access, .. } => {
                !self.is_of_updates() && access.order != Order::NonAtomic
            }
            Instruction::Fence(_) => !self.is_of_updates() && !self.volatile,
            _ => false,
        }
    }

    /// Whether the expansion applies to some operation of a program.
    pub(crate) fn expands(&self, program: &Program<Cpp>) -> bool {
        let mut code = program.threads.iter().flat_map(|thread| &thread.code);
        code.any(|statement| self.does(&statement.instruction))
    }

    /// Whether the programs of a set have operations to which the expansion applies.
    pub fn is_in(&self, set: Set) -> bool {
        set.has_updates() || !self.is_of_updates() || (set.has_exchanges() && self.ty.is_sub_word())
    }

    /// The program with the expansion's operation instead of other read-modify-writes.
    fn put_into(&self, program: &Program<Cpp>) -> Program<Cpp> {
        let mut program = program.clone();
        for statement in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
            if let Instruction::Rmw { op, .. } = &mut statement.instruction
                && self.is_of_updates()
                && *op != AtomOp::Cas.into()
            {
                *op = self.update;
            }
        }
        program
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits { rounds: self.rounds, ..Limits::default() }
    }

    /// The type and space of the atomics.
    pub(crate) fn access(&self) -> Access {
        Access { volatile: self.volatile, ..Access::new(Space::Global, self.ty) }
    }

    /// Every strategy on every family of targets.
    pub(crate) fn mapped(&self) -> Vec<Mapped> {
        let mapped = |(strategy, (sm, ptx)): (Strategy, (&str, PtxVersion))| {
            let sm = sm.parse().expect("a GPU");
            let target = Target::new(sm, Some(ptx)).expect("the GPU has the version");
            let policy = Policy::from(strategy);
            let mapping = Mapping::new(policy, target, self.access(), format!("{strategy} for {target}"));
            let options = OptimizeOptions { one_grid: self.alone, ..OptimizeOptions::new(policy, target) };
            let mapping = if self.optimized { mapping.optimized(options) } else { mapping };
            Mapped { strategy, target, mapping }
        };
        iproduct!(Strategy::iter(), TARGETS).map(mapped).collect()
    }

    /// The mappings of every strategy on every family of targets.
    pub fn mappings(&self) -> Vec<Mapping<'static>> {
        self.mapped().into_iter().map(|mapped| mapped.mapping).collect()
    }
}

/// A strategy on a target.
pub(crate) struct Mapped {
    pub strategy: Strategy,
    pub target: Target,
    pub mapping: Mapping<'static>,
}

/// The result for a set of programs.
pub struct Report {
    pub counts: Counts,
    /// The defined programs to which each rewrite of the optimizer applies.
    pub rewritten: HashMap<Rewrite, u64>,
    /// The first program that each mapping does not preserve.
    pub found: Vec<BrokenProgram>,
}

/// A program that is not preserved.
#[derive(Clone, Debug)]
pub struct BrokenProgram {
    pub mapping: String,
    pub source: Source,
    pub example: Counterexample,
}

impl BrokenProgram {
    /// The lowered program, with an outcome that the source forbids as its condition.
    pub fn litmus(&self) -> Litmus {
        let program = self.example.lowered.clone();
        let formula = self.example.states.first().map_or(Formula::True, |state| state_formula(&program, state));
        Litmus {
            name: self.source.name.replace(' ', "-"),
            comments: vec![format!("{}; the source forbids this outcome", self.mapping)],
            program,
            condition: Condition { quantifier: Quantifier::Exists, formula },
        }
    }
}

/// The conjunction of the values of a final state.
fn state_formula(program: &Program<Ptx>, state: &[u64]) -> Formula {
    let layout = Layout::new(program);
    let registers = layout.registers().iter().map(|&(thread, register)| {
        (Atom::Register { thread, register }, layout.register(state, thread, register).unwrap_or_default())
    });
    let memory = (0..program.locations.len()).map(|index| {
        let location = Location(index as u16);
        (Atom::Location(location), layout.location(state, location).unwrap_or_default())
    });
    let equal = registers.chain(memory).map(|(atom, value)| Formula::Equal(atom, Atom::Value(value)));
    equal.reduce(|all, one| Formula::And(Box::new(all), Box::new(one))).unwrap_or(Formula::True)
}

/// Checks a set of programs with one expansion, on all cores. Of every `shard.1` programs, only number `shard.0` is
/// checked.
///
/// # Errors
/// If a lowering has instructions that the model lacks, or if no program has an operation of the expansion.
pub fn verify(
    set: Set,
    expansion: &Expansion,
    rules: impl Into<Rules>,
    shard: (usize, usize),
) -> Result<Report, NoProgram> {
    let each = |shard, check: &mut dyn FnMut(&str, &Program<Cpp>)| {
        programs::each(set, expansion.values(), shard, check);
    };
    run(expansion, rules.into(), shard, &each)
}

/// Checks given programs with one expansion. If the expansion is for one read-modify-write, that operation replaces
/// every other read-modify-write.
///
/// # Errors
/// See [`verify`]; also if a constant does not fit the type.
pub fn verify_these(sources: &[Source], expansion: &Expansion, rules: impl Into<Rules>) -> Result<Report, NoProgram> {
    let ty = expansion.values().ty;
    let typed = |Source { name, program }: &Source| {
        let program = typed(program, ty).map_err(|error| NoProgram::Named(name.clone(), Box::new(error)))?;
        Ok(Source { name: name.clone(), program: expansion.put_into(&program) })
    };
    let sources = sources.iter().map(typed).collect::<Result<Vec<_>, _>>()?;
    let each = |(k, n): (usize, usize), check: &mut dyn FnMut(&str, &Program<Cpp>)| {
        sources.iter().skip(k - 1).step_by(n).for_each(|source| check(&source.name, &source.program));
    };
    run(expansion, rules.into(), (1, 1), &each)
}

type Each<'e> = &'e (dyn Fn((usize, usize), &mut dyn FnMut(&str, &Program<Cpp>)) + Sync);

/// Does a part of the work on each core: number `k`, from 1 on, of `n`, divided further.
pub(crate) fn on_all_cores<T: Send>(
    (k, n): (usize, usize),
    work: impl Fn((usize, usize)) -> Result<T, NoProgram> + Sync,
) -> Result<Vec<T>, NoProgram> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let work = &work;
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|index| scope.spawn(move || work((k + index * n, n * threads)))).collect();
        workers.into_iter().map(|worker| worker.join().expect("the work does not panic")).collect()
    })
}

fn run(expansion: &Expansion, rules: Rules, shard: (usize, usize), each: Each<'_>) -> Result<Report, NoProgram> {
    let mappings = &expansion.mappings();
    let reports = on_all_cores(shard, |shard| {
        let mut checker = Checker::new(mappings, rules, expansion.limits());
        let mut found: Vec<BrokenProgram> = Vec::new();
        let mut error = None;
        each(shard, &mut |name, program| {
            if error.is_some() {
                return;
            }
            checker.counts.expanded += u64::from(expansion.expands(program));
            match checker.check(program) {
                Ok(examples) => found.extend(
                    examples
                        .into_iter()
                        .filter_map(|example| {
                            let mapping = mappings[example.mapping].name.clone();
                            let known = found.iter().any(|found| found.mapping == mapping);
                            let source = Source { name: name.to_owned(), program: program.clone() };
                            (!known).then_some(BrokenProgram { mapping, source, example })
                        })
                        .collect::<Vec<_>>(),
                ),
                Err(unmodelled) => error = Some(unmodelled),
            }
        });
        error.map_or(Ok(Report { counts: checker.counts, rewritten: checker.rewritten, found }), Err)
    })?;
    let mut whole = Report { counts: Counts::default(), rewritten: HashMap::new(), found: Vec::new() };
    for report in reports {
        whole.counts += report.counts;
        for (rewrite, programs) in report.rewritten {
            *whole.rewritten.entry(rewrite).or_default() += programs;
        }
        for found in report.found {
            if !whole.found.iter().any(|known| known.mapping == found.mapping) {
                whole.found.push(found);
            }
        }
    }
    if whole.counts.expanded == 0 && whole.counts.programs > 0 {
        return Err(NoProgram::NotExpanded(expansion.name));
    }
    whole.found.sort_by(|a, b| a.mapping.cmp(&b.mapping));
    Ok(whole)
}
