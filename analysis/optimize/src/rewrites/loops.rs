//! The move of acquires out of waiting loops: such a loop acquires once, after the loop.
//!
//! **Rule.** The loop accesses only atomics of one location, which is the same in every iteration. Each acquiring load
//! becomes relaxed, and each exit edge gets an acquiring fence. The rewrite does not apply if the loop has
//! - a sequentially consistent operation,
//! - an update that acquires or releases (see [`super::fences`]),
//! - a store.
//!
//! The fences have the widest scope of the loads.
//!
//! **Why.** A relaxed read and a later fence acquire the same values as an acquiring read, for all accesses after the
//! fence (PTX 8.8, acquire pattern). The other reads and updates of the location in between are in its coherence order
//! anyway. The `fence.sc` of a sequentially consistent operation also orders the reads of earlier iterations before all
//! accesses after the loop, and the program may keep the values of those reads.

use itertools::Itertools;
use ptx_lowering::{AtomicOp, Form, Operation, Ordering};
use rustc_hash::FxHashMap;

use crate::{
    cost::Cost,
    edit::Editor,
    function::{Atomic, Block, Event, EventKind, Function},
    graph::{Region, loops, predecessors},
    level,
    options::{Condition, OptimizeOptions, Rewrite},
    ordering::{is_seq_cst, keep},
};

type Edge = (usize, usize);

/// Applies the rewrite. Returns whether the function changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let mut predecessors = predecessors(editor.function);
    let (regions, depths) = loops(editor.function, &predecessors);
    let mut done = vec![false; depths.len()];
    let mut missed = FxHashMap::default();
    // An outer loop precedes its inner loops. If it was rewritten, they have nothing left to do; if not, they have more
    // specific reasons.
    for region in regions {
        if done[region.blocks()[0]] {
            continue;
        }
        match plan(editor, &region, &predecessors, &depths) {
            Plan::Nothing => {}
            Plan::Saves(fences) => {
                region.blocks().iter().for_each(|&block| done[block] = true);
                apply(editor, &region, &mut predecessors, fences);
            }
            Plan::Alone(fences, why) => match saves_with_others(editor, &region, &mut predecessors, fences) {
                true => region.blocks().iter().for_each(|&block| done[block] = true),
                false => missed.extend(why),
            },
            Plan::Wrong(why) => missed.extend(why),
        }
    }
    for (id, message) in missed.into_iter().sorted() {
        editor.remark(id, Rewrite::Loops, false, message);
    }
    done.contains(&true)
}

type Missed = Vec<(Option<usize>, String)>;

/// The fences that a loop gets, with their edges.
type Fences = Vec<(Edge, AtomicOp)>;

/// The decision about a loop.
enum Plan {
    /// The loop orders nothing, or its ordering costs nothing.
    Nothing,
    /// The fences reduce the cost.
    Saves(Fences),
    /// The fences alone do not reduce the cost; the remark explains that.
    Alone(Fences, Missed),
    /// The rewrite does not apply, for this reason.
    Wrong(Missed),
}

/// Rewrites a loop if that reduces the cost together with [`super::fences`]: a fence after the loop may replace another
/// ordering.
fn saves_with_others(
    editor: &mut Editor<'_>,
    region: &Region,
    predecessors: &mut Vec<Vec<usize>>,
    mut fences: Fences,
) -> bool {
    let costs = editor.costs;
    // If one-sided fences are not cheaper, each fence acquires and releases.
    for (_, op) in &mut fences {
        let both = AtomicOp { ordering: Ordering::AcqRel, ..*op };
        if op.ordering != Ordering::SeqCst && costs.find_cost(&both) == costs.find_cost(op) {
            *op = both;
        }
    }
    let (mut function, mut remarks, mut new_predecessors) = (editor.function.clone(), Vec::new(), predecessors.clone());
    let mut trial = Editor { function: &mut function, remarks: &mut remarks, ..*editor };
    apply(&mut trial, region, &mut new_predecessors, fences);
    if editor.options.rewrites.has(Rewrite::Fences) {
        super::fences::run(&mut trial);
    }
    let saves = || Some(costs.of_function(&function)?.is_less_than(costs.of_function(editor.function)?));
    if saves() != Some(true) {
        return false;
    }
    (*editor.function, *predecessors) = (function, new_predecessors);
    editor.remarks.extend(remarks);
    true
}

fn plan(editor: &Editor<'_>, region: &Region, predecessors: &[Vec<usize>], depths: &[u32]) -> Plan {
    let (function, options) = (&*editor.function, editor.options);
    let events = || events(function, region);
    let ordering: Vec<_> = events().filter(|event| event.atomic().is_some_and(orders)).collect();
    if ordering.is_empty() {
        return Plan::Nothing;
    }
    let costs = editor.costs;
    let in_loop = |op: fn(&AtomicOp) -> AtomicOp| -> Option<Cost> {
        let of_block = |&block: &usize| {
            let atomics =
                function.blocks[block].events.iter().filter_map(Event::atomic).filter(|atomic| !atomic.is_fence());
            let all: Option<Cost> = atomics.map(|atomic| costs.find_cost(&op(&atomic.op))).sum();
            Some(all?.in_loops(depths[block]))
        };
        region.blocks().iter().map(of_block).sum()
    };
    let Some((before, after)) = in_loop(|op| *op).zip(in_loop(relaxed)) else { return Plan::Nothing };
    // An ordering without a cost, such as at scope cta, needs no remark.
    if !after.is_less_than(before) {
        return Plan::Nothing;
    }
    let missed = |message: &str| ordering.iter().map(|event| (event.id, message.to_owned())).collect();
    let found = waits(events(), region, options).and_then(|()| fences(function, region, predecessors, options));
    let fences = match found {
        Ok(fences) => fences,
        Err(message) => return Plan::Wrong(missed(&message)),
    };
    // A thread takes only one of the edges that have the same fence.
    let around = || -> Option<Cost> {
        let one = |op: &AtomicOp| Some(costs.find_cost(op)?.in_loops(region.depth));
        fences.iter().map(|(_, op)| op).unique().map(one).sum()
    };
    if !around().is_some_and(|around| (after + around).is_less_than(before)) {
        let one_sided = options.target.meets(Form::OneSidedFence.requirement());
        let help = if one_sided { "" } else { "; fences that only acquire or release need sm_90 and PTX 8.6" };
        let missed = missed(&format!("fences around the loop would not save anything{help}"));
        return Plan::Alone(fences, missed);
    }
    Plan::Saves(fences)
}

fn events<'f>(function: &'f Function, region: &'f Region) -> impl Iterator<Item = &'f Event> {
    region.blocks().iter().flat_map(|&block| &function.blocks[block].events)
}

fn orders(atomic: &Atomic) -> bool {
    atomic.acquires() || atomic.releases()
}

fn relaxed(op: &AtomicOp) -> AtomicOp {
    keep(*op, false, false)
}

/// Checks that a loop accesses only one location; the error is the reason why not.
fn waits<'f>(
    events: impl Iterator<Item = &'f Event>,
    region: &Region,
    options: &OptimizeOptions,
) -> Result<(), String> {
    let mut location = None;
    for event in events {
        let met = |is_met| options.is_met_or_assumed(Condition::OnlyAtomics, is_met);
        let atomic = match &event.kind {
            EventKind::Atomic(atomic) if !atomic.is_fence() => atomic,
            EventKind::Atomic(_) if !met(false) => return Err("the loop has a fence".into()),
            EventKind::Plain if !met(false) => return Err("the loop also accesses other memory".into()),
            EventKind::Barrier if !met(false) => return Err("the loop has a barrier".into()),
            EventKind::Unknown(what) if !met(false) => return Err(format!("the loop has {what}")),
            _ => continue,
        };
        if atomic.is_volatile() {
            return Err("the loop has a volatile access".into());
        }
        let address = atomic.address.ok_or("the loop accesses unknown memory")?;
        let moves = address.block.is_some_and(|block| region.has(block));
        let other = location.is_some_and(|known| known != address.value);
        if !options.is_met_or_assumed(Condition::OneLocation, !moves && !other) {
            return Err("the loop accesses more than one location".into());
        }
        location = Some(address.value);
    }
    Ok(())
}

/// The fences that a loop needs at its exits; the error is the reason why there are none.
fn fences(
    function: &Function,
    region: &Region,
    predecessors: &[Vec<usize>],
    options: &OptimizeOptions,
) -> Result<Fences, String> {
    let atomics: Vec<_> =
        events(function, region).filter_map(Event::atomic).filter(|atomic| !atomic.is_fence()).collect();
    let (entries, exits) = (region.entries(predecessors), region.exits(function));
    if region.has(0) || entries.is_empty() || exits.is_empty() {
        return Err("the loop has no edge that leads in, or none that leads out".into());
    }
    // The fence of an iteration also orders the reads of earlier iterations, whose values a register may keep.
    if !options.is_met_or_assumed(Condition::NoSeqCst, !atomics.iter().any(|atomic| is_seq_cst(&atomic.op))) {
        return Err(
            "the loop has a sequentially consistent operation, which orders the reads of earlier iterations".into()
        );
    }
    if atomics.iter().any(|atomic| matches!(atomic.op.operation, Operation::Store(_))) {
        return Err("the loop stores to the location".into());
    }
    if atomics.iter().any(|atomic| orders(atomic) && atomic.is_update()) {
        return Err("the loop has an update, whose ordering is also for its own read and write".into());
    }
    let scopes = atomics.iter().filter(|atomic| atomic.acquires()).map(|atomic| level::find_level(atomic));
    let widest = if options.is_met_or_assumed(Condition::WidestScope, false) { scopes.min() } else { scopes.max() };
    let scope = level::scope(widest.unwrap_or_default());
    let mut edges = exits;
    if options.is_met_or_assumed(Condition::EveryExit, false) {
        edges.truncate(1);
    }
    let op = AtomicOp { operation: Operation::Fence, ordering: Ordering::Acquire, scope };
    Ok(edges.into_iter().map(|edge| (edge, op)).collect())
}

/// Relaxes the operations of a loop, and puts fences on its exit edges. If only exit edges lead to a block, the block
/// gets one fence.
fn apply(editor: &mut Editor<'_>, region: &Region, predecessors: &mut Vec<Vec<usize>>, fences: Fences) {
    let mut changed = Vec::new();
    for &block in region.blocks() {
        for event in &mut editor.function.blocks[block].events {
            let id = event.id;
            let Some(atomic) = event.atomic_mut().filter(|atomic| !atomic.is_fence()) else { continue };
            let op = relaxed(&atomic.op);
            if op != atomic.op {
                changed.push(id);
                atomic.op = op;
            }
        }
    }
    for id in changed {
        editor.remark(id, Rewrite::Loops, true, "acquires after the loop");
    }
    let mut open = fences;
    while let Some(&((from, to), op)) = open.first() {
        let same = |(edge, other): &(Edge, AtomicOp)| edge.1 == to && *other == op;
        let all: Vec<usize> = open.iter().filter(|fence| same(fence)).map(|((from, _), _)| *from).collect();
        let event = || Event { id: None, kind: EventKind::Atomic(Atomic::fence(op)) };
        let function = &mut *editor.function;
        if predecessors[to].iter().all(|from| all.contains(from)) {
            function.blocks[to].events.insert(0, event());
            open.retain(|fence| !same(fence));
        } else {
            open.remove(0);
            if function.blocks[from].next == [to] {
                function.blocks[from].events.push(event());
            } else {
                on_edge(function, predecessors, (from, to)).push(event());
            }
        }
    }
}

/// The events of the block on an edge; the block is created if it does not exist.
fn on_edge<'f>(function: &'f mut Function, predecessors: &mut Vec<Vec<usize>>, edge: Edge) -> &'f mut Vec<Event> {
    let known = function.blocks.iter().position(|block| block.on_edge == Some(edge));
    let index = known.unwrap_or_else(|| {
        let index = function.blocks.len();
        function.blocks.push(Block { next: vec![edge.1], on_edge: Some(edge), ..Block::default() });
        let next = function.blocks[edge.0].next.iter_mut();
        next.filter(|to| **to == edge.1).for_each(|to| *to = index);
        predecessors.push(vec![edge.0]);
        predecessors[edge.1].iter_mut().filter(|from| **from == edge.0).for_each(|from| *from = index);
        index
    });
    &mut function.blocks[index].events
}
