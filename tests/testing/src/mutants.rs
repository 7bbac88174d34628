//! Incorrect lowerings, and the kinds of them that the test of an operation catches. The sample of operations is chosen
//! by these kinds.

use std::collections::HashMap;

use ptx_judge::Strength;
use ptx_lowering::{
    AtomicOp, Sequence, Strategy, Target, lower,
    ptx::{AtomSem, FenceSem, Instruction, LdSem, Scope, StSem},
};

/// Incorrect lowerings. Each weakens a semantics (0), narrows a scope (1), makes an access weak (2), or drops a fence
/// (3).
pub fn mutants(sequence: &Sequence) -> Vec<(u8, Sequence)> {
    let mut mutants = Vec::new();
    let statements = sequence.statements();
    for (index, statement) in statements.iter().enumerate() {
        let Some(instruction) = statement.instruction() else { continue };
        let mut replace = |kind: u8, edit: &dyn Fn(&mut Instruction) -> bool| {
            let mut changed = instruction.clone();
            if edit(&mut changed) {
                let mut mutant = statements.to_vec();
                mutant[index] = changed.into();
                mutants.push((kind, mutant.into_iter().collect()));
            }
        };
        replace(0, &|i| match i {
            Instruction::Ld(ld) => std::mem::replace(&mut ld.sem, LdSem::Relaxed) != LdSem::Relaxed,
            Instruction::St(st) => std::mem::replace(&mut st.sem, StSem::Relaxed) != StSem::Relaxed,
            Instruction::Atom(atom) => atom.sem.replace(AtomSem::Relaxed) != Some(AtomSem::Relaxed),
            Instruction::Fence(fence) => match fence.sem {
                Some(FenceSem::Sc) => fence.sem.replace(FenceSem::AcqRel).is_some(),
                Some(FenceSem::Acquire) => fence.sem.replace(FenceSem::Release).is_some(),
                Some(FenceSem::Release) => fence.sem.replace(FenceSem::Acquire).is_some(),
                _ => false,
            },
            _ => false,
        });
        replace(1, &|i| match i {
            Instruction::Ld(ld) => ld.scope.replace(Scope::Cta) != Some(Scope::Cta),
            Instruction::St(st) => st.scope.replace(Scope::Cta) != Some(Scope::Cta),
            Instruction::Atom(atom) => atom.scope.replace(Scope::Cta) != Some(Scope::Cta),
            Instruction::Fence(fence) => std::mem::replace(&mut fence.scope, Scope::Cta) != Scope::Cta,
            _ => false,
        });
        replace(2, &|i| match i {
            Instruction::Ld(ld) => {
                (ld.sem, ld.scope) = (LdSem::Weak, None);
                true
            }
            Instruction::St(st) => {
                (st.sem, st.scope) = (StSem::Weak, None);
                true
            }
            _ => false,
        });
        if matches!(instruction, Instruction::Fence(_)) && statements.len() > 1 {
            let mut dropped = statements.to_vec();
            dropped.remove(index);
            mutants.push((3, dropped.into_iter().collect()));
        }
    }
    mutants
}

/// The kinds of incorrect lowerings that the strength check of one operation's code catches, as bits.
#[derive(Default)]
pub struct Catches(HashMap<(AtomicOp, Sequence), u8>);

impl Catches {
    /// The kinds of [`mutants`], and two more: a fault in any code, and a fault in an error.
    pub fn find_kinds(&mut self, op: &AtomicOp, strategy: Strategy, target: &Target) -> u8 {
        let Ok(lowering) = lower(op, &strategy.into(), target) else { return 1 << 5 };
        let caught = |(op, sequence): &(AtomicOp, Sequence)| {
            let caught =
                mutants(sequence).into_iter().filter(|(_, mutant)| Strength::from_sequence(mutant).covers(op).is_err());
            caught.fold(1 << 4, |kinds, (kind, _)| kinds | 1 << kind)
        };
        *self.0.entry((*op, lowering.sequence)).or_insert_with_key(caught)
    }
}
