//! The flow of control through PTX code, ours or any compiler's.
//!
//! Two kinds of path are left out. Where a predicate says that an address is local ('PTX ISA', section on `isspacep`), no
//! other thread takes part. A branch on a constant predicate has one successor.

use std::collections::HashMap;

use ptx_atomics_lowering::{
    Sequence,
    ptx::{
        AluOp, Atom, AtomOp, Code, Function, Guard, Instruction, Jump, Name, Operand, Other, Space, Statement, Type,
    },
};

use crate::graph::reverse_post_order;

/// The instructions of a function or a sequence, and the paths between them.
pub struct Flow<'p> {
    /// The first stands for the entry, the last for the exit.
    pub nodes: Vec<Node<'p>>,
    /// The nodes that write each register.
    writers: HashMap<&'p Name, Vec<usize>>,
}

/// An instruction and its neighbors.
pub struct Node<'p> {
    pub guard: Option<&'p Guard>,
    pub code: NodeCode<'p>,
    /// Where control goes next. Of a guarded branch, first where it is taken.
    pub next: Vec<usize>,
    pub previous: Vec<usize>,
    /// Whether it executes only where an address is local.
    pub private: bool,
    /// The line of the text; 0 in a sequence.
    pub line: u32,
}

#[derive(Clone, Copy)]
pub enum NodeCode<'p> {
    Entry,
    Exit,
    Instruction(&'p Instruction),
    Other(&'p Other),
}

impl<'p> Flow<'p> {
    pub fn of_sequence(sequence: &'p Sequence) -> Self {
        let mut builder = Builder::default();
        for statement in sequence.statements() {
            match statement {
                Statement::Instruction { guard, instruction } => {
                    builder.push(guard.as_ref(), NodeCode::Instruction(instruction), 0);
                }
                Statement::Label(label) => builder.label(label),
                Statement::Reg { .. } => {}
            }
        }
        builder.finish()
    }

    /// The flow of a function's body; that of a declaration has only entry and exit.
    pub fn of_function(function: &'p Function) -> Self {
        let mut builder = Builder::default();
        for line in function.body.iter().flatten() {
            match &line.code {
                Code::Label(label) => builder.label(label),
                Code::Instruction { guard, instruction } => {
                    builder.push(guard.as_ref(), NodeCode::Instruction(instruction), line.number);
                }
                Code::Other(other) => builder.push(other.guard.as_ref(), NodeCode::Other(other), line.number),
            }
        }
        builder.finish()
    }

    pub fn entry(&self) -> usize {
        0
    }

    pub fn exit(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The nodes that control reaches, each behind those that lead to it, unless they are in a loop.
    pub fn in_order(&self) -> Vec<usize> {
        reverse_post_order(self.nodes.len(), |node| &self.nodes[node].next)
    }

    pub fn instruction(&self, node: usize) -> Option<&'p Instruction> {
        match self.nodes[node].code {
            NodeCode::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }

    /// The `cas` of a node, if it is one.
    pub fn cas(&self, node: usize) -> Option<&'p Atom> {
        match self.instruction(node) {
            Some(Instruction::Atom(atom)) if atom.op == AtomOp::Cas => Some(atom),
            _ => None,
        }
    }

    /// The nodes that write a register.
    pub fn writers(&self, name: &Name) -> &[usize] {
        self.writers.get(name).map_or(&[], |nodes| nodes)
    }

    /// The nodes that write a register whose value is used at a node.
    pub fn definitions(&self, at: usize, name: &Name) -> Vec<usize> {
        let writers = self.writers(name);
        if let [_] = writers {
            return writers.to_vec();
        }
        let overwrites = |node: usize| self.nodes[node].guard.is_none() && writers.contains(&node);
        let reached = self.reached(at, Direction::Backward, overwrites);
        writers.iter().copied().filter(|node| reached[*node]).collect()
    }

    /// The nodes to which a path leads from `start`. It does not lead on from those where it stops.
    pub fn reached(&self, start: usize, direction: Direction, stops: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = self.neighbors(start, direction).to_vec();
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut seen[node], true) && !stops(node) {
                stack.extend(self.neighbors(node, direction));
            }
        }
        seen
    }

    fn neighbors(&self, node: usize, direction: Direction) -> &[usize] {
        match direction {
            Direction::Forward => &self.nodes[node].next,
            Direction::Backward => &self.nodes[node].previous,
        }
    }

    /// Whether every path from `start` meets a node that is [found](Visit::Found), before one that [fails](Visit::Fail) and
    /// before the end of the code. `start` itself is not visited, unless a loop leads back to it. A path that goes round
    /// a loop forever counts as if it met one.
    pub fn always(&self, start: usize, direction: Direction, visit: impl Fn(usize) -> Visit) -> bool {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = self.neighbors(start, direction).to_vec();
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            match visit(node) {
                Visit::Found => {}
                Visit::Fail => return false,
                Visit::Continue if node == self.entry() && direction == Direction::Backward => return false,
                Visit::Continue if node == self.exit() && direction == Direction::Forward => return false,
                Visit::Continue => stack.extend(self.neighbors(node, direction)),
            }
        }
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// The result of a search at one node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    Found,
    Fail,
    Continue,
}

impl<'p> NodeCode<'p> {
    pub fn writes(self) -> impl Iterator<Item = &'p Name> {
        let (modelled, other) = match self {
            Self::Instruction(instruction) => (Some(instruction.destinations()), &[][..]),
            Self::Other(other) => (None, &other.writes[..]),
            Self::Entry | Self::Exit => (None, &[][..]),
        };
        modelled.into_iter().flatten().chain(other)
    }

    /// The registers that are read as values. Those of addresses do not count.
    pub fn reads(self) -> impl Iterator<Item = &'p Name> {
        let (modelled, other) = match self {
            Self::Instruction(instruction) => (Some(instruction.sources()), &[][..]),
            Self::Other(other) => (None, &other.reads[..]),
            Self::Entry | Self::Exit => (None, &[][..]),
        };
        modelled.into_iter().flatten().flat_map(Operand::registers).chain(other)
    }
}

#[derive(Default)]
struct Builder<'p> {
    nodes: Vec<Node<'p>>,
    labels: HashMap<&'p Name, usize>,
}

impl<'p> Builder<'p> {
    fn push(&mut self, guard: Option<&'p Guard>, code: NodeCode<'p>, line: u32) {
        let node = |guard, code| Node { guard, code, next: Vec::new(), previous: Vec::new(), private: false, line };
        if self.nodes.is_empty() {
            self.nodes.push(node(None, NodeCode::Entry));
        }
        self.nodes.push(node(guard, code));
    }

    fn label(&mut self, label: &'p Name) {
        // The entry is node 0, whether it stands there already or not.
        self.labels.insert(label, self.nodes.len().max(1));
    }

    fn finish(mut self) -> Flow<'p> {
        self.push(None, NodeCode::Exit, 0);
        let exit = self.nodes.len() - 1;
        let locals = self.local_predicates();
        let constants = self.constant_predicates();
        // The predicates of which one value is left, and that value.
        let decided: HashMap<&Name, bool> =
            locals.iter().map(|(p, local_if)| (*p, !local_if)).chain(constants).collect();
        for node in 0..exit {
            let next = self.next(node, exit, &decided);
            let guard = self.nodes[node].guard;
            self.nodes[node].private = guard.is_some_and(|guard| locals.get(&guard.p) == Some(&!guard.negated));
            self.nodes[node].next = next;
        }
        let mut flow = Flow { nodes: self.nodes, writers: HashMap::new() };
        for (node, Node { code, .. }) in flow.nodes.iter().enumerate() {
            code.writes().for_each(|name| flow.writers.entry(name).or_default().push(node));
        }
        // Only paths that begin at the entry count.
        for node in flow.in_order() {
            for next in flow.nodes[node].next.clone() {
                flow.nodes[next].previous.push(node);
            }
        }
        flow
    }

    fn next(&self, node: usize, exit: usize, decided: &HashMap<&Name, bool>) -> Vec<usize> {
        let behind = node + 1;
        let target = |label: &Name| self.labels.get(label).copied().unwrap_or(exit);
        let jump = match self.nodes[node].code {
            NodeCode::Instruction(Instruction::Bra { target: label }) => vec![target(label)],
            NodeCode::Other(Other { jump: Jump::To(labels), .. }) => labels.iter().map(target).collect(),
            NodeCode::Other(Other { jump: Jump::Out, .. }) => vec![exit],
            _ => return vec![behind],
        };
        let Some(guard) = self.nodes[node].guard else { return jump };
        match decided.get(&guard.p) {
            Some(&holds) if holds == guard.negated => vec![behind],
            Some(_) => jump,
            None => jump.into_iter().chain([behind]).collect(),
        }
    }

    /// The predicates to which only one constant is ever written.
    fn constant_predicates(&self) -> HashMap<&'p Name, bool> {
        let mut values: HashMap<&Name, Option<bool>> = HashMap::new();
        for node in &self.nodes {
            let written = match node.code {
                NodeCode::Instruction(Instruction::Alu { op: AluOp::Mov, ty: Type::Pred, sources, .. }) => {
                    if let [Operand::Immediate(bits)] = sources[..] { Some(bits != 0) } else { None }
                }
                _ => None,
            };
            for name in node.code.writes() {
                let value = values.entry(name).or_insert(written);
                *value = value.filter(|value| Some(*value) == written);
            }
        }
        values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The predicates that say whether an address is local, with the value that says yes.
    fn local_predicates(&self) -> HashMap<&'p Name, bool> {
        let mut locals: HashMap<&Name, bool> = HashMap::new();
        let mut others = Vec::new();
        for node in &self.nodes {
            let (p, local_if) = match node.code {
                NodeCode::Instruction(Instruction::Isspacep { space: Space::Local, p, .. }) => (p, true),
                NodeCode::Instruction(Instruction::Alu {
                    op: AluOp::Not,
                    ty: Type::Pred,
                    d: Operand::Register(p),
                    sources,
                }) => match sources[..] {
                    [Operand::Register(ref source)] if locals.contains_key(source) => (p, !locals[source]),
                    _ => {
                        others.push(p);
                        continue;
                    }
                },
                code => {
                    others.extend(code.writes());
                    continue;
                }
            };
            if locals.insert(p, local_if).is_some_and(|known| known != local_if) {
                others.push(p);
            }
        }
        for other in others {
            locals.remove(other);
        }
        locals
    }
}
