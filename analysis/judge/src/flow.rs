//! The control flow through PTX code, of this project or any compiler, as far as other threads can observe it.
//!
//! Two kinds of path are left out. If a predicate shows that an address is local ('PTX ISA', section on `isspacep`), no
//! other thread can access it. A branch on a constant predicate has one successor.

use std::{collections::HashMap, ops::Deref};

use ptx_lowering::{
    Sequence,
    ptx::{
        AluOp, Function, Instruction, Name, Operand, Space, Type,
        flow::{self, Node, NodeCode},
    },
};

/// The instructions of a function or a sequence, and the paths between them.
pub struct Flow<'p> {
    flow: flow::Flow<'p>,
    /// For each predicate, the value that means a local address.
    locals: HashMap<&'p Name, bool>,
}

impl<'p> Flow<'p> {
    pub fn of_sequence(sequence: &'p Sequence) -> Self {
        Self::new(flow::Flow::of_statements(sequence.statements()))
    }

    /// The flow of a function's body; a declaration has only entry and exit.
    pub fn of_function(function: &'p Function) -> Self {
        Self::new(flow::Flow::of_function(function))
    }

    fn new(flow: flow::Flow<'p>) -> Self {
        let locals = local_predicates(&flow.nodes);
        let constants = constant_predicates(&flow.nodes);
        // The predicates that have one possible value left, and that value.
        let decided = locals.iter().map(|(p, local_if)| (*p, !local_if)).chain(constants).collect();
        Self { flow: flow.decided(&decided), locals }
    }

    /// Whether a node executes only if an address is local.
    pub fn is_private(&self, node: usize) -> bool {
        self.nodes[node].guard.is_some_and(|guard| self.locals.get(&guard.p) == Some(&!guard.negated))
    }
}

impl<'p> Deref for Flow<'p> {
    type Target = flow::Flow<'p>;

    fn deref(&self) -> &Self::Target {
        &self.flow
    }
}

/// The predicates to which only one constant is ever written.
fn constant_predicates<'p>(nodes: &[Node<'p>]) -> HashMap<&'p Name, bool> {
    let mut values: HashMap<&Name, Option<bool>> = HashMap::new();
    for node in nodes {
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

/// The predicates that test whether an address is local, with the value that means yes.
fn local_predicates<'p>(nodes: &[Node<'p>]) -> HashMap<&'p Name, bool> {
    let mut locals: HashMap<&Name, bool> = HashMap::new();
    let mut others = Vec::new();
    for node in nodes {
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
