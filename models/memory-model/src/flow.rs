//! The control flow of a thread, and the statements that depend on each branch.

use std::cell::OnceCell;

use ptx_isa::graph;

use crate::{
    limit::Limit,
    multimem::Multimem,
    program::{
        Address, BarrierName, BarrierPart, Instruction, Label, Language, Location, Operand, Register, Statement, Thread,
    },
    relation::Set,
};

/// The control flow of a thread. Its end has the index after the last statement.
pub(crate) struct Flow {
    /// The possible successors of each statement.
    next: Vec<Vec<usize>>,
    /// The position of each label.
    labels: Vec<usize>,
    /// The immediate post-dominator of each statement: the first statement that control reaches in any case. Only
    /// branches that depend on reads need them.
    after: OnceCell<Vec<usize>>,
    regions: Vec<Option<u128>>,
}

impl Flow {
    /// # Errors
    /// A branch to an undefined label.
    pub fn new<L: Language>(thread: &Thread<L>) -> Result<Self, Limit> {
        let end = thread.code.len();
        let mut labels = vec![None; thread.labels.len()];
        for (pc, statement) in thread.code.iter().enumerate() {
            if let Instruction::Label(label) = statement.instruction {
                labels[usize::from(label.0)].get_or_insert(pc);
            }
        }
        // A label that is not the target of a branch may be missing.
        let mut next = Vec::with_capacity(end);
        for (pc, statement) in thread.code.iter().enumerate() {
            next.push(match statement.instruction {
                Instruction::Branch { when, target } => {
                    let to = labels[usize::from(target.0)].ok_or(Limit::Label)?;
                    if when.is_none() && statement.guard.is_none() { vec![to] } else { vec![to, pc + 1] }
                }
                // Its successor is the end, so that post-dominators exist.
                Instruction::Stop(_) if statement.guard.is_none() => vec![end],
                Instruction::Stop(_) => vec![end, pc + 1],
                _ => vec![pc + 1],
            });
        }
        let labels = labels.into_iter().map(|position| position.unwrap_or(end)).collect();
        Ok(Self { regions: vec![None; end], next, labels, after: OnceCell::new() })
    }

    /// The possible successors of a statement.
    pub fn next(&self, pc: usize) -> &[usize] {
        &self.next[pc]
    }

    pub fn position(&self, label: Label) -> usize {
        self.labels[usize::from(label.0)]
    }

    /// Whether some branch leads backward.
    pub fn has_loops(&self) -> bool {
        self.next.iter().enumerate().any(|(pc, next)| next.iter().any(|&to| to <= pc))
    }

    /// The immediate post-dominator of the statement at `pc`, and the registers that some path writes before it.
    pub fn region<L: Language>(&mut self, thread: &Thread<L>, pc: usize) -> (usize, u128) {
        let until = self.after.get_or_init(|| post_dominators(&self.next))[pc];
        let written = self.regions[pc].unwrap_or_else(|| {
            let inside = self.reachable(&self.next[pc], until);
            let written = |pc: usize| uses(&thread.code[pc].instruction).1;
            inside.into_iter().map(written).fold(written(pc), |all, one| all | one)
        });
        self.regions[pc] = Some(written);
        (until, written)
    }

    /// The statements that are reachable without passing `until`.
    fn reachable(&self, from: &[usize], until: usize) -> Vec<usize> {
        let is_before = |pc: &usize| *pc != until && *pc < self.next.len();
        let next = |pc: usize| self.next[pc].iter().copied().filter(is_before);
        let seen = graph::reached(self.next.len(), from.iter().copied().filter(is_before), next, |_| false);
        (0..seen.len()).filter(|pc| seen[*pc]).collect()
    }

    /// The variables that may be written from a statement on, given the writes of each statement.
    pub fn written_from(&self, pc: usize, writes: &[Vec<Location>]) -> Vec<Location> {
        let mut all: Vec<Location> =
            self.reachable(&[pc], self.next.len()).into_iter().flat_map(|pc| &writes[pc]).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// A branch, and the statements that depend on it: the statements before `until`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    pub until: usize,
    /// The reads that decided the branch.
    pub reads: Set,
    /// The registers that are written between the branch and `until`, on any path.
    pub written: u128,
}

/// The variables that a statement writes; `None` if an address is in a register.
pub(crate) fn written<L: Language>(statement: &Statement<L>) -> Option<Vec<Location>> {
    fn list_locations<L: Language>(instruction: &Instruction<L>) -> Option<Vec<Location>> {
        match instruction {
            Instruction::Store { a, .. } | Instruction::Rmw { a, .. } => match a.base {
                Operand::Address(location) => Some(vec![location]),
                _ => None,
            },
            Instruction::Asynchronous(of) => {
                let variable = |a: Address| match a.base {
                    Operand::Address(location) => Some(location),
                    _ => None,
                };
                of.written().map(variable).collect()
            }
            Instruction::Vector(elements) | Instruction::Multimem(Multimem { elements, .. }) => {
                elements.iter().map(list_locations).collect::<Option<Vec<_>>>().map(|all| all.concat())
            }
            _ => Some(Vec::new()),
        }
    }
    list_locations(&statement.instruction)
}

/// For each statement of a thread with loops, the registers that may be read from there on before they are written.
pub(crate) fn live<L: Language>(thread: &Thread<L>, flow: &Flow) -> Vec<u128> {
    if !flow.has_loops() {
        return Vec::new();
    }
    let observed = thread.registers.iter().enumerate().filter(|(_, register)| register.observed);
    let at_end = observed.fold(0, |live, (index, _)| live | 1 << index);
    let mut live = vec![0; thread.code.len() + 1];
    live[thread.code.len()] = at_end;
    loop {
        let before = live.clone();
        for (pc, statement) in thread.code.iter().enumerate().rev() {
            let after = flow.next(pc).iter().fold(0, |all, &next| all | live[next]);
            let (read, written) = uses(&statement.instruction);
            live[pc] = match statement.guard {
                Some(guard) => after | read | 1 << guard.p.0,
                None => after & !written | read,
            };
        }
        if live == before {
            return live;
        }
    }
}

/// The registers that an instruction reads, and those that it always writes.
pub(crate) fn uses<L: Language>(instruction: &Instruction<L>) -> (u128, u128) {
    let one = |register: Register| 1u128 << register.0;
    let operand = |operand: Operand| if let Operand::Register(register) = operand { one(register) } else { 0 };
    match instruction {
        Instruction::Load { d, a, .. } => (operand(a.base), one(*d)),
        Instruction::Store { a, b, .. } => (operand(a.base) | operand(*b), 0),
        Instruction::Rmw { d, a, b, c, .. } => (operand(a.base) | operand(*b) | operand(*c), d.map_or(0, one)),
        Instruction::Vector(elements) => {
            elements.iter().map(uses).fold((0, 0), |(read, written), (r, w)| (read | r, written | w))
        }
        Instruction::Multimem(Multimem { elements, reduced }) => {
            let result = (0, reduced.map_or(0, |(_, d)| one(d)));
            elements.iter().map(uses).fold(result, |(read, written), (r, w)| (read | r, written | w))
        }
        Instruction::Barrier(barrier) => {
            let name = match barrier.of {
                BarrierName::Cta { id, quorum, .. } => operand(id) | quorum.map_or(0, operand),
                BarrierName::Cluster { .. } => 0,
            };
            match barrier.part {
                BarrierPart::Red { d, p, .. } => (name | operand(p), one(d)),
                _ => (name, 0),
            }
        }
        Instruction::Asynchronous(of) => {
            let mut of = of.clone();
            let written = of.result_mut().map_or(0, |d| one(*d));
            (of.operands_mut().into_iter().fold(0, |read, of| read | operand(*of)), written)
        }
        Instruction::Alu { computation, d, sources, .. } => {
            (sources[..computation.arity()].iter().fold(0, |read, source| read | operand(*source)), one(*d))
        }
        Instruction::Branch { when, .. } => (when.map_or(0, |(_, a, b)| operand(a) | operand(b)), 0),
        Instruction::Fence(_) | Instruction::Label(_) | Instruction::Stop(_) => (0, 0),
    }
}

/// The immediate post-dominator of each node except the last, which is the end. A node without a path to the end has
/// the end as its post-dominator.
fn post_dominators(next: &[Vec<usize>]) -> Vec<usize> {
    let end = next.len();
    let before = graph::previous(end + 1, |pc| next.get(pc).into_iter().flatten().copied());
    let after = graph::dominators(end + 1, end, |node| before[node].iter().copied());
    after.into_iter().take(end).map(|node| node.unwrap_or(end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_meet() {
        // if 0 { 1 } 2; while 3 { 4 } 5; an endless loop at 6.
        let next = [vec![2, 1], vec![2], vec![3], vec![5, 4], vec![3], vec![7, 6], vec![6]];
        assert_eq!(post_dominators(&next.map(|n| n.to_vec())), [2, 2, 3, 5, 3, 7, 7]);
        assert_eq!(post_dominators(&[]), [0; 0]);
    }
}
