//! The judge on random control flow: blocks of operations, and PTX for them with the blocks in another order.
//!
//! An operation is one instruction, one between fences, or a loop. Some operations are in local memory, some in
//! unreachable blocks that the PTX omits, and plain loads of the same memory lie between. Correct code must be judged
//! right. Weakened code must be reported. Orderings that have changed places must be reported unless the operations
//! could have changed places, too.

use std::fmt::Write;

use itertools::Itertools;
use proptest::{prelude::*, sample::Index, test_runner::RngSeed};
use ptx_judge::{BasicBlock, judge_function};
use ptx_lowering::{
    Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type,
    ptx::{Module, Scope, Space},
};

/// The same programs in every run. With another seed, 50,000 programs of each test had no wrong verdict; among a
/// million with exchanged orderings there may be some.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 2048, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn blocks_may_be_moved(program in program()) {
        let ptx = program.ptx(&program.operations());
        prop_assert_eq!(program.lost(&ptx), [0; 0], "{}", ptx);
    }

    #[test]
    fn one_weaker_instruction_is_reported(program in program(), which in any::<Index>()) {
        let mut operations = program.operations();
        let needed = program.needed();
        let which = needed[which.index(needed.len())];
        let Some(weaker) = weaker(operations[which]) else { return Ok(()) };
        operations[which] = weaker;
        let ptx = program.ptx(&operations);
        let lost = program.lost(&ptx);
        prop_assert!(!lost.is_empty(), "{}", ptx);
        // An operation whose instruction could not belong to any other operation is reported itself. A fence and the
        // ordering of an access could replace each other.
        let has_fences = program.operations().iter().any(|op| op.operation == Operation::Fence);
        if !has_fences && !program.symmetries().any(|image| image[which] != which) {
            prop_assert_eq!(lost, [which], "{}", ptx);
        }
    }

    #[test]
    fn a_missing_instruction_is_reported(program in program(), which in any::<Index>()) {
        let mut instructions = program.instructions(&program.operations());
        let needed = program.needed();
        instructions[needed[which.index(needed.len())]].clear();
        let ptx = program.ptx_of(&instructions);
        prop_assert!(!program.lost(&ptx).is_empty(), "{}", ptx);
    }

    #[test]
    fn a_broken_sequence_is_reported(program in program(), which in any::<Index>()) {
        let mut instructions = program.instructions(&program.operations());
        let broken: Vec<(usize, String)> = program
            .needed()
            .into_iter()
            .flat_map(|op| broken(&instructions[op]).into_iter().map(move |text| (op, text)))
            .collect();
        if broken.is_empty() {
            return Ok(());
        }
        let (op, text) = which.get(&broken).clone();
        instructions[op] = text;
        let ptx = program.ptx_of(&instructions);
        prop_assert!(!program.lost(&ptx).is_empty(), "{}", ptx);
    }

    #[test]
    fn exchanged_orderings_are_reported(program in program(), which in any::<Index>()) {
        let asked = program.operations();
        let exchangeable =
            |&[one, other]: &[usize; 2]| same_kind(asked[one], asked[other]) && asked[one] != asked[other];
        let pairs: Vec<_> = program.needed().into_iter().array_combinations().filter(exchangeable).collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let &[one, other] = which.get(&pairs);
        let mut operations = asked.clone();
        operations.swap(one, other);
        let is_right = |image: &Vec<usize>| (0..asked.len()).all(|op| covers(operations[image[op]], asked[op]));
        let ptx = program.ptx(&operations);
        let could_be_right = program.symmetries().any(|image| is_right(&image));
        prop_assert!(could_be_right || !program.lost(&ptx).is_empty(), "{}", ptx);
    }
}

#[derive(Clone, Debug)]
struct Program {
    blocks: Vec<BasicBlock>,
    /// The order of the blocks in the PTX after the first one, and the taken side of each branch.
    layout: Vec<usize>,
    taken: Vec<bool>,
    /// Whether each operation has its ordering from fences around it, if its code can have them.
    fenced: Vec<bool>,
}

impl Program {
    fn operations(&self) -> Vec<AtomicOp> {
        self.blocks.iter().flat_map(|block| &block.operations).copied().collect()
    }

    /// PTX for the blocks, with these operations instead of their own.
    fn ptx(&self, operations: &[AtomicOp]) -> String {
        self.ptx_of(&self.instructions(operations))
    }

    fn instructions(&self, operations: &[AtomicOp]) -> Vec<String> {
        operations.iter().zip(&self.fenced).map(|(op, fenced)| instruction(*op, *fenced)).collect()
    }

    /// The operations that need an instruction.
    fn needed(&self) -> Vec<usize> {
        let mut reached = vec![0];
        let mut first = 0;
        while let Some(&block) = reached.get(first) {
            let next = self.blocks[block].next.iter().filter(|next| !reached.contains(next)).unique();
            reached.extend(next.copied().collect::<Vec<_>>());
            first += 1;
        }
        let blocks = self.blocks.iter().enumerate();
        let operations = blocks.flat_map(|(block, found)| found.operations.iter().map(move |op| (block, op)));
        operations.positions(|(block, op)| reached.contains(&block) && !is_local(*op)).collect()
    }

    /// PTX for the blocks, with a text for each of the operations.
    fn ptx_of<T: AsRef<str>>(&self, instructions: &[T]) -> String {
        let mut first = 0;
        let mut bodies = Vec::new();
        for block in &self.blocks {
            let after = first + block.operations.len();
            // A load that belongs to no operation separates the fences of one operation from the next.
            let foreign = "ld.global.b32 %e, [%rd1];\n";
            let body = instructions[first..after].iter().map(|text| format!("{}{foreign}", text.as_ref()));
            bodies.push(foreign.to_owned() + &body.collect::<String>());
            first = after;
        }
        let mut text = ".version 8.6\n.target sm_90\n.func f() {\n".to_owned();
        for (place, &block) in self.layout.iter().enumerate() {
            let after = self.layout.get(place + 1);
            let jump = |guard: &str, target: usize| match guard {
                "" if after == Some(&target) => String::new(),
                guard => format!("{guard} bra $L{target};\n"),
            };
            let jumps = match (&self.blocks[block].next[..], self.taken[block]) {
                ([], _) => "ret;\n".to_owned(),
                (&[target], _) => jump("", target),
                (&[one, other], true) => jump("@%p1", one) + &jump("", other),
                (&[one, other, ..], _) => jump("@!%p1", other) + &jump("", one),
            };
            write!(text, "$L{block}:\n{}{jumps}", bodies[block]).expect("a string takes everything");
        }
        text + "}\n"
    }

    /// The operations that the judge reports.
    fn lost(&self, ptx: &str) -> Vec<usize> {
        let module: Module = ptx.parse().expect(ptx);
        let judged = judge_function(&self.blocks, module.functions().next().expect("a function"))
            .expect("few operations")
            .operations;
        judged.iter().positions(|judgement| judgement.loss().is_some()).collect()
    }

    /// Every permutation of the needed operations that no path through the program distinguishes, except by ordering
    /// and scope.
    fn symmetries(&self) -> impl Iterator<Item = Vec<usize>> {
        let operations = self.operations();
        let count = operations.len();
        let needed = self.needed();
        let nodes: Vec<(usize, usize)> = self
            .blocks
            .iter()
            .enumerate()
            .flat_map(|(block, BasicBlock { operations, .. })| (0..operations.len()).map(move |place| (block, place)))
            .collect();
        let relations: Vec<Vec<[bool; 3]>> =
            (0..count).map(|one| (0..count).map(|other| self.relations(nodes[one], nodes[other])).collect()).collect();
        let images = needed.clone().into_iter().permutations(needed.len()).map({
            let needed = needed.clone();
            move |permuted| {
                let mut image: Vec<usize> = (0..count).collect();
                needed.iter().zip(permuted).for_each(|(op, to)| image[*op] = to);
                image
            }
        });
        images.filter(move |image| {
            let same = |one: usize, other: usize| relations[one][other] == relations[image[one]][image[other]];
            needed.iter().all(|op| same_kind(operations[*op], operations[image[*op]]))
                && needed.iter().cartesian_product(&needed).all(|(one, other)| same(*one, *other))
        })
    }

    /// Whether one operation leads to another, can be left out before it, and can be left out after it.
    fn relations(&self, one: (usize, usize), other: (usize, usize)) -> [bool; 3] {
        let next = |(block, place): (usize, usize)| {
            let BasicBlock { operations, next } = &self.blocks[block];
            if place < operations.len() { vec![(block, place + 1)] } else { next.iter().map(|to| (*to, 0)).collect() }
        };
        let reaches =
            |from: Vec<(usize, usize)>, without: Option<(usize, usize)>, is_end: &dyn Fn((usize, usize)) -> bool| {
                let (mut seen, mut stack) = (Vec::new(), from);
                while let Some(at) = stack.pop() {
                    if Some(at) == without || seen.contains(&at) {
                        continue;
                    }
                    if is_end(at) {
                        return true;
                    }
                    seen.push(at);
                    stack.extend(next(at));
                }
                false
            };
        let is_exit = |(block, place): (usize, usize)| {
            self.blocks[block].next.is_empty() && place == self.blocks[block].operations.len()
        };
        [
            reaches(next(one), None, &|at| at == other),
            reaches(vec![(0, 0)], Some(one), &|at| at == other),
            reaches(vec![other], Some(one), &is_exit),
        ]
    }
}

/// Reachable blocks, with few operations in all.
fn program() -> impl Strategy<Value = Program> {
    let unreached = prop::collection::vec(operation(), 0..3);
    let fenced = prop::collection::vec(any::<bool>(), 9);
    let blocks = prop::collection::vec((prop::collection::vec(operation(), 0..3), any::<Index>(), any::<bool>()), 1..7);
    let further = prop::collection::vec((any::<Index>(), any::<Index>()), 0..4);
    let drafts = (blocks, further, any::<u64>(), unreached, fenced);
    drafts.prop_filter_map("no operation, or too many", |(drafts, further, seed, unreached, fenced)| {
        let count = drafts.len();
        let mut blocks: Vec<BasicBlock> = Vec::new();
        let mut taken = Vec::new();
        for (operations, parent, is_taken) in drafts {
            // Every block has a predecessor.
            let parents: Vec<usize> = blocks.iter().positions(|block| block.next.len() < 2).collect();
            if !parents.is_empty() {
                let new = blocks.len();
                blocks[*parent.get(&parents)].next.push(new);
            }
            blocks.push(BasicBlock { operations, next: Vec::new() });
            taken.push(is_taken);
        }
        for (from, to) in further {
            let (from, to) = (from.index(count), to.index(count));
            if blocks[from].next.len() < 2 && !blocks[from].next.contains(&to) {
                blocks[from].next.push(to);
            }
        }
        let operations: usize = blocks.iter().map(|block| block.operations.len()).sum();
        let mut layout: Vec<usize> = (0..count).collect();
        layout[1..].sort_by_key(|block| seed.wrapping_mul(2 * *block as u64 + 1) >> 32);
        // The unreachable block leads into the rest, but no block leads to it.
        blocks.push(BasicBlock { operations: unreached, next: vec![count - 1] });
        let program = Program { blocks, layout, taken, fenced };
        ((1..7).contains(&operations) && !program.needed().is_empty()).then_some(program)
    })
}

/// Few kinds, so that most operations could be exchanged.
fn operation() -> impl Strategy<Value = AtomicOp> {
    let access = |ty| Access::new(Space::Global, ty);
    let local = Access::new(Space::Local, Type::I32);
    let kinds = [
        Operation::Load(access(Type::I32)),
        Operation::Store(access(Type::I32)),
        Operation::Rmw(RmwOp::Add, access(Type::I32)),
        Operation::Rmw(RmwOp::Or, access(Type::I32)),
        Operation::Load(access(Type::I64)),
        Operation::Fence,
        Operation::CmpXchg { access: access(Type::I32), failure: Ordering::Relaxed },
        Operation::Rmw(RmwOp::Nand, access(Type::I32)),
        Operation::Rmw(RmwOp::Nand, access(Type::I128)),
        Operation::Load(local),
        Operation::Rmw(RmwOp::Add, local),
    ];
    let orderings = [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];
    let scopes = [Scope::Cta, Scope::Gpu, Scope::Sys];
    let ops = kinds.into_iter().cartesian_product(orderings).cartesian_product(scopes);
    let ops =
        ops.map(|((operation, ordering), scope)| AtomicOp { operation, ordering, scope: SyncScope::Threads(scope) });
    prop::sample::select(ops.filter(|op| op.operation.takes(op.ordering)).collect::<Vec<_>>())
}

fn is_local(op: AtomicOp) -> bool {
    op.operation.access().is_some_and(|access| access.space == Space::Local)
}

/// Correct code, with one instruction or fence a line.
fn instruction(op: AtomicOp, fenced: bool) -> String {
    let SyncScope::Threads(scope) = op.scope else { unreachable!("every operation has a scope") };
    if op.operation == Operation::Fence {
        let sem = if op.ordering == Ordering::SeqCst { "sc".to_owned() } else { op.ordering.to_string() };
        return format!("fence.{sem}.{scope};\n");
    }
    if is_local(op) {
        let space = if fenced { "" } else { ".local" };
        let load = format!("ld{space}.b32 %l, [%rd2];\n");
        let rmw = matches!(op.operation, Operation::Rmw(..));
        return if rmw { format!("{load}add.s32 %l, %l, 1;\nst{space}.b32 [%rd2], %l;\n") } else { load };
    }
    let is_loop = matches!(op.operation, Operation::Rmw(RmwOp::Nand, _));
    let stores = matches!(op.operation, Operation::Store(_));
    let fence = |holds: bool, sem: &str| if holds { format!("fence.{sem}.{scope};\n") } else { String::new() };
    let is_sc = op.ordering == Ordering::SeqCst;
    let (before, ordering, after) = if fenced || is_loop {
        let sem = if is_sc { "sc" } else { "release" };
        let after = fence(op.ordering.acquires() && !stores, "acquire");
        (fence(op.ordering.releases(), sem), Ordering::Relaxed, after)
    } else {
        let ordering = match op.ordering {
            Ordering::SeqCst if stores => Ordering::Relaxed,
            Ordering::SeqCst => Ordering::Acquire,
            ordering => ordering,
        };
        (fence(is_sc, "sc"), ordering, String::new())
    };
    let bits = op.operation.access().map_or(0, |access| access.ty.bits());
    let modifiers = format!("{ordering}.{scope}.global");
    let access = match op.operation {
        Operation::Load(_) => format!("ld.{modifiers}.b{bits} %x{bits}, [%rd1];\n"),
        Operation::Store(_) => format!("st.{modifiers}.b{bits} [%rd1], %x{bits};\n"),
        Operation::Rmw(RmwOp::Add, _) => format!("atom.{modifiers}.add.u{bits} %x1, [%rd1], 1;\n"),
        Operation::Rmw(RmwOp::Or, _) => format!("atom.{modifiers}.or.b{bits} %x1, [%rd1], 1;\n"),
        // The expected value was read by a plain load, or by the operation before it in a loop.
        Operation::CmpXchg { .. } => format!("atom.{modifiers}.cas.b{bits} %e, [%rd1], %e, 1;\n"),
        // All loops share registers.
        _ if bits == 128 => format!(
            "{{ .reg .b128 %old, %new, %found;\nmov.b64 %z, 0;\nmov.b128 %old, {{%z, %z}};\n\
             atom.{modifiers}.cas.b128 %found, [%rd1], %old, %old;\nmov.b128 {{%lo, %hi}}, %found;\n%again:\n\
             not.b64 %z, %lo;\nmov.b128 %old, {{%lo, %hi}};\nmov.b128 %new, {{%z, %hi}};\n\
             atom.{modifiers}.cas.b128 %found, [%rd1], %old, %new;\nmov.b128 {{%lo2, %hi2}}, %found;\n\
             xor.b64 %y, %lo2, %lo;\nxor.b64 %z, %hi2, %hi;\nor.b64 %z, %y, %z;\nsetp.ne.b64 %q, %z, 0;\n\
             mov.b64 %lo, %lo2;\nmov.b64 %hi, %hi2;\n@%q bra %again;\n}}\n"
        ),
        _ => format!(
            "{{ .reg .b32 %old, %new;\nld.{modifiers}.b32 %s, [%rd1];\n%again:\nmov.b32 %old, %s;\nnot.b32 %new, %old;\n\
             atom.{modifiers}.cas.b32 %s, [%rd1], %old, %new;\nsetp.ne.b32 %q, %s, %old;\n@%q bra %again;\n}}\n"
        ),
    };
    before + &access + &after
}

/// The code with one of its lines broken, in every way: a fence is missing, or a loop begins with a weak load, has a
/// wrong comparison, or does not repeat.
fn broken(instruction: &str) -> Vec<String> {
    let lines: Vec<&str> = instruction.lines().collect();
    let is_sequence = lines.len() > 1;
    let broken = |line: &str| match line.split(['.', ' ']).next() {
        Some("fence") if is_sequence => Some(String::new()),
        Some("ld") if is_sequence => Some(format!("ld.global.{}", line.rsplit('.').next().unwrap_or_default())),
        Some("setp") => Some(line.replace("setp.ne", "setp.eq")),
        Some("@%q") => Some(String::new()),
        _ => None,
    };
    let with = |(index, line): (usize, &&str)| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        lines[index] = broken(line)?;
        Some(lines.join("\n") + "\n")
    };
    lines.iter().enumerate().filter_map(with).collect()
}

/// The next weaker operation, if there is one.
fn weaker(op: AtomicOp) -> Option<AtomicOp> {
    let weakened = |ordering| AtomicOp { ordering, ..op };
    let narrower = |scope| Some(AtomicOp { scope: SyncScope::Threads(scope), ..op });
    let is_fence = op.operation == Operation::Fence;
    match (op.ordering, op.operation) {
        _ if is_local(op) => None,
        (Ordering::SeqCst, Operation::Load(_)) => Some(weakened(Ordering::Acquire)),
        (Ordering::SeqCst, Operation::Store(_)) => Some(weakened(Ordering::Release)),
        (Ordering::SeqCst, _) => Some(weakened(Ordering::AcqRel)),
        (Ordering::AcqRel, _) => Some(weakened(Ordering::Release)),
        (Ordering::Acquire | Ordering::Release, _) if !is_fence => Some(weakened(Ordering::Relaxed)),
        _ => match op.scope {
            SyncScope::Threads(Scope::Sys) => narrower(Scope::Gpu),
            SyncScope::Threads(Scope::Gpu) => narrower(Scope::Cta),
            _ => None,
        },
    }
}

/// Whether two operations differ at most in ordering and scope.
fn same_kind(one: AtomicOp, other: AtomicOp) -> bool {
    one.operation == other.operation
}

/// Whether the code for one operation is strong enough for another.
fn covers(code: AtomicOp, asked: AtomicOp) -> bool {
    let (SyncScope::Threads(code_scope), SyncScope::Threads(scope)) = (code.scope, asked.scope) else { return false };
    code.ordering.join(asked.ordering) == code.ordering && code_scope >= scope
}
