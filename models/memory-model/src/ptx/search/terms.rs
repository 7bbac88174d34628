//! The possible values of events and terms, as literals.
//!
//! A sum over the writes of many threads has many possible values, but only few of them matter: the values that the
//! question asks for, and the values from which such a value is computed. Each of these has a literal of its own; all
//! remaining values share one literal.

use rustc_hash::{FxHashMap, FxHashSet};

use super::solver::{Clauses, Lit};
use crate::{
    execution::Combination,
    program::Value,
    ptx::Ptx,
    relation::{MAX_EVENTS, Set},
    unfold::{EventKind, Node, Term},
};

/// A class of values that the search distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// This value.
    Is(Value),
    /// Some value that does not matter.
    Other,
    /// An unknown value: it is only known not to be one of the values that matter.
    Any,
}

/// A literal for each class of values. Exactly one of them holds.
pub(super) type Domain = Vec<(Class, Lit)>;

/// The possible values of a read or a term.
#[derive(Clone, Default, PartialEq)]
struct Values {
    known: FxHashSet<Value>,
    /// Whether there may be further values, and whether that is because there are too many.
    any: bool,
    many: bool,
}

impl Values {
    fn add(&mut self, value: Value) {
        if self.known.len() < MAX_VALUES {
            self.known.insert(value);
        } else if !self.known.contains(&value) {
            (self.any, self.many) = (true, true);
        }
    }

    fn add_all(&mut self, other: &Self) {
        other.known.iter().for_each(|&value| self.add(value));
        self.any |= other.any;
        self.many |= other.many;
    }
}

/// The maximum number of values of a read or term, and of combinations of input values of a node. Beyond these numbers,
/// the values are unknown.
const MAX_VALUES: usize = 256;
const MAX_COMBINATIONS: usize = 1 << 14;

/// A node of a thread's path.
type PathNode = (usize, u32);

/// The reads and nodes of one combination of paths that the clauses cover.
pub(super) struct Terms<'s, 'p> {
    c: &'s Combination<'p, Ptx>,
    rf: &'s [Vec<(usize, Lit)>],
    /// The possible values of each read, and the values that matter.
    reads: Vec<Values>,
    matters: Vec<FxHashSet<Value>>,
    /// The same for the nodes that are computed.
    nodes: FxHashMap<PathNode, Values>,
    node_matters: FxHashMap<PathNode, FxHashSet<Value>>,
    /// The literals.
    read_domains: Vec<Option<Domain>>,
    node_domains: FxHashMap<PathNode, Domain>,
}

/// The kind of a node.
enum Shape {
    /// The value of an event.
    Event(usize),
    Copy(Term),
    Of([Term; 3]),
}

impl<'s, 'p> Terms<'s, 'p> {
    /// Collects the possible values of all reads that the given terms depend on. A read of `cycles` may return any
    /// value, and a read of `settled` returns a known value.
    pub(super) fn new(
        c: &'s Combination<'p, Ptx>,
        rf: &'s [Vec<(usize, Lit)>],
        cycles: Set,
        settled: &[(usize, Value)],
        of: &[(usize, Term)],
    ) -> Self {
        let mut needed = of.iter().fold(Set(0), |needed, &(thread, term)| needed | c.sources(thread, term));
        let mut open = needed;
        while let Some(read) = open.next() {
            let more = rf[read].iter().fold(Set(0), |more, &(write, _)| more | c.written_sources(write)) - needed;
            needed = needed | more;
            open = open | more;
        }
        let mut terms = Self {
            c,
            rf,
            reads: vec![Values::default(); MAX_EVENTS],
            matters: vec![FxHashSet::default(); MAX_EVENTS],
            nodes: FxHashMap::default(),
            node_matters: FxHashMap::default(),
            read_domains: vec![None; MAX_EVENTS],
            node_domains: FxHashMap::default(),
        };
        (needed & cycles).for_each(|read| terms.reads[read].any = true);
        // A read that a branch compares for equality has a single value.
        let settled: FxHashMap<usize, Value> = settled.iter().copied().collect();
        let settle = |reads: &mut Vec<Values>| {
            for (&read, &value) in &settled {
                reads[read] = Values { known: FxHashSet::from_iter([value]), ..Values::default() };
            }
        };
        settle(&mut terms.reads);
        // Outside of cycles, no value passes through a write twice.
        let sources = needed.flat_map(|read| rf[read].iter().map(|&(write, _)| write)).collect::<Set>();
        let computed = sources.filter(|&write| !c.written_sources(write).is_empty()).count();
        for _ in 0..=computed {
            terms.nodes.clear();
            let mut reads = terms.reads.clone();
            for read in needed {
                for &(write, _) in &rf[read] {
                    let written = terms.values_written(write);
                    reads[read].add_all(&written);
                }
            }
            settle(&mut reads);
            if terms.reads == reads {
                break;
            }
            terms.reads = reads;
        }
        terms.nodes.clear();
        for (read, value) in settled {
            for (thread, term, values) in terms.read_matters(read, FxHashSet::from_iter([value])) {
                terms.matter(thread, term, values);
            }
        }
        terms
    }

    /// Whether a read or a node may have a value that has no literal.
    pub(super) fn are_open(&self) -> bool {
        self.reads.iter().chain(self.nodes.values()).any(|values| values.any)
    }

    fn shape(&self, (thread, node): PathNode) -> Shape {
        match self.c.paths[thread].nodes[node as usize] {
            Node::Event(event) => Shape::Event(self.c.copy(thread, Term::Node(node)).unwrap_or(event)),
            Node::Expected(_, expected) => Shape::Copy(expected),
            Node::Computed(_, _, terms) | Node::Rmw(_, _, terms) => Shape::Of(terms),
        }
    }

    /// The result of a node that is computed.
    fn compute(&self, (thread, node): PathNode, [a, b, c]: [Value; 3]) -> Option<Value> {
        match self.c.paths[thread].nodes[node as usize] {
            Node::Computed(computation, ty, _) => computation.apply(ty, [a, b, c]),
            Node::Rmw(op, ty, _) => op.apply(ty, a, b, c),
            Node::Event(_) | Node::Expected(..) => None,
        }
    }

    /// The term that a write writes; `None` if it is unknown.
    fn written_term(&self, write: usize) -> Option<(usize, Term)> {
        match (self.c.skeleton.events[write].kind, self.c.written_term(write)) {
            (EventKind::Beyond { .. }, _) => None,
            (_, None) => Some((0, Term::Constant(self.c.written(write, &|_| None)?))),
            (_, term) => term,
        }
    }

    fn values_written(&mut self, write: usize) -> Values {
        match self.written_term(write) {
            Some((thread, term)) => self.values(thread, term),
            None => Values { any: true, many: true, ..Values::default() },
        }
    }

    /// The possible values of a term.
    fn values(&mut self, thread: usize, term: Term) -> Values {
        let place = match term {
            Term::Constant(value) => return Values { known: FxHashSet::from_iter([value]), ..Values::default() },
            Term::Node(node) => (thread, node),
        };
        if let Some(known) = self.nodes.get(&place) {
            return known.clone();
        }
        let found = match self.shape(place) {
            Shape::Event(event) => self.reads[event].clone(),
            Shape::Copy(term) => self.values(thread, term),
            Shape::Of(terms) => {
                let inputs = terms.map(|term| self.values(thread, term));
                let mut found = Values {
                    any: inputs.iter().any(|input| input.any),
                    many: inputs.iter().any(|input| input.many),
                    ..Values::default()
                };
                let inputs = inputs.map(|input| input.known.into_iter().collect::<Vec<_>>());
                let all = for_each_combination(&inputs, |row| match self.compute(place, row) {
                    Some(value) => found.add(value),
                    None => (found.any, found.many) = (true, true),
                });
                (found.any, found.many) = (found.any || !all, found.many || !all);
                found
            }
        };
        self.nodes.insert(place, found.clone());
        found
    }

    /// Marks values of a term as values that matter, with the values from which they are computed.
    pub(super) fn matter(&mut self, thread: usize, term: Term, values: impl IntoIterator<Item = Value>) {
        let mut open: Vec<(usize, Term, FxHashSet<Value>)> = vec![(thread, term, values.into_iter().collect())];
        while let Some((thread, term, values)) = open.pop() {
            let Term::Node(node) = term else { continue };
            let place = (thread, node);
            let possible = self.values(thread, term);
            let matters = self.node_matters.entry(place).or_default();
            let possible = |value: &Value| possible.any || possible.known.contains(value);
            let new: FxHashSet<Value> =
                values.into_iter().filter(|value| possible(value) && matters.insert(*value)).collect();
            if new.is_empty() {
                continue;
            }
            match self.shape(place) {
                Shape::Copy(term) => open.push((thread, term, new)),
                Shape::Event(event) => open.extend(self.read_matters(event, new)),
                Shape::Of(terms) => {
                    let inputs = terms.map(|term| self.values(thread, term).known.into_iter().collect::<Vec<_>>());
                    let mut matters: [FxHashSet<Value>; 3] = Default::default();
                    for_each_combination(&inputs, |row| {
                        if self.compute(place, row).is_some_and(|value| new.contains(&value)) {
                            matters.iter_mut().zip(row).for_each(|(matters, value)| _ = matters.insert(value));
                        }
                    });
                    open.extend(terms.into_iter().zip(matters).map(|(term, matters)| (thread, term, matters)));
                }
            }
        }
    }

    /// Marks values of a read as values that matter. Returns the terms of its sources, for which the same values
    /// matter.
    fn read_matters(&mut self, read: usize, values: FxHashSet<Value>) -> Vec<(usize, Term, FxHashSet<Value>)> {
        self.matters[read].extend(&values);
        let written = self.rf[read].iter().filter_map(|&(write, _)| self.written_term(write));
        written.map(|(thread, term)| (thread, term, values.clone())).collect()
    }

    /// The possible values of a term that are known.
    pub(super) fn possible(&mut self, thread: usize, term: Term) -> FxHashSet<Value> {
        self.values(thread, term).known
    }

    /// Marks the values of a condition that decide its truth: its zero values, or its nonzero values. Returns whether
    /// the condition holds for the values that are not marked.
    pub(super) fn truth_matters(&mut self, thread: usize, term: Term) -> bool {
        let (zero, others): (Vec<_>, Vec<_>) =
            self.values(thread, term).known.into_iter().partition(|&value| value == 0);
        let Term::Node(node) = term else { return false };
        let mut ways = [0, 0];
        if let Shape::Of(terms) = self.shape((thread, node)) {
            let inputs = terms.map(|term| self.values(thread, term).known.into_iter().collect::<Vec<_>>());
            for_each_combination(&inputs, |row| {
                ways[usize::from(self.compute((thread, node), row).is_some_and(|value| value != 0))] += 1;
            });
        }
        let others_hold = ways[0] <= ways[1];
        self.matter(thread, term, if others_hold { zero } else { others });
        others_hold
    }

    /// Connects the values of the reads with the values of their sources. By then, all values that matter must be
    /// marked.
    pub(super) fn connect(&mut self, clauses: &mut Clauses) {
        // The value of a write may depend on further reads.
        let mut done = Set(0);
        loop {
            let open =
                (0..self.read_domains.len()).find(|&read| !done.contains(read) && self.read_domains[read].is_some());
            let Some(read) = open else { return };
            done.insert(read);
            let to = self.read_domains[read].clone().unwrap_or_default();
            for &(write, chosen) in self.rf[read].iter() {
                self.give(clauses, chosen, write, &to, self.reads[read].many);
            }
        }
    }

    /// If the literal `chosen` holds, `to` has the value of the write.
    fn give(&mut self, clauses: &mut Clauses, chosen: Lit, write: usize, to: &Domain, many: bool) {
        let Some((thread, term)) = self.written_term(write) else { return };
        let written = self.term(clauses, thread, term);
        for &(class, lit) in &written {
            clauses.imply_one(&[chosen, lit], &of_class(class, to));
        }
        if !many {
            any_of(clauses, &[chosen], to, &any(&written).into_iter().collect::<Vec<_>>());
        }
    }

    /// The literals for the value of a term.
    pub(super) fn term(&mut self, clauses: &mut Clauses, thread: usize, term: Term) -> Domain {
        let place = match term {
            Term::Constant(value) => return vec![(Class::Is(value), clauses.constant(true))],
            Term::Node(node) => (thread, node),
        };
        if let Some(known) = self.node_domains.get(&place) {
            return known.clone();
        }
        let found = match self.shape(place) {
            Shape::Event(event) => {
                if self.read_domains[event].is_none() {
                    self.read_domains[event] = Some(domain(clauses, &self.reads[event], &self.matters[event]));
                }
                self.read_domains[event].clone().unwrap_or_default()
            }
            Shape::Copy(term) => self.term(clauses, thread, term),
            Shape::Of(terms) => {
                let inputs = terms.map(|term| self.term(clauses, thread, term));
                let values = self.values(thread, term);
                let none = FxHashSet::default();
                let found = domain(clauses, &values, self.node_matters.get(&place).unwrap_or(&none));
                let known = terms.map(|term| self.values(thread, term));
                combine(clauses, &inputs, &found, (&known, values.many), |row| self.compute(place, row));
                if !values.many {
                    let any = inputs.iter().filter_map(any).collect::<Vec<_>>();
                    any_of(clauses, &[], &found, &any);
                }
                found
            }
        };
        self.node_domains.insert(place, found.clone());
        found
    }

    /// The literals for the value of one of several writes, for the values that matter.
    pub(super) fn one_of(
        &mut self,
        clauses: &mut Clauses,
        choice: &[(usize, Lit)],
        matters: &FxHashSet<Value>,
    ) -> Domain {
        let mut values = Values::default();
        choice.iter().for_each(|&(write, _)| values.add_all(&self.values_written(write)));
        let found = domain(clauses, &values, matters);
        for &(write, lit) in choice {
            self.give(clauses, lit, write, &found, values.many);
        }
        found
    }
}

/// A literal for each class of these values.
fn domain(clauses: &mut Clauses, values: &Values, matters: &FxHashSet<Value>) -> Domain {
    let possible = |value: &&Value| values.any || values.known.contains(value);
    let mut known: Vec<Value> = matters.iter().filter(possible).copied().collect();
    known.sort_unstable();
    let other = values.known.iter().any(|value| !matters.contains(value)).then_some(Class::Other);
    let any = values.any.then_some(Class::Any);
    let classes: Vec<Class> = known.into_iter().map(Class::Is).chain(other).chain(any).collect();
    let lits = clauses.exactly_one(classes.len());
    classes.into_iter().zip(lits).collect()
}

/// The literal of the unknown value.
fn any(domain: &Domain) -> Option<Lit> {
    domain.iter().find_map(|&(class, lit)| (class == Class::Any).then_some(lit))
}

/// Under a condition, the value is unknown only if one of the causes is unknown.
fn any_of(clauses: &mut Clauses, condition: &[Lit], domain: &Domain, causes: &[Lit]) {
    if let Some(any) = any(domain) {
        clauses.imply_one(&[condition, &[any]].concat(), causes);
    }
}

/// The literals of a value. A value without a literal of its own may have two: other and unknown.
fn of_class(class: Class, domain: &Domain) -> Vec<Lit> {
    let lit = |class: Class| domain.iter().find(|(of, _)| *of == class).map(|&(_, lit)| lit);
    match (class, lit(class)) {
        (Class::Is(_), Some(lit)) => vec![lit],
        _ => [Class::Other, Class::Any].into_iter().filter_map(lit).collect(),
    }
}

/// Relates the result of a function to its inputs.
fn combine(
    clauses: &mut Clauses,
    inputs: &[Domain; 3],
    to: &Domain,
    (known, many): (&[Values; 3], bool),
    function: impl Fn([Value; 3]) -> Option<Value>,
) {
    for_each_combination(inputs, |row| {
        let (of, lits) = (row.map(|(class, _)| class), row.map(|(_, lit)| lit));
        let strange = |(class, known): (&Class, &Values)| match class {
            Class::Is(value) => !known.known.contains(value),
            _ => false,
        };
        let class = match of {
            [Class::Is(a), Class::Is(b), Class::Is(c)] => function([a, b, c]).map_or(Class::Any, Class::Is),
            // The result is unknown if an input is unknown or was not among the enumerated values.
            _ if of.contains(&Class::Any) || many || of.iter().zip(known).any(strange) => return,
            _ => Class::Other,
        };
        clauses.imply_one(&lits, &of_class(class, to));
    });
}

/// Calls `each` with every combination of one element of each list. Returns false, without a call, if there are too
/// many combinations.
fn for_each_combination<T: Copy>(of: &[Vec<T>; 3], mut each: impl FnMut([T; 3])) -> bool {
    let [a, b, c] = of;
    let few = a.len().saturating_mul(b.len()).saturating_mul(c.len()) <= MAX_COMBINATIONS;
    if few {
        a.iter().for_each(|&a| b.iter().for_each(|&b| c.iter().for_each(|&c| each([a, b, c]))));
    }
    few
}
