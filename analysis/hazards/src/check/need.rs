//! The orderings that an access needs after an earlier access.

use ptx_isa::effects::Proxy;
use ptx_memory_model::ptx::readings::{Ambiguity, Readings};

use super::{
    flow::{Flow, Progress, State},
    token::{Token, TokenKind},
};
use crate::{
    cause::Cause,
    finding::Rule,
    kernel::{Condition, Operation, Space, Sum, Test, Varies},
};

/// The missing synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lack {
    /// The first access has not been waited for.
    Wait,
    /// It has been waited for, but not all threads that do the second access know that.
    Sharing,
    /// A fence between proxies.
    Fence,
    /// `tcgen05.fence::after_thread_sync`
    After,
}

impl Flow<'_> {
    /// The synchronization that the second access lacks if the first is in this state before it, and the rule that this
    /// breaks.
    pub fn lack(&self, first: &Token<'_>, state: &State, second: &Token<'_>) -> Option<(Rule, Lack)> {
        let now = &state.progress;
        let ours = &second.conditions;
        // A condition that is uniform over the CTA holds in the threads of both accesses.
        let alike = |condition: &Condition| self.graph.kernel.predicates[condition.predicate].varies == Varies::No;
        let both: Vec<_> = ours.iter().chain(self.assumptions.get(state.assumed)).copied().filter(alike).collect();
        if both.iter().any(|condition| self.graph.contradict(&both, *condition)) {
            return None;
        }
        if first.access.space == Space::Register {
            return match (first.operation(), second.operation()) {
                // Products with the same accumulator execute in program order.
                (Some(_), Some(_)) => None,
                (Some(_), None) => (!now.is_done(first)).then_some((Rule::R7, Lack::Wait)),
                (None, _) => (!now.has_matrix_fence).then_some((Rule::R5, Lack::Fence)),
            };
        }
        if second.kind == TokenKind::Plain && second.access.proxy == Proxy::Tensor && first.kind == TokenKind::Allocated
        {
            return None;
        }
        let same = !now.is_foreign && self.is_same_thread(first, second, state);
        let reaches =
            self.condition_sets[now.condition_set].iter().all(|condition| self.graph.implied(ours, *condition));
        let in_warp = now.is_known_in_warp && self.is_same_warp(first, second);
        let complete = now.is_done(first) && (same || now.is_known_complete && reaches || in_warp);
        let rule = rule(first);
        let later = second.is_tensor() && !self.is_lenient(Ambiguity::StartAfterEarlier) && !now.has_fence_after;
        if self.is_pipelined(first, second) {
            let in_order = !now.is_foreign && self.is_one_issuer(first, second);
            return match in_order || complete || now.is_known_started && reaches {
                true if later && !in_order => Some((Rule::R11, Lack::After)),
                true => None,
                false if now.is_done(first) => Some((rule, Lack::Sharing)),
                false => Some((rule, Lack::Wait)),
            };
        }
        if !complete || now.is_doubtful {
            let lack = if now.is_done(first) { Lack::Sharing } else { Lack::Wait };
            return Some((rule, lack));
        }
        let fenced = match (first.access.proxy, second.access.proxy) {
            // The manual's patterns have a fence after an initialization; kernels of one CTA omit it.
            (Proxy::Generic, Proxy::Async) if first.kind == TokenKind::Initialized => {
                now.is_fenced || self.readings != Readings::STRICT
            }
            (Proxy::Generic, Proxy::Async) if !first.access.writes => {
                now.is_fenced || self.is_lenient(Ambiguity::ProxyFenceAfterRead)
            }
            (Proxy::Generic, Proxy::Async | Proxy::Tensormap) => now.is_fenced,
            (Proxy::Async, Proxy::Generic) => {
                now.is_fenced || first.fences_itself() || self.is_lenient(Ambiguity::ProxyFenceAfterCommit)
            }
            _ => true,
        };
        if !fenced {
            let rule = match second.access.proxy {
                _ if first.kind == TokenKind::Initialized => Rule::R10,
                Proxy::Tensormap => Rule::R12,
                _ => Rule::R4,
            };
            return Some((rule, Lack::Fence));
        }
        later.then_some((Rule::R11, Lack::After))
    }

    /// Whether the first access may have progressed further than its state says when the second access is done.
    pub fn is_open(&self, state: &State, second: &Token<'_>, lack: Lack) -> bool {
        let now = &state.progress;
        // Some threads know of the access; whether the thread of the second access is one of them is undecided.
        let among = &self.condition_sets[now.condition_set];
        let excludes = |condition: &Condition| self.graph.contradict(&second.conditions, *condition);
        let knows_partly = now.is_known_complete && !among.is_empty() && !among.iter().any(excludes);
        let of_warp = now.is_known_in_warp
            && !now.is_known_complete
            && second.operation().is_none_or(|of| *of == Operation::Copy);
        let may_know = self.role.is_some() && knows_partly || of_warp;
        now.is_doubtful || now.needs_empty_loop || lack == Lack::Sharing && may_know
    }

    /// The cause that keeps the progress of the first access undecided.
    pub fn cause(&self, state: &State, is_asked: bool) -> Cause {
        match state.progress {
            Progress { is_doubtful: true, .. } => Cause::Arrival,
            Progress { needs_empty_loop: true, .. } => Cause::Rounds,
            _ if is_asked => Cause::Arrival,
            _ => Cause::Threads,
        }
    }

    /// Whether a lack is an error only in the strict profile, because the manual requires more than many kernels have.
    /// The cases are the proxy fence between a read and a copy that overwrites the memory that was read, and the wait
    /// between products of one thread with different accumulators, which the attention kernels of CUTLASS omit.
    pub fn is_warning(&self, first: &Token<'_>, second: &Token<'_>, state: &State, lack: Lack) -> bool {
        let overwrites = first.is_generic() && !first.access.writes && second.access.proxy == Proxy::Async;
        let is_product = |of: &Token<'_>| {
            of.access.space == Space::Tensor && matches!(of.operation(), Some(Operation::TensorMatrix { .. }))
        };
        let are_products = is_product(first) && is_product(second) && first.commit_group() == second.commit_group();
        self.readings != Readings::STRICT
            && (lack == Lack::Fence && overwrites || are_products && self.is_same_thread(first, second, state))
    }

    /// Whether each thread that does the second access is the thread that did the first.
    fn is_same_thread(&self, first: &Token<'_>, second: &Token<'_>, state: &State) -> bool {
        let kernel = self.graph.kernel;
        if kernel.most == Some(1) {
            return true;
        }
        let implied = |condition: &Condition| self.graph.implied(&second.conditions, *condition);
        // One warp allocates tensor memory. A group of products belongs to the warpgroup: each of its threads may wait
        // for it.
        let is_of_group =
            first.operation() == Some(&Operation::Wgmma) && self.graph.is_one_warpgroup(&first.conditions);
        let is_of_one = first.is_single || first.kind == TokenKind::Addressed || is_of_group;
        if is_of_one && self.graph.varying(&first.conditions).iter().all(implied) {
            return true;
        }
        // Each warp has its own lanes of tensor memory, which it shares only with every fourth warp.
        if first.direction().is_some() && second.direction().is_some() {
            return !self.meet_across_warps(first, second);
        }
        // A warp frees tensor memory collectively.
        let warp = self.graph.warp(&first.conditions);
        if second.operation().is_none() && first.direction().is_some() && warp.is_some() {
            return warp == self.graph.warp(&second.conditions);
        }
        let (a, b) = (&first.access.address, &second.access.address);
        let varies = |with: Varies| a.offset.terms.iter().any(|(value, _)| kernel.unknowns[*value].varies == with);
        let elected =
            |condition: &Condition| condition.holds && kernel.predicates[condition.predicate].test == Test::OneOfWarp;
        let are_elected = first.conditions.iter().any(elected) && second.conditions.iter().any(elected);
        state.progress.stale_iterations == 0
            && a == b
            && (varies(Varies::Thread) || varies(Varies::Warp) && are_elected)
    }

    /// Whether each group of four warps has its own columns, and the columns of a group in the first access overlap the
    /// columns of another group in the second.
    fn meet_across_warps(&self, first: &Token<'_>, second: &Token<'_>) -> bool {
        let groups = i64::from(self.graph.kernel.threads.unwrap_or(0)) / 128;
        let columns = |token: &Token<'_>| {
            let terms = token.access.address.offset.terms.iter().copied().filter(|(_, factor)| factor % 65536 != 0);
            let is_group = |(value, _): &(usize, i64)| {
                let value = &self.graph.kernel.unknowns[*value];
                value.varies == Varies::Warp && value.range == Some((0, groups - 1))
            };
            match terms.collect::<Vec<_>>()[..] {
                [term] if is_group(&term) => Some((term, token.access.address.offset.constant & 0xffff)),
                _ => None,
            }
        };
        let (Some(((value, a), begin)), Some(((other, b), other_begin))) = (columns(first), columns(second)) else {
            return false;
        };
        let (Some(width), Some(other_width)) = (first.access.extent, second.access.extent) else { return false };
        let meet = |one: i64, two: i64| {
            let (one, two) = (begin + one * a, other_begin + two * b);
            one < two + other_width.cast_signed() && two < one + width.cast_signed()
        };
        groups > 1 && value == other && (0..groups).any(|one| (0..groups).any(|two| one != two && meet(one, two)))
    }

    /// Whether the warp that did the first access does the second: both are of one warp, or each warp has its own
    /// memory.
    fn is_same_warp(&self, first: &Token<'_>, second: &Token<'_>) -> bool {
        let warp = self.graph.warp(&first.conditions);
        let of_warp = |token: &Token<'_>| {
            let terms = token.access.address.offset.terms.iter().copied();
            terms.filter(|(value, _)| self.graph.kernel.unknowns[*value].varies == Varies::Warp).collect::<Vec<_>>()
        };
        let own = of_warp(first);
        warp.is_some() && warp == self.graph.warp(&second.conditions) || !own.is_empty() && own == of_warp(second)
    }

    /// Whether one thread issues both accesses. Code that elects a thread twice is assumed to elect the same one.
    fn is_one_issuer(&self, first: &Token<'_>, second: &Token<'_>) -> bool {
        let (a, b) = (self.graph.varying(&first.conditions), self.graph.varying(&second.conditions));
        let follows =
            |of: &[Condition], from: &[Condition]| of.iter().all(|condition| self.graph.implied(from, *condition));
        follows(&a, &second.conditions) || follows(&b, &first.conditions)
    }

    /// Whether the hardware runs two operations in program order (section 9.7.16.6.2).
    fn is_pipelined(&self, first: &Token<'_>, second: &Token<'_>) -> bool {
        let (Some(a), Some(b)) = (first.operation(), second.operation()) else { return false };
        if first.commit_group().is_none() || first.commit_group() != second.commit_group() {
            return false;
        }
        match (a, b) {
            (Operation::TensorMatrix { shape, .. }, Operation::TensorMatrix { shape: other, .. }) => {
                let accumulators = first.number == 0 && second.number == 0;
                let same = first.access.address == second.access.address;
                let shapes = shape.is_none() || other.is_none() || sizes(shape) == sizes(other);
                accumulators && same && shapes
                    || first.access.space == Space::Tensor
                        && second.access.space == Space::Tensor
                        && (accumulators && self.is_lenient(Ambiguity::MmaOfOtherShape)
                            || first.number == 0 && second.number > 0 && self.is_lenient(Ambiguity::MmaOperandOfMma))
            }
            (Operation::TensorCopy { .. } | Operation::TensorShift { .. }, Operation::TensorMatrix { .. })
            | (Operation::TensorMatrix { .. }, Operation::TensorShift { .. })
            | (Operation::TensorShift { .. }, Operation::TensorCopy { is_4x256b: true, .. }) => true,
            (Operation::TensorMatrix { .. } | Operation::TensorCopy { .. }, Operation::TensorCopy { .. }) => {
                self.is_lenient(Ambiguity::CopyAfterMma)
            }
            _ => false,
        }
    }
}

/// The sizes M and N in an instruction descriptor: bits 17 to 22 and 24 to 28. The other bits are types and, for
/// block-scaled kinds, the choice of scales.
fn sizes(descriptor: &Option<Sum>) -> Option<(&[(usize, i64)], i64)> {
    const SIZES: i64 = 0x3f << 17 | 0x1f << 24;
    descriptor.as_ref().map(|sum| (&sum.terms[..], sum.constant & SIZES))
}

/// Whether two accesses may need an ordering that this check verifies.
pub fn conflict(first: &Token<'_>, second: &Token<'_>) -> bool {
    let asynchronous = |token: &Token<'_>| token.operation().is_some() || token.access.proxy != Proxy::Generic;
    match first.kind {
        // For the address of tensor memory, only its readers matter.
        TokenKind::Addressed => return second.kind == TokenKind::Plain && second.access.proxy == Proxy::Generic,
        TokenKind::Waited => return second.kind == TokenKind::Invalidated,
        _ if second.kind == TokenKind::Waited => return false,
        _ => {}
    }
    let initialized = first.kind == TokenKind::Initialized || second.kind == TokenKind::Initialized;
    (first.access.writes || second.access.writes)
        && (asynchronous(first) || asynchronous(second))
        && !initialized
        && !(refills(first) && refills(second) && !fill_one_place(first, second))
        && first.kind != TokenKind::Allocated
}

/// Whether an access is the write of a copy. Two such writes fill two elements of a ring: one is filled while the other
/// is in flight. A read of the element between them is compared with both.
fn refills(token: &Token<'_>) -> bool {
    let fills = matches!(token.operation(), Some(Operation::Copy | Operation::BulkLoad));
    fills && token.access.writes
}

/// Whether two bulk copies, one after the other, fill the same memory for all values in its address.
fn fill_one_place(first: &Token<'_>, second: &Token<'_>) -> bool {
    let is_bulk = |token: &Token<'_>| token.operation() == Some(&Operation::BulkLoad);
    let is_alike = first.access.address == second.access.address && first.conditions == second.conditions;
    is_bulk(first) && is_bulk(second) && first.point != second.point && is_alike
}

/// The rule that an access without a wait breaks.
fn rule(first: &Token<'_>) -> Rule {
    match first.operation() {
        Some(Operation::TensorLoad) => Rule::R1,
        Some(Operation::TensorStore) => Rule::R2,
        Some(Operation::TensorMatrix { .. } | Operation::TensorCopy { .. } | Operation::TensorShift { .. }) => Rule::R3,
        Some(Operation::Copy | Operation::BulkLoad | Operation::BulkStore | Operation::Wgmma) => Rule::R7,
        None if matches!(first.kind, TokenKind::Initialized | TokenKind::Waited) => Rule::R10,
        None => Rule::R4,
    }
}
