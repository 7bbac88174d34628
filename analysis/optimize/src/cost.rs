//! What operations cost on the target, by the machine code that its assembler was measured to make of them.
//!
//! A cost compares; it is no time. The weights keep the order of what was measured and published: what waits for the system
//! takes longer than what waits for the GPU, and that longer than what waits for the CTA.

use std::cell::RefCell;

use ptx_lowering::{
    AtomicOp, Operation, RmwOp, Sequence, Type, lower,
    ptx::{Instruction, Statement},
    sass::{Family, ResultUse, Sass},
};
use rustc_hash::FxHashMap;

use crate::{
    function::{Block, Event, Function},
    graph,
    options::Options,
};

/// How often a loop is taken to go round.
pub const ROUNDS: u64 = 8;

/// The weight of an opcode by how it begins.
const WEIGHTS: [(&str, u64); 7] = [
    ("MEMBAR.ALL.SYS", 16),
    ("MEMBAR.SC.SYS", 16),
    ("MEMBAR.SYS", 16),
    ("MEMBAR.ALL.CTA", 2),
    ("MEMBAR.SC.CTA", 2),
    ("MEMBAR.CTA", 2),
    ("MEMBAR", 8),
];

/// The weights of the other barriers.
const BARRIERS: [(&str, u64); 3] = [("ERRBAR", 1), ("CGAERRBAR", 1), ("CCTL", 4)];

/// A cost, with every loop counted once, and with its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    once: u64,
    looped: u64,
}

impl Cost {
    /// Whether this is less: the first round must not cost more either, since most loops that wait do so once.
    pub fn is_less_than(self, other: Self) -> bool {
        self.once <= other.once && self.looped < other.looped
    }

    /// With every loop counted once.
    pub fn once(self) -> u64 {
        self.once
    }

    /// With the rounds of loops.
    pub fn looped(self) -> u64 {
        self.looped
    }

    /// The cost within so many loops.
    pub fn in_loops(self, depth: u32) -> Self {
        Self { looped: self.looped * ROUNDS.pow(depth.min(6)), ..self }
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { once: self.once + other.once, looped: self.looped + other.looped }
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |all, one| all + one)
    }
}

/// What operations cost, each computed once.
pub struct Costs<'o> {
    options: &'o Options,
    known: RefCell<FxHashMap<AtomicOp, Option<Cost>>>,
}

impl<'o> Costs<'o> {
    pub fn new(options: &'o Options) -> Self {
        Self { options, known: RefCell::default() }
    }

    /// The cost of an operation. `None` if the target has no lowering of it, or nothing was measured.
    pub fn of(&self, op: &AtomicOp) -> Option<Cost> {
        if let Some(known) = self.known.borrow().get(op) {
            return *known;
        }
        let cost = self.measure(op);
        self.known.borrow_mut().insert(*op, cost);
        cost
    }

    /// Whether an operation costs anything.
    pub fn is_any(&self, op: &AtomicOp) -> bool {
        self.of(op).is_some_and(|cost| cost != Cost::default())
    }

    /// Whether one operation costs less than another, where both stand in the same place.
    pub fn is_less(&self, new: &AtomicOp, old: &AtomicOp) -> bool {
        self.of(new).zip(self.of(old)).is_some_and(|(new, old)| new.is_less_than(old))
    }

    /// Whether the lowering of an operation is another.
    pub fn differs(&self, new: &AtomicOp, old: &AtomicOp) -> bool {
        let sequence = |op| lower(op, &self.options.policy, &self.options.target).map(|lowering| lowering.sequence);
        matches!((sequence(new), sequence(old)), (Ok(new), Ok(old)) if new != old)
    }

    /// The cost of all operations of a function. `None` if one was not measured.
    pub fn of_function(&self, function: &Function) -> Option<Cost> {
        let (_, depths) = graph::loops(function, &graph::predecessors(function));
        let of_block = |(block, &depth): (&Block, &u32)| -> Option<Cost> {
            let all: Option<Cost> =
                block.events.iter().filter_map(Event::atomic).map(|atomic| self.of(&atomic.op)).sum();
            Some(all?.in_loops(depth))
        };
        function.blocks.iter().zip(&depths).map(of_block).sum()
    }

    fn measure(&self, op: &AtomicOp) -> Option<Cost> {
        let Options { policy, target, .. } = self.options;
        let family = Family::of(target.sm)?;
        let sequence = lower(op, policy, target).ok()?.sequence;
        let sass = Sass::of_sequence(&sequence, family);
        let Some(sass) = sass else { return self.measure(&typical(op)?) };
        let once = weight(&sass);
        Some(Cost { once, looped: once + (ROUNDS - 1) * in_own_loop(&sequence, family) })
    }
}

/// An operation that was measured, with the same barriers.
fn typical(op: &AtomicOp) -> Option<AtomicOp> {
    let typed = |mut access: ptx_lowering::Access| {
        access.ty = Type::I32;
        access
    };
    let operation = match op.operation {
        Operation::Fence => return None,
        Operation::Load(access) => Operation::Load(typed(access)),
        Operation::Store(access) => Operation::Store(typed(access)),
        Operation::Rmw(_, access) => Operation::Rmw(RmwOp::Add, typed(access)),
        Operation::CmpXchg { access, failure } => Operation::CmpXchg { access: typed(access), failure },
    };
    (operation != op.operation).then_some(AtomicOp { operation, ..*op })
}

/// The weight of what a loop of the sequence itself repeats.
fn in_own_loop(sequence: &Sequence, family: Family) -> u64 {
    let label = |statement: &Statement| matches!(statement, Statement::Label(_));
    let statements = sequence.statements();
    let start = statements.iter().position(label);
    let end = statements.iter().rposition(|statement| matches!(statement.instruction(), Some(Instruction::Bra { .. })));
    let (Some(start), Some(end)) = (start, end) else { return 0 };
    let repeated = statements.get(start..end).unwrap_or_default().iter().filter_map(Statement::instruction);
    repeated.filter_map(|i| Sass::of(i, ResultUse::Read, family)).map(|sass| weight(&sass)).sum()
}

fn weight(sass: &Sass) -> u64 {
    let of_opcode = |opcode: &String| {
        let known = WEIGHTS.iter().chain(&BARRIERS).find(|(start, _)| opcode.starts_with(start));
        known.map_or(1, |(_, weight)| *weight)
    };
    sass.opcodes().iter().map(of_opcode).sum()
}
