//! Orderings and scopes as remedies for races; a proof confirms each remedy.

use ptx_isa::{
    Module, Scope, Sem, Sm,
    flat::{AccessKind, Action, Flat, MemoryAccess},
    mnemonic::ordered,
};

use crate::{
    graph::blocks,
    launch::Sizes,
    options::RaceOptions,
    paths::Paths,
    prove::Proof,
    remedy::{Change, Pool},
};

/// The largest number of pairs of plain accesses that are tried as a flag.
const FLAGS: usize = 4;

/// An attempt to change the accesses of a kernel.
struct Trial<'t> {
    flat: &'t mut Flat,
    sizes: Sizes,
    options: &'t RaceOptions,
    pool: &'t mut Pool,
}

/// The fewest accesses, with the weakest orderings and scopes, that must be stronger for the kernel to be proved free.
/// The candidates are the accesses that are already strong, and the accesses of one racing pair that polls.
pub fn orderings(
    module: &Module,
    flat: &mut Flat,
    sizes: Sizes,
    options: &RaceOptions,
    proof: &Proof,
    pool: &mut Pool,
) -> Option<Vec<Change>> {
    // PTX has orderings on accesses from sm_70 on (`ld`: target ISA notes).
    let has_orderings = module.target.parse().is_ok_and(|sm: Sm| sm.number() >= 70);
    if !has_orderings || !proof.open.is_empty() || !proof.divergent.is_empty() {
        return None;
    }
    let is_flag = |step: usize| matches!(&flat.steps[step].action, Action::Access(access) if is_scalar(access) && access.strong().is_some());
    let strong: Vec<usize> = (0..flat.steps.len()).filter(|step| is_flag(*step)).collect();
    let mut sets = vec![strong.clone()];
    let polled = proof.unproved.iter().filter(|pair| polls(flat, pair.steps)).take(FLAGS);
    sets.extend(polled.map(|pair| {
        let beside = proof.unproved.iter().filter(|other| other.steps.iter().any(|step| pair.steps.contains(step)));
        let mut all: Vec<usize> = strong.iter().copied().chain(beside.flat_map(|other| other.steps)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }));
    let is_across = proof.unproved.iter().any(|pair| pair.is_across);
    let mut trial = Trial { flat, sizes, options, pool };
    sets.into_iter()
        .find_map(|set| trial.weakest(&set, is_across))
        .and_then(|steps| changes(module, trial.flat, &steps))
}

/// Whether an access has one value of a size that supports orderings.
fn is_scalar(access: &MemoryAccess) -> bool {
    let has_kind = matches!(access.kind, AccessKind::Ld | AccessKind::St | AccessKind::Atom | AccessKind::Red);
    has_kind && access.elements == 1 && access.ty.is_some_and(|ty| ty.bits() <= 64) && !access.is_private()
}

/// Whether one access of a pair is a plain load in a loop and the other is a store.
fn polls(flat: &Flat, steps: [usize; 2]) -> bool {
    let kind = |step: usize| match &flat.steps[step].action {
        Action::Access(access) if is_scalar(access) => Some(access.kind),
        _ => None,
    };
    let blocks = blocks(flat, |_| false);
    let paths = Paths { blocks: &blocks };
    // A polling thread writes nothing in the loop.
    let is_write = |step: usize| matches!(&flat.steps[step].action, Action::Access(access) if access.writes);
    let is_poll = |load: usize, store: usize| {
        kind(load) == Some(AccessKind::Ld)
            && kind(store) == Some(AccessKind::St)
            && paths.reaches(load, load, &[], &is_write)
    };
    is_poll(steps[0], steps[1]) || is_poll(steps[1], steps[0])
}

impl Trial<'_> {
    /// Strengthens the accesses among `steps` that must be stronger, and returns them; `None` if strengthening all of
    /// them is not enough.
    fn weakest(&mut self, steps: &[usize], is_across: bool) -> Option<Vec<usize>> {
        let before: Vec<(usize, MemoryAccess)> =
            steps.iter().filter_map(|step| Some((*step, self.access(*step)?))).collect();
        for (step, access) in &before {
            self.set(*step, strongest(access, is_across));
        }
        if before.is_empty() || !self.holds() {
            before.into_iter().for_each(|(step, access)| self.set(step, access));
            return None;
        }
        let mut changed = Vec::new();
        for (step, access) in before {
            let now = self.access(step)?;
            let weaker = [Sem::Acquire, Sem::Release, Sem::Relaxed].map(|sem| MemoryAccess { sem, ..now.clone() });
            let mut weaker = [access.clone()].into_iter().chain(weaker.into_iter().filter(|_| now.sem == Sem::AcqRel));
            let is_enough = weaker.find(|access| {
                self.set(step, access.clone());
                self.holds()
            });
            let chosen = is_enough.unwrap_or(now);
            if (chosen.sem, chosen.scope) != (access.sem, access.scope) {
                changed.push(step);
            }
            self.set(step, chosen);
        }
        (!changed.is_empty()).then_some(changed)
    }

    fn access(&self, step: usize) -> Option<MemoryAccess> {
        match &self.flat.steps[step].action {
            Action::Access(access) => Some(access.clone()),
            _ => None,
        }
    }

    fn set(&mut self, step: usize, access: MemoryAccess) {
        self.flat.steps[step].action = Action::Access(access);
    }

    fn holds(&mut self) -> bool {
        let is_over = self.pool.is_empty() || self.options.stop.is_due();
        !is_over && self.pool.prove(self.flat, self.sizes, self.options).holds()
    }
}

/// An access with the strongest ordering that it can have.
fn strongest(access: &MemoryAccess, is_across: bool) -> MemoryAccess {
    let sem = match (access.reads, access.writes) {
        (true, true) if access.kind == AccessKind::Atom => Sem::AcqRel,
        (_, true) => Sem::Release,
        _ => Sem::Acquire,
    };
    let least = if is_across { Scope::Gpu } else { Scope::Cta };
    let scope = access.strong().map_or(least, |scope| scope.max(least));
    MemoryAccess { sem, scope: Some(scope), mmio: false, ..access.clone() }
}

/// The edits of some instructions.
fn changes(module: &Module, flat: &Flat, steps: &[usize]) -> Option<Vec<Change>> {
    let change = |step: &usize| {
        let Action::Access(access) = &flat.steps[*step].action else { return None };
        let at = flat.steps[*step].at;
        let text = module.line(at.id?)?.text.as_str();
        let (sem, scope) = (access.sem, access.scope?);
        let [before, after] = with(text, sem, scope)?;
        Some(Change::InPlace { at, before, after, sem, scope })
    };
    let mut changes = steps.iter().map(change).collect::<Option<Vec<_>>>()?;
    changes.sort_by_key(Change::at);
    // A function that is called twice has each of its lines twice.
    changes.dedup();
    Some(changes)
}

/// The instruction of a line, without its semicolon, before and after its ordering and scope are replaced.
fn with(text: &str, sem: Sem, scope: Scope) -> Option<[String; 2]> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let start = if text.starts_with('@') { text.find(char::is_whitespace)? } else { 0 };
    let (guard, rest) = text.split_at(start);
    let (mnemonic, operands) = rest.trim_start().split_once(char::is_whitespace)?;
    let space = if guard.is_empty() { "" } else { " " };
    let after = format!("{guard}{space}{} {}", ordered(mnemonic, sem, scope), operands.trim_start());
    Some([text.to_owned(), after])
}
