//! The messages of findings.

use ptx_isa::{InstPlace, Text, effects::Proxy};
use std::collections::BTreeSet;

use super::{
    need::Lack,
    result::SecondAccess,
    token::{Token, TokenKind},
};
use crate::{
    finding::{Hazard, Pair},
    kernel::{Operation, Space},
};

/// The number of lines that a message names at most.
const NAMED: usize = 3;

/// An access as the subject or the object of a sentence.
fn name(token: &Token<'_>) -> &'static str {
    let Some(operation) = token.operation() else {
        return match (token.kind, token.access.writes) {
            (TokenKind::Initialized, _) => "the initialization of the mbarrier",
            (TokenKind::Allocated, _) => "the allocation",
            (TokenKind::Waited, _) => "the wait on the mbarrier",
            (TokenKind::Invalidated, _) => "the mbarrier.inval",
            (_, true) => "the write",
            (_, false) => "the read",
        };
    };
    match operation {
        Operation::TensorLoad => "the tcgen05.ld",
        Operation::TensorStore => "the tcgen05.st",
        Operation::TensorMatrix { .. } => "the tcgen05.mma",
        Operation::TensorCopy { .. } => "the tcgen05.cp",
        Operation::TensorShift { .. } => "the tcgen05.shift",
        Operation::Copy => "the cp.async",
        Operation::BulkLoad => "the asynchronous copy",
        Operation::BulkStore => "the bulk copy",
        Operation::Wgmma => "the wgmma",
    }
}

fn second(token: &Token<'_>) -> &'static str {
    match token.kind {
        TokenKind::Plain if token.access.proxy == Proxy::Tensor => "the tcgen05.dealloc",
        TokenKind::Initialized => "the use of the mbarrier",
        _ => name(token),
    }
}

fn memory(token: &Token<'_>) -> &'static str {
    match token.access.space {
        Space::Tensor => "tensor memory",
        Space::Register => "registers",
        Space::Shared => "shared memory",
        Space::Global => "global memory",
    }
}

/// The missing synchronization, in one sentence.
pub fn message(first: &Token<'_>, lack: Lack, found: &SecondAccess<'_>) -> Text {
    let (a, at, b) = (name(first), first.at, second(&found.second));
    let memory = memory(first);
    let said = match lack {
        Lack::Wait if first.kind == TokenKind::Allocated => "the kernel ends before it frees tensor memory".into(),
        Lack::Wait if found.second.point.1 == usize::MAX => {
            Text::new(a).at(at).then(format!(" may still read {memory} when the CTA ends, and its memory with it"))
        }
        Lack::Wait => Text::new(a).at(at).then(format!(" may be in flight when {b} accesses the same {memory}")),
        Lack::Sharing => {
            Text::new(format!("{b} is not ordered after {a}")).at(at).then(format!(" of the same {memory}"))
        }
        Lack::Fence if first.kind == TokenKind::Initialized => {
            Text::new(format!("no fence.mbarrier_init stands between {a}")).at(at).then(" and its asynchronous use")
        }
        Lack::Fence if first.access.space == Space::Register => Text::new(format!("no wgmma.fence stands between {a}"))
            .at(at)
            .then(format!(" and {b} of the same registers")),
        Lack::Fence => Text::new(format!("no proxy fence stands between {a}"))
            .at(at)
            .then(format!(" and {b} of the same {memory}")),
        Lack::After => Text::new(format!(
            "no tcgen05.fence::after_thread_sync stands before {b}, after the instruction that orders it after {a}"
        ))
        .at(at),
    };
    match &found.cause {
        Some(cause) => cause.possible(said),
        None => said,
    }
}

/// A message, with the number of other pairs of accesses that are open for the same cause, and some of their lines.
pub fn with_pairs(finding: &Hazard, others: &[Pair]) -> Text {
    let is_new = |at: &InstPlace| *at != finding.at && Some(*at) != finding.first;
    let lines: BTreeSet<InstPlace> = others.iter().flat_map(|pair| [pair.first, Some(pair.at)]).flatten().collect();
    let some: Vec<_> = lines.into_iter().filter(is_new).take(NAMED).collect();
    let s = if others.len() == 1 { "" } else { "s" };
    match others.len() {
        0 => finding.message.clone(),
        count => {
            finding.message.clone().then(format!("; and {count} more pair{s} of accesses, for example")).at_any(some)
        }
    }
}

/// The number of other accesses that lack the same synchronization, as the end of a sentence.
pub fn format_other_count(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 other access lacks the same ordering".into(),
        _ => format!("; {count} other accesses lack the same ordering"),
    }
}
