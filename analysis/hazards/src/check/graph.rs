//! The control-flow graph of a kernel: the conditions of the threads that reach each block, and the loops.

use rustc_hash::{FxHashMap, FxHashSet};

use ptx_isa::graph;

use crate::kernel::{Condition, EdgeUpdate, Kernel, Test, UnknownKind, Varies};

/// The number of threads that run a `wgmma` together.
const WARPGROUP: u32 = 128;

/// The blocks of a kernel, and facts derived from them.
pub struct EventGraph<'k> {
    pub kernel: &'k Kernel,
    /// The predecessors of each block.
    pub previous: Vec<Vec<usize>>,
    /// The blocks that can be reached, in reverse post-order.
    pub order: Vec<usize>,
    /// The position of each block in that order.
    pub position: Vec<usize>,
    /// The conditions of a thread at the beginning of each block.
    conditions: Vec<Vec<Condition>>,
    /// The same conditions with their consequences, and the subset on which threads may differ.
    closed: Vec<(Vec<Condition>, Vec<Condition>)>,
    /// The conditions of a thread that does an event with a guard, in the same form.
    guarded: FxHashMap<Point, (Vec<Condition>, Vec<Condition>)>,
    /// The value that is the number of the thread.
    thread: Option<usize>,
    /// The loop that a block is in, as a number.
    loops: Vec<Option<usize>>,
    /// The changes of values along each edge, by the blocks before and after the edge.
    edge_updates: FxHashMap<(usize, usize), Vec<EdgeUpdate>>,
    /// The predicates that test each value for a range.
    tests: FxHashMap<usize, Vec<usize>>,
    /// The conditions of edges whose alternative leads to a dead end. They hold in all threads that continue.
    asserted: FxHashSet<Condition>,
}

impl<'k> EventGraph<'k> {
    pub fn new(kernel: &'k Kernel) -> Self {
        let order = order(kernel);
        let mut previous = vec![Vec::new(); kernel.blocks.len()];
        for &block in &order {
            for edge in &kernel.blocks[block].next {
                previous[edge.to].push(block);
            }
        }
        let mut position = vec![usize::MAX; kernel.blocks.len()];
        order.iter().enumerate().for_each(|(at, &block)| position[block] = at);
        let conditions = block_conditions(kernel, &order);
        let loops = loops(kernel, &order);
        let mut edge_updates: FxHashMap<(usize, usize), Vec<EdgeUpdate>> = FxHashMap::default();
        kernel
            .edge_updates
            .iter()
            .for_each(|update| edge_updates.entry((update.from, update.to)).or_default().push(*update));
        let mut tests: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (number, predicate) in kernel.predicates.iter().enumerate() {
            if let Test::Within { value, .. } = predicate.test {
                tests.entry(value).or_default().push(number);
            }
        }
        let asserted = kernel.blocks.iter().flat_map(|block| {
            let fails = block.next.iter().any(|edge| kernel.blocks[edge.to].is_dead_end);
            block.next.iter().filter(move |edge| fails && !kernel.blocks[edge.to].is_dead_end)
        });
        let asserted = asserted.filter_map(|edge| edge.when).collect();
        let thread = kernel.unknowns.iter().position(|value| value.kind == UnknownKind::Thread);
        let (closed, guarded) = Default::default();
        let mut graph = Self {
            kernel,
            previous,
            order,
            position,
            conditions,
            closed,
            guarded,
            thread,
            loops,
            edge_updates,
            tests,
            asserted,
        };
        let with_varying = |known: Vec<Condition>| {
            let known = graph.closed(known);
            let varying = graph.varying(&known);
            (known, varying)
        };
        let closed = graph.conditions.iter().map(|known| with_varying(known.clone())).collect();
        let mut guarded = FxHashMap::default();
        for (block, own) in kernel.blocks.iter().enumerate() {
            for (index, event) in own.events.iter().enumerate().filter(|(_, event)| !event.guard.is_empty()) {
                let known = graph.conditions[block].iter().chain(&event.guard).copied().collect();
                guarded.insert((block, index), with_varying(known));
            }
        }
        (graph.closed, graph.guarded) = (closed, guarded);
        graph
    }

    /// The conditions of a thread at the beginning of a block.
    pub fn conditions_at_block(&self, block: usize) -> &[Condition] {
        &self.conditions[block]
    }

    /// The conditions of a thread that does an event.
    pub fn conditions_at_event(&self, point: Point) -> &[Condition] {
        &self.event_conditions(point).0
    }

    /// The conditions of a thread that does an event that other threads may not satisfy.
    pub fn varying_at(&self, point: Point) -> &[Condition] {
        &self.event_conditions(point).1
    }

    fn event_conditions(&self, point: Point) -> &(Vec<Condition>, Vec<Condition>) {
        self.guarded.get(&point).unwrap_or(&self.closed[point.0])
    }

    /// Whether no thread does an event.
    pub fn is_dead(&self, point: Point) -> bool {
        let known = self.conditions_at_event(point);
        known.iter().any(|condition| self.contradict(known, *condition))
    }

    /// Whether the thread with this number in its CTA may do an event, by the conditions that follow from the numbers
    /// of threads.
    pub fn may_do(&self, thread: usize, point: Point) -> bool {
        self.conditions_at_event(point).iter().all(|condition| {
            let each = self.kernel.predicates[condition.predicate].each.as_deref();
            each.and_then(|each| each.get(thread)) != Some(&Some(!condition.holds))
        })
    }

    /// Whether a block is in a loop.
    pub fn is_in_loop(&self, block: usize) -> bool {
        self.loops[block].is_some()
    }

    /// The blocks that paths from the ends of some blocks reach. These blocks are among them only if a path leads back
    /// to them. No path continues after a block for which `stop` holds.
    pub fn reached(&self, from: &[usize], stop: impl Fn(usize) -> bool) -> Vec<bool> {
        let next = |block: usize| self.kernel.blocks[block].next.iter().map(|edge| edge.to);
        graph::reached(self.kernel.blocks.len(), from.iter().flat_map(|block| next(*block)), next, stop)
    }

    /// Conditions with their consequences.
    pub fn closed(&self, mut conditions: Vec<Condition>) -> Vec<Condition> {
        let mut index = 0;
        while index < conditions.len() && conditions.len() < 64 {
            let condition = conditions[index];
            match (&self.kernel.predicates[condition.predicate].test, condition.holds) {
                (Test::All(parts), true) => conditions.extend(parts),
                (Test::Any(parts), false) => {
                    conditions.extend(parts.iter().map(|part| part.opposite()));
                }
                _ => {}
            }
            index += 1;
        }
        conditions.sort_unstable();
        conditions.dedup();
        conditions
    }

    /// Whether no thread satisfies both a condition and some known conditions.
    pub fn contradict(&self, known: &[Condition], condition: Condition) -> bool {
        known.iter().any(|&other| self.excludes(other, condition))
            || matches!(self.kernel.predicates[condition.predicate].test, Test::All(_) | Test::Any(_))
                && self.implied(known, condition.opposite())
    }

    /// Whether a condition follows from known ones.
    pub fn implied(&self, known: &[Condition], condition: Condition) -> bool {
        if known.contains(&condition) {
            return true;
        }
        match (&self.kernel.predicates[condition.predicate].test, condition.holds) {
            (Test::All(parts), true) => parts.iter().all(|part| self.implied(known, *part)),
            (Test::Any(parts), false) => parts.iter().all(|part| self.implied(known, part.opposite())),
            (Test::Within { .. }, _) => known.iter().any(|&other| self.excludes(other, condition.opposite())),
            _ => false,
        }
    }

    fn excludes(&self, a: Condition, b: Condition) -> bool {
        if a.predicate == b.predicate {
            return a.holds != b.holds;
        }
        let (Some((value, low, high)), Some((other, other_low, other_high))) = (self.range(a), self.range(b)) else {
            return false;
        };
        value == other
            && match (a.holds, b.holds) {
                (true, true) => high < other_low || other_high < low,
                (true, false) => other_low <= low && high <= other_high,
                (false, true) => low <= other_low && other_high <= high,
                (false, false) => false,
            }
    }

    /// The value and the range that a condition tests. A test of the warp becomes a test of the thread, so that the two
    /// can be compared.
    fn range(&self, condition: Condition) -> Option<(usize, i64, i64)> {
        let Test::Within { value, low, high } = self.kernel.predicates[condition.predicate].test else { return None };
        if self.kernel.unknowns[value].kind != UnknownKind::Warp {
            return Some((value, low, high));
        }
        match self.thread {
            Some(thread) => Some((thread, low.saturating_mul(32), high.saturating_mul(32).saturating_add(31))),
            None => Some((value, low, high)),
        }
    }

    /// The conditions after an edge: the known ones, and the tests of values that the edge changes, as far as the
    /// conditions before the edge (`before`) decide them.
    pub fn conditions_after_edge(
        &self,
        from: usize,
        to: usize,
        mut known: Vec<Condition>,
        before: &[Condition],
    ) -> Vec<Condition> {
        for update in self.edge_updates.get(&(from, to)).map_or(&[][..], |updates| updates) {
            let (low, high) = match update.base {
                None => (update.constant, update.constant),
                Some(base) => {
                    let (low, high) = self.bounds(base, before);
                    let shifted = |end: i64| {
                        if end == i64::MIN || end == i64::MAX { end } else { end.saturating_add(update.constant) }
                    };
                    (shifted(low), shifted(high))
                }
            };
            for &predicate in self.tests.get(&update.value).map_or(&[][..], |tests| tests) {
                let Test::Within { low: least, high: most, .. } = self.kernel.predicates[predicate].test else {
                    continue;
                };
                if least <= low && high <= most {
                    known.push(Condition { predicate, holds: true });
                } else if high < least || most < low {
                    known.push(Condition { predicate, holds: false });
                }
            }
        }
        known
    }

    /// The lowest and the highest value under some conditions.
    pub fn bounds(&self, value: usize, known: &[Condition]) -> (i64, i64) {
        let (mut low, mut high) = self.kernel.unknowns[value].range.unwrap_or((i64::MIN, i64::MAX));
        for condition in known {
            let Test::Within { value: tested, low: least, high: most } =
                self.kernel.predicates[condition.predicate].test
            else {
                continue;
            };
            match condition.holds {
                _ if tested != value => {}
                true => (low, high) = (low.max(least), high.min(most)),
                false if least <= low => low = low.max(most.saturating_add(1)),
                false if most >= high => high = high.min(least.saturating_sub(1)),
                false => {}
            }
        }
        (low, high)
    }

    /// The lowest and the highest value in the threads that satisfy some conditions, if the value follows from the
    /// threads' numbers.
    pub fn range_of_threads(&self, value: usize, conditions: &[Condition]) -> Option<(i64, i64)> {
        self.range_of_sum(&[(value, 1)], conditions)
    }

    /// The same range of a sum of per-thread values with factors.
    pub fn range_of_sum(&self, terms: &[(usize, i64)], conditions: &[Condition]) -> Option<(i64, i64)> {
        let each = |(value, factor): &(usize, i64)| Some((self.kernel.unknowns[*value].each.as_deref()?, *factor));
        let terms: Vec<_> = terms.iter().map(each).collect::<Option<_>>()?;
        let count = terms.iter().map(|(each, _)| each.len()).min()?;
        let holds = |condition: &Condition| {
            Some((self.kernel.predicates[condition.predicate].each.as_deref()?, condition.holds))
        };
        let known: Vec<_> = conditions.iter().filter_map(holds).collect();
        let does = |thread: &usize| known.iter().all(|(each, holds)| each.get(*thread) != Some(&Some(!holds)));
        let sum = |thread: usize| {
            terms.iter().try_fold(0i64, |sum, (each, factor)| sum.checked_add(each[thread].checked_mul(*factor)?))
        };
        let mut own = (0..count).filter(does).map(sum);
        let first = own.next()??;
        own.try_fold((first, first), |(low, high), number| Some((low.min(number?), high.max(number?))))
    }

    /// The conditions on which threads of a CTA may differ. Asserted conditions are left out: they hold in all threads
    /// that continue.
    pub fn varying(&self, conditions: &[Condition]) -> Vec<Condition> {
        let varies = |condition: &Condition| {
            self.kernel.predicates[condition.predicate].varies != Varies::No && !self.asserted.contains(condition)
        };
        conditions.iter().copied().filter(varies).collect()
    }

    /// Whether no thread satisfies both sets of conditions, because conditions that differ from thread to thread
    /// contradict.
    pub fn are_disjoint_threads(&self, conditions: &[Condition], others: &[Condition]) -> bool {
        self.varying(conditions).iter().any(|condition| self.contradict(others, *condition))
    }

    /// The warp that contains all threads that satisfy some conditions.
    pub fn warp(&self, conditions: &[Condition]) -> Option<i64> {
        if self.kernel.most.is_some_and(|threads| threads <= 32) {
            return Some(0);
        }
        let held = conditions.iter().filter(|condition| condition.holds);
        held.filter_map(|condition| {
            let Test::Within { value, low, high } = self.kernel.predicates[condition.predicate].test else {
                return None;
            };
            match self.kernel.unknowns[value].kind {
                UnknownKind::Warp if low == high => Some(low),
                UnknownKind::Thread if low / 32 == high / 32 && low >= 0 => Some(low / 32),
                _ => None,
            }
        })
        .next()
    }

    /// Whether all threads that satisfy some conditions are in one warpgroup. A value that is uniform in each warp and
    /// tested for one number is assumed to be the number of the warpgroup.
    pub fn is_one_warpgroup(&self, conditions: &[Condition]) -> bool {
        let group = i64::from(WARPGROUP);
        let held = conditions.iter().filter(|condition| condition.holds);
        self.kernel.most.is_some_and(|threads| threads <= WARPGROUP)
            || held.into_iter().any(|&condition| {
                let Test::Within { value, low, high } = self.kernel.predicates[condition.predicate].test else {
                    return false;
                };
                let value = &self.kernel.unknowns[value];
                match (value.kind, self.range(condition)) {
                    (UnknownKind::Thread | UnknownKind::Warp, Some((_, low, high))) => {
                        low >= 0 && low / group == high / group
                    }
                    _ => low == high && value.varies == Varies::Warp,
                }
            })
    }

    /// Whether one of the conditions selects a single thread out of several warps.
    pub fn is_one_of_many(&self, conditions: &[Condition]) -> bool {
        conditions.iter().filter(|condition| condition.holds).any(|condition| {
            let Test::Within { value, low, high } = self.kernel.predicates[condition.predicate].test else {
                return false;
            };
            let value = &self.kernel.unknowns[value];
            let is_of_many = value.range.is_some_and(|(first, last)| last.saturating_sub(first) >= 63);
            low == high && value.varies == Varies::Thread && is_of_many
        })
    }

    /// Whether at most one thread of a CTA satisfies some conditions.
    pub fn is_single(&self, conditions: &[Condition]) -> bool {
        if self.kernel.most == Some(1) {
            return true;
        }
        let one = |condition: &Condition| match self.kernel.predicates[condition.predicate].test {
            Test::Within { value, low, high } => low == high && self.kernel.unknowns[value].kind == UnknownKind::Thread,
            _ => false,
        };
        let of_warp = |condition: &Condition| match self.kernel.predicates[condition.predicate].test {
            Test::OneOfWarp => true,
            Test::Within { value, low, high } => low == high && self.kernel.unknowns[value].kind == UnknownKind::Lane,
            _ => false,
        };
        let held = || conditions.iter().filter(|condition| condition.holds);
        held().any(one) || held().any(of_warp) && self.warp(conditions).is_some()
    }
}

/// A point of the program: a block, and the number of an event in it.
pub type Point = (usize, usize);

fn order(kernel: &Kernel) -> Vec<usize> {
    let next = |block: usize| kernel.blocks[block].next.iter().map(|edge| edge.to);
    if kernel.blocks.is_empty() { Vec::new() } else { graph::reverse_post_order(kernel.blocks.len(), 0, next) }
}

/// The conditions that hold on every path to each block. A condition is dropped where its predicate is computed again.
fn block_conditions(kernel: &Kernel, order: &[usize]) -> Vec<Vec<Condition>> {
    let mut known: Vec<Option<Vec<Condition>>> = vec![None; kernel.blocks.len()];
    if let Some(&entry) = order.first() {
        known[entry] = Some(Vec::new());
    }
    let mut open: std::collections::BTreeSet<usize> = (0..order.len().min(1)).collect();
    let mut position = vec![usize::MAX; kernel.blocks.len()];
    order.iter().enumerate().for_each(|(at, &block)| position[block] = at);
    while let Some(at) = open.pop_first() {
        let block = order[at];
        let here = known[block].clone().unwrap_or_default();
        for edge in &kernel.blocks[block].next {
            let mut there = here.clone();
            there.extend(edge.when);
            there.retain(|condition| kernel.predicates[condition.predicate].block != Some(edge.to));
            there.sort_unstable();
            there.dedup();
            // Dropping conditions is safe: less is known.
            there.truncate(32);
            let changed = match &mut known[edge.to] {
                Some(old) => {
                    let count = old.len();
                    old.retain(|condition| there.binary_search(condition).is_ok());
                    old.len() != count
                }
                slot => {
                    *slot = Some(there);
                    true
                }
            };
            if changed {
                open.insert(position[edge.to]);
            }
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}

/// The strongly connected components that are loops, each identified by its first block in the order.
fn loops(kernel: &Kernel, order: &[usize]) -> Vec<Option<usize>> {
    let count = kernel.blocks.len();
    let mut position = vec![usize::MAX; count];
    order.iter().enumerate().for_each(|(at, block)| position[*block] = at);
    let next = |block: usize| kernel.blocks[block].next.iter().map(|edge| edge.to);
    let mut loops = vec![None; count];
    for members in graph::loops(count, next, |block| position[block] != usize::MAX) {
        let first = members.iter().copied().min_by_key(|block| position[*block]);
        members.iter().for_each(|block| loops[*block] = first);
    }
    loops
}
