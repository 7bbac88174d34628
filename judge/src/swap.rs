//! What a loop around a compare-and-swap does with its result.
//!
//! From the `cas` on, every way is followed, with what is known of the registers: which hold the result or the expected
//! value, or halves of them, or how these compare. A branch on such a comparison splits into success and failure.

use std::collections::{BTreeMap, HashSet};

use crate::{
    Update,
    flow::{Flow, Node, NodeCode},
};
use ptx_atomics_lowering::ptx::{AluOp, Atom, AtomOp, Cmp, Guard, Instruction, Name, Operand, Type};

/// What is known of a register.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Value {
    /// Whatever the register held at the start.
    Initial(Name),
    /// Whatever a node computed.
    Computed(usize),
    Immediate(u64),
    /// What the `cas` found in memory.
    Found,
    Pack(Vec<Value>),
    Half(Box<Value>, u8),
    /// A number that is 0 where these halves of the found and the expected value are equal.
    Difference(u8),
    /// A predicate that holds where some of these halves differ; negated, where none does.
    Differ {
        halves: u8,
        negated: bool,
    },
    Known(bool),
}

/// All halves of a value.
const ALL: u8 = 0b11;

/// A place in the code, and what is known there.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    node: usize,
    registers: BTreeMap<Name, Value>,
    /// The halves that are equal on this way: the `cas` succeeded if all are.
    equal: u8,
    failed: bool,
}

/// How many states are looked at, and how many values in all of them. Code that needs more is not a loop around a `cas`.
const MOST_STATES: usize = 20_000;
const MOST_VALUES: usize = 1_000_000;

/// How deep values are packed and halved: the four words of 128 bits, as two halves.
const DEEPEST: usize = 4;

/// Says how `cas` is retried. A way ends where `leaves` says that the operation is over, and at the exit.
pub fn update(flow: &Flow<'_>, cas: usize, leaves: impl Fn(usize) -> bool) -> Update {
    let Some(Instruction::Atom(atom)) = flow.instruction(cas) else { return Update::Separate };
    let mut ways = Ways { flow, atom, telling: telling(flow, atom), expected: None };
    let start = block_start(flow, cas);
    let mut state = State { node: start, registers: BTreeMap::new(), equal: 0, failed: false };
    while state.node != cas {
        let [next] = flow.nodes[state.node].next[..] else { return Update::Once };
        ways.execute(&mut state);
        // What may not execute leaves an unknown value.
        if flow.nodes[state.node].guard.is_some() {
            ways.forget(&mut state);
        }
        state.node = next;
    }
    ways.expected = Some(state.value(&atom.b));
    ways.set(&mut state, &atom.d, Value::Found);

    let (mut retried, mut left_in_failure, mut again_in_success) = (false, false, false);
    let mut seen = HashSet::new();
    let mut stack = ways.next(state);
    let mut values = 0;
    while let Some(state) = stack.pop() {
        values += state.registers.len();
        if seen.len() > MOST_STATES || values > MOST_VALUES {
            return Update::Once;
        }
        if !seen.insert(state.clone()) {
            continue;
        }
        let success = state.equal == ALL;
        if state.node == cas {
            retried = true;
            again_in_success |= !state.failed;
        } else if state.node == flow.exit() || leaves(state.node) {
            left_in_failure |= !success;
        } else {
            stack.extend(ways.step(state));
        }
    }
    match (retried, again_in_success, left_in_failure) {
        (true, true, _) => Update::Once,
        (true, false, true) => Update::LoopOrFailure,
        (_, false, false) => Update::Loop,
        (false, ..) => Update::Once,
    }
}

/// Whether a node is a `cas` that writes only what it finds, as a load does.
pub fn keeps_value(flow: &Flow<'_>, cas: usize) -> bool {
    match flow.instruction(cas) {
        Some(Instruction::Atom(Atom { op: AtomOp::Cas, b, c: Some(c), .. })) => {
            let [expected, new] = [b, c].map(|operand| origin(flow, cas, operand, MOST_COPIES));
            expected == new
        }
        _ => false,
    }
}

/// How many copies of a value are followed.
const MOST_COPIES: usize = 4;

/// Where the value of an operand at a node comes from, without the copies in between.
#[derive(PartialEq)]
enum Origin<'p> {
    Operand(&'p Operand),
    Register(&'p Name, Vec<usize>),
    Vector(Vec<Self>),
}

fn origin<'p>(flow: &Flow<'p>, at: usize, operand: &'p Operand, copies: usize) -> Origin<'p> {
    match operand {
        Operand::Register(name) => {
            let definitions = flow.definitions(at, name);
            if let [node] = definitions[..]
                && let Node {
                    guard: None,
                    code: NodeCode::Instruction(Instruction::Alu { op: AluOp::Mov, d, sources, .. }),
                    ..
                } = &flow.nodes[node]
                && let (Operand::Register(_), [source], 1..) = (d, &sources[..], copies)
            {
                return origin(flow, node, source, copies - 1);
            }
            Origin::Register(name, definitions)
        }
        Operand::Vector(elements) => {
            Origin::Vector(elements.iter().map(|element| origin(flow, at, element, copies)).collect())
        }
        operand => Origin::Operand(operand),
    }
}

/// The first node of the straight line that leads to a node.
fn block_start(flow: &Flow<'_>, node: usize) -> usize {
    let mut start = node;
    while let [previous] = flow.nodes[start].previous[..]
        && flow.nodes[previous].next.len() == 1
        && previous != flow.entry()
        && previous != node
    {
        start = previous;
    }
    start
}

/// The registers that may tell where control goes, or what the `cas` expects: values of others are not followed.
fn telling<'p>(flow: &Flow<'p>, atom: &'p Atom) -> HashSet<&'p Name> {
    let guards = flow.nodes.iter().filter_map(|node| node.guard).map(|guard| &guard.p);
    let mut names: Vec<&Name> = guards.chain(atom.b.registers()).collect();
    let mut telling = HashSet::new();
    while let Some(name) = names.pop() {
        if telling.insert(name) {
            let followed =
                flow.writers(name).iter().map(|writer| flow.nodes[*writer].code).filter(|code| is_followed(*code));
            names.extend(followed.flat_map(NodeCode::reads));
        }
    }
    telling
}

/// Whether something is known of what an instruction computes.
fn is_followed(code: NodeCode<'_>) -> bool {
    use AluOp::{And, Mov, Not, Or, Xor};
    match code {
        NodeCode::Instruction(Instruction::Alu { op, .. }) => matches!(op, Mov | Not | Xor | Or | And),
        NodeCode::Instruction(Instruction::Setp { .. }) => true,
        _ => false,
    }
}

struct Ways<'f, 'p> {
    flow: &'f Flow<'p>,
    atom: &'p Atom,
    telling: HashSet<&'p Name>,
    expected: Option<Value>,
}

impl State {
    fn value(&self, operand: &Operand) -> Value {
        match operand {
            Operand::Register(name) => {
                self.registers.get(name).cloned().unwrap_or_else(|| Value::Initial(name.clone()))
            }
            Operand::Immediate(bits) => Value::Immediate(*bits),
            Operand::Vector(elements) => {
                self.shallow(Value::Pack(elements.iter().map(|element| self.value(element)).collect()))
            }
            Operand::Sink => Value::Immediate(0),
        }
    }

    /// The value, or just that it was computed, if it is deep.
    fn shallow(&self, value: Value) -> Value {
        if value.depth() > DEEPEST { Value::Computed(self.node) } else { value }
    }

    /// Whether the outcome is known.
    fn is_over(&self) -> bool {
        self.failed || self.equal == ALL
    }
}

impl Value {
    fn depth(&self) -> usize {
        match self {
            Self::Pack(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Self::Half(whole, _) => 1 + whole.depth(),
            _ => 0,
        }
    }

    /// Whether it says which way a branch takes.
    fn decides(&self) -> bool {
        matches!(self, Self::Known(_) | Self::Differ { .. })
    }

    fn half(&self, index: u8) -> Self {
        match self {
            Self::Pack(elements) if elements.len() == 2 && index < 2 => elements[usize::from(index)].clone(),
            value => Self::Half(Box::new(value.clone()), index),
        }
    }

    fn negated(self) -> Option<Self> {
        match self {
            Self::Differ { halves, negated } => Some(Self::Differ { halves, negated: !negated }),
            Self::Known(holds) => Some(Self::Known(!holds)),
            _ => None,
        }
    }
}

impl Ways<'_, '_> {
    /// The states behind an instruction whose effect is done.
    fn next(&self, state: State) -> Vec<State> {
        let next = &self.flow.nodes[state.node].next;
        next.iter().map(|&node| State { node, ..state.clone() }).collect()
    }

    fn step(&self, state: State) -> Vec<State> {
        let Some(guard) = self.flow.nodes[state.node].guard else {
            return self.executed(state);
        };
        self.split(state, guard)
            .into_iter()
            .flat_map(|(state, taken)| match taken {
                Some(true) => self.executed(state),
                Some(false) => self.skipped(state),
                None => self.executed(state.clone()).into_iter().chain(self.skipped(state)).collect(),
            })
            .collect()
    }

    fn executed(&self, mut state: State) -> Vec<State> {
        self.execute(&mut state);
        let node = &self.flow.nodes[state.node];
        let states = self.next(state);
        if node.guard.is_some() && node.next.len() > 1 { states[..states.len() - 1].to_vec() } else { states }
    }

    /// Behind a guarded branch that is not taken, control goes to the last successor.
    fn skipped(&self, state: State) -> Vec<State> {
        let last = self.flow.nodes[state.node].next.last();
        last.map(|&node| State { node, ..state }).into_iter().collect()
    }

    /// What a guard says about the outcome, both ways; `None` if it says nothing.
    fn split(&self, state: State, guard: &Guard) -> Vec<(State, Option<bool>)> {
        match state.registers.get(&guard.p) {
            Some(&Value::Known(holds)) => vec![(state, Some(holds != guard.negated))],
            Some(&Value::Differ { halves, negated }) => [true, false]
                .into_iter()
                .filter_map(|holds| {
                    let mut state = state.clone();
                    if holds != negated {
                        // To differ where it is known to be equal is no way.
                        if halves & !state.equal == 0 {
                            return None;
                        }
                        state.failed = true;
                    } else if state.failed && halves == ALL {
                        return None;
                    } else {
                        state.equal |= halves;
                    }
                    state.registers.insert(guard.p.clone(), Value::Known(holds));
                    // Once the outcome is known, only predicates matter: the fewer states the better.
                    if state.is_over() {
                        state.registers.retain(|_, value| value.decides());
                    }
                    Some((state, Some(holds != guard.negated)))
                })
                .collect(),
            _ => vec![(state, None)],
        }
    }

    /// What an instruction does to what is known.
    fn execute(&self, state: &mut State) {
        let node = &self.flow.nodes[state.node];
        let computed = Value::Computed(state.node);
        match node.code {
            NodeCode::Instruction(Instruction::Alu { op, ty, d, sources }) => {
                let values: Vec<_> = sources.iter().map(|source| state.value(source)).collect();
                let value = self.arithmetic(*op, *ty, &values).unwrap_or(computed);
                self.set(state, d, value);
            }
            NodeCode::Instruction(Instruction::Setp { cmp, ty, p, a, b }) => {
                let value = self.comparison(*cmp, *ty, &state.value(a), &state.value(b)).unwrap_or(computed);
                self.set_register(state, p, value);
            }
            _ => self.forget(state),
        }
    }

    fn set(&self, state: &mut State, d: &Operand, value: Value) {
        match d {
            Operand::Register(name) => self.set_register(state, name, value),
            Operand::Vector(elements) => {
                for (index, element) in (0u8..).zip(elements) {
                    let half = state.shallow(value.half(index));
                    self.set(state, element, half);
                }
            }
            _ => {}
        }
    }

    fn set_register(&self, state: &mut State, name: &Name, value: Value) {
        if state.is_over() && !value.decides() {
            state.registers.remove(name);
        } else if self.telling.contains(name) {
            state.registers.insert(name.clone(), value);
        }
    }

    /// What the instruction of the state's node writes is unknown.
    fn forget(&self, state: &mut State) {
        for name in self.flow.nodes[state.node].code.writes() {
            self.set_register(state, name, Value::Computed(state.node));
        }
    }

    /// The halves of the found value that are compared with those of the expected one.
    fn compared(&self, a: &Value, b: &Value) -> Option<u8> {
        let expected = self.expected.as_ref()?;
        let is = |found: &Value, other: &Value| match found {
            Value::Found if other == expected => Some(ALL),
            Value::Half(whole, index) if **whole == Value::Found && *other == expected.half(*index) => Some(1 << index),
            _ => None,
        };
        is(a, b).or_else(|| is(b, a))
    }

    fn arithmetic(&self, op: AluOp, ty: Type, values: &[Value]) -> Option<Value> {
        match (op, values) {
            (AluOp::Mov, [value]) => Some(value.clone()),
            (AluOp::Not, [value]) if ty == Type::Pred => value.clone().negated(),
            (AluOp::Xor, [a, b]) => self.compared(a, b).map(Value::Difference),
            (AluOp::Or, [Value::Difference(a), Value::Difference(b)]) => Some(Value::Difference(a | b)),
            (AluOp::Or, [Value::Differ { halves: a, negated: false }, Value::Differ { halves: b, negated: false }]) => {
                Some(Value::Differ { halves: a | b, negated: false })
            }
            (AluOp::And, [Value::Differ { halves: a, negated: true }, Value::Differ { halves: b, negated: true }]) => {
                Some(Value::Differ { halves: a | b, negated: true })
            }
            _ => None,
        }
    }

    fn comparison(&self, cmp: Cmp, ty: Type, a: &Value, b: &Value) -> Option<Value> {
        let negated = match cmp {
            Cmp::Eq => true,
            Cmp::Ne => false,
            _ => return None,
        };
        let halves = match (a, b) {
            (Value::Difference(halves), Value::Immediate(0)) => *halves,
            _ => self.compared(a, b)?,
        };
        // A comparison of other bits, or of floating-point numbers, says something else.
        let width = if halves == ALL { self.atom.ty.bits() } else { self.atom.ty.bits() / 2 };
        let integer = !matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64);
        let whole = ty.bits() == width || matches!(a, Value::Difference(_));
        (integer && whole).then_some(Value::Differ { halves, negated })
    }
}
