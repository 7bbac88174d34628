//! The effects of code beyond its source: writes and volatile accesses that implement no operation.
//!
//! An operation writes memory once. A compiler may copy it to mutually exclusive paths, and to further iterations of a
//! loop. Every other write that implements no operation is an [`Extra`]. The judge cannot tell whether a weak store is
//! the program's own: the caller, which knows the source, decides that.

use std::collections::{HashMap, HashSet};

use ptx_lowering::{
    AtomicOp,
    ptx::{
        AluOp, Code, Function, Instruction, Name, Operand, Space, Variable,
        flow::{Direction, NodeCode},
        mnemonic::{Mnemonic, is_private},
    },
};
use strum::{Display, EnumIter, EnumMessage, IntoStaticStr};

use crate::{
    align::Assignment, cas_loop::keeps_value, cost, event::MemoryEvent, expansion::needs_instruction, flow::Flow,
};

/// The longest chain of computations of an address that is followed.
const MOST_STEPS: usize = 16;

/// An access of the code that implements no operation of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// The line of the PTX. The first line of the text is 1.
    pub line: u32,
    /// Its kind.
    pub kind: ExtraKind,
    /// The operation that it repeats, or whose location it accesses, by its index in the order of the source.
    pub of: Option<usize>,
    /// Whether that operation is in a loop, so that the access may be a further iteration of it: compilers unroll
    /// loops.
    pub in_loop: bool,
}

/// The kind of an access beyond the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum ExtraKind {
    /// An `atom` or `red`.
    #[strum(message = "one more update of memory")]
    Update,
    /// A strong store. No plain store of a program becomes one.
    #[strum(message = "one more atomic write to memory")]
    AtomicStore,
    /// A weak or volatile store, which may be the program's own.
    #[strum(message = "one more write to memory")]
    Store,
    /// A volatile load, which may be the program's own.
    #[strum(message = "one more volatile access")]
    VolatileLoad,
    /// Another instruction that writes memory, or a call: a reduction of other CTAs, a bulk copy. No operation becomes
    /// one.
    #[strum(message = "an instruction that writes memory")]
    Other,
}

impl ExtraKind {
    /// The kind of an access that has an effect other than reading; `None` if it has none, or if no other thread can
    /// observe it.
    fn from_node(flow: &Flow<'_>, node: usize, locals: &HashSet<Name>) -> Option<Self> {
        if let NodeCode::Other(other) = flow.nodes[node].code {
            return writes_otherwise(&other.mnemonic).then_some(Self::Other);
        }
        let event = MemoryEvent::from_node(flow, node)?;
        let kind = match (event.reads, event.writes) {
            (true, true) if keeps_value(flow, node) => return None,
            (true, true) => return Some(Self::Update),
            (_, true) if event.strong.is_some() && !event.volatile => Self::AtomicStore,
            (_, true) => Self::Store,
            _ if event.volatile => Self::VolatileLoad,
            _ => return None,
        };
        let is_own = event.space == Space::Local || is_local(flow, node, locals);
        (!is_own).then_some(kind)
    }
}

/// Whether an instruction that is not modelled writes memory that other threads can observe, other than as a plain
/// access.
fn writes_otherwise(mnemonic: &str) -> bool {
    let row = Mnemonic::find_row(mnemonic);
    row.is_none_or(|row| row.writes && !["ld", "st"].contains(&row.words) && !is_private(mnemonic))
}

/// The operations of the source, and the nodes that implement them.
pub struct Aligned<'a> {
    pub operations: Vec<&'a AtomicOp>,
    pub assignments: &'a [Assignment],
    /// Whether each operation is in a loop.
    pub in_loop: Vec<bool>,
    /// All nodes that implement operations.
    pub claimed: &'a HashSet<usize>,
}

/// The accesses that implement no operation, in the order of the flow. `is_lost` tells whether a node does not keep an
/// operation.
pub fn extras(
    aligned: &Aligned<'_>,
    flow: &Flow<'_>,
    function: &Function,
    is_lost: impl Fn(&AtomicOp, usize) -> bool,
) -> Vec<Extra> {
    let locals = local_variables(function);
    let mut found = Vec::new();
    // The nodes of each operation lie on such paths.
    let mut copies: Vec<Vec<usize>> =
        aligned.assignments.iter().map(|found| found.node.into_iter().collect()).collect();
    let mut after: HashMap<usize, Vec<bool>> = HashMap::new();
    let mut on_one_path = |one: usize, other: usize| {
        let mut leads = |from: usize, to: usize| {
            after.entry(from).or_insert_with(|| flow.reached(from, Direction::Forward, |_| false))[to]
        };
        leads(one, other) || leads(other, one)
    };
    for node in flow.in_order().into_iter().filter(|node| !aligned.claimed.contains(node)) {
        let Some(kind) = ExtraKind::from_node(flow, node, &locals) else { continue };
        let like = |op: usize| {
            let (op, own) = (aligned.operations[op], aligned.assignments[op].node);
            let fit = cost::of_match(op, flow, node);
            match own {
                Some(own) => {
                    fit.is_some() && fit == cost::of_match(op, flow, own) && (!is_lost(op, node) || is_lost(op, own))
                }
                // No other thread can observe it, so it needs no instruction.
                None => fit.is_some() && !needs_instruction(op),
            }
        };
        let reached: Vec<usize> = (0..copies.len()).filter(|op| aligned.assignments[*op].is_reached).collect();
        let alike: Vec<usize> = reached.iter().copied().filter(|op| like(*op)).collect();
        if let Some(op) = alike.iter().find(|op| copies[**op].iter().all(|copy| !on_one_path(*copy, node))) {
            copies[*op].push(node);
            continue;
        }
        let place = |op: &usize| {
            let (op, own) = (aligned.operations[*op], aligned.assignments[*op].node?);
            relation(flow, op, own, node)
        };
        if reached.iter().any(|op| place(op) == Some(Relation::Rest)) {
            continue;
        }
        let beside = reached.iter().copied().find(|op| place(op) == Some(Relation::Same));
        // A compiler copies the end of a loop to each path that leads there, so an operation of a loop explains the
        // access.
        let repeated = alike.iter().find(|op| aligned.in_loop[**op]).or(alike.first());
        let of = beside.or(repeated.copied());
        found.push(Extra { line: flow.nodes[node].line, kind, of, in_loop: of.is_some_and(|op| aligned.in_loop[op]) });
    }
    found
}

/// The location of an access, relative to the access that implements an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The two accesses have bytes in common.
    Same,
    /// It is another part of the operation's value, which was divided.
    Rest,
}

fn relation(flow: &Flow<'_>, op: &AtomicOp, own: usize, other: usize) -> Option<Relation> {
    let (a, b) = (ByteRange::from_node(flow, own)?, ByteRange::from_node(flow, other)?);
    let width = i64::from(op.operation.access()?.ty.bits() / 8);
    let is_part = |place: &ByteRange<'_>| place.bytes < width && !place.masked;
    if a.root != b.root {
        None
    } else if a.start() < b.end() && b.start() < a.end() {
        Some(Relation::Same)
    } else {
        (is_part(&a) && is_part(&b) && a.end().max(b.end()) - a.start().min(b.start()) <= width)
            .then_some(Relation::Rest)
    }
}

/// The bytes of an access, relative to a register that is not computed from another one.
struct ByteRange<'p> {
    root: &'p Name,
    offset: i64,
    bytes: i64,
    /// The address was rounded down to a word address.
    masked: bool,
}

impl<'p> ByteRange<'p> {
    fn from_node(flow: &Flow<'p>, node: usize) -> Option<Self> {
        let address = flow.instruction(node)?.address()?;
        let bytes = i64::from(MemoryEvent::from_node(flow, node)?.bits / 8);
        let mut place = Self { root: &address.base, offset: address.offset, bytes, masked: false };
        for _ in 0..MOST_STEPS {
            let [writer] = flow.writers(place.root) else { break };
            let (source, further) = match flow.nodes[*writer].code {
                NodeCode::Instruction(Instruction::Alu { op, sources, .. }) => match (op, &sources[..]) {
                    (AluOp::Mov, [Operand::Register(source)]) => (source, 0),
                    (AluOp::Add, [Operand::Register(source), Operand::Immediate(bytes)]) => {
                        (source, bytes.cast_signed())
                    }
                    (AluOp::And, [Operand::Register(source), Operand::Immediate(_)]) => {
                        place.masked = true;
                        (source, 0)
                    }
                    _ => break,
                },
                NodeCode::Other(other) if other.base() == "cvta" => match &other.reads[..] {
                    [source] => (source, 0),
                    _ => break,
                },
                _ => break,
            };
            place.root = source;
            place.offset = place.offset.wrapping_add(further);
        }
        Some(place)
    }

    fn start(&self) -> i64 {
        if self.masked { self.offset.saturating_sub(self.bytes - 1) } else { self.offset }
    }

    fn end(&self) -> i64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// Whether an address is computed from the address of a local variable of the function.
fn is_local(flow: &Flow<'_>, node: usize, locals: &HashSet<Name>) -> bool {
    let Some(address) = flow.instruction(node).and_then(Instruction::address) else { return false };
    let mut seen = HashSet::new();
    let mut open = vec![&address.base];
    while let Some(name) = open.pop() {
        if locals.contains(name) {
            return true;
        }
        if seen.insert(name) {
            let writers = flow.writers(name).iter().map(|writer| flow.nodes[*writer].code);
            let computes = |code: &NodeCode<'_>| match code {
                NodeCode::Instruction(instruction) => matches!(instruction, Instruction::Alu { .. }),
                NodeCode::Other(other) => ["cvta", "mad", "selp"].contains(&other.base()),
                _ => false,
            };
            open.extend(writers.filter(computes).flat_map(NodeCode::reads));
        }
    }
    false
}

/// The variables that a function declares in local memory.
fn local_variables(function: &Function) -> HashSet<Name> {
    let declared = function.body.iter().flatten().filter_map(|line| match &line.code {
        Code::Directive(text) => Some(Variable::read(text)),
        _ => None,
    });
    let local = declared.flatten().filter(|variable| variable.space == Some(Space::Local));
    local.map(|variable| Name(variable.name.into())).collect()
}
