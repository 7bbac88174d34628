//! The orders between threads of the host and of GPUs: the compound model of `docs/host.md`.
//!
//! An access of the host is a strong operation of scope sys. In causality order (section 8.9.5), a write is a release
//! and a read is an acquire; the accesses before and after it are those that its processor keeps in order with it. In
//! addition to the axioms of PTX, one axiom concerns the host: its accesses, its full barriers and the `fence.sc.sys`
//! of GPUs take effect one after the other.

use super::{aarch64, nic, rule::Rule, x86};
use crate::{
    execution::{Execution, Skeleton},
    place::{Processor, Scope},
    ptx::{Fence, FenceSem, Ptx},
    relation::{Relation, Set},
    unfold::EventKind,
};

/// The full barriers of the host.
pub fn full_barriers(x: &Skeleton<Ptx>) -> Set {
    x.host.filter(|&event| matches!(x.events[event].kind, EventKind::Fence(Fence::Host(of)) if of.is_full())).collect()
}

/// The `fence.sc.sys` of GPUs.
fn system_fences(x: &Skeleton<Ptx>) -> Set {
    let sc = Fence::Memory { sem: FenceSem::Sc, scope: Scope::Sys };
    x.fences.filter(|&event| x.events[event].kind == EventKind::Fence(sc)).collect()
}

/// The events of each thread of the host.
fn threads(x: &Skeleton<Ptx>) -> impl Iterator<Item = (Processor, Set)> {
    let hosts = x.places.iter().enumerate().filter(|(_, place)| !place.processor.is_gpu());
    hosts.map(|(thread, place)| {
        let events = x.host.filter(|&event| x.events[event].thread == Some(thread)).collect();
        (place.processor, events)
    })
}

/// Pairs of events of one thread of the host.
pub fn internal(x: &Skeleton<Ptx>) -> Relation {
    let mut pairs = Relation::empty(x.len());
    for (_, events) in threads(x) {
        pairs = pairs | Relation::product(x.len(), events, events);
    }
    pairs
}

/// The part of program order that the processors of the host preserve.
pub fn local_order(execution: &Execution<Ptx>) -> Relation {
    let x = &execution.skeleton;
    let full = full_barriers(x);
    let mut all = Relation::empty(x.len());
    for (processor, events) in threads(x) {
        let ordered = match processor {
            Processor::X86 => x86::local_order(x, events),
            Processor::AArch64 => aarch64::local_order(execution, events),
            Processor::Nic => nic::local_order(x, events),
            Processor::Gpu => continue,
        };
        let both = events & (x.memory() | full);
        let barriers = x.po.between(both, full & events) | x.po.between(full & events, both);
        all = all | ordered | Rule::FullBarrier.filter_relation(barriers);
    }
    all
}

/// The part of program order that accesses to one location take effect in: all of it, except that PCIe does not keep the
/// requests of a NIC in order because of their addresses.
pub fn location_order(x: &Skeleton<Ptx>) -> Relation {
    let mut order = x.po;
    for (_, events) in threads(x).filter(|(processor, _)| *processor == Processor::Nic) {
        order = (order - Relation::product(x.len(), events, events)) | nic::local_order(x, events);
    }
    order
}

/// The part of program order that base causality order contains: for the host, the part that its processors preserve.
pub fn preserved(execution: &Execution<Ptx>) -> Relation {
    let x = &execution.skeleton;
    match x.host.is_empty() {
        true => x.po,
        false => x.po.between(!x.host, !x.host) | local_order(execution),
    }
}

/// The parts of an order, by their names.
type Parts = Vec<(&'static str, Relation)>;

/// The order in which accesses of the host take effect, together with its full barriers and the `fence.sc.sys` of GPUs.
pub struct Effects {
    /// The direct steps between these events.
    steps: Parts,
    /// The steps through accesses of GPUs that communicate with accesses of the host.
    over: Relation,
    /// Communication: reads-from, coherence and from-reads between morally strong accesses.
    communication: Parts,
    base_causality: Relation,
}

impl Effects {
    /// Builds the order from the relations of an execution.
    pub fn new(execution: &Execution<Ptx>, strong: &Relation, fr: &Relation, base_causality: &Relation) -> Self {
        let x = &execution.skeleton;
        let (fences, accesses) = (full_barriers(x) | system_fences(x), x.host & x.memory());
        let nodes = fences | accesses;
        let communication =
            vec![("rf", (execution.rf - internal(x)) & *strong), ("co", execution.co & *strong), ("fr", *fr & *strong)];
        let every = union(x.len(), &communication).closure();
        let into = every.between(accesses, !accesses).then(base_causality).between(accesses, nodes);
        let out_of = base_causality.then(&every.between(!accesses, accesses)).between(fences, accesses);
        let passed = base_causality.then(&every.between(!accesses, !accesses)).then(base_causality);
        let among = Rule::Communication.filter_relation(every.between(accesses, accesses));
        let (into, out_of) = (Rule::IntoFence.filter_relation(into), Rule::OutOfFence.filter_relation(out_of));
        let mut steps: Parts = vec![("local", local_order(execution).between(nodes, nodes))];
        steps.extend(communication.iter().map(|(name, part)| (*name, part.between(accesses, accesses))));
        steps.push(("sc", execution.sc.between(nodes, nodes)));
        steps.push(("base causality", base_causality.between(nodes, nodes)));
        Self {
            steps,
            over: into | out_of | Rule::PassedOn.filter_relation(passed.between(fences, accesses)) | among,
            communication,
            base_causality: *base_causality,
        }
    }

    fn all(&self) -> Relation {
        union(self.over.len(), &self.steps) | self.over
    }

    /// Whether the order is acyclic.
    pub fn are_ordered(&self) -> bool {
        self.all().is_acyclic()
    }

    /// A cycle, in which an event takes effect before itself.
    pub fn contradiction(&self) -> Option<Vec<(usize, &'static str)>> {
        let all = self.all();
        let closure = all.closure();
        let cycles = (0..all.len()).filter(|&event| closure.contains(event, event));
        let shortest = cycles.filter_map(|event| all.path(event, event)).min_by_key(Vec::len)?;
        Some(shortest.windows(2).flat_map(|pair| self.step(pair[0], pair[1])).collect())
    }

    /// The named steps that lead from one event to the next.
    fn step(&self, a: usize, b: usize) -> Vec<(usize, &'static str)> {
        let named = |parts: &Parts, a, b| parts.iter().find(|(_, part)| part.contains(a, b)).map(|(name, _)| *name);
        if let Some(name) = named(&self.steps, a, b) {
            return vec![(a, name)];
        }
        let direct = union(self.over.len(), &self.communication);
        let walk = |from: usize, to: usize| -> Vec<(usize, &'static str)> {
            let path = direct.path(from, to).unwrap_or_default();
            let name = |pair: &[usize]| (pair[0], named(&self.communication, pair[0], pair[1]).unwrap_or("before"));
            path.windows(2).map(name).collect()
        };
        let every = direct.closure();
        let caused = |a: usize, b: usize| self.base_causality.contains(a, b);
        if every.contains(a, b) {
            return walk(a, b);
        }
        if let Some(middle) = every.row(a).find(|&middle| caused(middle, b)) {
            return [walk(a, middle), vec![(middle, "base causality")]].concat();
        }
        if let Some(middle) = self.base_causality.row(a).find(|&middle| every.contains(middle, b)) {
            return [vec![(a, "base causality")], walk(middle, b)].concat();
        }
        let seen = |middle: usize| every.row(middle).find(|&seen| caused(seen, b));
        match self.base_causality.row(a).find_map(|middle| Some((middle, seen(middle)?))) {
            Some((middle, seen)) => {
                [vec![(a, "base causality")], walk(middle, seen), vec![(seen, "base causality")]].concat()
            }
            None => vec![(a, "before")],
        }
    }
}

fn union(len: usize, parts: &Parts) -> Relation {
    parts.iter().fold(Relation::empty(len), |union, (_, part)| union | *part)
}
