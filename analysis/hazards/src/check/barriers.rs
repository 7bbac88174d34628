//! The arrivals that each wait may observe.
//!
//! Barriers are distinguished by their addresses. A barrier with an index, such as `full[stage]`, is a single barrier
//! here: it is not checked that a wait and an arrival use the same element. Outside of loops phases are counted.

use rustc_hash::FxHashMap;

use super::graph::{EventGraph, Point};
use crate::kernel::{Address, Barrier, BarrierId, Event, EventKind, Kernel, ObjectKind, Operation};

/// A set of signals, as bits.
pub type Signals = u128;

/// The identity of a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    /// An mbarrier: its object, its lowest offset there, the factors of the variable terms, and the highest offset that
    /// these can reach.
    Mbarrier { object: usize, constant: i64, factors: Vec<i64>, last: Option<i64> },
    /// A barrier of the CTA or the cluster, and the number of threads that take part, if it is known.
    Hardware(BarrierId, Option<u32>),
}

/// An arrival from the view of waits: its barrier, and its phase if it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Signal {
    name: Name,
    phase: Option<usize>,
}

/// The barriers of a kernel.
pub struct Barriers {
    /// The signals that each arrival, or operation that signals a barrier, gives.
    signals: FxHashMap<Point, Signals>,
    /// The signals that each wait may observe.
    observed: FxHashMap<Point, Signals>,
    /// The signals of barriers at which several roles arrive, where each arrival completes a phase: a wait may have
    /// observed any of these arrivals.
    pub doubtful: Signals,
    /// The signals of barriers of the CTA and the cluster, at which all participating threads arrive.
    pub hardware: Signals,
    /// Waits on a barrier that has no arrival.
    pub silent: Vec<Point>,
    /// Arrivals and waits whose barrier is unknown.
    pub unknown: Vec<Point>,
    /// Whether there are more barriers than the signals can distinguish.
    pub too_many: bool,
}

impl Barriers {
    pub fn new(graph: &EventGraph<'_>) -> Self {
        let events = || {
            let blocks = graph.order.iter().map(|&block| (block, &graph.kernel.blocks[block].events));
            blocks.flat_map(|(block, events)| {
                events.iter().enumerate().map(move |(index, event)| ((block, index), event))
            })
        };
        let arrivals: Vec<_> =
            events().filter_map(|(point, event)| Some((point, arrival(graph.kernel, event)?))).collect();
        let completions: Vec<_> =
            events().filter_map(|(point, event)| Some((point, completion(graph.kernel, event)?))).collect();
        let waits: Vec<_> = events().filter_map(|(point, event)| Some((point, wait(graph.kernel, event)?))).collect();

        let mut names: Vec<&Name> = arrivals.iter().chain(&waits).map(|(_, name)| name).collect();
        names.sort_unstable_by_key(|name| format!("{name:?}"));
        names.dedup();
        let same = Names::new(graph.kernel, names.iter().copied());
        // The phases of a barrier are counted if none of its arrivals and waits is in a loop.
        let looped: Vec<&Name> = arrivals
            .iter()
            .chain(&waits)
            .chain(&completions)
            .filter(|((block, _), _)| graph.is_in_loop(*block))
            .map(|(_, name)| name)
            .collect();
        let counted = |name: &Name| {
            (matches!(name, Name::Hardware(..)) || counts_one(graph, &same, name))
                && !looped.iter().any(|other| same.may_match(other, name))
        };
        let reachability = Reachability::new(graph);
        let phase = |point: Point, name: &Name, among: &[(Point, Name)]| {
            counted(name)
                .then(|| among.iter().filter(|(other, of)| of == name && reachability.is_after(*other, point)).count())
        };

        let mut known: Vec<Signal> = Vec::new();
        let mut number = |signal: Signal| {
            let at = known.iter().position(|other| *other == signal).unwrap_or_else(|| {
                known.push(signal);
                known.len() - 1
            });
            1u128.checked_shl(at as u32).unwrap_or(0)
        };
        let mut signals = FxHashMap::default();
        for (point, name) in &arrivals {
            let phase = phase(*point, name, &arrivals);
            *signals.entry(*point).or_insert(0) |= number(Signal { name: name.clone(), phase });
        }
        for (point, name) in &completions {
            *signals.entry(*point).or_insert(0) |= number(Signal { name: name.clone(), phase: None });
        }
        let too_many = known.len() > 128;
        let mut observed = FxHashMap::default();
        let (mut silent, mut unknown) = (Vec::new(), Vec::new());
        for (point, name) in &waits {
            let now = phase(*point, name, &waits);
            let seen = known.iter().enumerate().take(128).filter(|(_, signal)| {
                let earlier = match (signal.phase, now) {
                    (Some(phase), Some(now)) => phase <= now,
                    _ => true,
                };
                earlier && same.may_match(&signal.name, name)
            });
            observed.insert(*point, seen.fold(0, |mask, (at, _)| mask | 1 << at));
            if !arrivals.iter().any(|(_, arrived)| same.may_match(arrived, name) || is_unknown(graph, arrived))
                && !is_unknown(graph, name)
            {
                silent.push(*point);
            }
        }
        unknown
            .extend(arrivals.iter().chain(&waits).filter(|(_, name)| is_unknown(graph, name)).map(|(point, _)| *point));
        unknown.sort_unstable();
        unknown.dedup();

        let mut doubtful = 0;
        for (at, (point, name)) in arrivals.iter().enumerate() {
            let rivals = arrivals[at + 1..].iter().filter(|(_, other)| same.may_match(other, name));
            let apart = rivals
                .filter(|(other, _)| !reachability.is_after(*point, *other) && !reachability.is_after(*other, *point))
                .collect::<Vec<_>>();
            // In loops, it is not checked that a wait observes the arrivals of its own iteration.
            if counts_one(graph, &same, name) && phase(*point, name, &arrivals).is_some() && !apart.is_empty() {
                doubtful |= signals[point] | apart.iter().fold(0, |mask, (other, _)| mask | signals[other]);
            }
        }
        let is_hardware = |(_, signal): &(usize, &Signal)| matches!(signal.name, Name::Hardware(..));
        let hardware = known.iter().enumerate().take(128).filter(is_hardware).fold(0, |mask, (at, _)| mask | 1 << at);
        Self { signals, observed, doubtful, hardware, silent, unknown, too_many }
    }

    /// The signals that an arrival, or an operation that signals a barrier, gives.
    pub fn signal(&self, point: Point) -> Signals {
        self.signals.get(&point).copied().unwrap_or(0)
    }

    /// The signals that a wait may observe.
    pub fn observed(&self, point: Point) -> Signals {
        self.observed.get(&point).copied().unwrap_or(0)
    }

    /// The arrivals and operations that give any of the given signals.
    pub fn givers(&self, of: Signals) -> Vec<Point> {
        let mut points: Vec<_> =
            self.signals.iter().filter(|(_, mask)| *mask & of != 0).map(|(point, _)| *point).collect();
        points.sort_unstable();
        points
    }
}

/// The relation of events that may follow each other.
struct Reachability<'g> {
    graph: &'g EventGraph<'g>,
    reached: std::cell::RefCell<FxHashMap<usize, Vec<bool>>>,
}

impl<'g> Reachability<'g> {
    fn new(graph: &'g EventGraph<'g>) -> Self {
        Self { graph, reached: Default::default() }
    }

    /// Whether the second event may follow the first.
    fn is_after(&self, first: Point, second: Point) -> bool {
        if first.0 == second.0 && first.1 < second.1 {
            return true;
        }
        let mut reached = self.reached.borrow_mut();
        reached.entry(first.0).or_insert_with(|| self.graph.reached(&[first.0], |_| false))[second.0]
    }
}

/// The name of the mbarrier at an address. For a pointer that a loop advances, it is the lowest address.
fn name(kernel: &Kernel, address: &Address) -> Name {
    let lowest = |(value, factor): &(usize, i64)| {
        kernel.unknowns[*value].range.filter(|_| *factor == 1).map_or(0, |range| range.0)
    };
    let constant = address.offset.terms.iter().map(lowest).fold(address.offset.constant, i64::saturating_add);
    let mut factors: Vec<_> = address.offset.terms.iter().map(|(_, factor)| *factor).collect();
    factors.sort_unstable();
    let last = address.offset.terms.iter().try_fold(address.offset.constant, |last, (value, factor)| {
        let (low, high) = kernel.unknowns[*value].range?;
        last.checked_add(low.checked_mul(*factor)?.max(high.checked_mul(*factor)?))
    });
    Name::Mbarrier { object: address.object, constant, factors, last }
}

fn hardware(kernel: &Kernel, barrier: &Barrier) -> Name {
    let threads = match barrier.of {
        BarrierId::Cta(_) | BarrierId::SomeCta => barrier.threads.or(kernel.threads).filter(|threads| *threads > 0),
        BarrierId::Warp | BarrierId::Cluster => None,
    };
    Name::Hardware(barrier.of, threads)
}

fn arrival(kernel: &Kernel, event: &Event) -> Option<Name> {
    match &event.kind {
        EventKind::Arrive { barrier, .. }
        | EventKind::TensorCommit { barrier, .. }
        | EventKind::CopyArrive(barrier) => Some(name(kernel, barrier)),
        // A barrier of a warp does not inform other warps.
        EventKind::Barrier(barrier) if barrier.arrives && barrier.of != BarrierId::Warp => {
            Some(hardware(kernel, barrier))
        }
        _ => None,
    }
}

fn completion(kernel: &Kernel, event: &Event) -> Option<Name> {
    match &event.kind {
        EventKind::Start(start) => match start.operation {
            Operation::BulkLoad => start.barrier.as_ref().map(|barrier| name(kernel, barrier)),
            _ => None,
        },
        _ => None,
    }
}

fn wait(kernel: &Kernel, event: &Event) -> Option<Name> {
    match &event.kind {
        EventKind::Wait { barrier, .. } => Some(name(kernel, barrier)),
        EventKind::Barrier(barrier) if barrier.waits && barrier.of != BarrierId::Warp => {
            Some(hardware(kernel, barrier))
        }
        _ => None,
    }
}

fn is_unknown(graph: &EventGraph<'_>, name: &Name) -> bool {
    match name {
        Name::Mbarrier { object, .. } => graph.kernel.objects[*object].kind == ObjectKind::Unknown,
        Name::Hardware(id, _) => *id == BarrierId::SomeCta,
    }
}

/// Whether a single arrival completes a phase of the mbarrier.
fn counts_one(graph: &EventGraph<'_>, same: &Names, of: &Name) -> bool {
    let events = graph.kernel.blocks.iter().flat_map(|block| &block.events);
    let mut counts = events.filter_map(|event| match &event.kind {
        EventKind::Initialize { barrier, count } if same.may_match(&name(graph.kernel, barrier), of) => Some(*count),
        _ => None,
    });
    counts.any(|count| count == Some(1))
}

/// The relation of names that may mean the same barrier.
struct Names {
    /// The objects and offsets at which arrays of mbarriers begin.
    arrays: Vec<(usize, i64)>,
    /// The objects and offsets of the mbarriers that are initialized.
    initialized: Vec<(usize, i64)>,
}

impl Names {
    fn new<'n>(kernel: &Kernel, names: impl Iterator<Item = &'n Name>) -> Self {
        let events = kernel.blocks.iter().flat_map(|block| &block.events);
        let initialized = events.filter_map(|event| match &event.kind {
            EventKind::Initialize { barrier, .. } => Some((barrier.object, barrier.offset.constant)),
            _ => None,
        });
        let begin = |name: &Name| match name {
            Name::Mbarrier { object, constant, factors, .. } if !factors.is_empty() => Some((*object, *constant)),
            _ => None,
        };
        let mut arrays: Vec<_> = names.filter_map(begin).collect();
        arrays.sort_unstable();
        arrays.dedup();
        Self { arrays, initialized: initialized.collect() }
    }

    fn may_match(&self, a: &Name, b: &Name) -> bool {
        match (a, b) {
            // All participants of a phase give the same number of threads.
            (Name::Hardware(_, Some(a)), Name::Hardware(_, Some(b))) if a != b => false,
            (Name::Hardware(a, _), Name::Hardware(b, _)) => {
                let other = |id: &BarrierId| matches!(id, BarrierId::Cluster | BarrierId::Warp);
                a == b || [a, b].contains(&&BarrierId::SomeCta) && !other(a) && !other(b)
            }
            (
                Name::Mbarrier { object: a, constant: at, factors, last },
                Name::Mbarrier { object: b, constant: other, factors: others, last: last_other },
            ) => {
                a == b
                    && (at == other
                        || self.is_anywhere(*a, *at, factors)
                        || self.is_anywhere(*b, *other, others)
                        || last.is_none_or(|last| *other <= last) && self.is_element(*a, *at, factors, *other, others)
                        || last_other.is_none_or(|last| *at <= last)
                            && self.is_element(*a, *other, others, *at, factors))
            }
            _ => false,
        }
    }

    /// Whether an mbarrier may be at any offset of its object: its index is added to an offset at which no mbarrier is
    /// initialized.
    fn is_anywhere(&self, object: usize, at: i64, factors: &[i64]) -> bool {
        let in_object = self.initialized.iter().any(|&(of, _)| of == object);
        !factors.is_empty() && in_object && !self.initialized.contains(&(object, at))
    }

    /// Whether the second offset is an element of the array that begins at the first: the index reaches it, and no
    /// other array begins before it.
    fn is_element(&self, object: usize, at: i64, factors: &[i64], other: i64, others: &[i64]) -> bool {
        let distance = other - at;
        let has_gap = |factor: i64| {
            let between = (1..distance / factor).map(|index| at + index * factor);
            self.initialized.contains(&(object, at))
                && between.into_iter().any(|point| !self.initialized.contains(&(object, point)))
        };
        // A pointer that a loop advances moves by whole mbarriers.
        let leads = |&factor: &i64| {
            let factor = factor.max(8);
            distance > 0 && distance % factor == 0 && !has_gap(factor)
        };
        others.is_empty()
            && factors.iter().any(leads)
            && !self.arrays.iter().any(|&(of, begin)| of == object && at < begin && begin <= other)
    }
}
