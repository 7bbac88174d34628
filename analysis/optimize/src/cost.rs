//! The costs of operations on a target, from measurements of the machine code that its assembler generates.
//!
//! Costs are for comparison and are not times. The weights follow the order of measured and published times: a barrier
//! that waits for the system takes longer than a barrier that waits for the GPU, which takes longer than a barrier that
//! waits for the CTA.

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
    options::OptimizeOptions,
};

/// The assumed number of iterations of a loop.
pub const ROUNDS: u64 = 8;

/// The weight of an opcode, by its prefix.
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

/// A cost, with every loop counted once, and with its iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    once: u64,
    looped: u64,
}

impl Cost {
    /// Whether this cost is less. The first iteration must not cost more either, since most waiting loops have one
    /// iteration.
    pub fn is_less_than(self, other: Self) -> bool {
        self.once <= other.once && self.looped < other.looped
    }

    /// The cost with every loop counted once.
    pub fn once(self) -> u64 {
        self.once
    }

    /// The cost with the iterations of loops.
    pub fn looped(self) -> u64 {
        self.looped
    }

    /// The cost within `depth` nested loops.
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

/// The costs of operations, each computed once.
pub struct Costs<'o> {
    options: &'o OptimizeOptions,
    known: RefCell<FxHashMap<AtomicOp, Option<Cost>>>,
}

impl<'o> Costs<'o> {
    pub fn new(options: &'o OptimizeOptions) -> Self {
        Self { options, known: RefCell::default() }
    }

    /// The cost of an operation; `None` if the target has no lowering of it or no measurement exists.
    pub fn find_cost(&self, op: &AtomicOp) -> Option<Cost> {
        if let Some(known) = self.known.borrow().get(op) {
            return *known;
        }
        let cost = self.measure(op);
        self.known.borrow_mut().insert(*op, cost);
        cost
    }

    /// Whether an operation costs anything.
    pub fn is_any(&self, op: &AtomicOp) -> bool {
        self.find_cost(op).is_some_and(|cost| cost != Cost::default())
    }

    /// Whether one operation costs less than another in the same loop depth.
    pub fn is_less(&self, new: &AtomicOp, old: &AtomicOp) -> bool {
        self.find_cost(new).zip(self.find_cost(old)).is_some_and(|(new, old)| new.is_less_than(old))
    }

    /// Whether the lowerings of two operations differ.
    pub fn differs(&self, new: &AtomicOp, old: &AtomicOp) -> bool {
        let sequence = |op| lower(op, &self.options.policy, &self.options.target).map(|lowering| lowering.sequence);
        matches!((sequence(new), sequence(old)), (Ok(new), Ok(old)) if new != old)
    }

    /// The cost of all operations of a function; `None` if an operation has no measurement.
    pub fn of_function(&self, function: &Function) -> Option<Cost> {
        let (_, depths) = graph::loops(function, &graph::predecessors(function));
        let of_block = |(block, &depth): (&Block, &u32)| -> Option<Cost> {
            let all: Option<Cost> =
                block.events.iter().filter_map(Event::atomic).map(|atomic| self.find_cost(&atomic.op)).sum();
            Some(all?.in_loops(depth))
        };
        function.blocks.iter().zip(&depths).map(of_block).sum()
    }

    fn measure(&self, op: &AtomicOp) -> Option<Cost> {
        let OptimizeOptions { policy, target, .. } = self.options;
        let family = Family::from_sm(target.sm)?;
        let sequence = lower(op, policy, target).ok()?.sequence;
        let sass = Sass::of_sequence(&sequence, family);
        let Some(sass) = sass else { return self.measure(&typical(op)?) };
        let once = weight(&sass);
        Some(Cost { once, looped: once + (ROUNDS - 1) * in_own_loop(&sequence, family) })
    }
}

/// A measured operation with the same barriers.
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

/// The weight of the instructions that a loop within the sequence repeats.
fn in_own_loop(sequence: &Sequence, family: Family) -> u64 {
    let label = |statement: &Statement| matches!(statement, Statement::Label(_));
    let statements = sequence.statements();
    let start = statements.iter().position(label);
    let end = statements.iter().rposition(|statement| matches!(statement.instruction(), Some(Instruction::Bra { .. })));
    let (Some(start), Some(end)) = (start, end) else { return 0 };
    let repeated = statements.get(start..end).unwrap_or_default().iter().filter_map(Statement::instruction);
    repeated.filter_map(|i| Sass::from_instruction(i, ResultUse::Read, family)).map(|sass| weight(&sass)).sum()
}

fn weight(sass: &Sass) -> u64 {
    let of_opcode = |opcode: &String| {
        let known = WEIGHTS.iter().chain(&BARRIERS).find(|(start, _)| opcode.starts_with(start));
        known.map_or(1, |(_, weight)| *weight)
    };
    sass.opcodes().iter().map(of_opcode).sum()
}
