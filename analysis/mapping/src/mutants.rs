//! Unsound lowerings, derived from the sound ones: each fence removed or weakened, each scope narrowed, each ordering
//! weakened, each loop left too early or too late. They measure the strength of a mapping check.

use std::{
    cell::LazyCell,
    collections::{HashMap, hash_map::Entry},
    fmt,
    num::NonZero,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
};

use ptx_lowering::{
    AtomicOp, D, Operation, Ordering, Sequence, Strategy, Target,
    ptx::{
        Atom, AtomOp, AtomSem, Cmp, Fence, FenceSem, Form, Guard, Instruction, Ld, LdSem, MembarLevel, Operand, Red,
        RedSem, Scope, St, StSem, Statement,
    },
};
use ptx_memory_model::{
    program::Program,
    source::{self, Cpp, Races, ReleaseSequences, Rules},
};

use crate::{
    check::{Soundness, bounded, judge},
    numbers::Numbers,
    programs::{self, Letter, Op, Set, on_one_gpu},
    translate::{NoProgram, inline, operations},
    verify::{Expansion, Mapped},
};

/// A changed lowering of one operation. It is unsound, or the change is known to be harmless.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub strategy: Strategy,
    pub target: Target,
    pub op: AtomicOp,
    pub edit: Edit,
    pub found: MutantResult,
}

/// The result of the programs for a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutantResult {
    /// The first program that is not preserved is in this set.
    Caught(Set),
    /// Each of these programs is preserved, except `unknown` programs without an answer.
    Kept { programs: usize, unknown: usize },
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = match self.op.operation {
            Operation::Load(_) => "load".to_owned(),
            Operation::Store(_) => "store".to_owned(),
            Operation::Rmw(op, _) => format!("atomicrmw {op}"),
            Operation::CmpXchg { failure, .. } => format!("cmpxchg that fails {failure}"),
            Operation::Fence => "fence".to_owned(),
        };
        write!(f, "{operation} {}: {}", self.op.ordering, self.edit)
    }
}

/// A change that no program can reveal, because it is harmless.
pub struct Superfluous {
    pub what: &'static str,
    pub why: &'static str,
    applies: fn(&Mutant) -> bool,
}

/// The harmless mutants.
pub const SUPERFLUOUS: [Superfluous; 5] = [
    Superfluous {
        what: "the first load of a compare-and-swap loop: weak, narrower or left out",
        why: "its value is only a guess: the compare-and-swap reads again the value that it replaces",
        applies: |mutant| {
            matches!(mutant.op.operation, Operation::Rmw(..) | Operation::CmpXchg { .. })
                && matches!(mutant.edit.before.instruction(), Some(Instruction::Ld(_)))
        },
    },
    Superfluous {
        what: "the loop around a compare and exchange of 8 or 16 bits: one iteration only",
        why: "the loop repeats only if another byte of the word has changed, which no program here does; the test of values does it",
        applies: |mutant| {
            matches!(mutant.op.operation, Operation::CmpXchg { .. })
                && mutant.edit.after.is_none()
                && matches!(
                    mutant.edit.before.instruction(),
                    Some(Instruction::Setp { cmp: Cmp::Ne, .. } | Instruction::Bra { .. })
                )
        },
    },
    Superfluous {
        what: "before sm_70: the unread result of an `atom` left out",
        why: "a `red` begins no acquire pattern, but `membar`, which is a `fence.sc`, gives every order there",
        applies: |mutant| {
            let in_loop = |before: &Instruction| matches!(before, Instruction::Atom(Atom { op: AtomOp::Cas, .. }));
            mutant.edit.unread
                && !mutant.edit.before.instruction().is_some_and(in_loop)
                && !mutant.target.meets(Form::Semantics.requirement())
        },
    },
    Superfluous {
        what: "`proven`: the release of a compare and exchange that is lowered by both of its orders joined",
        why: "the joined order is acq_rel or seq_cst, while the source, if it succeeds, does not both acquire and release; \
              the fence before it releases the earlier accesses",
        applies: |mutant| {
            let joined = match mutant.op.operation {
                Operation::CmpXchg { failure, .. } => mutant.op.ordering.join(failure),
                _ => mutant.op.ordering,
            };
            // Only a preceding fence releases instead of the access.
            let in_front =
                joined == Ordering::SeqCst || !matches!(mutant.edit.before.instruction(), Some(Instruction::Atom(_)));
            let after = mutant.edit.after.as_ref().and_then(Statement::instruction);
            mutant.strategy == Strategy::Proven
                && !matches!(mutant.op.ordering, Ordering::AcqRel | Ordering::SeqCst)
                && joined != mutant.op.ordering
                && in_front
                && after.is_some_and(|after| acquires_only(mutant.edit.before.instruction(), after))
        },
    },
    Superfluous {
        what: "`proven`: the `st.release` of a seq_cst store as `st.relaxed`",
        why: "the `fence.sc` before it begins every release pattern that the store begins",
        applies: |mutant| {
            mutant.strategy == Strategy::Proven
                && matches!(mutant.op.operation, Operation::Store(_))
                && mutant.op.ordering == Ordering::SeqCst
                && matches!(
                    (mutant.edit.before.instruction(), mutant.edit.after.as_ref().and_then(Statement::instruction)),
                    (Some(Instruction::St(St { sem: StSem::Release, .. })), Some(Instruction::St(St { sem: StSem::Relaxed, scope, .. })))
                        if *scope != Some(Scope::Cta)
                )
        },
    },
];

/// Whether an acq_rel instruction has become an acquire instruction.
fn acquires_only(before: Option<&Instruction>, after: &Instruction) -> bool {
    match (before, after) {
        (Some(Instruction::Atom(before)), Instruction::Atom(after)) => {
            (before.sem, after.sem) == (Some(AtomSem::AcqRel), Some(AtomSem::Acquire))
        }
        (Some(Instruction::Fence(before)), Instruction::Fence(after)) => {
            (before.sem, after.sem) == (Some(FenceSem::AcqRel), Some(FenceSem::Acquire))
        }
        _ => false,
    }
}

impl Mutant {
    /// The reason why the mutant is sound, if it is known to be.
    pub fn superfluous(&self) -> Option<&'static Superfluous> {
        SUPERFLUOUS.iter().find(|superfluous| (superfluous.applies)(self))
    }
}

/// A change of one statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edit {
    pub before: Statement,
    /// `None` if the statement is removed.
    pub after: Option<Statement>,
    /// Whether the edit applies only if the result of the operation is not read.
    pub unread: bool,
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |statement: &Statement| {
            let text = [statement.clone()].into_iter().collect::<Sequence>().to_string();
            text.trim().trim_end_matches(';').to_owned()
        };
        match &self.after {
            Some(after) => write!(f, "`{}` as `{}`", text(&self.before), text(after)),
            None => write!(f, "without `{}`", text(&self.before)),
        }
    }
}

/// All variants of an instruction with weaker semantics.
fn weaker(instruction: &Instruction) -> Vec<Instruction> {
    match instruction {
        Instruction::Fence(fence) => {
            let sems: &[FenceSem] = match fence.sem.unwrap_or(FenceSem::AcqRel) {
                FenceSem::Sc => &[FenceSem::AcqRel],
                FenceSem::AcqRel => &[FenceSem::Acquire, FenceSem::Release],
                FenceSem::Acquire | FenceSem::Release => &[],
            };
            sems.iter().map(|sem| Instruction::Fence(Fence { sem: Some(*sem), ..fence.clone() })).collect()
        }
        Instruction::Ld(ld) => {
            let sems: &[LdSem] = match ld.sem {
                LdSem::Plain | LdSem::Weak => &[],
                LdSem::Acquire | LdSem::MmioAcquire => &[LdSem::Relaxed, LdSem::Plain],
                LdSem::Relaxed | LdSem::Volatile | LdSem::MmioRelaxed => &[LdSem::Plain],
            };
            let with = |&sem| Ld { sem, scope: ld.scope.filter(|_| sem != LdSem::Plain), ..ld.clone() };
            sems.iter().map(|sem| Instruction::Ld(with(sem))).collect()
        }
        Instruction::St(st) => {
            let sems: &[StSem] = match st.sem {
                StSem::Plain | StSem::Weak => &[],
                StSem::Release | StSem::MmioRelease => &[StSem::Relaxed, StSem::Plain],
                StSem::Relaxed | StSem::Volatile | StSem::MmioRelaxed => &[StSem::Plain],
            };
            let with = |&sem| St { sem, scope: st.scope.filter(|_| sem != StSem::Plain), ..st.clone() };
            sems.iter().map(|sem| Instruction::St(with(sem))).collect()
        }
        Instruction::Atom(atom) => {
            let sems: &[AtomSem] = match atom.sem {
                None | Some(AtomSem::Relaxed) => &[],
                Some(AtomSem::Acquire | AtomSem::Release) => &[AtomSem::Relaxed],
                Some(AtomSem::AcqRel) => &[AtomSem::Acquire, AtomSem::Release, AtomSem::Relaxed],
            };
            sems.iter().map(|sem| Instruction::Atom(Atom { sem: Some(*sem), ..atom.clone() })).collect()
        }
        Instruction::Red(red) => {
            let sems: &[RedSem] = if red.sem == Some(RedSem::Release) { &[RedSem::Relaxed] } else { &[] };
            sems.iter().map(|sem| Instruction::Red(Red { sem: Some(*sem), ..red.clone() })).collect()
        }
        _ => Vec::new(),
    }
}

/// The instruction at scope cta, if its scope is wider.
fn narrower(instruction: &Instruction) -> Option<Instruction> {
    let mut narrow = instruction.clone();
    match &mut narrow {
        Instruction::Fence(fence) => fence.scope = Scope::Cta,
        Instruction::Membar(level) => *level = MembarLevel::Cta,
        // Without a scope, the instruction has the scope of the GPU.
        Instruction::Atom(Atom { scope, .. }) | Instruction::Red(Red { scope, .. }) => *scope = Some(Scope::Cta),
        Instruction::Ld(Ld { scope: Some(scope), .. }) | Instruction::St(St { scope: Some(scope), .. }) => {
            *scope = Scope::Cta;
        }
        _ => {}
    }
    Some(narrow).filter(|narrow| narrow != instruction)
}

/// The edits of a statement.
fn edits(statement: &Statement) -> Vec<Edit> {
    let Statement::Instruction { guard, instruction } = statement else { return Vec::new() };
    let with = |guard: &Option<Guard>, instruction| Statement::Instruction { guard: guard.clone(), instruction };
    let mut after: Vec<Option<Statement>> = weaker(instruction)
        .into_iter()
        .chain(narrower(instruction))
        .map(|instruction| Some(with(guard, instruction)))
        .collect();
    // The interpreter's test covers instructions that compute values. Instructions that decide whether a loop continues
    // are edited here.
    let is_value = matches!(instruction, Instruction::Alu { .. } | Instruction::Cvt { .. });
    if !is_value {
        after.push(None);
    }
    if let Instruction::Setp { cmp: cmp @ (Cmp::Eq | Cmp::Ne), ty, p, a, b } = instruction {
        let cmp = if *cmp == Cmp::Eq { Cmp::Ne } else { Cmp::Eq };
        let (ty, p, a, b) = (*ty, p.clone(), a.clone(), b.clone());
        after.push(Some(with(guard, Instruction::Setp { cmp, ty, p, a, b })));
    }
    if let Some(Guard { p, negated }) = guard.as_ref().filter(|_| !is_value) {
        after.push(Some(with(&None, instruction.clone())));
        after.push(Some(with(&Some(Guard { p: p.clone(), negated: !negated }), instruction.clone())));
    }
    let edit = |after| Edit { before: statement.clone(), after, unread: false };
    let mut edits: Vec<Edit> = after.into_iter().map(edit).collect();
    if let Instruction::Atom(atom) = instruction
        && atom.d == Operand::Register(D)
    {
        let reduced = Instruction::Atom(Atom { d: Operand::Sink, ..atom.clone() });
        edits.push(Edit { before: statement.clone(), after: Some(with(guard, reduced)), unread: true });
    }
    edits
}

/// A sequence with each edit of each of its statements that is legal on the target.
fn edited(sequence: &Sequence, target: &Target) -> Vec<(Edit, Sequence)> {
    let statements = sequence.statements();
    let at = |(index, statement): (usize, &Statement)| {
        let mut all = Vec::new();
        for edit in edits(statement) {
            let (before, following) = (&statements[..index], &statements[index + 1..]);
            let sequence: Sequence = before.iter().chain(&edit.after).chain(following).cloned().collect();
            if target.lacks(sequence.statements()).is_empty() {
                all.push((edit, sequence));
            }
        }
        all
    };
    statements.iter().enumerate().flat_map(at).collect()
}

/// A mutant that the search tries to catch.
struct Hunted {
    mapping: usize,
    /// The number of its sequence.
    number: usize,
    mutant: Mutant,
    superfluous: bool,
    caught: AtomicBool,
    programs: AtomicUsize,
    unknown: AtomicUsize,
}

/// All mutants of an expansion.
struct Hunt<'e> {
    expansion: &'e Expansion,
    /// For each mapping, the index of its rules.
    rules: Vec<usize>,
    numbers: Numbers,
    /// For each mapping, the sequence of an operation by whether its result is read; `None` if the target has no
    /// lowering.
    lowered: Vec<HashMap<(AtomicOp, bool), Option<usize>>>,
    mutants: Vec<Hunted>,
    of_op: HashMap<AtomicOp, Vec<usize>>,
}

/// The rules of LLVM, and the stronger rules that only the strategy `proven` satisfies.
const RULES: [Rules; 2] = [
    Rules { sequences: ReleaseSequences::Cpp20, races: Races::Llvm },
    Rules { sequences: ReleaseSequences::Cpp11, races: Races::Llvm },
];

/// A mutant that is known to be sound is judged on one of this many programs.
const OF_SUPERFLUOUS: usize = 20;

/// The sets that reveal all unsound mutants. The number n means that one of n programs is tried.
pub const SETS: [(Set, usize); 5] =
    [(Set::Two, 1), (Set::Accesses, 1), (Set::Exchanges, 1), (Set::Rmws, 20), (Set::Fences, 40)];

/// The sets with plain data.
pub const PLAIN_SETS: [(Set, usize); 4] =
    [(Set::PlainAccesses, 1), (Set::PlainExchanges, 1), (Set::PlainRmws, 1), (Set::PlainFences, 20)];

/// All mutants of every strategy on every family of targets, with an expansion, without a search.
///
/// # Errors
/// If a lowering has instructions that the model lacks.
pub fn mutants(expansion: &Expansion) -> Result<Vec<Mutant>, NoProgram> {
    hunt(expansion, &[])
}

/// All mutants of every strategy on every family of targets, with an expansion, and the result of the given parts of
/// sets for each: `(set, n)` tries one of n programs.
///
/// # Errors
/// If a lowering has instructions that the model lacks.
pub fn hunt(expansion: &Expansion, sets: &[(Set, usize)]) -> Result<Vec<Mutant>, NoProgram> {
    let mut hunt = Hunt::new(expansion, &expansion.mapped())?;
    for &(set, sample) in sets {
        hunt.through(set, sample)?;
        for hunted in &mut hunt.mutants {
            if matches!(hunted.mutant.found, MutantResult::Kept { .. }) && *hunted.caught.get_mut() {
                hunted.mutant.found = MutantResult::Caught(set);
            }
        }
    }
    let mutant = |Hunted { mut mutant, programs, unknown, .. }: Hunted| {
        if let MutantResult::Kept { .. } = mutant.found {
            mutant.found = MutantResult::Kept { programs: programs.into_inner(), unknown: unknown.into_inner() };
        }
        mutant
    };
    Ok(hunt.mutants.into_iter().map(mutant).collect())
}

impl<'e> Hunt<'e> {
    fn new(expansion: &'e Expansion, mapped: &[Mapped]) -> Result<Self, NoProgram> {
        let rules = mapped.iter().map(|mapped| usize::from(mapped.strategy == Strategy::Proven)).collect();
        let (numbers, lowered) = (Numbers::default(), vec![HashMap::new(); mapped.len()]);
        let mut hunt = Self { expansion, rules, numbers, lowered, mutants: Vec::new(), of_op: HashMap::new() };
        for (index, mapped) in mapped.iter().enumerate() {
            for op in Op::all() {
                let letter = Letter { op, location: 0, scope: Scope::Gpu };
                let program = programs::program(&[(on_one_gpu(0), vec![letter])], expansion.values());
                for (op, read) in operations(&program, expansion.access())? {
                    hunt.add(index, mapped, op, read, expansion.expands(&program))?;
                }
            }
        }
        for (index, mutant) in hunt.mutants.iter().enumerate() {
            hunt.of_op.entry(mutant.mutant.op).or_default().push(index);
        }
        Ok(hunt)
    }

    fn add(
        &mut self,
        index: usize,
        mapped: &Mapped,
        op: AtomicOp,
        read: bool,
        of_expansion: bool,
    ) -> Result<(), NoProgram> {
        let sequence = match mapped.mapping.sequence(&op, read) {
            Ok(sequence) => sequence,
            Err(NoProgram::Unsupported(_)) => {
                self.lowered[index].insert((op, read), None);
                return Ok(());
            }
            Err(unmodelled) => return Err(unmodelled),
        };
        self.lowered[index].insert((op, read), Some(self.numbers.number_sequence(&sequence)));
        if !of_expansion {
            return Ok(());
        }
        for (edit, sequence) in edited(&sequence, &mapped.target) {
            let mut others = self.mutants.iter().rev().take_while(|other| other.mapping == index);
            let number = self.numbers.number_sequence(&sequence);
            let known = |other: &Hunted| {
                other.mutant.op == op && other.mutant.edit.unread == edit.unread && other.number == number
            };
            if (edit.unread && read) || others.any(known) {
                continue;
            }
            let found = MutantResult::Kept { programs: 0, unknown: 0 };
            let mutant = Mutant { strategy: mapped.strategy, target: mapped.target, op, edit, found };
            self.mutants.push(Hunted {
                mapping: index,
                number,
                superfluous: mutant.superfluous().is_some(),
                mutant,
                caught: AtomicBool::new(false),
                programs: AtomicUsize::new(0),
                unknown: AtomicUsize::new(0),
            });
        }
        Ok(())
    }

    /// Tries one of every `sample` programs of a set on the mutants, on all cores.
    fn through(&self, set: Set, sample: usize) -> Result<(), NoProgram> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let work = |worker: usize| {
            let (mut result, mut number) = (Ok(()), 0usize);
            programs::each(set, self.expansion.values(), (1 + worker * sample, sample * threads), &mut |_, program| {
                if result.is_ok() {
                    result = self.show(program, number.is_multiple_of(OF_SUPERFLUOUS));
                    number += 1;
                }
            });
            result
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|worker| scope.spawn(move || work(worker))).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("the work does not panic"))
        })
    }

    /// Tries the uncaught mutants of a program's operations, with or without the mutants that are known to be sound.
    fn show(&self, program: &Program<Cpp>, superfluous: bool) -> Result<(), NoProgram> {
        let operations = operations(program, self.expansion.access())?;
        let mut distinct: Vec<AtomicOp> = operations.iter().map(|(op, _)| *op).collect();
        distinct.sort_by_key(|op| self.of_op.get(op).and_then(|mutants| mutants.first().copied()));
        distinct.dedup();
        let open = |index: &&usize| {
            let mutant = &self.mutants[**index];
            !mutant.caught.load(Relaxed) && (superfluous || !mutant.superfluous)
        };
        let mut mutants = distinct.iter().filter_map(|op| self.of_op.get(op)).flatten().filter(open).peekable();
        if mutants.peek().is_none() {
            return Ok(());
        }
        let limits = bounded(program, self.expansion.limits());
        let admitted = RULES.map(|rules| LazyCell::new(move || source::search::outcomes(program, rules, limits)));
        let mut known: HashMap<(usize, Vec<usize>), Soundness> = HashMap::new();
        for &index in mutants {
            let mutant = &self.mutants[index];
            let edited = &mutant.mutant;
            let number = |(op, read): &(AtomicOp, bool)| match *op == edited.op && !(edited.edit.unread && *read) {
                true => Some(mutant.number),
                false => self.lowered[mutant.mapping].get(&(*op, *read)).copied().flatten(),
            };
            let Some(numbers) = operations.iter().map(number).collect::<Option<Vec<_>>>() else { continue };
            if !numbers.contains(&mutant.number) {
                continue;
            }
            let rules = self.rules[mutant.mapping];
            let verdict = match known.entry((rules, numbers)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(entry) => {
                    let numbers = entry.key().1.iter();
                    let sequences: Vec<_> = numbers.map(|&number| &self.numbers.sequences[number]).collect();
                    let (verdict, _) = judge(&admitted[rules], &inline(program, &sequences)?, limits);
                    entry.insert(verdict)
                }
            };
            match verdict {
                Soundness::Unsound(_) => mutant.caught.store(true, Relaxed),
                Soundness::Unknown(_) => _ = mutant.unknown.fetch_add(1, Relaxed),
                Soundness::Sound | Soundness::SoundIf(_) => {}
            }
            mutant.programs.fetch_add(1, Relaxed);
        }
        Ok(())
    }
}
