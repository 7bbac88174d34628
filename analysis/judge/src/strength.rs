//! The guarantees of an operation's code, recomputed from its instructions.
//!
//! The rules are the patterns of 'PTX ISA', sections 8.7 to 8.9:
//!
//! - A **release** pattern is an access with release semantics, or a releasing fence before a strong write.
//! - An **acquire** pattern is an access with acquire semantics, or an acquiring fence after a strong read. A `red`
//!   never is an acquire pattern.
//! - A pattern of a fence and an access has the narrower of their two scopes: both must be morally strong.
//! - An operation is **sequentially consistent** if a `fence.sc` precedes it and it acquires the value that it reads.
//!
//! A fence counts if it lies on every path from the read, or on every path to the write, and no access of another
//! operation lies between. A guarded fence may not execute and does not count.
//!
//! The last read of an operation decides its acquire. The first load of a compare-and-swap loop only guesses a value,
//! but it must be strong: a weak load races. If it ends a compare and exchange early, that exchange has failed, and the
//! load decides. The acquire of an exchange is computed separately for success and for failure.
//!
//! Shared memory is visible on one GPU only, so scope gpu is as strong as sys there.

use itertools::Itertools;
use ptx_lowering::{
    AtomicOp, Operation, Ordering, Sequence, SyncScope,
    ptx::{
        FenceSem, Scope, Space,
        flow::{Direction, Visit},
    },
};
use strum::IntoEnumIterator;

use crate::{
    cas_loop::{self, Outcome, Retry},
    event::{MemoryEvent, acquires, fence, promoted, releases, touches_memory},
    expansion::{choice, copied_from, elements},
    flow::Flow,
    loss::{Loss, Violation},
};

/// The guarantees of an operation's code. Each has the widest scope at which it holds, `None` if it does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    /// The operation acquires the value that it reads.
    pub acquire: Option<Scope>,
    /// The write releases earlier accesses.
    pub release: Option<Scope>,
    /// The operation is sequentially consistent.
    pub sc: Option<Scope>,
    /// A `fence.sc` precedes every access that decides, which is enough for a sequentially consistent store.
    pub led: Option<Scope>,
    /// The guarantees of an exchange that succeeds.
    pub success: Exchanged,
    /// The guarantees of an exchange that fails.
    pub failure: Exchanged,
    /// The operation also releases the accesses that it acquires, so that a later plain store of the same thread passes
    /// them on: the release sequences of C++11 to C++17 require this of an rmw.
    pub relay: Option<Scope>,
    /// Every access except a [`weak_load`](Self::weak_load) is strong, the narrowest at this scope. `None` also if
    /// there is no access.
    pub strong: Option<Scope>,
    /// The load before a compare-and-swap loop is weak, so that it races.
    pub weak_load: bool,
    /// Memory is read.
    pub reads: bool,
    /// Memory is written.
    pub writes: bool,
    /// Every `ld` and `st` is volatile.
    pub volatile: bool,
    /// The atomicity of the read and the write.
    pub atomicity: Atomicity,
    /// The write is skipped if it would change nothing.
    pub skips_write: bool,
    /// Every iteration of a compare-and-swap loop has a fence or a release, which waits for earlier accesses. A
    /// compare-and-swap that acquires does not.
    pub ordering_in_loop: bool,
    /// An access moves several elements, and each element is atomic by itself. Loads that only guess do not count.
    pub by_element: bool,
    /// The width in bits of each access, except loads that only guess.
    widths: Vec<u32>,
    spaces: Vec<Space>,
}

/// The guarantees of an exchange with one of its outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// It acquires the value that it reads.
    pub acquire: Option<Scope>,
    /// It is sequentially consistent.
    pub sc: Option<Scope>,
}

/// The atomicity of the read and the write of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomicity {
    /// They are separate, there is more than one write, or a write may not execute.
    #[default]
    Separate,
    /// One `atom` or `red`, which always writes, or two between which a branch chooses.
    Native,
    /// A compare-and-swap, which writes if it succeeds.
    Cas(Retry),
}

impl Strength {
    /// The guarantees of a sequence, all of whose accesses belong to one operation.
    pub fn from_sequence(sequence: &Sequence) -> Self {
        let flow = Flow::of_sequence(sequence);
        let group: Vec<_> =
            flow.in_order().into_iter().filter(|node| MemoryEvent::from_node(&flow, *node).is_some()).collect();
        if group.is_empty() {
            return Self::of_fences(&flow);
        }
        let strength = Self::of_operation(&flow, &group);
        if executes_once(&flow, &group, strength.atomicity) {
            strength
        } else {
            Self { atomicity: Atomicity::Separate, ..strength }
        }
    }

    /// The guarantees of all fences on the paths through the code.
    fn of_fences(flow: &Flow<'_>) -> Self {
        let everywhere = |holds: &dyn Fn(FenceSem) -> bool| {
            widest(|scope| {
                let found = |node| fence(flow, node).is_some_and(|(sem, reached)| holds(sem) && reached >= scope);
                let visit = |node| if found(node) { Visit::Found } else { Visit::Continue };
                flow.always(flow.entry(), Direction::Forward, visit)
            })
        };
        Self {
            acquire: everywhere(&acquires),
            release: everywhere(&releases),
            sc: everywhere(&|sem| sem == FenceSem::Sc),
            relay: everywhere(&|sem| acquires(sem) && releases(sem)),
            ..Self::default()
        }
    }

    /// The guarantees of one fence.
    pub(crate) fn of_fence(flow: &Flow<'_>, node: usize) -> Self {
        let Some((sem, scope)) = fence(flow, node) else { return Self::default() };
        let reach = |holds: bool| holds.then_some(scope);
        Self {
            acquire: reach(acquires(sem)),
            release: reach(releases(sem)),
            sc: reach(sem == FenceSem::Sc),
            relay: reach(acquires(sem) && releases(sem)),
            ..Self::default()
        }
    }

    /// The guarantees of the accesses at these nodes, which belong to one operation.
    pub(crate) fn of_operation(flow: &Flow<'_>, group: &[usize]) -> Self {
        let own = OwnEvents { flow, group };
        let events: Vec<(usize, MemoryEvent)> =
            group.iter().filter_map(|node| MemoryEvent::from_node(flow, *node).map(|event| (*node, event))).collect();
        // In a group with other accesses, a `cas` that writes only the value that it finds is a load.
        let is_load = |node: usize| events.len() > 1 && cas_loop::keeps_value(flow, node);
        let as_load =
            |(node, event)| (node, if is_load(node) { MemoryEvent { writes: false, ..event } } else { event });
        let events: Vec<_> = events.iter().copied().map(as_load).collect();
        let events = || events.iter().copied();
        let (reads, writes) = (events().any(|(_, event)| event.reads), events().any(|(_, event)| event.writes));
        let written: Vec<_> = events().filter(|(_, event)| event.writes).collect();
        let cas = written.first().and_then(|(node, _)| Some((*node, flow.cas(*node)?)));
        let parts = written.first().and_then(|(node, _)| elements(flow, *node));
        let is_divided = parts.is_some_and(|parts| parts.iter().eq(written.iter().map(|(node, _)| node)));
        let atomicity = match (&written[..], cas) {
            ([_], Some((node, cas))) => {
                let leaves = |node: usize| group.contains(&node) || touches_memory(flow, node);
                Atomicity::Cas(cas_loop::retry(flow, node, cas, leaves))
            }
            ([(_, event)], None) if event.reads => Atomicity::Native,
            _ if is_divided => Atomicity::Native,
            ([(first, event), (second, _)], None) if event.reads => {
                let is_choice = choice(flow, *first).is_some_and(|choice| choice.atoms.contains(second));
                if is_choice { Atomicity::Native } else { Atomicity::Separate }
            }
            _ => Atomicity::Separate,
        };
        // A load that only guesses the value that a `cas` will find.
        let guesses = |event: &MemoryEvent| event.reads && !event.writes && cas.is_some();
        let weak = |event: &MemoryEvent| guesses(event) && event.strong.is_none();
        let deciding = || events().filter(|(_, event)| !weak(event));
        let final_reads: Vec<_> = events().filter(|(node, event)| event.reads && own.is_final(*node)).collect();
        let all = |nodes: &[(usize, MemoryEvent)], holds: &dyn Fn(usize, &MemoryEvent, Scope) -> bool| {
            let holds_at =
                |scope| nodes.iter().all(|(node, event)| reaches(event.strong, scope) && holds(*node, event, scope));
            if nodes.is_empty() { None } else { widest(holds_at).map(|scope| promoted(scope, nodes[0].1.space)) }
        };
        let acquired = |nodes: &[(usize, MemoryEvent)], outcome: Option<Outcome>| {
            all(nodes, &|node, event, scope| {
                !event.is_red && (event.acquires || own.is_fenced_after(node, outcome, scope, &acquires))
            })
        };
        let led_of = |nodes: &[(usize, MemoryEvent)]| {
            widest(|scope| {
                let is_sc = |sem| sem == FenceSem::Sc;
                let leads = |(node, event): &(usize, MemoryEvent)| {
                    reaches(event.strong, scope) && own.fenced_before(*node, scope, &is_sc)
                };
                !nodes.is_empty() && nodes.iter().all(leads)
            })
        };
        let acquire = acquired(&final_reads, None);
        let ordered: Vec<_> =
            written.iter().chain(final_reads.iter().filter(|(_, event)| !event.writes)).copied().collect();
        let led = led_of(&ordered);
        let sc = if reads && !final_reads.is_empty() { led.min(acquire) } else { led };
        let exchanged = |outcome, nodes: &[(usize, MemoryEvent)]| match atomicity {
            Atomicity::Cas(_) => {
                let acquire = acquired(nodes, Some(outcome));
                Exchanged { acquire, sc: led_of(nodes).min(acquire) }
            }
            _ => Exchanged { acquire, sc },
        };
        Self {
            acquire,
            release: all(&written, &|node, event, scope| event.releases || own.fenced_before(node, scope, &releases)),
            sc,
            led,
            success: exchanged(Outcome::Success, &written),
            failure: exchanged(Outcome::Failure, &final_reads),
            relay: all(&final_reads, &|node, event, scope| {
                let both = |sem| acquires(sem) && releases(sem);
                !event.is_red && ((event.acquires && event.releases) || own.is_fenced_after(node, None, scope, &both))
            }),
            strong: deciding().map(|(_, event)| event.strong).min().flatten(),
            weak_load: events().any(|(_, event)| weak(&event)),
            reads,
            writes,
            volatile: events().all(|(_, event)| event.volatile),
            atomicity,
            ordering_in_loop: matches!(atomicity, Atomicity::Cas(Retry::UntilSuccess | Retry::OrFailure))
                && cas.is_some_and(|(node, _)| own.orders_in_loop(node)),
            skips_write: cas.is_some_and(|(node, _)| cas_loop::skip(flow, node).is_some()),
            by_element: is_divided || events().any(|(_, event)| event.by_element && !guesses(&event)),
            widths: match is_divided {
                true => vec![written.iter().map(|(_, event)| event.bits).sum()],
                false => events().filter(|(_, event)| !guesses(event)).map(|(_, event)| event.bits).unique().collect(),
            },
            spaces: events().map(|(_, event)| event.space).unique().collect(),
        }
    }

    /// Compares one of this project's sequences with its operation: it must keep everything that the operation
    /// requires, and access nothing else.
    ///
    /// # Errors
    /// Every missing guarantee and every access that the operation does not have, in words.
    pub fn covers(&self, op: &AtomicOp) -> Result<(), Vec<String>> {
        let access = op.operation.access();
        let other_accesses = self.reads != op.operation.reads() || self.writes != op.operation.writes();
        let checks = [
            (other_accesses, "accesses other than the operation's"),
            (access.is_some_and(|access| self.spaces != [access.space]), "another state space"),
            (self.ordering_in_loop, "a fence in every iteration of a loop"),
        ];
        let beyond = checks.into_iter().filter(|(fails, _)| *fails).map(|(_, reason)| reason.to_owned());
        let reasons: Vec<_> = beyond.chain(self.violations(op).into_iter().map(|found| found.reason)).collect();
        if reasons.is_empty() { Ok(()) } else { Err(reasons) }
    }

    /// The guarantees that this code lacks in comparison with another code for the same operation, in words; empty if
    /// it is as strong. [`violations`](Self::violations) reports the properties that any code for the operation must
    /// have, such as a single access.
    pub fn less_than(&self, other: &Self) -> Vec<String> {
        // If acquire or release is lost, the combination of both is lost, too.
        let relay = if self.acquire < other.acquire || self.release < other.release { None } else { other.relay };
        let reaches = [
            (self.acquire, other.acquire, "acquire"),
            (self.release, other.release, "release"),
            (self.relay, relay, "release of acquired writes"),
            (self.sc, other.sc, "sequential consistency"),
            (self.strong, other.strong, "strong access"),
        ];
        let of_exchange = [
            (self.success.acquire, other.success.acquire, "acquire where it succeeds"),
            (self.failure.acquire, other.failure.acquire, "acquire where it fails"),
            (self.success.sc, other.success.sc, "sequential consistency where it succeeds"),
            (self.failure.sc, other.failure.sc, "sequential consistency where it fails"),
        ];
        // A loss of both outcomes is reported once.
        let of_exchange = of_exchange.into_iter().filter(|_| self.acquire >= other.acquire && self.sc >= other.sc);
        let orderings = reaches.into_iter().chain(of_exchange).filter_map(|(own, wanted, name)| match (own, wanted) {
            (None, Some(wanted)) => Some(format!("no {name}, which had scope {wanted}")),
            (Some(own), Some(wanted)) if own < wanted => Some(format!("{name} at scope {own}, not {wanted}")),
            _ => None,
        });
        let rank = |atomicity| match atomicity {
            Atomicity::Separate => 0,
            Atomicity::Cas(Retry::Never) => 1,
            Atomicity::Cas(Retry::OrFailure) => 2,
            Atomicity::Cas(_) | Atomicity::Native => 3,
        };
        let properties = [
            // A load may be weakened to code that writes nothing.
            (
                self.reads && self.writes && rank(self.atomicity) < rank(other.atomicity),
                "read and write are not one atomic operation",
            ),
            (self.weak_load && !other.weak_load, "the compare-and-swap loop begins with a weak load"),
            (self.skips_write && !other.skips_write, "no write occurs if no value changes"),
            (self.by_element && !other.by_element, "each element of a vector is accessed separately"),
        ];
        let properties = properties.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words.to_owned());
        orderings.chain(properties).collect()
    }

    /// The properties that an operation requires and the code does not keep.
    ///
    /// Scope singlethread requires nothing: an access of another thread at the same time races in any case.
    pub fn violations(&self, op: &AtomicOp) -> Vec<Violation> {
        let mut violations = Vec::new();
        let access = op.operation.access();
        let is_private = access.is_some_and(|access| access.is_private());
        if access.is_some_and(|access| access.volatile) && !is_private && !self.volatile {
            violations.push(Violation::new(Loss::Volatile, "a volatile access that is not .volatile"));
        }
        let SyncScope::Threads(scope) = op.scope else { return violations };
        if !is_private {
            violations.extend(self.atomicity_violations(op.operation, scope));
            // A skipped write releases nothing.
            let may_skip = access.is_some_and(|access| access.may_skip_write) && !op.ordering.releases();
            if self.skips_write && matches!(op.operation, Operation::Rmw(..) | Operation::Store(_)) && !may_skip {
                let reason = "no write occurs if no value changes, so no release occurs either";
                violations.push(Violation::new(Loss::Ordering, reason));
            }
            violations.extend(self.ordering_violations(op, scope));
        }
        violations
    }

    /// Compares the accesses with the single atomic access of the operation.
    fn atomicity_violations(&self, operation: Operation, scope: Scope) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut lost = |loss, reason: String| violations.push(Violation::new(loss, reason));
        let (reads, writes) = (operation.reads(), operation.writes());
        if (reads && !self.reads) || (writes && !self.writes) {
            lost(Loss::NotAtomic, "memory is not read, or not written".into());
        }
        let Some(access) = operation.access() else { return violations };
        let bits = access.ty.bits();
        let rmw = reads && writes;
        // A part of a word is written by a `cas` of the word, and read with the rest of the word.
        let by_cas = matches!(self.atomicity, Atomicity::Cas(_));
        let in_word = bits < 32 && self.widths == [32] && (rmw || writes && by_cas);
        let within = reads && !self.writes && matches!(self.widths[..], [wider @ (16 | 32)] if bits < wider);
        if self.widths != [bits] && !in_word && !within {
            lost(Loss::NotAtomic, format!("an access that is not of {bits} bits"));
        }
        if !rmw && self.by_element {
            lost(Loss::NotAtomic, "each element of a vector is accessed separately".into());
        }
        match self.strong {
            None => lost(Loss::NotAtomic, "a weak access".into()),
            Some(strong) if strong < scope => lost(Loss::Scope, format!("an access of scope {strong}, not {scope}")),
            Some(_) => {}
        }
        if self.weak_load {
            lost(
                Loss::WeakLoadInLoop,
                "the compare-and-swap loop begins with a weak load, which races with other threads".into(),
            );
        }
        let atomic = match (operation, self.atomicity) {
            (Operation::Rmw(..), Atomicity::Native | Atomicity::Cas(Retry::UntilSuccess)) => true,
            (Operation::Rmw(..), _) => false,
            (Operation::Store(_), Atomicity::Cas(retry)) => retry == Retry::UntilSuccess,
            (Operation::CmpXchg { .. }, Atomicity::Separate | Atomicity::Native) => false,
            // A change of the other bytes of the word does not count as a failure.
            (Operation::CmpXchg { .. }, Atomicity::Cas(Retry::Never)) => !in_word,
            _ => true,
        };
        if !atomic {
            lost(Loss::NotAtomic, "read and write are not one atomic operation".into());
        }
        violations
    }

    /// Compares the orderings with those that the operation requires at its scope.
    fn ordering_violations(&self, op: &AtomicOp, scope: Scope) -> Vec<Violation> {
        let ordering = op.ordering;
        let is_fence = op.operation == Operation::Fence;
        let (reads, writes) = (op.operation.reads() || is_fence, op.operation.writes() || is_fence);
        let failure = match op.operation {
            Operation::CmpXchg { failure, .. } => Some(failure),
            _ => None,
        };
        let (acquire, sc) = match failure {
            Some(_) => (self.success.acquire, self.success.sc),
            None if reads => (self.acquire, self.sc),
            None => (None, self.led),
        };
        let guarantees = [
            (reads && ordering.acquires(), acquire, "acquire"),
            (writes && ordering.releases(), self.release, "release"),
            // An acquiring and a releasing fence do not make a fence of both: the acquired accesses must be released.
            (is_fence && ordering.acquires() && ordering.releases(), self.relay, "fence of acquire and release"),
            (ordering == Ordering::SeqCst, sc, "sequential consistency"),
        ];
        // A loss that both outcomes have alike is reported once.
        let (success, failed) = (self.success, self.failure);
        let apart = |asked: bool, success, failed| !(asked && success == failed);
        let of_failure = failure.map(|failure| {
            let acquires = failure.acquires() && apart(ordering.acquires(), success.acquire, failed.acquire);
            let is_sc = failure == Ordering::SeqCst && apart(ordering == Ordering::SeqCst, success.sc, failed.sc);
            [
                (acquires, failed.acquire, "acquire where it fails"),
                (is_sc, failed.sc, "sequential consistency where it fails"),
            ]
        });
        let asked = guarantees.into_iter().chain(of_failure.into_iter().flatten()).filter(|(asked, ..)| *asked);
        asked
            .filter_map(|(_, reached, name)| match reached {
                None => Some(Violation::new(Loss::Ordering, format!("no {name}"))),
                Some(reached) if reached < scope => {
                    Some(Violation::new(Loss::Scope, format!("{name} at scope {reached}, not {scope}")))
                }
                Some(_) => None,
            })
            .collect()
    }
}

/// Whether every path through the code executes its write once, or skips it where that is allowed. A loop executes it
/// until it succeeds.
fn executes_once(flow: &Flow<'_>, group: &[usize], atomicity: Atomicity) -> bool {
    let writes = |node: &usize| MemoryEvent::from_node(flow, *node).is_some_and(|event| event.writes);
    let writers: Vec<_> = group.iter().copied().filter(writes).collect();
    let skips: Vec<_> = writers.iter().filter_map(|writer| cas_loop::skip(flow, *writer)).collect();
    let found = |node: usize| {
        let skipped = skips.iter().any(|skip| skip.branch == node);
        skipped || writers.contains(&node) && flow.nodes[node].guard.is_none()
    };
    let visit = |node| if found(node) { Visit::Found } else { Visit::Continue };
    let is_divided = writers.first().and_then(|writer| elements(flow, *writer)).is_some_and(|parts| parts == writers);
    let again = |writer: &usize| {
        let reached = flow.reached(*writer, Direction::Forward, |_| false);
        writers.iter().any(|other| reached[*other] && !(is_divided && other > writer))
    };
    writers.is_empty()
        || flow.always(flow.entry(), Direction::Forward, visit)
            && (atomicity != Atomicity::Native || !writers.iter().any(again))
}

/// Whether a `fence.sc` of at least this scope lies on every path to the writing accesses of an operation, or to the
/// access that implements it: the first of the group. Only accesses of the same location may lie between, such as those
/// of a loop that waits.
pub(crate) fn is_led(flow: &Flow<'_>, group: &[usize], scope: Scope) -> bool {
    let own = OwnEvents { flow, group };
    let place = |node: usize| {
        flow.instruction(node)?.address().map(|address| (address.offset, copied_from(flow, &address.base)))
    };
    let is_place = |node: usize| group.iter().any(|own| place(*own) == place(node));
    let is_found = |node: usize| {
        flow.always(node, Direction::Backward, |node| match fence(flow, node) {
            Some((FenceSem::Sc, reached)) if reached >= scope => Visit::Found,
            _ if own.is_foreign(node) && !is_place(node) => Visit::Fail,
            _ => Visit::Continue,
        })
    };
    let deciding = group
        .iter()
        .enumerate()
        .filter(|(index, node)| *index == 0 || MemoryEvent::from_node(flow, **node).is_some_and(|event| event.writes));
    deciding.map(|(_, node)| *node).all(is_found)
}

/// Whether a fence is a `fence.sc` of at least this scope, or has one next to it on every path, without an access
/// between.
pub(crate) fn is_beside_seq_cst(flow: &Flow<'_>, node: usize, scope: Scope) -> bool {
    let is_one = |node| matches!(fence(flow, node), Some((FenceSem::Sc, reached)) if reached >= scope);
    let visit = |node| match node {
        _ if is_one(node) => Visit::Found,
        _ if touches_memory(flow, node) => Visit::Fail,
        _ => Visit::Continue,
    };
    is_one(node)
        || [Direction::Backward, Direction::Forward].iter().any(|direction| flow.always(node, *direction, visit))
}

/// The nodes of one operation among all nodes.
struct OwnEvents<'f, 'p> {
    flow: &'f Flow<'p>,
    group: &'f [usize],
}

impl OwnEvents<'_, '_> {
    fn is_foreign(&self, node: usize) -> bool {
        !self.group.contains(&node) && touches_memory(self.flow, node)
    }

    fn is_read(&self, node: usize) -> bool {
        self.group.contains(&node) && MemoryEvent::from_node(self.flow, node).is_some_and(|event| event.reads)
    }

    /// Whether control can leave the operation after this read without another read of it.
    fn is_final(&self, read: usize) -> bool {
        !self.flow.always(read, Direction::Forward, |node| match node {
            _ if self.is_read(node) => Visit::Found,
            _ if self.is_foreign(node) => Visit::Fail,
            _ => Visit::Continue,
        })
    }

    /// Whether such a fence follows a read on every path on which it is the last read; for an exchange, on the paths of
    /// an outcome.
    fn is_fenced_after(
        &self,
        read: usize,
        outcome: Option<Outcome>,
        scope: Scope,
        holds: &dyn Fn(FenceSem) -> bool,
    ) -> bool {
        let counts = |node| fence(self.flow, node).is_some_and(|(sem, reached)| holds(sem) && reached >= scope);
        let visit = |node| match node {
            _ if counts(node) || self.is_read(node) => Visit::Found,
            _ if self.is_foreign(node) => Visit::Fail,
            _ => Visit::Continue,
        };
        let Some(outcome) = outcome else { return self.flow.always(read, Direction::Forward, visit) };
        // Without any fence and any further iteration, the paths of both outcomes are alike.
        let ends = |node| self.is_foreign(node) || node == read;
        let reached = self.flow.reached(read, Direction::Forward, ends);
        let differ = (0..reached.len()).any(|node| reached[node] && (counts(node) || self.is_read(node)));
        self.flow.always(read, Direction::Forward, visit)
            || differ && cas_loop::is_always_followed(self.flow, read, outcome, visit)
    }

    /// Whether such a fence precedes an access on every path to it, after the accesses of other operations.
    fn fenced_before(&self, node: usize, scope: Scope, holds: &dyn Fn(FenceSem) -> bool) -> bool {
        self.flow.always(node, Direction::Backward, |node| match fence(self.flow, node) {
            Some((sem, reached)) if holds(sem) && reached >= scope => Visit::Found,
            _ if self.is_foreign(node) => Visit::Fail,
            _ => Visit::Continue,
        })
    }

    /// Whether a path from the `cas` back to it, within the operation, has a fence or releases.
    fn orders_in_loop(&self, cas: usize) -> bool {
        let stops = |node: usize| node == cas || self.group.contains(&node) || self.is_foreign(node);
        let after = self.flow.reached(cas, Direction::Forward, stops);
        let before = self.flow.reached(cas, Direction::Backward, stops);
        let orders = |node: usize| {
            let releases = MemoryEvent::from_node(self.flow, node).is_some_and(|event| event.releases);
            fence(self.flow, node).is_some() || (node == cas && releases)
        };
        (0..after.len()).any(|node| after[node] && before[node] && orders(node))
    }
}

/// The widest scope at which a predicate holds.
fn widest(holds: impl Fn(Scope) -> bool) -> Option<Scope> {
    Scope::iter().rev().find(|scope| holds(*scope))
}

fn reaches(guarantee: Option<Scope>, scope: Scope) -> bool {
    guarantee.is_some_and(|reached| reached >= scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` lists acquire, release, sc and relay, `-` for none.
    fn check(text: &str, expected: &str) {
        let strength = Strength::from_sequence(&text.parse().expect(text));
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
        check("red.release.gpu.add.u32 [%a], %b;", "- gpu - -");
        check("red.relaxed.gpu.add.u32 [%a], %b; fence.acq_rel.gpu;", "- - - -");
        check("fence.sc.gpu; red.relaxed.gpu.add.u32 [%a], %b;", "- gpu - -");
        check("@%p fence.sc.gpu; atom.acquire.gpu.add.u32 %d, [%a], %b;", "gpu - - -");
        check("fence.acq_rel.gpu;", "gpu gpu - gpu");
        check("fence.acquire.gpu;", "gpu - - -");
        check("fence.release.gpu; fence.acquire.gpu;", "gpu gpu - -");
        check("membar.cta;", "cta cta cta cta");
        check("membar.gl;", "gpu gpu gpu gpu");
        check("membar.sys; ld.volatile.b32 %d, [%a]; membar.gl;", "gpu - gpu gpu");
        check("fence.sc.sys; membar.gl; st.volatile.shared.b32 [%a], %b;", "- sys sys -");
    }

    /// No other thread can access a local address.
    #[test]
    fn paths_of_local_addresses_do_not_count() {
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

    /// ISA2 with the fence in the middle: the acquired accesses must be released.
    #[test]
    fn two_one_sided_fences_are_no_fence_of_both() {
        let op = |ordering| AtomicOp { operation: Operation::Fence, ordering, scope: SyncScope::Threads(Scope::Gpu) };
        let apart = Strength::from_sequence(&"fence.release.gpu; fence.acquire.gpu;".parse().expect("fences"));
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
            Strength::from_sequence(&text.parse().expect("a loop")).atomicity == Atomicity::Cas(Retry::UntilSuccess)
        };
        assert!(atomic("setp.ne.b32 %p, %d, %old;", "@%p bra %again;"));
        assert!(!atomic("setp.eq.b32 %p, %d, %old;", "@%p bra %again;"));
        assert!(!atomic("setp.ne.b32 %p, %d, %old;", "@!%p bra %again;"));
        assert!(!atomic("setp.ne.b32 %p, %d, %new;", "@%p bra %again;"));
        assert!(!atomic("setp.ne.b16 %p, %d, %old;", "@%p bra %again;"));
    }
}
