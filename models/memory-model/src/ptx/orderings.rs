//! Variants of a program with other orderings: weaker or stronger replacements of its instructions.

use strum::IntoEnumIterator;

use super::{Fence, FenceSem, Instruction, Program, Proxy, Sem, Semantics};
use crate::{
    limit::Limit,
    place::{Place, Scope, all_reach},
    program::{Barrier, BarrierName, BarrierPart, Operand, Span, Statement},
    unfold::{EventKind, Unfolding, unfold_all},
};

/// A statement of a program: the thread and the index into its code.
pub type At = (usize, usize);

/// The replacement of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The same instruction with these semantics.
    Access(Semantics),
    /// Another fence.
    Fence(Fence),
    /// Removal of the instruction.
    Removed,
    /// A barrier of the CTA before the instruction.
    BarrierBefore,
}

/// The weaker replacements of an instruction, from the weakest on: first less ordering, then a narrower scope. An
/// atomic access stays atomic. The list is empty for an instruction that orders nothing.
pub fn weaker(instruction: &Instruction) -> Vec<Change> {
    match instruction {
        Instruction::Load { access, .. } | Instruction::Store { access, .. } | Instruction::Rmw { access, .. } => {
            if !is_plain_atomic(*access) {
                return Vec::new();
            }
            let sems: &[Sem] = match access.sem {
                Sem::Acquire => &[Sem::Relaxed, Sem::Acquire],
                Sem::Release => &[Sem::Relaxed, Sem::Release],
                Sem::AcqRel => &[Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel],
                _ => &[Sem::Relaxed],
            };
            let all = sems.iter().flat_map(|sem| narrower(access.scope).map(move |scope| (*sem, scope)));
            let all = all.map(|(sem, scope)| Semantics { sem, scope, ..*access });
            all.filter(|other| other != access).map(Change::Access).collect()
        }
        Instruction::Fence(fence @ Fence::Memory { sem, scope }) => {
            let sems: &[FenceSem] = match sem {
                FenceSem::Sc => &[FenceSem::Acquire, FenceSem::Release, FenceSem::AcqRel, FenceSem::Sc],
                FenceSem::AcqRel => &[FenceSem::Acquire, FenceSem::Release, FenceSem::AcqRel],
                FenceSem::Acquire => &[FenceSem::Acquire],
                FenceSem::Release => &[FenceSem::Release],
            };
            let all = sems.iter().flat_map(|sem| narrower(*scope).map(move |scope| Fence::Memory { sem: *sem, scope }));
            let all = all.filter(|other| other != fence).map(Change::Fence);
            [Change::Removed].into_iter().chain(all).collect()
        }
        Instruction::Barrier(Barrier { part: BarrierPart::Sync, of: BarrierName::Cta { quorum: None, .. } }) => {
            vec![Change::Removed]
        }
        _ => Vec::new(),
    }
}

/// The stronger replacements of an instruction, from the weakest on: more ordering of its own kind, and for each
/// ordering a wider scope. Two orderings that cannot be compared are in either order. A barrier before the instruction
/// comes last.
pub fn stronger(instruction: &Instruction) -> Vec<Change> {
    use Sem::{AcqRel, Acquire, Relaxed, Release};
    let (sems, access): (&[Sem], Semantics) = match instruction {
        Instruction::Load { access, .. } => (&[Relaxed, Acquire], *access),
        Instruction::Store { access, .. } => (&[Relaxed, Release], *access),
        Instruction::Rmw { access, .. } => (&[Relaxed, Acquire, Release, AcqRel], *access),
        Instruction::Fence(fence @ Fence::Memory { sem, scope }) => {
            let sems: &[FenceSem] = match sem {
                FenceSem::Sc => &[FenceSem::Sc],
                FenceSem::AcqRel => &[FenceSem::AcqRel, FenceSem::Sc],
                FenceSem::Acquire => &[FenceSem::Acquire, FenceSem::AcqRel, FenceSem::Sc],
                FenceSem::Release => &[FenceSem::Release, FenceSem::AcqRel, FenceSem::Sc],
            };
            let all = sems.iter().flat_map(|sem| wider(*scope).map(move |scope| Fence::Memory { sem: *sem, scope }));
            return all.filter(|other| other != fence).map(Change::Fence).collect();
        }
        _ => return Vec::new(),
    };
    if access.proxy != Proxy::Generic {
        return Vec::new();
    }
    let keeps = |sem: &&Sem| match access.sem {
        Sem::Weak | Relaxed => true,
        // It is relaxed, and has a further meaning for a compiler.
        Sem::Volatile => **sem != Relaxed,
        own => [own, AcqRel].contains(sem),
    };
    let least = match access.sem {
        Sem::Weak => Scope::Cta,
        Sem::Volatile => Scope::Sys,
        _ => access.scope,
    };
    let all = sems.iter().filter(keeps).flat_map(|sem| wider(least).map(move |scope| (*sem, scope)));
    let all = all.map(|(sem, scope)| Semantics { sem, scope, ..access }).filter(|other| *other != access);
    all.map(Change::Access).chain([Change::BarrierBefore]).collect()
}

/// For each statement, the narrowest scope that includes all threads that access the same memory, here and elsewhere:
/// with a narrower scope, atomic operations race in every execution.
///
/// # Errors
/// If a path of a thread cannot be represented.
pub fn least_scopes(program: &Program, unfolding: Unfolding) -> Result<Vec<Vec<Scope>>, Limit> {
    let threads = unfold_all(program, unfolding)?;
    let mut accessed: Vec<(Span, usize)> = Vec::new();
    let mut statements: Vec<(Span, At)> = Vec::new();
    for (thread, paths) in threads.iter().enumerate() {
        for event in paths.iter().flat_map(|path| &path.events) {
            if matches!(event.kind, EventKind::Read(_) | EventKind::Write(_)) {
                let span = program.physical_span(event.span);
                accessed.push((span, thread));
                statements.push((span, (thread, event.statement)));
            }
        }
    }
    accessed.sort_unstable();
    accessed.dedup();
    statements.sort_unstable();
    statements.dedup();
    let mut least: Vec<Vec<Scope>> = program.threads.iter().map(|of| vec![Scope::Cta; of.code.len()]).collect();
    for (span, (thread, statement)) in statements {
        let others = accessed.iter().filter(|(other, _)| other.overlaps(span)).map(|(_, other)| *other);
        let places: Vec<Place> = others.chain([thread]).map(|other| program.threads[other].place).collect();
        let scope = Scope::iter().find(|scope| all_reach(*scope, &places)).unwrap_or(Scope::Sys);
        let known = &mut least[thread][statement];
        *known = (*known).max(scope);
    }
    Ok(least)
}

/// The program with the same change at several statements, in the order of threads and indices.
pub fn changed(program: &Program, at: &[At], change: &Change) -> Program {
    let mut program = program.clone();
    let mut at = at.to_vec();
    // Later statements are changed first, because an added or removed statement moves the statements after it.
    at.sort_unstable_by(|a, b| b.cmp(a));
    for (thread, index) in at {
        let code = &mut program.threads[thread].code;
        let Some(statement) = code.get_mut(index) else { continue };
        match (change, &mut statement.instruction) {
            (
                Change::Access(to),
                Instruction::Load { access, .. } | Instruction::Store { access, .. } | Instruction::Rmw { access, .. },
            ) => *access = *to,
            (Change::Fence(to), Instruction::Fence(fence)) => *fence = *to,
            // The statement is replaced by an empty one, so that indices stay valid.
            (Change::Removed, instruction) => *instruction = nothing(),
            (Change::BarrierBefore, _) => {
                let name = BarrierName::Cta { instance: 0, id: Operand::Immediate(0), quorum: None };
                let barrier = Instruction::Barrier(Barrier { part: BarrierPart::Sync, of: name });
                let guard = statement.guard;
                code.insert(index, Statement { guard, instruction: barrier });
            }
            _ => {}
        }
    }
    program
}

/// An instruction without an effect.
fn nothing() -> Instruction {
    Instruction::Vector(Vec::new())
}

fn is_plain_atomic(access: Semantics) -> bool {
    access.strong() && access.sem != Sem::Volatile && !access.mmio && access.proxy == Proxy::Generic
}

/// The scope and the narrower ones, from the narrowest on.
fn narrower(scope: Scope) -> impl Iterator<Item = Scope> {
    Scope::iter().filter(move |other| *other <= scope)
}

/// The scope and the wider ones, from the narrowest on.
fn wider(scope: Scope) -> impl Iterator<Item = Scope> {
    Scope::iter().filter(move |other| *other >= scope)
}
