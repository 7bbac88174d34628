//! Rewritten PTX against the memory model: it must have no final state that the original lacks.
//!
//! The programs are the lowered programs of the mapping check; each thread is a kernel. The test writes them as PTX and
//! rewrites them; a different part of the project reads the result.

use std::collections::{HashMap, HashSet};

use libtest_mimic::{Failed, Trial};
use ptx_lowering::{
    Access, Policy, Strategy, Target, Type,
    ptx::{
        self as asm, FenceSem, LaunchSize, Module, Sem, Space,
        arithmetic::Computation,
        flat::{self, AccessKind, Action, Flat, Library},
        operation::Operation,
    },
};
use ptx_mapping::{
    Mapping,
    check::bounded,
    programs::{self, Set},
    verify::EXPANSIONS,
};
use ptx_memory_model::{
    outcome::Limits,
    place::Scope,
    program::{Address, Cmp, Instruction, Label, Location, Operand, Program, Register, RmwOp, Statement, Thread},
    ptx::{self, Conventions, Fence, Ptx, Semantics},
    source::Cpp,
};
use ptx_optimize::text::{Launch, TextOptions, rewrite};
use ptx_optimize::{Condition, Rewrites};

/// The sets of this test: `(set, n)` tries one of n programs.
const SETS: [(Set, usize); 12] = [
    (Set::Three, 600),
    (Set::Five, 3_000),
    (Set::Fences, 1_800),
    (Set::Placements, 600),
    (Set::Waiting, 120),
    (Set::WaitingPlacements, 4_500),
    (Set::Fenced, 900),
    (Set::FencedPlacements, 9_000),
    (Set::PassedOn, 16),
    (Set::Own, 1),
    (Set::CyclesThree, 75_000),
    (Set::CyclesMixed, 12_000_000),
];

/// The conditions that these programs show to be needed, each with its set and the sampling interval. Conditions on
/// loops with several exits need more programs: the optimizer's own test has them.
#[rustfmt::skip]
const SHOWN: [(Condition, Set, usize); 12] = [
    (Condition::Reach,           Set::PassedOn, 1),
    (Condition::Within,          Set::PassedOn, 1),
    (Condition::Carriers,        Set::PassedOn, 1),
    (Condition::OneUpdate,       Set::Own,      1),
    (Condition::NoWriteBetween,  Set::PassedOn, 1),
    (Condition::NoAccessBetween, Set::PassedOn, 1),
    (Condition::NoReadBetween,   Set::Waiting,  4),
    (Condition::FenceScope,      Set::Waiting,  4),
    (Condition::EveryPath,       Set::Waiting,  4),
    (Condition::SeqCstStays,     Set::Waiting,  4),
    (Condition::EveryRead,       Set::Fenced,   20),
    (Condition::SeqCstFence,     Set::Fenced,   20),
];

pub fn trials() -> Vec<Trial> {
    let sets = SETS.map(|(set, sample)| Trial::test(format!("{set}"), move || kept(set, sample * testing::stride(4))));
    let conditions = SHOWN.map(|(condition, set, sample)| {
        let trial = Trial::test(format!("without {condition}"), move || check_condition(condition, set, sample));
        // The whole set must be tried before such a program occurs.
        let is_rare = [Condition::SeqCstFence, Condition::SeqCstStays, Condition::EveryRead].contains(&condition);
        if is_rare { testing::left_to_all(trial) } else { trial }
    });
    sets.into_iter().chain(conditions).collect()
}

/// A mapping for sm_90, which has one-sided fences, and a mapping for sm_70, which lacks them.
fn mappings() -> [Mapping<'static>; 2] {
    let of = |strategy, sm: &str, ptx: &str| {
        let target = Target::new(sm.parse().expect("a GPU"), Some(ptx.parse().expect("a version"))).expect("a target");
        Mapping::new(
            Policy::from(strategy),
            target,
            Access::new(Space::Global, Type::I32),
            format!("{strategy} for {sm}"),
        )
    };
    [of(Strategy::Recommended, "sm_90", "ptx86"), of(Strategy::Fence, "sm_70", "ptx60")]
}

const HEADS: [&str; 2] = [".version 8.6\n.target sm_90\n", ".version 6.0\n.target sm_70\n"];

fn kept(set: Set, sample: usize) -> Result<(), Failed> {
    let (mut all, mut changed, mut wrong) = (0, 0, Vec::new());
    each(set, sample, None, &mut |verdict| {
        all += 1;
        match verdict {
            Changed::Same => {}
            Changed::Kept => changed += 1,
            Changed::Wrong(text) => wrong.push(text),
            Changed::Unknown => changed += 1,
        }
    });
    println!("{set}: {all} programs, {changed} rewritten");
    match wrong.first() {
        Some(first) => Err(format!("{} of {all} are not kept, the first:\n{first}", wrong.len()).into()),
        None if changed == 0 => Err(format!("none of {all} programs is rewritten").into()),
        None => Ok(()),
    }
}

/// Checks that without the condition some program is not preserved.
fn check_condition(condition: Condition, set: Set, sample: usize) -> Result<(), Failed> {
    let mut found = None;
    each(set, sample, Some(condition), &mut |verdict| {
        if let Changed::Wrong(text) = verdict {
            found.get_or_insert(text);
        }
    });
    let text = found.ok_or_else(|| format!("nothing is wrong without {condition}"))?;
    println!("{condition}: by {set}\n{text}");
    Ok(())
}

enum Changed {
    /// The rewrite changes nothing.
    Same,
    Kept,
    /// The texts before and after, and a state.
    Wrong(String),
    /// The search reached a limit.
    Unknown,
}

/// The result for each program, for both mappings, with no knowledge of other threads and with all threads known.
fn each(set: Set, sample: usize, without: Option<Condition>, say: &mut dyn FnMut(Changed)) {
    let mappings = mappings();
    let mut done = false;
    programs::each(set, EXPANSIONS[0].values(), (1, sample), &mut |_, source| {
        if done {
            return;
        }
        for ((mapping, head), alone) in mappings.iter().zip(HEADS).flat_map(|one| [(one, false), (one, true)]) {
            let Ok(program) = mapping.translate(source) else { continue };
            let verdict = judge_program(source, &program, head, alone, without);
            // A single program suffices to show that a condition is needed.
            done |= without.is_some() && matches!(verdict, Changed::Wrong(_));
            say(verdict);
        }
    });
}

fn judge_program(
    source: &Program<Cpp>,
    program: &Program<Ptx>,
    head: &str,
    alone: bool,
    without: Option<Condition>,
) -> Changed {
    let text = format!("{head}.address_size 64\n{}", written(program));
    let first = program.threads[0].place;
    let in_one = |scope| program.threads.iter().all(|thread| first.includes(scope, thread.place));
    // The statements about the launch must be true.
    let grid = in_one(Scope::Cta).then_some([1; 3]);
    let size = LaunchSize { grid, ..LaunchSize::default() };
    let launch = Launch { alone: alone && in_one(Scope::Gpu), size };
    let rewritten = |without| {
        let options = TextOptions { rewrites: Rewrites::on(), polls: true, launch, without, ..TextOptions::default() };
        rewrite(&text, &options).unwrap_or_else(|error| panic!("{error}\n{text}")).text
    };
    let rewritten_text = rewritten(without);
    // A text that does not depend on the condition is judged with all conditions.
    if rewritten_text == text || without.is_some() && rewritten_text == rewritten(None) {
        return Changed::Same;
    }
    let after = read(&rewritten_text, program);
    let limits = bounded(source, Limits::default());
    let states = |program: &Program<Ptx>| ptx::search::outcomes(program, Conventions::MANUAL, limits);
    let (old, new) = (states(program), states(&after));
    let known: HashSet<_> = old.states.iter().map(<[u64]>::to_vec).collect();
    match new.states.iter().find(|state| !known.contains(*state)) {
        Some(_) if old.unknown.is_some() => Changed::Unknown,
        Some(state) => Changed::Wrong(format!("{text}\n{rewritten_text}\n{state:?}")),
        None if new.unknown.is_some() => Changed::Unknown,
        None => Changed::Kept,
    }
}

/// A program as a module: each thread is a kernel, and a location that only a CTA accesses may be in its shared memory.
fn written(program: &Program<Ptx>) -> String {
    let accesses = |thread: &Thread<Ptx>, index: usize| {
        thread.code.iter().any(|statement| match &statement.instruction {
            Instruction::Load { a, .. } | Instruction::Store { a, .. } | Instruction::Rmw { a, .. } => {
                a.base == Operand::Address(Location(index as u16))
            }
            _ => false,
        })
    };
    let is_shared = |index: usize| {
        let places: Vec<_> =
            program.threads.iter().filter(|thread| accesses(thread, index)).map(|one| one.place).collect();
        places.iter().all(|place| places[0].includes(Scope::Cta, *place))
    };
    let spaces: Vec<&str> =
        (0..program.locations.len()).map(|index| if is_shared(index) { "shared" } else { "global" }).collect();
    let mut text = String::new();
    for (variable, space) in program.locations.iter().zip(&spaces) {
        text += &format!(".{space} .align 4 .b32 {};\n", variable.name);
    }
    for (number, thread) in program.threads.iter().enumerate() {
        let beside = program.threads.iter().filter(|other| thread.place.includes(Scope::Cta, other.place)).count();
        text += &format!(".visible .entry k{number}() .reqntid {beside} {{\n.reg .b32 %r<99>;\n.reg .pred %p<99>;\n");
        for (index, statement) in thread.code.iter().enumerate() {
            text += &line(program, &spaces, thread, statement, index);
            text.push('\n');
        }
        text += "ret;\n}\n";
    }
    text
}

fn line(
    program: &Program<Ptx>,
    spaces: &[&str],
    thread: &Thread<Ptx>,
    statement: &Statement<Ptx>,
    index: usize,
) -> String {
    assert!(statement.guard.is_none(), "native code has no guards");
    let operand = |operand: &Operand| match operand {
        Operand::Register(Register(number)) => format!("%r{number}"),
        Operand::Immediate(value) => value.to_string(),
        Operand::Address(_) => panic!("no address is a value"),
    };
    let at = |a: &Address| match a.base {
        Operand::Address(Location(location)) => {
            (spaces[usize::from(location)], &program.locations[usize::from(location)].name)
        }
        _ => panic!("{a:?}"),
    };
    let words = |access: &Semantics| match access.sem {
        Sem::Weak => String::new(),
        Sem::Volatile => ".volatile".to_owned(),
        sem => format!(".{sem}.{}", access.scope),
    };
    match &statement.instruction {
        Instruction::Load { d, a, access, .. } => {
            let (space, name) = at(a);
            format!("ld{}.{space}.b32 %r{}, [{name}];", words(access), d.0)
        }
        Instruction::Store { a, b, access, .. } => {
            let (space, name) = at(a);
            format!("st{}.{space}.b32 [{name}], {};", words(access), operand(b))
        }
        Instruction::Rmw { op: RmwOp::Atom(op), d, a, b, c, access, .. } => {
            let (space, name) = at(a);
            let third = if *op == asm::AtomOp::Cas { format!(", {}", operand(c)) } else { String::new() };
            let d = d.map_or("_".to_owned(), |d| format!("%r{}", d.0));
            format!("atom{}.{space}.{op}.b32 {d}, [{name}], {}{third};", words(access), operand(b))
        }
        Instruction::Fence(Fence::Memory { sem, scope }) => format!("fence.{sem}.{scope};"),
        Instruction::Branch { when: None, target } => format!("bra L{};", target.0),
        Instruction::Branch { when: Some((cmp, a, b)), target } => {
            format!("setp.{cmp}.u32 %p{index}, {}, {};\n@%p{index} bra L{};", operand(a), operand(b), target.0)
        }
        Instruction::Label(label) => format!("L{}:", label.0),
        Instruction::Alu { d, .. } => format!("mov.b32 %r{}, 0;", d.0),
        other => panic!("{other:?} of {thread:?}"),
    }
}

/// The program of a module. Its locations, registers and computations are taken from the original program.
fn read(text: &str, of: &Program<Ptx>) -> Program<Ptx> {
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let library = Library::new(&module);
    let threads = module.functions().zip(&of.threads).map(|(function, thread)| {
        let flat = Flat::alone(&library, function);
        let mut computed =
            thread.code.iter().filter(|statement| matches!(statement.instruction, Instruction::Alu { .. }));
        let mut compared: HashMap<usize, (Cmp, Operand, Operand)> = HashMap::new();
        let operand = |operand: &flat::Operand| match operand {
            flat::Operand::Register(register) => {
                Operand::Register(Register(flat.registers[*register].name[2..].parse().expect("a number")))
            }
            flat::Operand::Constant(value) => Operand::Immediate(value.cast_unsigned()),
            other => panic!("{other:?}"),
        };
        let mut code: Vec<Statement<Ptx>> = Vec::new();
        for (index, step) in flat.steps.iter().enumerate() {
            let labels = flat.labels.iter().enumerate().filter(|(_, label)| label.at == index);
            code.extend(labels.map(|(number, _)| Instruction::Label(Label(number as u16)).into()));
            let d = step.writes.first().copied().flatten().map(|d| match operand(&flat::Operand::Register(d)) {
                Operand::Register(register) if flat.registers[d].name.starts_with("%r") => register,
                _ => Register(0),
            });
            let instruction = match &step.action {
                Action::Access(access) => {
                    let flat::Operand::Address(base, 0) = &access.address else { panic!("{access:?}") };
                    let flat::Operand::Symbol(symbol) = **base else { panic!("{access:?}") };
                    let name = &flat.symbols[symbol].variable.name;
                    let location = of.locations.iter().position(|variable| variable.name == *name).expect("a variable");
                    let a = Address { base: Operand::Address(Location(location as u16)), offset: 0 };
                    let scope = access.strong().unwrap_or(asm::Scope::Sys);
                    let (ty, semantics) = (asm::Type::U32, Semantics::new(access.sem, scope));
                    let data: Vec<Operand> = access.data.iter().map(operand).collect();
                    match (access.kind, &data[..]) {
                        (AccessKind::Ld, _) => Instruction::Load { d: d.expect("a result"), a, ty, access: semantics },
                        (AccessKind::St, [b]) => Instruction::Store { a, b: *b, ty, access: semantics },
                        (_, [b, rest @ ..]) => {
                            let c = rest.first().copied().unwrap_or(Operand::Immediate(0));
                            let op = RmwOp::Atom(access.op.expect("an operation"));
                            Instruction::Rmw { op, d, a, b: *b, c, ty, access: semantics }
                        }
                        _ => panic!("{access:?}"),
                    }
                }
                Action::Fence(asm::Fence { sem, scope }) => {
                    Instruction::Fence(Fence::Memory { sem: sem.unwrap_or(FenceSem::AcqRel), scope: *scope })
                }
                Action::Compute(Operation::Arithmetic(Computation::Setp(cmp, _)), sources) => {
                    let p = step.writes[0].expect("a predicate");
                    compared.insert(p, (*cmp, operand(&sources[0]), operand(&sources[1])));
                    continue;
                }
                Action::Compute(..) => computed.next().expect("as many as before").instruction.clone(),
                Action::Jump(targets, None) => {
                    let target = Label(targets[0] as u16);
                    let when = step.guard.map(|(p, holds)| {
                        let (cmp, a, b) = compared[&p];
                        (if holds { cmp } else { opposite(cmp) }, a, b)
                    });
                    Instruction::Branch { when, target }
                }
                Action::Leave(_) => continue,
                other => panic!("{other:?}"),
            };
            code.push(instruction.into());
        }
        let labels = (0..flat.labels.len()).map(|number| format!("l{number}")).collect();
        Thread { place: thread.place, registers: thread.registers.clone(), labels, code }
    });
    Program { threads: threads.collect(), locations: of.locations.clone() }
}

fn opposite(cmp: Cmp) -> Cmp {
    match cmp {
        Cmp::Eq => Cmp::Ne,
        Cmp::Ne => Cmp::Eq,
        other => panic!("{other:?}"),
    }
}
