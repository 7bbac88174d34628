//! The loop around a compare-and-swap (`atom.cas`), and the conditions under which it retries.
//!
//! The code after the `cas` is interpreted abstractly, along every path. The state holds the registers that contain the
//! result or the expected value, or halves of them, or the outcome of a comparison of these. A branch on such an
//! outcome splits the state into success and failure.

use std::collections::{BTreeMap, HashSet};

use ptx_lowering::ptx::{
    AluOp, Atom, Cmp, Guard, Instruction, Name, Operand, Type,
    flow::{Direction, Node, NodeCode, Visit},
};

use crate::flow::Flow;

/// The condition under which a compare-and-swap is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Never, or also after it has succeeded.
    Never,
    /// After some failures. Other failures end the operation.
    OrFailure,
    /// After every failure, until it succeeds, or would change nothing.
    UntilSuccess,
}

/// A branch that leaves a loop before its `cas`, if the `cas` would write the value that it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The branch.
    pub branch: usize,
    /// Its destination if nothing would change.
    kept: usize,
}

/// The branch on the straight line to a `cas` that skips it if it would write the value that it expects.
pub fn skip(flow: &Flow<'_>, cas: usize) -> Option<Skip> {
    let Atom { b: expected, c: Some(new), ty: swapped, .. } = flow.cas(cas)? else { return None };
    // The skip, with the predicate and its value there.
    let mut found: Option<(Skip, &Name, bool)> = None;
    let mut place = cas;
    while let [previous] = flow.nodes[place].previous[..]
        && previous != cas
    {
        let node = &flow.nodes[previous];
        match (node.code, found) {
            (NodeCode::Instruction(Instruction::Bra { .. }), None) if node.guard.is_some() => {
                let ([taken, next], Some(guard)) = (&node.next[..], node.guard) else { return None };
                let kept = if *taken == place { *next } else { *taken };
                found = Some((Skip { branch: previous, kept }, &guard.p, (kept == *taken) != guard.negated));
            }
            (NodeCode::Instruction(Instruction::Setp { cmp, ty, p, a, b }), Some((skip, predicate, holds)))
                if p == predicate =>
            {
                let same = [a, b] == [new, expected] || [a, b] == [expected, new];
                let integer = !ty.is_float() && ty.bits() == swapped.bits();
                return (same && integer && *cmp == if holds { Cmp::Eq } else { Cmp::Ne }).then_some(skip);
            }
            _ if node.next.len() > 1 => return None,
            (code, _) => {
                let written = |name: &Name| expected.registers().chain(new.registers()).any(|own| own == name);
                if code.writes().any(written) {
                    return None;
                }
            }
        }
        place = previous;
    }
    None
}

/// The known value of a register.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum AbstractValue {
    /// The unknown value that the register held at the start.
    Initial(Name),
    /// The unknown value that a node computed.
    Computed(usize),
    Immediate(u64),
    /// The value that the `cas` found in memory.
    Found,
    Pack(Vec<AbstractValue>),
    Half(Box<AbstractValue>, u8),
    /// A number that is 0 if these halves of the found and the expected value are equal.
    Difference(u8),
    /// A predicate that holds if some of these halves differ or, if negated, if none does.
    Differ {
        halves: u8,
        negated: bool,
    },
    Known(bool),
}

/// All halves of a value.
const ALL: u8 = 0b11;

/// A place in the code, and the state there.
#[derive(Clone, PartialEq, Eq, Hash)]
struct AbstractState {
    node: usize,
    registers: BTreeMap<Name, AbstractValue>,
    /// The halves that are equal on this path: the `cas` succeeded if all are.
    equal: u8,
    /// Some half differs on this path.
    failed: bool,
}

/// The limit of visited states, and the limit of values in all of them. Code that needs more does not count as a loop.
const MOST_STATES: usize = 20_000;
const MOST_VALUES: usize = 1_000_000;

/// The largest depth of packed and halved values: 128 bits are two halves of two words.
const DEEPEST: usize = 4;

/// The condition under which the `cas` at a node is retried. A path ends at the nodes of `leaves`, where the operation
/// is over, and at the exit.
pub fn retry(flow: &Flow<'_>, cas: usize, atom: &Atom, leaves: impl Fn(usize) -> bool) -> Retry {
    let Some((paths, state)) = Paths::start_after_cas(flow, cas, atom) else { return Retry::Never };
    let skip = skip(flow, cas);
    let (mut retried, mut left_in_failure, mut again_in_success) = (false, false, false);
    let mut seen = HashSet::new();
    let mut stack = paths.next(state);
    let mut values = 0;
    while let Some(state) = stack.pop() {
        values += state.registers.len();
        if seen.len() > MOST_STATES || values > MOST_VALUES {
            return Retry::Never;
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
            let skipped = skip.filter(|skip| skip.branch == state.node).map(|skip| skip.kept);
            stack.extend(paths.step(state).into_iter().filter(|next| Some(next.node) != skipped));
        }
    }
    match (retried, again_in_success, left_in_failure) {
        (true, true, _) => Retry::Never,
        (true, false, true) => Retry::OrFailure,
        (_, false, false) => Retry::UntilSuccess,
        (false, ..) => Retry::Never,
    }
}

/// The outcome of a compare-and-swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    Failure,
}

/// Like [`Flow::always`](ptx_lowering::ptx::flow::Flow::always) forward from a `cas`, on the paths of one outcome. A
/// path on which no branch decides the outcome belongs to both.
pub fn is_always_followed(flow: &Flow<'_>, cas: usize, outcome: Outcome, visit: impl Fn(usize) -> Visit) -> bool {
    let on_all_paths = || flow.always(cas, Direction::Forward, &visit);
    let Some((paths, state)) = flow.cas(cas).and_then(|atom| Paths::start_after_cas(flow, cas, atom)) else {
        return on_all_paths();
    };
    let mut seen = HashSet::new();
    let mut stack = paths.next(state);
    let mut values = 0;
    while let Some(state) = stack.pop() {
        let is_other = match outcome {
            Outcome::Success => state.failed,
            Outcome::Failure => state.equal == ALL,
        };
        if is_other || !seen.insert(state.clone()) {
            continue;
        }
        values += state.registers.len();
        if seen.len() > MOST_STATES || values > MOST_VALUES {
            return on_all_paths();
        }
        match visit(state.node) {
            Visit::Found => {}
            Visit::Fail => return false,
            Visit::Continue if state.node == flow.exit() => return false,
            Visit::Continue => stack.extend(paths.step(state)),
        }
    }
    true
}

/// Whether a node is a `cas` that writes only the value that it finds, and thus acts as a load.
pub fn keeps_value(flow: &Flow<'_>, cas: usize) -> bool {
    match flow.cas(cas) {
        Some(Atom { b, c: Some(c), .. }) => {
            let [expected, new] = [b, c].map(|operand| origin(flow, cas, operand));
            expected == new
        }
        _ => false,
    }
}

/// The longest chain of copies that is followed.
const MOST_COPIES: usize = 4;

/// The origin of the value of an operand, without the copies in between.
#[derive(PartialEq)]
pub enum Origin<'p> {
    Operand(&'p Operand),
    Register(&'p Name, Vec<usize>),
    Vector(Vec<Self>),
}

/// The origin of the value of an operand at a node.
pub fn origin<'p>(flow: &Flow<'p>, at: usize, operand: &'p Operand) -> Origin<'p> {
    copied(flow, at, operand, MOST_COPIES)
}

fn copied<'p>(flow: &Flow<'p>, at: usize, operand: &'p Operand, copies: usize) -> Origin<'p> {
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
                return copied(flow, node, source, copies - 1);
            }
            Origin::Register(name, definitions)
        }
        Operand::Vector(elements) => {
            Origin::Vector(elements.iter().map(|element| copied(flow, at, element, copies)).collect())
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

/// The registers from which guards and the expected value of the `cas` are computed. The values of other registers are
/// not tracked.
fn relevant<'p>(flow: &Flow<'p>, atom: &'p Atom) -> HashSet<&'p Name> {
    let guards = flow.nodes.iter().filter_map(|node| node.guard).map(|guard| &guard.p);
    let mut names: Vec<&Name> = guards.chain(atom.b.registers()).collect();
    let mut relevant = HashSet::new();
    while let Some(name) = names.pop() {
        if relevant.insert(name) {
            let followed =
                flow.writers(name).iter().map(|writer| flow.nodes[*writer].code).filter(|code| is_followed(*code));
            names.extend(followed.flat_map(NodeCode::reads));
        }
    }
    relevant
}

/// Whether the value that an instruction computes can be known.
fn is_followed(code: NodeCode<'_>) -> bool {
    use AluOp::{And, Mov, Not, Or, Xor};
    match code {
        NodeCode::Instruction(Instruction::Alu { op, .. }) => matches!(op, Mov | Not | Xor | Or | And),
        NodeCode::Instruction(Instruction::Setp { .. }) => true,
        _ => false,
    }
}

/// The interpreter.
struct Paths<'f, 'p> {
    flow: &'f Flow<'p>,
    atom: &'p Atom,
    relevant: HashSet<&'p Name>,
    expected: Option<AbstractValue>,
}

impl AbstractState {
    fn value(&self, operand: &Operand) -> AbstractValue {
        match operand {
            Operand::Register(name) => {
                self.registers.get(name).cloned().unwrap_or_else(|| AbstractValue::Initial(name.clone()))
            }
            Operand::Immediate(bits) => AbstractValue::Immediate(*bits),
            Operand::Vector(elements) => {
                self.shallow(AbstractValue::Pack(elements.iter().map(|element| self.value(element)).collect()))
            }
            Operand::Sink => AbstractValue::Immediate(0),
        }
    }

    /// The value, or an unknown one if the value is too deep.
    fn shallow(&self, value: AbstractValue) -> AbstractValue {
        if value.depth() > DEEPEST { AbstractValue::Computed(self.node) } else { value }
    }

    /// Whether the outcome is known.
    fn is_over(&self) -> bool {
        self.failed || self.equal == ALL
    }
}

impl AbstractValue {
    fn depth(&self) -> usize {
        match self {
            Self::Pack(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Self::Half(whole, _) => 1 + whole.depth(),
            _ => 0,
        }
    }

    /// Whether a branch on it has a known outcome.
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

impl<'f, 'p> Paths<'f, 'p> {
    /// The interpreter, and the state in which a `cas` has just found its value; `None` if no straight line leads
    /// there.
    fn start_after_cas(flow: &'f Flow<'p>, cas: usize, atom: &'p Atom) -> Option<(Self, AbstractState)> {
        let mut paths = Self { flow, atom, relevant: relevant(flow, atom), expected: None };
        let start = block_start(flow, cas);
        let mut state = AbstractState { node: start, registers: BTreeMap::new(), equal: 0, failed: false };
        while state.node != cas {
            let [next] = flow.nodes[state.node].next[..] else { return None };
            paths.execute(&mut state);
            // An instruction that may not execute leaves an unknown value.
            if flow.nodes[state.node].guard.is_some() {
                paths.forget(&mut state);
            }
            state.node = next;
        }
        paths.expected = Some(state.value(&atom.b));
        paths.set(&mut state, &atom.d, AbstractValue::Found);
        Some((paths, state))
    }

    /// The states after an instruction whose effect is done.
    fn next(&self, state: AbstractState) -> Vec<AbstractState> {
        let next = &self.flow.nodes[state.node].next;
        next.iter().map(|&node| AbstractState { node, ..state.clone() }).collect()
    }

    fn step(&self, state: AbstractState) -> Vec<AbstractState> {
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

    fn executed(&self, mut state: AbstractState) -> Vec<AbstractState> {
        self.execute(&mut state);
        let node = &self.flow.nodes[state.node];
        let states = self.next(state);
        if node.guard.is_some() && node.next.len() > 1 { states[..states.len() - 1].to_vec() } else { states }
    }

    /// If a guarded branch is not taken, control continues at the last successor.
    fn skipped(&self, state: AbstractState) -> Vec<AbstractState> {
        let last = self.flow.nodes[state.node].next.last();
        last.map(|&node| AbstractState { node, ..state }).into_iter().collect()
    }

    /// The state in which a guard holds and the state in which it does not; one state and `None` if the guard is
    /// unknown.
    fn split(&self, state: AbstractState, guard: &Guard) -> Vec<(AbstractState, Option<bool>)> {
        match state.registers.get(&guard.p) {
            Some(&AbstractValue::Known(holds)) => vec![(state, Some(holds != guard.negated))],
            Some(&AbstractValue::Differ { halves, negated }) => [true, false]
                .into_iter()
                .filter_map(|holds| {
                    let mut state = state.clone();
                    if holds != negated {
                        // No path differs in halves that are known to be equal.
                        if halves & !state.equal == 0 {
                            return None;
                        }
                        state.failed = true;
                    } else if state.failed && halves == ALL {
                        return None;
                    } else {
                        state.equal |= halves;
                    }
                    state.registers.insert(guard.p.clone(), AbstractValue::Known(holds));
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

    /// Records the effect of an instruction.
    fn execute(&self, state: &mut AbstractState) {
        let node = &self.flow.nodes[state.node];
        let computed = AbstractValue::Computed(state.node);
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

    fn set(&self, state: &mut AbstractState, d: &Operand, value: AbstractValue) {
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

    fn set_register(&self, state: &mut AbstractState, name: &Name, value: AbstractValue) {
        if state.is_over() && !value.decides() {
            state.registers.remove(name);
        } else if self.relevant.contains(name) {
            state.registers.insert(name.clone(), value);
        }
    }

    /// Makes the values of the registers that the state's node writes unknown.
    fn forget(&self, state: &mut AbstractState) {
        for name in self.flow.nodes[state.node].code.writes() {
            self.set_register(state, name, AbstractValue::Computed(state.node));
        }
    }

    /// The halves of the found value that are compared with the halves of the expected value.
    fn compared(&self, a: &AbstractValue, b: &AbstractValue) -> Option<u8> {
        let expected = self.expected.as_ref()?;
        let is = |found: &AbstractValue, other: &AbstractValue| match found {
            AbstractValue::Found if other == expected => Some(ALL),
            AbstractValue::Half(whole, index) if **whole == AbstractValue::Found && *other == expected.half(*index) => {
                Some(1 << index)
            }
            _ => None,
        };
        is(a, b).or_else(|| is(b, a))
    }

    fn arithmetic(&self, op: AluOp, ty: Type, values: &[AbstractValue]) -> Option<AbstractValue> {
        match (op, values) {
            (AluOp::Mov, [value]) => Some(value.clone()),
            (AluOp::Not, [value]) if ty == Type::Pred => value.clone().negated(),
            (AluOp::Xor, [a, b]) => self.compared(a, b).map(AbstractValue::Difference),
            (AluOp::Or, [AbstractValue::Difference(a), AbstractValue::Difference(b)]) => {
                Some(AbstractValue::Difference(a | b))
            }
            (
                AluOp::Or,
                [
                    AbstractValue::Differ { halves: a, negated: false },
                    AbstractValue::Differ { halves: b, negated: false },
                ],
            ) => Some(AbstractValue::Differ { halves: a | b, negated: false }),
            (
                AluOp::And,
                [
                    AbstractValue::Differ { halves: a, negated: true },
                    AbstractValue::Differ { halves: b, negated: true },
                ],
            ) => Some(AbstractValue::Differ { halves: a | b, negated: true }),
            _ => None,
        }
    }

    fn comparison(&self, cmp: Cmp, ty: Type, a: &AbstractValue, b: &AbstractValue) -> Option<AbstractValue> {
        let negated = match cmp {
            Cmp::Eq => true,
            Cmp::Ne => false,
            _ => return None,
        };
        let halves = match (a, b) {
            (AbstractValue::Difference(halves), AbstractValue::Immediate(0)) => *halves,
            _ => self.compared(a, b)?,
        };
        // A comparison of other bits, or of floating-point numbers, has a different meaning.
        let width = if halves == ALL { self.atom.ty.bits() } else { self.atom.ty.bits() / 2 };
        let integer = !matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64);
        let whole = ty.bits() == width || matches!(a, AbstractValue::Difference(_));
        (integer && whole).then_some(AbstractValue::Differ { halves, negated })
    }
}
