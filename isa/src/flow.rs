//! The control flow and the register definitions of a function, or of a list of [`Statement`]s.

use std::collections::HashMap;

use crate::{
    graph::{reached, reverse_post_order},
    instruction::{Atom, Guard, Instruction, Name, Operand, Statement},
    module::{Code, Function, Jump, Other},
    word::AtomOp,
};

/// The control-flow graph of a function, with an instruction at each node.
#[derive(Clone, Debug)]
pub struct Flow<'p> {
    /// The nodes. The first node is the entry, the last node the exit.
    pub nodes: Vec<Node<'p>>,
    /// The nodes that write each register.
    writers: HashMap<&'p Name, Vec<usize>>,
}

/// A node of the control-flow graph.
#[derive(Clone, Debug)]
pub struct Node<'p> {
    /// The guard of the instruction, such as `@p`.
    pub guard: Option<&'p Guard>,
    /// The instruction.
    pub code: NodeCode<'p>,
    /// The successors. For a guarded branch, the target comes first.
    pub next: Vec<usize>,
    /// The predecessors on paths that begin at the entry.
    pub previous: Vec<usize>,
    /// The line of the text; 0 for statements, the entry and the exit.
    pub line: u32,
}

/// The instruction at a node.
#[derive(Clone, Copy, Debug)]
pub enum NodeCode<'p> {
    /// The beginning of the function.
    Entry,
    /// The end of the function, after its last instruction and after each instruction that leaves it.
    Exit,
    /// A modelled instruction.
    Instruction(&'p Instruction),
    /// Any other instruction.
    Other(&'p Other),
}

impl<'p> Flow<'p> {
    /// The graph of a list of statements. A label that no statement declares refers to the exit.
    pub fn of_statements(statements: &'p [Statement]) -> Self {
        let mut builder = Builder::default();
        for statement in statements {
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

    /// The graph of a function's body. The graph of a declaration has only the entry and the exit.
    pub fn of_function(function: &'p Function) -> Self {
        let mut builder = Builder::default();
        for line in function.body.iter().flatten() {
            match &line.code {
                Code::Label(label) => builder.label(label),
                Code::Instruction { guard, instruction } => {
                    builder.push(guard.as_ref(), NodeCode::Instruction(instruction), line.number);
                }
                Code::Other(other) => builder.push(other.guard.as_ref(), NodeCode::Other(other), line.number),
                Code::Directive(_) | Code::Open | Code::Close => {}
            }
        }
        builder.finish()
    }

    /// Removes the edges that a branch never takes. `values` has the predicates with a constant value.
    pub fn decided(mut self, values: &HashMap<&Name, bool>) -> Self {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let Some(guard) = node.guard.filter(|_| node.code.jumps()) else { continue };
            match values.get(&guard.p) {
                Some(holds) if *holds == guard.negated => node.next = vec![index + 1],
                Some(_) => drop(node.next.pop()),
                None => {}
            }
        }
        self.connect();
        self
    }

    /// Computes the predecessors. Only paths that begin at the entry count.
    fn connect(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.previous.clear());
        for node in self.in_order() {
            for next in self.nodes[node].next.clone() {
                self.nodes[next].previous.push(node);
            }
        }
    }

    /// The node of the entry.
    pub fn entry(&self) -> usize {
        0
    }

    /// The node of the exit.
    pub fn exit(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The reachable nodes in reverse postorder: each node after its predecessors, except for back edges.
    pub fn in_order(&self) -> Vec<usize> {
        reverse_post_order(self.nodes.len(), self.entry(), |node| self.nodes[node].next.iter().copied())
    }

    /// The instruction of a node, if it is modelled.
    pub fn instruction(&self, node: usize) -> Option<&'p Instruction> {
        match self.nodes[node].code {
            NodeCode::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }

    /// The `cas` at a node, if the node has one.
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

    /// The nodes whose write of the register can reach its use at node `at`.
    pub fn definitions(&self, at: usize, name: &Name) -> Vec<usize> {
        let writers = self.writers(name);
        if let [_] = writers {
            return writers.to_vec();
        }
        let overwrites = |node: usize| self.nodes[node].guard.is_none() && writers.contains(&node);
        let reached = self.reached(at, Direction::Backward, overwrites);
        writers.iter().copied().filter(|node| reached[*node]).collect()
    }

    /// The nodes on paths from `start`. A path ends at a node for which `stops` holds.
    pub fn reached(&self, start: usize, direction: Direction, stops: impl Fn(usize) -> bool) -> Vec<bool> {
        let neighbors = |node: usize| self.neighbors(node, direction).iter().copied();
        reached(self.nodes.len(), neighbors(start), neighbors, stops)
    }

    fn neighbors(&self, node: usize, direction: Direction) -> &[usize] {
        match direction {
            Direction::Forward => &self.nodes[node].next,
            Direction::Backward => &self.nodes[node].previous,
        }
    }

    /// Whether every path from `start` reaches a node that is [found](Visit::Found), before a node that
    /// [fails](Visit::Fail) and before the end of the code. `start` itself is visited only if a loop leads back to it.
    /// A path that stays in a loop forever counts as successful.
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
                Visit::Continue if node == self.entry() || node == self.exit() => return false,
                Visit::Continue => stack.extend(self.neighbors(node, direction)),
            }
        }
        true
    }
}

/// The direction of a search through the control-flow graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To successors.
    Forward,
    /// To predecessors.
    Backward,
}

/// The result of a search at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// The node matches; the path ends here.
    Found,
    /// The node must not precede a match.
    Fail,
    /// The search continues after this node.
    Continue,
}

impl<'p> NodeCode<'p> {
    /// Whether control can continue at a node other than the next one.
    fn jumps(self) -> bool {
        match self {
            Self::Instruction(instruction) => matches!(instruction, Instruction::Bra { .. }),
            Self::Other(other) => other.jump != Jump::Next,
            Self::Entry | Self::Exit => false,
        }
    }

    /// The registers that the instruction writes.
    pub fn writes(self) -> impl Iterator<Item = &'p Name> {
        let (modelled, other) = match self {
            Self::Instruction(instruction) => (Some(instruction.destinations()), &[][..]),
            Self::Other(other) => (None, &other.writes[..]),
            Self::Entry | Self::Exit => (None, &[][..]),
        };
        modelled.into_iter().flatten().chain(other)
    }

    /// The registers that the instruction reads as values; registers in addresses do not count.
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
        let node = |guard, code, line| Node { guard, code, next: Vec::new(), previous: Vec::new(), line };
        if self.nodes.is_empty() {
            self.nodes.push(node(None, NodeCode::Entry, 0));
        }
        self.nodes.push(node(guard, code, line));
    }

    fn label(&mut self, label: &'p Name) {
        // The entry is node 0, even if it does not exist yet.
        self.labels.insert(label, self.nodes.len().max(1));
    }

    fn finish(mut self) -> Flow<'p> {
        self.push(None, NodeCode::Exit, 0);
        let exit = self.nodes.len() - 1;
        for node in 0..exit {
            self.nodes[node].next = self.next(node, exit);
        }
        let mut flow = Flow { nodes: self.nodes, writers: HashMap::new() };
        for (node, Node { code, .. }) in flow.nodes.iter().enumerate() {
            code.writes().for_each(|name| flow.writers.entry(name).or_default().push(node));
        }
        flow.connect();
        flow
    }

    fn next(&self, node: usize, exit: usize) -> Vec<usize> {
        let target = |label: &Name| self.labels.get(label).copied().unwrap_or(exit);
        let mut next = match self.nodes[node].code {
            NodeCode::Instruction(Instruction::Bra { target: label }) => vec![target(label)],
            NodeCode::Other(Other { jump: Jump::To(labels), .. }) => labels.iter().map(target).collect(),
            NodeCode::Other(Other { jump: Jump::Out, .. }) => vec![exit],
            _ => Vec::new(),
        };
        if self.nodes[node].guard.is_some() || !self.nodes[node].code.jumps() {
            next.push(node + 1);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Module;

    /// The successors of each node, the entry first.
    fn check(body: &str, expected: &[&[usize]]) {
        let text = format!(".version 8.6\n.target sm_90\n.func g() .noreturn;\n.func f() {{ {body} }}");
        let module: Module = text.parse().expect(body);
        let flow = Flow::of_function(module.functions().nth(1).expect("a function"));
        let next: Vec<_> = flow.nodes.iter().map(|node| &node.next[..]).collect();
        assert_eq!(next, expected, "{body}");
    }

    #[test]
    fn successors() {
        check("ret;", &[&[1], &[2], &[]]);
        check("@%p ret; bar.sync 0;", &[&[1], &[3, 2], &[3], &[]]);
        check("$a: @%p bra $b; bra $a; $b: exit;", &[&[1], &[3, 2], &[1], &[4], &[]]);
        check("call g; call f; trap;", &[&[1], &[4], &[3], &[4], &[]]);
        check("ts: .branchtargets $a, $b; brx.idx %r, ts; $a: ret; $b: ret;", &[&[1], &[2, 3], &[4], &[4], &[]]);
        check("{ $a: bra $a; } { $a: @!%p bra $a; }", &[&[1], &[1], &[2, 3], &[]]);
        check("", &[&[1], &[]]);
    }

    #[test]
    fn predicates_with_one_value() {
        let block =
            crate::parse_block("@%p bra $a; fence.sc.gpu; $a: @!%p bra $b; @%p membar.sys; $b:").expect("a block");
        let p = Name::new("%p");
        let next = |value: bool| {
            let flow = Flow::of_statements(&block).decided(&HashMap::from([(&p, value)]));
            assert_eq!(flow.nodes[2].previous.is_empty(), value);
            flow.nodes.into_iter().map(|node| node.next).collect::<Vec<_>>()
        };
        assert_eq!(next(true), [vec![1], vec![3], vec![3], vec![4], vec![5], vec![]]);
        assert_eq!(next(false), [vec![1], vec![2], vec![3], vec![5], vec![5], vec![]]);
    }

    #[test]
    fn unreachable_blocks_do_not_count() {
        let check = |block: &str, in_order: &[usize], node: usize, previous: &[usize]| {
            let statements = crate::parse_block(block).expect(block);
            let flow = Flow::of_statements(&statements);
            assert_eq!((&*flow.in_order(), &*flow.nodes[node].previous), (in_order, previous), "{block}");
        };
        check("bra $a; membar.gl; $a: fence.sc.gpu;", &[0, 1, 3, 4], 3, &[1]);
        check("@%p bra $a; membar.gl; bra $b; $a: membar.cta; $b: membar.sys;", &[0, 1, 2, 3, 4, 5, 6], 5, &[3, 4]);
        check("$a: @%p bra $a;", &[0, 1, 2], 1, &[0, 1]);
        check("bra $elsewhere; membar.gl;", &[0, 1, 3], 3, &[1]);
    }

    #[test]
    fn searches_follow_every_path() {
        use Direction::{Backward, Forward};
        let block = "$a: mov.b32 %x, 1; @%p bra $b; mov.b32 %x, 2; $b: @%q bra $a; fence.sc.gpu;";
        let block = crate::parse_block(block).expect("a block");
        let flow = Flow::of_statements(&block);
        let check = |start: usize, direction: Direction, found: &[usize], fails: &[usize], expected: bool| {
            let visit = |node: usize| match node {
                node if found.contains(&node) => Visit::Found,
                node if fails.contains(&node) => Visit::Fail,
                _ => Visit::Continue,
            };
            let is_always = flow.always(start, direction, visit);
            assert_eq!(is_always, expected, "{found:?} {direction:?} from {start} before {fails:?}");
        };
        check(1, Forward, &[4], &[], true);
        check(1, Forward, &[4], &[3], false);
        check(1, Forward, &[3], &[], false);
        // The path may stay in the loop forever.
        check(1, Forward, &[5], &[], true);
        check(3, Forward, &[5], &[3], false);
        check(3, Forward, &[5], &[0], true);
        check(1, Forward, &[6], &[], true);
        check(5, Backward, &[2], &[], true);
        check(5, Backward, &[2], &[3], false);
        check(5, Backward, &[3], &[], false);
        check(1, Backward, &[4], &[], false);
        check(1, Backward, &[0], &[], true);
    }

    #[test]
    fn definitions_end_where_a_register_is_overwritten() {
        let block = "mov.b32 %x, 1; @%p mov.b32 %x, 2; mov.b32 %y, %x; mov.b32 %x, 3; mov.b32 %y, %x;";
        let block = crate::parse_block(block).expect("a block");
        let flow = Flow::of_statements(&block);
        let x = Name::new("%x");
        assert_eq!(flow.definitions(3, &x), [1, 2]);
        assert_eq!(flow.definitions(5, &x), [4]);
    }

    #[test]
    fn registers_of_all_instructions_count() {
        let text = ".version 8.6\n.target sm_90\n.func f() {\nmov.b32 %x, %y;\n\
                    @%p fma.rn.f32 %x, %y, %z, %x;\natom.global.cas.b32 %c, [%a], %x, 1;\n\
                    atom.global.add.u32 %d, [%a], %c;\n}\n";
        let module: Module = text.parse().expect("a module");
        let flow = Flow::of_function(module.functions().next().expect("a function"));
        let node = |node: usize| {
            let Node { code, line, .. } = &flow.nodes[node];
            let names = |names: Vec<&Name>| names.iter().map(|name| name.0.to_string()).collect::<Vec<_>>().join(" ");
            (*line, names(code.writes().collect()), names(code.reads().collect()), flow.cas(node).is_some())
        };
        let check = |at: usize, line: u32, writes: &str, reads: &str, is_cas: bool| {
            assert_eq!(node(at), (line, writes.into(), reads.into(), is_cas));
        };
        check(0, 0, "", "", false);
        check(1, 4, "%x", "%y", false);
        check(2, 5, "%x", "%y %z %x", false);
        check(3, 6, "%c", "%x", true);
        check(4, 7, "%d", "%c", false);
        let definitions = |at: usize, name: &'static str| flow.definitions(at, &Name::new(name));
        // An instruction does not define the values that it reads itself.
        assert_eq!(definitions(2, "%x"), [1]);
        assert_eq!(definitions(3, "%x"), [1, 2]);
        assert_eq!(definitions(4, "%c"), [3]);
        assert_eq!(definitions(4, "%y"), [0; 0]);
    }
}
