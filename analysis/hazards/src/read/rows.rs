//! The largest number of threads for which the copies of a kernel have room.
//!
//! If a kernel does not specify the size of its CTAs, its copies may imply a limit: of two rows that it copies one
//! after the other, the second begins where the last thread's part of the first ends. In a larger CTA, two threads copy
//! to the same memory without synchronization between them. That is a data race that no wait and no barrier of the
//! kernel prevents, so no correct launch of it has so many threads.
//! so many threads.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use crate::kernel::{Condition, Event, EventAccess, EventKind, Kernel, Operation, Space, Varies};

/// A whole number of warps has room, otherwise the copies are not rows.
const WARP: usize = 32;

/// A row: its beginning without the per-thread terms; the number of bytes that each thread copies; and the per-thread
/// terms.
struct Row {
    begin: i64,
    bytes: i64,
    own: Vec<(usize, i64)>,
}

/// The common key of copies whose rows are adjacent: the object, the uniform terms, and the conditions of their
/// threads.
type Alike = (usize, Vec<(usize, i64)>, Vec<Condition>);

/// The largest number of threads that have room. `each` returns the values of the threads of a large CTA.
pub fn most(kernel: &Kernel, mut each: impl FnMut(usize) -> Option<Arc<[i64]>>) -> Option<u32> {
    let mut least: Option<usize> = None;
    for block in reached_by_all(kernel) {
        let is_access = |event: &Event| match &event.kind {
            EventKind::Access(_) | EventKind::Global(_) => true,
            EventKind::Start(start) => start.operation == Operation::Copy,
            _ => false,
        };
        for run in kernel.blocks[block].events.split(|event| !is_access(event)) {
            let mut all: FxHashMap<Alike, Vec<Row>> = FxHashMap::default();
            for (event, access) in run.iter().flat_map(|event| written(event).map(move |access| (event, access))) {
                if let Some((alike, row)) = row(kernel, event, access) {
                    all.entry(alike).or_default().push(row);
                }
            }
            let rows = all.values().filter(|rows| rows.len() > 1);
            least = rows.filter_map(|rows| room(rows, &mut each)).chain(least).min();
        }
    }
    least.and_then(|least| u32::try_from(least).ok())
}

/// The blocks that all threads of a CTA reach in some execution, on a path on which no threads diverge.
fn reached_by_all(kernel: &Kernel) -> Vec<usize> {
    let mut seen = vec![false; kernel.blocks.len()];
    let (mut open, mut found) = (vec![0], Vec::new());
    while let Some(block) = open.pop() {
        if block < seen.len() && !std::mem::replace(&mut seen[block], true) {
            let next = kernel.blocks[block].next.iter();
            open.extend(next.filter(|edge| edge.when.iter().all(|when| is_alike(kernel, when))).map(|edge| edge.to));
            found.push(block);
        }
    }
    found
}

fn is_alike(kernel: &Kernel, condition: &Condition) -> bool {
    kernel.predicates[condition.predicate].varies == Varies::No
}

/// The writes of a copy to shared memory.
fn written(event: &Event) -> impl Iterator<Item = &EventAccess> {
    let accesses = match &event.kind {
        EventKind::Start(start) => &start.accesses[..],
        _ => &[],
    };
    accesses.iter().filter(|access| access.writes && access.space == Space::Shared && !access.address.is_remote)
}

fn row(kernel: &Kernel, event: &Event, access: &EventAccess) -> Option<(Alike, Row)> {
    let offset = &access.address.offset;
    let varies = |(value, _): &(usize, i64)| kernel.unknowns[*value].varies != Varies::No;
    let (own, alike) = offset.terms.iter().copied().partition(varies);
    let bytes = i64::try_from(access.extent?).ok()?;
    let is_for_all = event.guard.iter().all(|condition| is_alike(kernel, condition));
    is_for_all
        .then(|| ((access.address.object, alike, event.guard.clone()), Row { begin: offset.constant, bytes, own }))
}

/// The number of threads that have room: up to it, no thread copies to memory that another thread copies to in another
/// row.
fn room(rows: &[Row], each: &mut impl FnMut(usize) -> Option<Arc<[i64]>>) -> Option<usize> {
    let mut terms = |row: &Row| -> Option<Vec<(Arc<[i64]>, i64)>> {
        row.own.iter().map(|(value, factor)| Some((each(*value)?, *factor))).collect()
    };
    let rows: Vec<_> = rows.iter().map(|row| Some((row, terms(row)?))).collect::<Option<_>>()?;
    let count = rows.iter().flat_map(|(_, terms)| terms).map(|(each, _)| each.len()).min()?;
    // The end of each part, with its thread and its row, by its beginning.
    let mut taken: BTreeMap<i64, (i64, usize, usize)> = BTreeMap::new();
    for thread in 0..count {
        for (number, (row, terms)) in rows.iter().enumerate() {
            let begin = terms.iter().fold(row.begin, |sum, (each, factor)| sum + each[thread] * factor);
            let end = begin + row.bytes;
            if let Some((_, &(taken_to, other, of))) = taken.range(..end).next_back()
                && taken_to > begin
                && other != thread
            {
                return (of != number && thread > 0 && thread % WARP == 0).then_some(thread);
            }
            taken.insert(begin, (end, thread, number));
        }
    }
    None
}
