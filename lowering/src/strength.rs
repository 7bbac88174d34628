//! An independent check: what a sequence guarantees, recomputed from its instructions alone.
//!
//! This module knows neither the ABI table nor the strategies. It reads the patterns of 'PTX ISA', section 8.7 to 8.9:
//!
//! - an access with release semantics, or a releasing fence in front of a strong write, is a **release** pattern;
//! - an access with acquire semantics, or an acquiring fence behind a strong read, is an **acquire** pattern; a `red` is
//!   never one;
//! - a pattern of fence and access reaches as far as the narrower of the two scopes, since both must be morally strong;
//! - an operation is **sequentially consistent** if a `fence.sc` stands in front of it and it acquires what it reads.
//!
//! Sequences are straight-line code and loops by backward branches, so that the order of the text is the order of the
//! last pass. A guarded fence may not execute and does not count.

use std::collections::HashSet;

use crate::{
    op::{AtomicOp, Operation, Ordering, SyncScope},
    ptx::{
        Atom, AtomOp, AtomSem, Cmp, Fence, FenceSem, Instruction, Ld, LdSem, Red, RedSem, Scope, Space, St, StSem,
        Statement,
    },
    sequence::Sequence,
};

/// The guarantees of a sequence, each up to the widest scope at which it holds; `None` if it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    pub acquire: Option<Scope>,
    pub release: Option<Scope>,
    pub sc: Option<Scope>,
    /// What the operation acquires is released again by it, so that also a later plain store of the same thread passes
    /// it on: what C++11 to C++17 release sequences need of an rmw.
    pub relay: Option<Scope>,
    /// Every access is strong, the narrowest at this scope. `None` also if there is no access.
    pub strong: Option<Scope>,
    /// Whether memory is read, and written.
    pub reads: bool,
    pub writes: bool,
    /// Whether every `ld` and `st` is volatile.
    pub volatile: bool,
    /// Whether read and write are one atomic operation: an `atom`, or a loop that only a successful `cas` leaves.
    pub atomic: bool,
    /// Whether a loop pays for an ordering in every iteration.
    pub ordering_in_loop: bool,
    spaces: Vec<Space>,
}

/// One event of the sequence, in the order of the text.
struct Event<'s> {
    index: usize,
    guarded: bool,
    instruction: &'s Instruction,
}

/// A memory access: its semantics, and the scope if it is strong.
struct Access {
    index: usize,
    reads: bool,
    writes: bool,
    acquires: bool,
    releases: bool,
    strong: Option<Scope>,
    space: Space,
}

impl Strength {
    /// Reads the guarantees off a sequence.
    pub fn of(sequence: &Sequence) -> Self {
        let events: Vec<_> = events(sequence).collect();
        let accesses: Vec<_> = events.iter().filter_map(access).collect();
        let fences: Vec<_> = events.iter().filter(|event| !event.guarded).filter_map(fence).collect();
        let strong = accesses.iter().map(|access| access.strong).min().flatten();

        let fences_at = |holds: &dyn Fn(usize, FenceSem) -> bool| {
            fences.iter().filter(|(index, sem, _)| holds(*index, *sem)).map(|(.., scope)| *scope).max()
        };
        let acquiring = |sem| sem != FenceSem::Release;
        let releasing = |sem| sem != FenceSem::Acquire;
        let Some(last_read) = accesses.iter().rfind(|access| access.reads).or(accesses.last()) else {
            let relay = |sem| acquiring(sem) && releasing(sem);
            return Self {
                acquire: fences_at(&|_, sem| acquiring(sem)),
                release: fences_at(&|_, sem| releasing(sem)),
                sc: fences_at(&|_, sem| sem == FenceSem::Sc),
                relay: fences_at(&|_, sem| relay(sem)),
                ..Self::default()
            };
        };
        let first_write = accesses.iter().find(|access| access.writes).unwrap_or(last_read);
        let first_access = accesses.first().map_or(0, |access| access.index);

        // A fence reaches no farther than the access that it makes a pattern with.
        let reach = |fence: Option<Scope>, access: &Access| Some(fence?.min(access.strong?));
        let own = |access: &Access, has: bool| if has { access.strong } else { None };
        let after_read = fences_at(&|index, sem| index > last_read.index && acquiring(sem));
        let before_write = fences_at(&|index, sem| index < first_write.index && releasing(sem));
        let relaying = fences_at(&|index, sem| index > last_read.index && acquiring(sem) && releasing(sem));
        let leading_sc = fences_at(&|index, sem| index < first_access && sem == FenceSem::Sc);

        let reads = accesses.iter().any(|access| access.reads);
        let writes = accesses.iter().any(|access| access.writes);
        let acquire = if reads { own(last_read, last_read.acquires).max(reach(after_read, last_read)) } else { None };
        let release =
            if writes { own(first_write, first_write.releases).max(reach(before_write, first_write)) } else { None };
        let sc = reach(leading_sc, last_read)
            .and_then(|sc| if reads { acquire.map(|acquire| acquire.min(sc)) } else { Some(sc) });
        Self {
            acquire,
            release,
            sc,
            relay: own(last_read, last_read.acquires && last_read.releases).max(reach(relaying, last_read)),
            strong,
            reads,
            writes,
            volatile: events.iter().all(|event| is_volatile(event.instruction)),
            atomic: is_atomic(&events, sequence),
            ordering_in_loop: ordering_in_loop(&events, sequence),
            spaces: accesses.iter().map(|access| access.space).collect::<HashSet<_>>().into_iter().collect(),
        }
    }

    /// Compares with what an operation asks for.
    ///
    /// # Errors
    /// Every guarantee that is missing.
    pub fn covers(&self, op: &AtomicOp) -> Result<(), Vec<String>> {
        let (reads, writes, access, ordering) = match op.operation {
            Operation::Fence => (false, false, None, op.ordering),
            Operation::Load(access) => (true, false, Some(access), op.ordering),
            Operation::Store(access) => (false, true, Some(access), op.ordering),
            Operation::Rmw(_, access) => (true, true, Some(access), op.ordering),
            Operation::CmpXchg { access, failure } => (true, true, Some(access), op.ordering.join(failure)),
        };
        let (scope, ordering) = match op.scope {
            SyncScope::Threads(scope) => (scope, ordering),
            SyncScope::SingleThread => (Scope::Cta, Ordering::Relaxed),
        };
        let reaches = |guarantee: Option<Scope>| guarantee.is_some_and(|reached| reached >= scope);
        let checks = [
            (self.reads != reads || self.writes != writes, "accesses other than the operation's"),
            (access.is_some_and(|access| self.spaces != [access.space]), "another state space"),
            (access.is_some() && !reaches(self.strong), "an access that is weak, or strong at too narrow a scope"),
            (reads && writes && !self.atomic, "read and write are not one atomic operation"),
            (reads_or_fence(op) && ordering.acquires() && !reaches(self.acquire), "no acquire"),
            (writes_or_fence(op) && ordering.releases() && !reaches(self.release), "no release"),
            (ordering == Ordering::SeqCst && !reaches(self.sc), "not sequentially consistent"),
            (access.is_some_and(|access| access.volatile) && !self.volatile, "a volatile access that is not .volatile"),
            (self.ordering_in_loop, "a fence in every iteration of a loop"),
        ];
        let missing: Vec<_> = checks.into_iter().filter(|(fails, _)| *fails).map(|(_, what)| what.into()).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }
}

/// Whether the instruction is no `ld` or `st`, or a volatile one.
fn is_volatile(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Ld(ld) => ld.sem == LdSem::Volatile,
        Instruction::St(st) => st.sem == StSem::Volatile,
        _ => true,
    }
}

fn reads_or_fence(op: &AtomicOp) -> bool {
    !matches!(op.operation, Operation::Store(_))
}

fn writes_or_fence(op: &AtomicOp) -> bool {
    !matches!(op.operation, Operation::Load(_))
}

fn events(sequence: &Sequence) -> impl Iterator<Item = Event<'_>> {
    sequence.0.iter().enumerate().filter_map(|(index, statement)| match statement {
        Statement::Instruction { guard, instruction } => Some(Event { index, guarded: guard.is_some(), instruction }),
        _ => None,
    })
}

fn fence(event: &Event<'_>) -> Option<(usize, FenceSem, Scope)> {
    match event.instruction {
        Instruction::Fence(Fence { sem, scope }) => Some((event.index, sem.unwrap_or(FenceSem::AcqRel), *scope)),
        _ => None,
    }
}

fn access(event: &Event<'_>) -> Option<Access> {
    let index = event.index;
    Some(match event.instruction {
        Instruction::Ld(Ld { sem, scope, space, .. }) => Access {
            index,
            reads: true,
            writes: false,
            acquires: matches!(sem, LdSem::Acquire | LdSem::MmioAcquire),
            releases: false,
            strong: if *sem == LdSem::Volatile { Some(Scope::Sys) } else { *scope },
            space: *space,
        },
        Instruction::St(St { sem, scope, space, .. }) => Access {
            index,
            reads: false,
            writes: true,
            acquires: false,
            releases: matches!(sem, StSem::Release | StSem::MmioRelease),
            strong: if *sem == StSem::Volatile { Some(Scope::Sys) } else { *scope },
            space: *space,
        },
        Instruction::Atom(Atom { sem, scope, space, .. }) => Access {
            index,
            reads: true,
            writes: true,
            acquires: matches!(sem, Some(AtomSem::Acquire | AtomSem::AcqRel)),
            releases: matches!(sem, Some(AtomSem::Release | AtomSem::AcqRel)),
            strong: scope.or(Some(Scope::Gpu)),
            space: *space,
        },
        Instruction::Red(Red { sem, scope, space, .. }) => Access {
            index,
            reads: true,
            writes: true,
            acquires: false,
            releases: *sem == Some(RedSem::Release),
            strong: scope.or(Some(Scope::Gpu)),
            space: *space,
        },
        _ => return None,
    })
}

/// The loops, as ranges of statements from a label to a branch back to it.
fn loops<'s>(events: &'s [Event<'s>], sequence: &'s Sequence) -> impl Iterator<Item = (usize, &'s Event<'s>)> {
    events.iter().filter_map(|event| {
        let Instruction::Bra { target } = event.instruction else { return None };
        let label = sequence.0.iter().position(|statement| *statement == Statement::Label(target.clone()))?;
        (label < event.index).then_some((label, event))
    })
}

/// Whether there is exactly one writing `atom` or `red`, and every loop around it retries exactly when it failed.
fn is_atomic(events: &[Event<'_>], sequence: &Sequence) -> bool {
    let mut writes = events.iter().filter(|event| access(event).is_some_and(|access| access.writes));
    let (Some(write), None) = (writes.next(), writes.next()) else { return false };
    let unconditional = !write.guarded && !matches!(write.instruction, Instruction::St(_));
    unconditional
        && loops(events, sequence).all(|(label, branch)| retries_failure(events, write, label, branch, sequence))
}

fn retries_failure(
    events: &[Event<'_>],
    write: &Event<'_>,
    label: usize,
    branch: &Event<'_>,
    sequence: &Sequence,
) -> bool {
    let Instruction::Atom(Atom { op: AtomOp::Cas, d, b, ty, .. }) = write.instruction else { return false };
    let Statement::Instruction { guard: Some(guard), .. } = &sequence.0[branch.index] else { return false };
    let mut between = events.iter().filter(|event| event.index > write.index && event.index < branch.index);
    let (Some(test), None) = (between.next(), between.next()) else { return false };
    let retry = matches!(test.instruction, Instruction::Setp { cmp: Cmp::Ne, ty: compared, p, a, b: expected }
        if *p == guard.p && compared.bits() == ty.bits() && ((a == d && expected == b) || (a == b && expected == d)));
    label < write.index && !test.guarded && !guard.negated && retry
}

fn ordering_in_loop(events: &[Event<'_>], sequence: &Sequence) -> bool {
    let orders = |event: &Event<'_>| {
        fence(event).is_some() || access(event).is_some_and(|access| access.acquires || access.releases)
    };
    loops(events, sequence)
        .any(|(label, branch)| events.iter().any(|e| (label..branch.index).contains(&e.index) && orders(e)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` lists acquire, release, sc and relay, `-` for none.
    fn check(text: &str, expected: &str) {
        let strength = Strength::of(&text.parse().expect(text));
        let word = |scope: Option<Scope>| scope.map_or("-", Into::into);
        let found = [strength.acquire, strength.release, strength.sc, strength.relay].map(word).join(" ");
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn patterns() {
        check("ld.relaxed.sys.b32 %d, [%a];", "- - - -");
        check("ld.acquire.gpu.b32 %d, [%a];", "gpu - - -");
        check("ld.relaxed.gpu.b32 %d, [%a]; fence.acquire.sys;", "gpu - - -");
        check("ld.relaxed.sys.b32 %d, [%a]; fence.acquire.gpu;", "gpu - - -");
        check("fence.acquire.sys; ld.relaxed.sys.b32 %d, [%a];", "- - - -");
        check("ld.b32 %d, [%a]; fence.acquire.sys;", "- - - -");
        check("fence.sc.sys; ld.relaxed.sys.b32 %d, [%a];", "- - - -");
        check("fence.sc.sys; ld.acquire.gpu.b32 %d, [%a];", "gpu - gpu -");
        check("fence.sc.sys; st.relaxed.sys.b32 [%a], %b;", "- sys sys -");
        check("st.relaxed.sys.b32 [%a], %b; fence.release.sys;", "- - - -");
        check("fence.release.cta; atom.acquire.gpu.add.u32 %d, [%a], %b;", "gpu cta - -");
        check("atom.acq_rel.cta.add.u32 %d, [%a], %b;", "cta cta - cta");
        check("fence.sc.gpu; atom.acquire.gpu.add.u32 %d, [%a], %b;", "gpu gpu gpu -");
        check("fence.sc.gpu; atom.relaxed.gpu.add.u32 %d, [%a], %b; fence.acq_rel.gpu;", "gpu gpu gpu gpu");
        check("@%p fence.sc.gpu; atom.acquire.gpu.add.u32 %d, [%a], %b;", "gpu - - -");
        check("fence.acq_rel.gpu;", "gpu gpu - gpu");
        check("fence.acquire.gpu;", "gpu - - -");
    }

    #[test]
    fn only_a_loop_that_retries_failure_is_atomic() {
        let atomic = |test: &str, branch: &str| {
            let text = format!(
                "ld.relaxed.gpu.b32 %d, [%a]; %again: mov.b32 %old, %d; \
                 atom.relaxed.gpu.cas.b32 %d, [%a], %old, %new; {test} {branch}"
            );
            Strength::of(&text.parse().expect("a loop")).atomic
        };
        assert!(atomic("setp.ne.b32 %p, %d, %old;", "@%p bra %again;"));
        assert!(!atomic("setp.eq.b32 %p, %d, %old;", "@%p bra %again;"));
        assert!(!atomic("setp.ne.b32 %p, %d, %old;", "@!%p bra %again;"));
        assert!(!atomic("setp.ne.b32 %p, %d, %new;", "@%p bra %again;"));
        assert!(!atomic("setp.ne.b16 %p, %d, %old;", "@%p bra %again;"));
    }
}
