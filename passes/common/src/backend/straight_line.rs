//! Straight-line sequences, split into the access and the semantics and fences around it.

use ptx_lowering::{
    AtomicOp, Sequence, SyncScope,
    ptx::{AluOp, Atom, Fence, FenceSem, Instruction, Ld, LdSem, Scope, Space, St, StSem, Statement},
};

/// A straight-line sequence for one operation, in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StraightLine {
    /// Semantics and fences, where `*` marks the access: `fence.sc *.acquire`.
    pub order: String,
    /// The access without semantics, scope and state space, such as `atom.add.u32`. A fence has no access.
    pub access: Option<String>,
}

impl StraightLine {
    /// The parts of a sequence. `None` if the sequence branches, if it computes anything except the negation of an
    /// operand, or if an instruction has another scope or state space than the operation.
    pub fn from_sequence(sequence: &Sequence, op: &AtomicOp) -> Option<Self> {
        let instructions = sequence.statements().iter().filter_map(|statement| match statement {
            Statement::Reg { .. } => None,
            Statement::Instruction { guard: None, instruction } => Some(Some(instruction)),
            _ => Some(None),
        });
        Self::of_instructions(instructions, op)
    }

    /// The parts of a list of instructions; `None` in the list is an instruction that is not modelled, or has a guard.
    pub fn of_instructions<'a>(
        instructions: impl IntoIterator<Item = Option<&'a Instruction>>,
        op: &AtomicOp,
    ) -> Option<Self> {
        let SyncScope::Threads(scope) = op.scope else { return None };
        let space = op.operation.access().map(|access| access.space);
        let (mut order, mut found) = (Vec::new(), None);
        for instruction in instructions {
            match instruction? {
                Instruction::Alu { op: AluOp::Mov | AluOp::Neg, .. } => {}
                Instruction::Fence(fence) if fence.scope == scope => order.push(semantics(fence)),
                instruction => {
                    let access = AccessParts::from_instruction(instruction)?;
                    if found.is_some() || Some(access.space) != space || access.scope.is_some_and(|own| own != scope) {
                        return None;
                    }
                    order.push(format!("*{}", access.semantics));
                    found = Some(access.rest);
                }
            }
        }
        let is_there = found.is_some() == space.is_some() && !order.is_empty();
        is_there.then(|| Self { order: order.join(" "), access: found })
    }
}

fn semantics(fence: &Fence) -> String {
    format!("fence.{}", fence.sem.unwrap_or(FenceSem::AcqRel))
}

/// An access in parts. An `atom` without written semantics has empty semantics here, so that the text is the same for
/// every version of LLVM.
struct AccessParts {
    semantics: String,
    scope: Option<Scope>,
    space: Space,
    rest: String,
}

impl AccessParts {
    fn from_instruction(instruction: &Instruction) -> Option<Self> {
        let (semantics, scope, space, bare) = match instruction.clone() {
            Instruction::Atom(atom) => {
                let semantics = atom.sem.map_or("", Into::into);
                let bare = Atom { sem: None, scope: None, space: Space::Generic, ..atom };
                (semantics, atom.scope, atom.space, Instruction::Atom(bare))
            }
            Instruction::Ld(ld) => {
                let semantics = <&str>::from(ld.sem);
                let bare = Ld { sem: LdSem::Plain, scope: None, space: Space::Generic, ..ld };
                (semantics, ld.scope, ld.space, Instruction::Ld(bare))
            }
            Instruction::St(st) => {
                let semantics = <&str>::from(st.sem);
                let bare = St { sem: StSem::Plain, scope: None, space: Space::Generic, ..st };
                (semantics, st.scope, st.space, Instruction::St(bare))
            }
            _ => return None,
        };
        let rest = bare.to_string().split_whitespace().next().unwrap_or_default().to_owned();
        let semantics = if ["", "plain"].contains(&semantics) { String::new() } else { format!(".{semantics}") };
        Some(Self { semantics, scope, space, rest })
    }
}

#[cfg(test)]
mod tests {
    use ptx_lowering::{Access, Operation, Ordering, RmwOp, Type};

    use super::*;

    fn check(sequence: &str, expected: Option<(&str, Option<&str>)>) {
        let operation = Operation::Rmw(RmwOp::Add, Access::new(Space::Global, Type::I32));
        let is_fence = sequence.starts_with("fence") && !sequence.contains("global");
        let operation = if is_fence { Operation::Fence } else { operation };
        let op = AtomicOp { operation, ordering: Ordering::SeqCst, scope: SyncScope::Threads(Scope::Gpu) };
        let plain = StraightLine::from_sequence(&sequence.parse().expect(sequence), &op);
        let expected =
            expected.map(|(order, access)| StraightLine { order: order.into(), access: access.map(str::to_owned) });
        assert_eq!(plain, expected, "{sequence}");
    }

    #[test]
    fn plain_operations() {
        let add = Some("atom.add.u32");
        check("atom.relaxed.gpu.global.add.u32 %d, [%a], %b;", Some(("*.relaxed", add)));
        check("atom.global.add.u32 %d, [%a], %b;", Some(("*", add)));
        check(
            "{ .reg .b32 %n; neg.s32 %n, %b; fence.sc.gpu; atom.acquire.gpu.global.add.u32 %d, [%a], %n; }",
            Some(("fence.sc *.acquire", add)),
        );
        check("ld.global.b32 %d, [%a];", Some(("*", Some("ld.b32"))));
        check("st.volatile.global.b32 [%a], %b;", Some(("*.volatile", Some("st.b32"))));
        check("fence.acq_rel.gpu;", Some(("fence.acq_rel", None)));
    }

    #[test]
    fn operations_that_are_not_plain() {
        check("atom.relaxed.sys.global.add.u32 %d, [%a], %b;", None);
        check("atom.relaxed.gpu.shared.add.u32 %d, [%a], %b;", None);
        check("fence.acq_rel.gpu; fence.sc.sys;", None);
        check("atom.global.add.u32 %d, [%a], %b; ld.global.b32 %d, [%a];", None);
        check("{ .reg .pred %p; setp.eq.u32 %p, %b, 0; @%p atom.global.add.u32 %d, [%a], %b; }", None);
        check("{ .reg .b32 %n; add.u32 %n, %b, 1; atom.global.add.u32 %d, [%a], %n; }", None);
    }
}
