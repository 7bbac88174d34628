//! The check of grids that may start before earlier grids have ended (R14): they wait before they access memory that
//! earlier grids may access.

use ptx_isa::{InstPlace, Text};
use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::{
    barriers::Barriers,
    gates::{Gates, Sure},
    graph::EventGraph,
    message,
};
use crate::{
    cause::Cause,
    finding::{Claim, Hazard, Pair, Remedy, Rule},
    kernel::{Event, EventAccess, EventKind, Kernel, ObjectKind, Space},
};

/// The reason why a finding is only possible, or that it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Why {
    Certain,
    /// Possibly no earlier grid accesses the memory.
    Memory,
    /// The kernel may be launched in the ordinary way on paths without a wait.
    Launch,
}

/// The accesses before `griddepcontrol.wait`.
pub fn findings(graph: &EventGraph<'_>, barriers: &Barriers) -> Vec<Hazard> {
    let kernel = graph.kernel;
    let is_wait = |event: &Event| event.kind == EventKind::GridWait;
    if !kernel.blocks.iter().flat_map(|block| &block.events).any(is_wait) {
        return Vec::new();
    }
    let gates = Gates::new(graph, barriers, |_, event| is_wait(event));
    let Some(paths) = gates.paths() else { return Vec::new() };
    let written = written(kernel);
    let mut found: BTreeMap<(Why, bool), Vec<InstPlace>> = BTreeMap::new();
    for &block in &graph.order {
        let mut paths = paths[block].clone();
        for (index, event) in kernel.blocks[block].events.iter().enumerate() {
            let sure = paths.iter().filter_map(|path| gates.sure((block, index), path)).max();
            if let Some(sure) = sure {
                for access in accesses(event) {
                    let Some(why) = conflict(kernel, &written, event, access) else { continue };
                    let why = if sure == Sure::Doubtful { Why::Launch } else { why };
                    found.entry((why, access.writes)).or_default().push(event.at);
                }
            }
            gates.pass((block, index), &mut paths);
        }
    }
    found.into_iter().map(|((why, writes), places)| finding(kernel, why, writes, places)).collect()
}

/// The accesses of an event to global memory.
fn accesses(event: &Event) -> impl Iterator<Item = &EventAccess> {
    let all = match &event.kind {
        EventKind::Global(access) | EventKind::Access(access) | EventKind::Atomic { access, .. } => {
            std::slice::from_ref(access)
        }
        EventKind::Start(start) => &start.accesses[..],
        _ => &[],
    };
    all.iter().filter(|access| access.space == Space::Global)
}

/// The objects that a kernel writes.
fn written(kernel: &Kernel) -> FxHashSet<usize> {
    let events = kernel.blocks.iter().flat_map(|block| &block.events);
    let written = events.flat_map(accesses).filter(|access| access.writes);
    written.map(|access| access.address.object).collect()
}

/// Whether an earlier grid may access the same memory, and one of the two writes.
fn conflict(kernel: &Kernel, written: &FxHashSet<usize>, event: &Event, access: &EventAccess) -> Option<Why> {
    let number = access.address.object;
    let object = &kernel.objects[number];
    let is_known = object.kind == ObjectKind::Variable;
    // Atomics of two grids on the same memory do not race with each other, so other accesses of that memory decide.
    let is_atomic = matches!(event.kind, EventKind::Atomic { .. });
    match access.writes {
        true if is_known && !is_atomic => Some(Why::Certain),
        true => Some(Why::Memory),
        false if is_known && (written.contains(&number) || kernel.written.contains(&object.name)) => {
            Some(if is_atomic { Why::Memory } else { Why::Certain })
        }
        false => kernel.loaded.contains(&number).then_some(Why::Memory),
    }
}

fn finding(kernel: &Kernel, why: Why, writes: bool, mut places: Vec<InstPlace>) -> Hazard {
    places.sort_unstable();
    places.dedup();
    let at = places[0];
    let access = if writes { "the write" } else { "the read" };
    let message = match why {
        Why::Certain => Text::new(format!(
            "no griddepcontrol.wait precedes {access}, and an earlier grid may access the same global memory{}",
            message::format_other_count(places.len() - 1)
        )),
        Why::Memory => Cause::Grids.possible(format!(
            "an earlier grid accesses the same global memory as {access}, which comes before griddepcontrol.wait"
        )),
        Why::Launch => Cause::Grids
            .possible(format!("an earlier grid may run at {access}, which a path without griddepcontrol.wait reaches")),
    };
    let is_wrong = why == Why::Certain;
    let help = format!("insert griddepcontrol.wait before line {at}");
    Hazard {
        rule: Some(Rule::R14),
        remedy: is_wrong.then(|| Remedy { executed: Some(ptx_execute::Remedy::GridWait), ..Remedy::words(help) }),
        cause: (!is_wrong).then_some(Cause::Grids),
        others: places.into_iter().skip(1).map(Pair::alone).collect(),
        ..Hazard::new(&kernel.name, at, if is_wrong { Claim::Wrong } else { Claim::NotChecked }, message)
    }
}
