//! Unsound lowerings that the check must catch: the table of errors that a mapping check must find, and mutants of the
//! sound lowerings.

use std::{fs, path::Path};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_lowering::{
    Access, AtomicOp, Operation, Ordering, Policy, Sequence, Strategy, Target, Type,
    ptx::{
        Atom, AtomOp, AtomSem, Fence, FenceSem, Instruction, Ld, LdSem, Operand, Red, RedSem, Scope, Space, St, StSem,
        Statement,
    },
};
use ptx_mapping::{
    Checker, Mapping,
    mutants::{self, MutantResult, SETS, SUPERFLUOUS, hunt, mutants},
    programs::{self, Set, Values},
    verify::{EXPANSIONS, Expansion},
};
use ptx_memory_model::{outcome::Limits, source::ReleaseSequences};

/// An unsound lowering: the new code of an operation whose result is read or not, or `None` if it stays unchanged.
struct Mutant {
    name: &'static str,
    strategy: Strategy,
    change: fn(&AtomicOp, bool, &[Instruction]) -> Option<Vec<Instruction>>,
    /// The sets of programs that are tried, in this order.
    sets: &'static [Set],
}

const fn mutant(
    name: &'static str,
    strategy: Strategy,
    sets: &'static [Set],
    change: fn(&AtomicOp, bool, &[Instruction]) -> Option<Vec<Instruction>>,
) -> Mutant {
    Mutant { name, strategy, change, sets }
}

use Ordering::{AcqRel, Acquire, Release, SeqCst};
use Set::{Accesses, Fences, Placements, Rmws, Three, Two};
use Strategy::{Fence as ByFences, Recommended};

/// The mutants, in the order of the table of errors that a check must catch.
#[rustfmt::skip]
static MUTANTS: &[Mutant] = &[
    mutant("scope too narrow", Recommended, &[Two], |_, _, code| Some(scoped(code, Scope::Gpu, Scope::Cta))),
    mutant("sys narrowed to gpu", Recommended, &[Placements], |_, _, code| Some(scoped(code, Scope::Sys, Scope::Gpu))),
    mutant("unread acquire rmw as red", Recommended, &[Rmws], |op, read, code| {
        (is_rmw(op) && !read && op.ordering == Acquire).then(|| reduced(code))
    }),
    mutant("unread relaxed rmw as red, acquire fence later", Recommended, &[Fences], |op, read, code| {
        (is_rmw(op) && !read && op.ordering == Ordering::Relaxed).then(|| reduced(code))
    }),
    mutant("release fence dropped", ByFences, &[Accesses], |op, _, code| {
        (is_store(op) && op.ordering == Release).then(|| without_fences(code))
    }),
    mutant("release fence after the store", ByFences, &[Accesses], |op, _, code| {
        (is_store(op) && op.ordering == Release).then(|| reversed(code))
    }),
    mutant("acquire fence dropped", ByFences, &[Accesses], |op, _, code| {
        (is_load(op) && op.ordering == Acquire).then(|| without_fences(code))
    }),
    mutant("acquire fence before the load", ByFences, &[Accesses], |op, _, code| {
        (is_load(op) && op.ordering == Acquire).then(|| reversed(code))
    }),
    mutant("seq_cst load without its fence", Recommended, &[Accesses], |op, _, code| {
        (is_load(op) && op.ordering == SeqCst).then(|| without_fences(code))
    }),
    mutant("seq_cst load with fence.acq_rel", Recommended, &[Accesses], |op, _, code| {
        (is_load(op) && op.ordering == SeqCst).then(|| fences_as(code, FenceSem::AcqRel))
    }),
    mutant("seq_cst store without its fence", Recommended, &[Accesses], |op, _, code| {
        (is_store(op) && op.ordering == SeqCst).then(|| without_fences(code))
    }),
    mutant("seq_cst store with fence.acq_rel", Recommended, &[Accesses], |op, _, code| {
        (is_store(op) && op.ordering == SeqCst).then(|| fences_as(code, FenceSem::AcqRel))
    }),
    mutant("seq_cst rmw without its fence", Recommended, &[Rmws], |op, _, code| {
        (is_rmw(op) && op.ordering == SeqCst).then(|| without_fences(code))
    }),
    mutant("seq_cst rmw with fence.acq_rel", Recommended, &[Rmws], |op, _, code| {
        (is_rmw(op) && op.ordering == SeqCst).then(|| fences_as(code, FenceSem::AcqRel))
    }),
    mutant("fence.sc behind a seq_cst load", Recommended, &[Accesses], |op, _, code| {
        (is_load(op) && op.ordering == SeqCst).then(|| reversed(code))
    }),
    mutant("seq_cst load as fence.sc; ld.relaxed", Recommended, &[Accesses], |op, _, code| {
        (is_load(op) && op.ordering == SeqCst).then(|| relaxed(code))
    }),
    mutant("seq_cst store as st.relaxed", Recommended, &[Accesses], |op, _, code| {
        (is_store(op) && op.ordering == SeqCst).then(|| relaxed(&without_fences(code)))
    }),
    mutant("plain seq_cst loads, fences on stores only", Recommended, &[Accesses], |op, _, code| {
        let around = |code: &[Instruction]| [code, &code[..1]].concat();
        match op.ordering == SeqCst {
            true if is_load(op) => Some(without_fences(code)),
            true if !is_fence(op) => Some(around(code)),
            _ => None,
        }
    }),
    mutant("fence(seq_cst) as fence.acq_rel", Recommended, &[Fences], |op, _, code| {
        (is_fence(op) && op.ordering == SeqCst).then(|| fences_as(code, FenceSem::AcqRel))
    }),
    mutant("fence.acquire and fence.release swapped", Recommended, &[Fences], |op, _, code| match op.ordering {
        Acquire if is_fence(op) => Some(fences_as(code, FenceSem::Release)),
        Release if is_fence(op) => Some(fences_as(code, FenceSem::Acquire)),
        _ => None,
    }),
    mutant("fence(acq_rel) as fence.release", Recommended, &[Fences], |op, _, code| {
        (is_fence(op) && op.ordering == AcqRel).then(|| fences_as(code, FenceSem::Release))
    }),
    mutant("fence(acq_rel) as fence.release; fence.acquire", Recommended, &[Fences], |op, _, code| {
        (is_fence(op) && op.ordering == AcqRel)
            .then(|| [fences_as(code, FenceSem::Release), fences_as(code, FenceSem::Acquire)].concat())
    }),
    mutant("acq_rel rmw as acquire only", Recommended, &[Rmws], |op, _, code| {
        (is_rmw(op) && op.ordering == AcqRel).then(|| atoms_as(code, AtomSem::Acquire))
    }),
    mutant("acq_rel rmw as release only", Recommended, &[Rmws], |op, _, code| {
        (is_rmw(op) && op.ordering == AcqRel).then(|| atoms_as(code, AtomSem::Release))
    }),
    mutant("failure ordering of a compare and exchange ignored", Recommended, &[Rmws], |op, _, code| match op.operation {
        Operation::CmpXchg { failure, .. } if failure != Ordering::Relaxed => match op.ordering {
            Ordering::Relaxed => Some(atoms_as(&without_fences(code), AtomSem::Relaxed)),
            Release => Some(atoms_as(code, AtomSem::Release)),
            _ => None,
        },
        _ => None,
    }),
    mutant("relaxed load made weak", Recommended, &[Accesses], |op, _, code| {
        (is_load(op) && op.ordering == Ordering::Relaxed).then(|| weak(code))
    }),
    mutant("relaxed store made weak", Recommended, &[Two, Accesses], |op, _, code| {
        (is_store(op) && op.ordering == Ordering::Relaxed).then(|| weak(code))
    }),
    mutant("rmw as load, operation, store", Recommended, &[Two], |op, _, code| {
        is_rmw(op).then(|| code.iter().flat_map(torn).collect())
    }),
    mutant("merged fences at the narrower scope", Recommended, &[Fences], |op, _, code| {
        is_fence(op).then(|| scoped(code, Scope::Gpu, Scope::Cta))
    }),
    mutant("cluster narrowed to cta", Recommended, &[Three, Placements], |_, _, code| {
        Some(scoped(code, Scope::Cluster, Scope::Cta))
    }),
];

fn is_fence(op: &AtomicOp) -> bool {
    op.operation == Operation::Fence
}

fn is_load(op: &AtomicOp) -> bool {
    matches!(op.operation, Operation::Load(_))
}

fn is_store(op: &AtomicOp) -> bool {
    matches!(op.operation, Operation::Store(_))
}

fn is_rmw(op: &AtomicOp) -> bool {
    matches!(op.operation, Operation::Rmw(..))
}

/// The code with one scope replaced by another. An instruction without a scope has the scope of the GPU.
fn scoped(code: &[Instruction], from: Scope, to: Scope) -> Vec<Instruction> {
    let mut code = code.to_vec();
    for instruction in &mut code {
        let scope = match instruction {
            Instruction::Fence(Fence { scope, .. }) => scope,
            Instruction::Ld(Ld { scope: Some(scope), .. })
            | Instruction::St(St { scope: Some(scope), .. })
            | Instruction::Atom(Atom { scope: Some(scope), .. }) => scope,
            _ => continue,
        };
        if *scope == from {
            *scope = to;
        }
    }
    code
}

fn is_a_fence(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Fence(_))
}

fn without_fences(code: &[Instruction]) -> Vec<Instruction> {
    code.iter().filter(|instruction| !is_a_fence(instruction)).cloned().collect()
}

fn reversed(code: &[Instruction]) -> Vec<Instruction> {
    code.iter().rev().cloned().collect()
}

fn fences_as(code: &[Instruction], sem: FenceSem) -> Vec<Instruction> {
    let with = |instruction: &Instruction| match instruction {
        Instruction::Fence(fence) => Instruction::Fence(Fence { sem: Some(sem), ..fence.clone() }),
        other => other.clone(),
    };
    code.iter().map(with).collect()
}

fn atoms_as(code: &[Instruction], sem: AtomSem) -> Vec<Instruction> {
    let with = |instruction: &Instruction| match instruction {
        Instruction::Atom(atom) => Instruction::Atom(Atom { sem: Some(sem), ..atom.clone() }),
        other => other.clone(),
    };
    code.iter().map(with).collect()
}

fn relaxed(code: &[Instruction]) -> Vec<Instruction> {
    let with = |instruction: &Instruction| match instruction {
        Instruction::Ld(ld) => Instruction::Ld(Ld { sem: LdSem::Relaxed, ..ld.clone() }),
        Instruction::St(st) => Instruction::St(St { sem: StSem::Relaxed, ..st.clone() }),
        other => other.clone(),
    };
    code.iter().map(with).collect()
}

fn weak(code: &[Instruction]) -> Vec<Instruction> {
    let with = |instruction: &Instruction| match instruction {
        Instruction::Ld(ld) => Instruction::Ld(Ld { sem: LdSem::Weak, scope: None, ..ld.clone() }),
        Instruction::St(st) => Instruction::St(St { sem: StSem::Weak, scope: None, ..st.clone() }),
        other => other.clone(),
    };
    code.iter().map(with).collect()
}

/// Replaces each `atom` by a `red` of the same operation. The model, unlike PTX, also has a `red` for exchanges.
fn reduced(code: &[Instruction]) -> Vec<Instruction> {
    let with = |instruction: &Instruction| match instruction {
        Instruction::Atom(Atom { sem, scope, space, ty, a, b, .. }) => Instruction::Red(Red {
            sem: matches!(sem, Some(AtomSem::Release | AtomSem::AcqRel)).then_some(RedSem::Release),
            scope: *scope,
            space: *space,
            cache: None,
            op: AtomOp::Exch,
            noftz: false,
            vec: None,
            ty: *ty,
            a: a.clone(),
            b: b.clone(),
        }),
        other => other.clone(),
    };
    code.iter().map(with).collect()
}

/// Replaces an `atom.exch` by a read and a write.
fn torn(instruction: &Instruction) -> Vec<Instruction> {
    let Instruction::Atom(Atom { scope, space, ty, d, a, b, op: AtomOp::Exch, .. }) = instruction else {
        return vec![instruction.clone()];
    };
    let (scope, space, cache, vec, ty, a) = (*scope, *space, None, None, *ty, a.clone());
    let d = if *d == Operand::Sink { Operand::Register(ptx_lowering::D) } else { d.clone() };
    vec![
        Instruction::Ld(Ld {
            sem: LdSem::Relaxed,
            scope,
            space,
            cache: cache.clone(),
            vec,
            ty,
            d,
            a: a.clone(),
            unified: false,
        }),
        Instruction::St(St { sem: StSem::Relaxed, scope, space, cache, vec, ty, a, b: b.clone() }),
    ]
}

pub fn trials() -> Vec<Trial> {
    let caught = MUTANTS.iter().map(|mutant| Trial::test(format!("caught: {}", mutant.name), || mutant.check()));
    let made = HUNTED.map(|number| {
        let expansion = &EXPANSIONS[number];
        let trial = Trial::test(format!("every one that is made: {}", expansion.name), move || every_one(expansion));
        if LONG.contains(&number) { testing::left_to_all(trial) } else { trial }
    });
    let superfluous = Trial::test("each reason for a superfluous mutant has its mutants", reasons);
    let cycles = Trial::test("critical cycles alone catch every wrong load, store and fence", cycles);
    caught.chain(made).chain([superfluous, cycles]).collect()
}

/// The expansions whose mutants are all tried here; `scripts/verify` tries the remaining expansions, too.
const HUNTED: [usize; 3] = [0, 3, 4];
/// Native code and the compare-and-swap loop have most of the mutants.
const LONG: [usize; 2] = [0, 4];

/// Checks that every mutant of the expansion is caught, except the mutants that are listed as sound, and that none of
/// those is caught.
fn every_one(expansion: &Expansion) -> Result<(), Failed> {
    let mutants = hunt(expansion, &SETS)?;
    let caught = mutants.iter().filter(|mutant| matches!(mutant.found, MutantResult::Caught(_))).count();
    let superfluous = mutants.iter().filter(|mutant| mutant.superfluous().is_some()).count();
    println!("{}: {} mutants, {caught} caught, {superfluous} superfluous", expansion.name, mutants.len());
    assert!(caught > 500);
    for mutant in &mutants {
        let right = matches!(mutant.found, MutantResult::Kept { programs, .. } if programs > 0);
        if right != mutant.superfluous().is_some() {
            return Err(format!("{} for {}: {mutant}: {:?}", mutant.strategy, mutant.target, mutant.found).into());
        }
    }
    Ok(())
}

/// Cycles have no updates. A cycle has the same scope in all operations; this test uses the mutants of scope gpu.
fn cycles() -> Result<(), Failed> {
    let accesses = |mutant: &&mutants::Mutant| {
        let of_cycles = matches!(mutant.op.operation, Operation::Load(_) | Operation::Store(_) | Operation::Fence);
        of_cycles && mutant.superfluous().is_none()
    };
    let hunted = hunt(&EXPANSIONS[0], &[(Set::CyclesTwo, 20), (Set::CyclesThree, 5_000)])?;
    let (caught, missed): (Vec<_>, Vec<_>) =
        hunted.iter().filter(accesses).partition(|mutant| matches!(mutant.found, MutantResult::Caught(_)));
    println!("{} caught, {} missed", caught.len(), missed.len());
    assert!(caught.len() > 500);
    match missed.first() {
        None => Ok(()),
        Some(mutant) => Err(format!("{} for {}: {mutant}: {:?}", mutant.strategy, mutant.target, mutant.found).into()),
    }
}

fn reasons() -> Result<(), Failed> {
    let all = EXPANSIONS.iter().map(mutants).collect::<Result<Vec<_>, _>>()?.concat();
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/memory-model.md"))?;
    for expansion in &EXPANSIONS {
        let row = format!("| {} | {} |", expansion.name, mutants(expansion)?.len());
        assert!(docs.contains(&row), "docs/memory-model.md lacks the row: {row}");
    }
    for superfluous in &SUPERFLUOUS {
        let of = |mutant: &&mutants::Mutant| mutant.superfluous().is_some_and(|other| other.what == superfluous.what);
        let count = all.iter().filter(of).count();
        println!("{count} of {}: {}", all.len(), superfluous.what);
        assert!(count > 0, "{}", superfluous.what);
    }
    Ok(())
}

impl Mutant {
    /// Checks that the mutant has a counterexample, and that the original has none.
    fn check(&self) -> Result<(), Failed> {
        let target = Target::new("sm_90".parse()?, Some("ptx86".parse()?))?;
        let right = || {
            Mapping::new(
                Policy::from(self.strategy),
                target,
                Access::new(Space::Global, Type::I32),
                self.strategy.to_string(),
            )
        };
        let change = |op: &AtomicOp, read, sequence: Sequence| {
            let code = sequence.instructions().cloned().collect_vec();
            (self.change)(op, read, &code).map_or(sequence, |code| code.into_iter().map(Statement::from).collect())
        };
        let mappings = [right(), right().changed(self.name.to_owned(), change)];
        let mut checker = Checker::new(&mappings, ReleaseSequences::Cpp20, Limits { rounds: 2, ..Limits::default() });
        let (mut found, mut error) = (None, None);
        for set in self.sets {
            programs::each(*set, Values::EXCHANGE, (1, 1), &mut |name, program| {
                if found.is_some() || error.is_some() {
                    return;
                }
                match checker.check(program) {
                    Ok(examples) => {
                        found = examples.first().map(|example| (name.to_owned(), example.mapping, program.clone()));
                    }
                    Err(unmodelled) => error = Some(unmodelled),
                }
            });
        }
        if let Some(error) = error {
            return Err(error.to_string().into());
        }
        let Some((name, mapping, program)) = found else {
            return Err(format!("it survives {} programs", checker.counts.programs).into());
        };
        assert_eq!(mapping, 1, "the right mapping is not sound on {name}: {program:?}");
        println!("{}: caught by {name}, program {}", self.name, checker.counts.programs);
        Ok(())
    }
}
