//! An independent check: what PTX guarantees, recomputed from its instructions alone, ours or any compiler's.
//!
//! This module knows neither the ABI table nor the strategies. It reads the patterns of 'PTX ISA', section 8.7 to 8.9:
//!
//! - an access with release semantics, or a releasing fence in front of a strong write, is a **release** pattern;
//! - an access with acquire semantics, or an acquiring fence behind a strong read, is an **acquire** pattern; a `red` is
//!   never one;
//! - a pattern of fence and access reaches as far as the narrower of the two scopes, since both must be morally strong;
//! - an operation is **sequentially consistent** if a `fence.sc` stands in front of it and it acquires what it reads.
//!
//! A fence counts if it stands on every way that control can take from the read, or to the write, and no access of
//! another operation stands between. A read is the one that decides if no other of the operation follows: the first load
//! of a loop of compare-and-swap only guesses, but it must be strong, or it races. A guarded fence may not execute and
//! does not count.
//!
//! Who can see shared memory is on the same GPU, so that scope gpu is as good as sys there.

mod align;
mod flow;
mod graph;
pub mod judge;
mod swap;

use std::fmt;

use strum::{Display, EnumIter, EnumMessage, IntoEnumIterator, IntoStaticStr};

use self::flow::{Flow, NodeCode, Step, Way};
use ptx_atomics_lowering::{
    AtomicOp, Operation, Ordering, Sequence, SyncScope,
    ptx::{
        Atom, AtomOp, AtomSem, Cache, CacheOperator, Fence, FenceSem, Instruction, Ld, LdSem, MembarLevel, Other, Red,
        RedSem, Scope, Space, St, StSem, Type, VectorSize,
    },
};

/// The guarantees of an operation's code, each up to the widest scope at which it holds; `None` if it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    pub acquire: Option<Scope>,
    pub release: Option<Scope>,
    pub sc: Option<Scope>,
    /// What the operation acquires is released again by it, so that also a later plain store of the same thread passes
    /// it on: what C++11 to C++17 release sequences need of an rmw.
    pub relay: Option<Scope>,
    /// Every access but a [`weak_load`](Self::weak_load) is strong, the narrowest at this scope. `None` also if there is
    /// no access.
    pub strong: Option<Scope>,
    /// The load in front of a loop of compare-and-swap is weak, so that it races.
    pub weak_load: bool,
    /// Whether memory is read, and written.
    pub reads: bool,
    pub writes: bool,
    /// Whether every `ld` and `st` is volatile.
    pub volatile: bool,
    /// How read and write belong together.
    pub update: Update,
    /// Whether a loop of compare-and-swap has a fence or a release in every iteration, which waits for earlier accesses. A swap
    /// that acquires does not.
    pub ordering_in_loop: bool,
    /// Whether an access, but one that only guesses, moves several elements, each of which is atomic for itself.
    pub by_element: bool,
    /// The width in bits of each access but loads that only guess.
    widths: Vec<u32>,
    spaces: Vec<Space>,
}

/// How the read and the write of an operation belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// Not at all: they are apart, or more than one write, or one that may not execute.
    #[default]
    Separate,
    /// One `atom` or `red`, which always writes.
    Native,
    /// A `cas` that is tried once.
    Once,
    /// A `cas` that is tried again where it failed, or not.
    LoopOrFailure,
    /// A `cas` that is tried until it succeeds.
    Loop,
}

/// What an operation asks for and its code does not keep, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Loss {
    #[strum(message = "volatile lost")]
    Volatile,
    #[strum(message = "weak load in a loop")]
    WeakLoadInLoop,
    #[strum(message = "scope lost")]
    Scope,
    #[strum(message = "ordering lost")]
    Ordering,
    #[strum(message = "not atomic")]
    NotAtomic,
    #[strum(message = "undefined in PTX")]
    Undefined,
    #[strum(message = "missing")]
    Missing,
}

/// A loss, and in what it consists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub loss: Loss,
    pub what: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// A memory access: its semantics, and the scope if it is strong.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub reads: bool,
    pub writes: bool,
    acquires: bool,
    releases: bool,
    /// A reduction is no read that an acquire pattern could begin with.
    is_red: bool,
    pub strong: Option<Scope>,
    pub space: Space,
    volatile: bool,
    by_element: bool,
    pub bits: u32,
}

impl Strength {
    /// Reads the guarantees off a sequence, all of whose accesses are one operation's.
    pub fn of(sequence: &Sequence) -> Self {
        let flow = Flow::of_sequence(sequence);
        let group: Vec<_> = flow.in_order().into_iter().filter(|node| access(&flow, *node).is_some()).collect();
        if group.is_empty() {
            return Self::of_fences(&flow);
        }
        let strength = Self::of_operation(&flow, &group);
        if executes_once(&flow, &group, strength.update) {
            strength
        } else {
            Self { update: Update::Separate, ..strength }
        }
    }

    /// What all fences on the ways through the code guarantee.
    fn of_fences(flow: &Flow<'_>) -> Self {
        let everywhere = |holds: &dyn Fn(FenceSem) -> bool| {
            widest(|scope| {
                let found = |node| fence(flow, node).is_some_and(|(sem, reached)| holds(sem) && reached >= scope);
                flow.always(flow.entry(), Way::Forward, |node| if found(node) { Step::Found } else { Step::On })
            })
        };
        Self {
            acquire: everywhere(&acquiring),
            release: everywhere(&releasing),
            sc: everywhere(&|sem| sem == FenceSem::Sc),
            relay: everywhere(&|sem| acquiring(sem) && releasing(sem)),
            ..Self::default()
        }
    }

    /// What one fence guarantees.
    pub(crate) fn of_fence(flow: &Flow<'_>, node: usize) -> Self {
        let Some((sem, scope)) = fence(flow, node) else { return Self::default() };
        let reach = |holds: bool| holds.then_some(scope);
        Self {
            acquire: reach(acquiring(sem)),
            release: reach(releasing(sem)),
            sc: reach(sem == FenceSem::Sc),
            relay: reach(acquiring(sem) && releasing(sem)),
            ..Self::default()
        }
    }

    /// What the accesses at these nodes, which are one operation's, guarantee.
    pub(crate) fn of_operation(flow: &Flow<'_>, group: &[usize]) -> Self {
        let events = Events { flow, group };
        let accesses: Vec<(usize, Access)> =
            group.iter().filter_map(|node| access(flow, *node).map(|access| (*node, access))).collect();
        // Among others, a `cas` that writes only what it finds is a load.
        let is_load = |node: usize| accesses.len() > 1 && swap::keeps_value(flow, node);
        let as_load = |(node, access)| (node, if is_load(node) { Access { writes: false, ..access } } else { access });
        let accesses: Vec<_> = accesses.iter().copied().map(as_load).collect();
        let accesses = || accesses.iter().copied();
        let (reads, writes) = (accesses().any(|(_, a)| a.reads), accesses().any(|(_, a)| a.writes));
        let writer = accesses().find(|(_, access)| access.writes);
        let is_cas = |node| matches!(flow.instruction(node), Some(Instruction::Atom(Atom { op: AtomOp::Cas, .. })));
        let update = match writer {
            Some(_) if accesses().filter(|(_, access)| access.writes).count() > 1 => Update::Separate,
            Some((node, _)) if is_cas(node) => {
                swap::update(flow, node, |node| group.contains(&node) || touches_memory(flow, node))
            }
            Some((_, access)) if access.reads => Update::Native,
            _ => Update::Separate,
        };
        // A load that only guesses what a `cas` will find.
        let guesses = |access: &Access| access.reads && !access.writes && writer.is_some_and(|(node, _)| is_cas(node));
        let weak = |access: &Access| guesses(access) && access.strong.is_none();
        let deciding = || accesses().filter(|(_, access)| !weak(access));
        let final_reads: Vec<_> = accesses().filter(|(node, a)| a.reads && events.is_final(*node)).collect();
        let all = |nodes: &[(usize, Access)], holds: &dyn Fn(usize, &Access, Scope) -> bool| {
            let holds_at =
                |scope| nodes.iter().all(|(node, access)| reaches(access.strong, scope) && holds(*node, access, scope));
            if nodes.is_empty() { None } else { widest(holds_at).map(|scope| promoted(scope, nodes[0].1.space)) }
        };
        let written: Vec<_> = accesses().filter(|(_, access)| access.writes).collect();
        let acquire = all(&final_reads, &|node, access, scope| {
            !access.is_red && (access.acquires || events.fenced_behind(node, scope, &acquiring))
        });
        let ordered: Vec<_> = written.iter().chain(final_reads.iter().filter(|(_, a)| !a.writes)).copied().collect();
        let sc = widest(|scope| {
            let is_sc = |sem| sem == FenceSem::Sc;
            let leads =
                |(node, a): &(usize, Access)| reaches(a.strong, scope) && events.fenced_before(*node, scope, &is_sc);
            !ordered.is_empty() && ordered.iter().all(leads)
        });
        Self {
            acquire,
            release: all(&written, &|node, access, scope| {
                access.releases || events.fenced_before(node, scope, &releasing)
            }),
            sc: if reads && !final_reads.is_empty() { sc.and_then(|sc| Some(sc.min(acquire?))) } else { sc },
            relay: all(&final_reads, &|node, access, scope| {
                let both = |sem| acquiring(sem) && releasing(sem);
                (access.acquires && access.releases) || events.fenced_behind(node, scope, &both)
            }),
            strong: deciding().map(|(_, access)| access.strong).min().flatten(),
            weak_load: accesses().any(|(_, access)| weak(&access)),
            reads,
            writes,
            volatile: accesses().all(|(_, access)| access.volatile),
            update,
            ordering_in_loop: matches!(update, Update::Loop | Update::LoopOrFailure)
                && writer.is_some_and(|(cas, _)| events.orders_in_loop(cas)),
            by_element: accesses().any(|(_, access)| access.by_element && !guesses(&access)),
            widths: distinct(accesses().filter(|(_, access)| !guesses(access)).map(|(_, access)| access.bits)),
            spaces: distinct(accesses().map(|(_, access)| access.space)),
        }
    }

    /// Compares with what an operation asks for, of a sequence of ours: there must be nothing that it does not ask for.
    ///
    /// # Errors
    /// Every guarantee that is missing.
    pub fn covers(&self, op: &AtomicOp) -> Result<(), Vec<String>> {
        let access = op.operation.access();
        let (reads, writes) = directions(op.operation);
        let checks = [
            (self.reads != reads || self.writes != writes, "accesses other than the operation's"),
            (access.is_some_and(|access| self.spaces != [access.space]), "another state space"),
            (self.ordering_in_loop, "a fence in every iteration of a loop"),
        ];
        let beyond = checks.into_iter().filter(|(fails, _)| *fails).map(|(_, what)| what.to_owned());
        let missing: Vec<_> = beyond.chain(self.missing(op).into_iter().map(|missing| missing.what)).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }

    /// What an operation asks for and the code does not keep.
    ///
    /// Scope singlethread asks for nothing: who else accesses the memory meanwhile has a race in any case.
    pub fn missing(&self, op: &AtomicOp) -> Vec<Missing> {
        let mut missing = Vec::new();
        let mut lost = |loss, what: String| missing.push(Missing { loss, what });
        let access = op.operation.access();
        if access.is_some_and(|access| access.volatile && !is_private(op) && !self.volatile) {
            lost(Loss::Volatile, "a volatile access that is not .volatile".into());
        }
        let SyncScope::Threads(scope) = op.scope else { return missing };
        if is_private(op) {
            return missing;
        }
        let (reads, writes) = directions(op.operation);
        if (reads && !self.reads) || (writes && !self.writes) {
            lost(Loss::NotAtomic, "memory is not read, or not written".into());
        }
        if let Some(access) = access {
            let bits = access.ty.bits();
            let rmw = reads && writes;
            let in_word = rmw && bits < 32 && self.widths == [32];
            if self.widths != [bits] && !in_word {
                lost(Loss::NotAtomic, format!("an access that is not of {bits} bits"));
            }
            if !rmw && self.by_element {
                lost(Loss::NotAtomic, "each element of a vector is accessed for itself".into());
            }
            match self.strong {
                None => lost(Loss::NotAtomic, "a weak access".into()),
                Some(strong) if strong < scope => {
                    lost(Loss::Scope, format!("an access of scope {strong}, not {scope}"))
                }
                Some(_) => {}
            }
            if self.weak_load {
                lost(
                    Loss::WeakLoadInLoop,
                    "what the compare-and-swap begins with is read by a weak load, which races".into(),
                );
            }
            let atomic = match (op.operation, self.update) {
                (Operation::Rmw(..), Update::Native | Update::Loop) => true,
                (Operation::Rmw(..), _) | (Operation::CmpXchg { .. }, Update::Separate) => false,
                (Operation::CmpXchg { .. }, Update::Native) => false,
                // That other bytes of the word have changed is no failure.
                (Operation::CmpXchg { .. }, Update::Once) => !in_word,
                _ => true,
            };
            if !atomic {
                lost(Loss::NotAtomic, "read and write are not one atomic operation".into());
            }
        }
        let ordering = match op.operation {
            Operation::CmpXchg { failure, .. } => op.ordering.join(failure),
            _ => op.ordering,
        };
        let is_fence = op.operation == Operation::Fence;
        let guarantees = [
            ((reads || is_fence) && ordering.acquires(), self.acquire, "acquire"),
            ((writes || is_fence) && ordering.releases(), self.release, "release"),
            // An acquiring and a releasing fence are no fence of both: what is acquired must be released.
            (is_fence && ordering.acquires() && ordering.releases(), self.relay, "fence of acquire and release"),
            (ordering == Ordering::SeqCst, self.sc, "sequential consistency"),
        ];
        for (asked, reached, what) in guarantees {
            match reached {
                _ if !asked => {}
                None => lost(Loss::Ordering, format!("no {what}")),
                Some(reached) if reached < scope => {
                    lost(Loss::Scope, format!("{what} at scope {reached}, not {scope}"))
                }
                Some(_) => {}
            }
        }
        missing
    }
}

/// Whether the memory is such that no other thread takes part, so that plain accesses do.
pub(crate) fn is_private(op: &AtomicOp) -> bool {
    op.operation.access().is_some_and(|access| matches!(access.space, Space::Local | Space::Const))
}

/// Whether an operation reads, and writes.
fn directions(operation: Operation) -> (bool, bool) {
    match operation {
        Operation::Fence => (false, false),
        Operation::Load(_) => (true, false),
        Operation::Store(_) => (false, true),
        Operation::Rmw(..) | Operation::CmpXchg { .. } => (true, true),
    }
}

/// Whether every way through the code executes its write once; a loop executes it until it succeeds.
fn executes_once(flow: &Flow<'_>, group: &[usize], update: Update) -> bool {
    let Some(&writer) = group.iter().find(|node| access(flow, **node).is_some_and(|access| access.writes)) else {
        return true;
    };
    let found = |node: usize| node == writer && flow.nodes[node].guard.is_none();
    flow.always(flow.entry(), Way::Forward, |node| if found(node) { Step::Found } else { Step::On })
        && (update != Update::Native || !flow.reached(writer, Way::Forward, |_| false)[writer])
}

/// The nodes of one operation among all others.
struct Events<'f, 'p> {
    flow: &'f Flow<'p>,
    group: &'f [usize],
}

impl Events<'_, '_> {
    fn is_foreign(&self, node: usize) -> bool {
        !self.group.contains(&node) && touches_memory(self.flow, node)
    }

    fn is_read(&self, node: usize) -> bool {
        self.group.contains(&node) && access(self.flow, node).is_some_and(|access| access.reads)
    }

    /// Whether control can leave the operation behind this read, without another one.
    fn is_final(&self, read: usize) -> bool {
        !self.flow.always(read, Way::Forward, |node| match node {
            _ if self.is_read(node) => Step::Found,
            _ if self.is_foreign(node) => Step::Lost,
            _ => Step::On,
        })
    }

    /// Whether such a fence stands behind a read on every way on which it is the last one.
    fn fenced_behind(&self, read: usize, scope: Scope, holds: &dyn Fn(FenceSem) -> bool) -> bool {
        self.flow.always(read, Way::Forward, |node| match fence(self.flow, node) {
            Some((sem, reached)) if holds(sem) && reached >= scope => Step::Found,
            _ if self.is_read(node) => Step::Found,
            _ if self.is_foreign(node) => Step::Lost,
            _ => Step::On,
        })
    }

    /// Whether such a fence stands in front of an access on every way to it, behind what other operations access.
    fn fenced_before(&self, node: usize, scope: Scope, holds: &dyn Fn(FenceSem) -> bool) -> bool {
        self.flow.always(node, Way::Backward, |node| match fence(self.flow, node) {
            Some((sem, reached)) if holds(sem) && reached >= scope => Step::Found,
            _ if self.is_foreign(node) => Step::Lost,
            _ => Step::On,
        })
    }

    /// Whether a way from the `cas` back to it, within the operation, has a fence or releases.
    fn orders_in_loop(&self, cas: usize) -> bool {
        let stops = |node: usize| node == cas || self.group.contains(&node) || self.is_foreign(node);
        let behind = self.flow.reached(cas, Way::Forward, stops);
        let before = self.flow.reached(cas, Way::Backward, stops);
        let orders = |node: usize| {
            let releases = access(self.flow, node).is_some_and(|access| access.releases);
            fence(self.flow, node).is_some() || (node == cas && releases)
        };
        (0..behind.len()).any(|node| behind[node] && before[node] && orders(node))
    }
}

/// The widest scope at which something holds.
fn widest(holds: impl Fn(Scope) -> bool) -> Option<Scope> {
    Scope::iter().rev().find(|scope| holds(*scope))
}

fn reaches(guarantee: Option<Scope>, scope: Scope) -> bool {
    guarantee.is_some_and(|reached| reached >= scope)
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut distinct, item| {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
        distinct
    })
}

fn acquiring(sem: FenceSem) -> bool {
    sem != FenceSem::Release
}

fn releasing(sem: FenceSem) -> bool {
    sem != FenceSem::Acquire
}

/// Whoever sees shared memory is on the GPU.
fn promoted(scope: Scope, space: Space) -> Scope {
    let shared = matches!(space, Space::Shared | Space::SharedCta | Space::SharedCluster);
    if shared && scope >= Scope::Gpu { Scope::Sys } else { scope }
}

/// A fence that certainly executes.
pub(crate) fn fence(flow: &Flow<'_>, node: usize) -> Option<(FenceSem, Scope)> {
    if flow.nodes[node].guard.is_some() {
        return None;
    }
    match flow.instruction(node)? {
        Instruction::Fence(Fence { sem, scope }) => Some((sem.unwrap_or(FenceSem::AcqRel), *scope)),
        // 'PTX ISA', section on `membar`: on sm_70 and later, a synonym of fence.sc.
        Instruction::Membar(level) => {
            let scope = match level {
                MembarLevel::Cta => Scope::Cta,
                MembarLevel::Gl => Scope::Gpu,
                MembarLevel::Sys => Scope::Sys,
            };
            Some((FenceSem::Sc, scope))
        }
        _ => None,
    }
}

/// The access that an instruction is, where an address is not local.
pub(crate) fn access(flow: &Flow<'_>, node: usize) -> Option<Access> {
    if flow.nodes[node].private {
        return None;
    }
    let bits = |ty: Type, vec: Option<VectorSize>| ty.bits() * vec.map_or(1, |vec| vec.elements() as u32);
    let packed = |ty: Type| matches!(ty, Type::F16x2 | Type::Bf16x2);
    Some(match flow.instruction(node)? {
        Instruction::Ld(Ld { sem, scope, space, vec, ty, .. }) => Access {
            reads: true,
            writes: false,
            acquires: matches!(sem, LdSem::Acquire | LdSem::MmioAcquire),
            releases: false,
            is_red: false,
            strong: if *sem == LdSem::Volatile { Some(Scope::Sys) } else { scope.map(|scope| promoted(scope, *space)) },
            space: *space,
            volatile: matches!(sem, LdSem::Volatile | LdSem::MmioRelaxed | LdSem::MmioAcquire),
            by_element: vec.is_some(),
            bits: bits(*ty, *vec),
        },
        Instruction::St(St { sem, scope, space, vec, ty, .. }) => Access {
            reads: false,
            writes: true,
            acquires: false,
            releases: matches!(sem, StSem::Release | StSem::MmioRelease),
            is_red: false,
            strong: if *sem == StSem::Volatile { Some(Scope::Sys) } else { scope.map(|scope| promoted(scope, *space)) },
            space: *space,
            volatile: matches!(sem, StSem::Volatile | StSem::MmioRelaxed | StSem::MmioRelease),
            by_element: vec.is_some(),
            bits: bits(*ty, *vec),
        },
        Instruction::Atom(Atom { sem, scope, space, vec, ty, .. }) => Access {
            reads: true,
            writes: true,
            acquires: matches!(sem, Some(AtomSem::Acquire | AtomSem::AcqRel)),
            releases: matches!(sem, Some(AtomSem::Release | AtomSem::AcqRel)),
            is_red: false,
            strong: Some(promoted(scope.unwrap_or(Scope::Gpu), *space)),
            space: *space,
            volatile: true,
            by_element: vec.is_some() || packed(*ty),
            bits: bits(*ty, *vec),
        },
        Instruction::Red(Red { sem, scope, space, vec, ty, .. }) => Access {
            reads: true,
            writes: true,
            acquires: false,
            releases: *sem == Some(RedSem::Release),
            is_red: true,
            strong: Some(promoted(scope.unwrap_or(Scope::Gpu), *space)),
            space: *space,
            volatile: true,
            by_element: vec.is_some() || packed(*ty),
            bits: bits(*ty, *vec),
        },
        _ => return None,
    })
}

/// Instructions outside of the model that access memory, or order what other threads do.
const TOUCHES_MEMORY: [&str; 24] = [
    "ld",
    "st",
    "atom",
    "red",
    "ldu",
    "call",
    "bar",
    "barrier",
    "mbarrier",
    "cp",
    "tex",
    "tld4",
    "suld",
    "sust",
    "sured",
    "ldmatrix",
    "stmatrix",
    "wgmma",
    "tcgen05",
    "multimem",
    "wmma",
    "griddepcontrol",
    "applypriority",
    "discard",
];

/// Whether an instruction touches memory that other threads see and write.
pub(crate) fn touches_memory(flow: &Flow<'_>, node: usize) -> bool {
    let read_only = |cache: &Option<Cache>| *cache == Some(Cache::Operator(CacheOperator::Nc));
    match (flow.nodes[node].code, access(flow, node)) {
        (NodeCode::Instruction(Instruction::Ld(Ld { cache, .. })), _) if read_only(cache) => false,
        (_, Some(access)) => !matches!(access.space, Space::Local | Space::Const),
        (NodeCode::Other(other @ Other { mnemonic, .. }), None) => {
            let own = [".param", ".local", ".const", ".nc"].into_iter().any(|space| mnemonic.contains(space));
            TOUCHES_MEMORY.contains(&other.base()) && !own
        }
        _ => false,
    }
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
        check("fence.release.gpu; fence.acquire.gpu;", "gpu gpu - -");
    }

    /// Where the address is local, nobody else takes part.
    #[test]
    fn ways_for_local_addresses_do_not_count() {
        let with = |test: &str| {
            format!(
                "isspacep.local %p, %a; {test} ld.acquire.gpu.b32 %d, [%a]; bra %done; \
                 %private: ld.b32 %d, [%a]; %done:"
            )
        };
        check(&with("@%p bra %private;"), "gpu - - -");
        check(&with("not.pred %q, %p; @!%q bra %private;"), "gpu - - -");
        check(&with("@!%p bra %private;"), "- - - -");
        check(&with("@%other bra %private;"), "- - - -");
        check("isspacep.local %p, %a; @%p ld.b32 %d, [%a]; @!%p ld.acquire.gpu.b32 %d, [%a];", "gpu - - -");
    }

    /// ISA2 with the fence in the middle: what is acquired must be released.
    #[test]
    fn two_one_sided_fences_are_no_fence_of_both() {
        let op = |ordering| AtomicOp { operation: Operation::Fence, ordering, scope: SyncScope::Threads(Scope::Gpu) };
        let apart = Strength::of(&"fence.release.gpu; fence.acquire.gpu;".parse().expect("fences"));
        assert_eq!(apart.covers(&op(Ordering::AcqRel)), Err(vec!["no fence of acquire and release".into()]));
        assert_eq!(apart.covers(&op(Ordering::Release)), Ok(()));
    }

    #[test]
    fn only_a_loop_that_retries_failure_is_atomic() {
        let atomic = |test: &str, branch: &str| -> bool {
            let text = format!(
                "ld.relaxed.gpu.b32 %d, [%a]; %again: mov.b32 %old, %d; \
                 atom.relaxed.gpu.cas.b32 %d, [%a], %old, %new; {test} {branch}"
            );
            Strength::of(&text.parse().expect("a loop")).update == Update::Loop
        };
        assert!(atomic("setp.ne.b32 %p, %d, %old;", "@%p bra %again;"));
        assert!(!atomic("setp.eq.b32 %p, %d, %old;", "@%p bra %again;"));
        assert!(!atomic("setp.ne.b32 %p, %d, %old;", "@!%p bra %again;"));
        assert!(!atomic("setp.ne.b32 %p, %d, %new;", "@%p bra %again;"));
        assert!(!atomic("setp.ne.b16 %p, %d, %old;", "@%p bra %again;"));
    }
}
