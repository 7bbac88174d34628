//! The rules that order the events of the host, each with a name.
//!
//! A test disables each rule in turn, and checks that the outcomes of a program then change.

use strum::{Display, EnumIter};

use crate::relation::Relation;

/// A rule that orders events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumIter)]
pub enum Rule {
    /// x86-64: a read is ordered before all later events of its thread.
    ReadFirst,
    /// x86-64: writes are in order.
    Writes,
    /// x86-64: the write of a locked instruction is ordered before all later events.
    LockedFirst,
    /// x86-64: the read of a locked instruction is ordered after all earlier events.
    LockedLast,
    /// AArch64: an access is ordered before a later write to the same location.
    Successor,
    /// AArch64: a read is ordered before an access whose address depends on it.
    Address,
    /// AArch64: a read is ordered before a write whose value depends on it.
    Data,
    /// AArch64: a read is ordered before a write after a branch that depends on it.
    Control,
    /// AArch64: a read is ordered before the writes after an access whose address depends on it.
    AfterAddress,
    /// AArch64: a pick dependency, on a compare and exchange that succeeds, orders a later write.
    Picked,
    /// AArch64: a read is ordered before the reads that return a write whose address or value depends on it.
    Forwarded,
    /// AArch64: an atomic is ordered before an acquire read of its own thread that returns its write.
    AtomicAcquired,
    /// AArch64: `DMB` of reads.
    DmbLoads,
    /// AArch64: `DMB` of writes.
    DmbStores,
    /// AArch64: an atomic with `AL`.
    AtomicBoth,
    /// AArch64: `LDAR` after `STLR`.
    ReleaseAcquire,
    /// AArch64: an acquire is ordered before the later accesses.
    Acquire,
    /// AArch64: a release is ordered after the earlier accesses.
    Release,
    /// AArch64: `ISB` after a branch.
    Isb,
    /// AArch64: `ISB` after an access whose address depends on a read.
    IsbAddress,
    /// NIC: a posted request does not pass an earlier posted request, unless it has the relaxed-ordering attribute.
    PostedInOrder,
    /// NIC: a non-posted request does not pass an earlier posted request; an AtomicOp with the relaxed-ordering attribute
    /// may pass it.
    PushedByPosted,
    /// NIC: a request that depends on a completion comes after it.
    Completion,
    /// NIC: an AtomicOp with a completion has written.
    AtomicCompletion,
    /// A read of the host is an acquire.
    HostAcquires,
    /// A write of the host is a release.
    HostReleases,
    /// `MFENCE`, and `DMB` of all accesses: ordered with all accesses, and part of the order of `fence.sc`.
    FullBarrier,
    /// Accesses of the host that communicate through accesses of GPUs take effect in order.
    Communication,
    /// An access of the host precedes a later fence or release of a GPU if it communicates to an event before that
    /// fence.
    IntoFence,
    /// A `fence.sc.sys` precedes an access of the host that an event after the fence communicates to.
    OutOfFence,
    /// A `fence.sc.sys` precedes an access of the host if an event after the fence communicates to an event that
    /// precedes that access in base causality order, such as a write that another GPU passes on to the host.
    PassedOn,
}

impl Rule {
    /// The relation that the rule contributes.
    #[cfg(not(test))]
    pub(crate) fn filter_relation(self, relation: Relation) -> Relation {
        relation
    }

    /// The relation that the rule contributes; empty while a test disables the rule.
    #[cfg(test)]
    pub(crate) fn filter_relation(self, relation: Relation) -> Relation {
        if LEFT_OUT.get() == Some(self) { Relation::empty(relation.len()) } else { relation }
    }
}

#[cfg(test)]
thread_local! {
    static LEFT_OUT: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;
    use crate::{
        litmus::Litmus,
        outcome::{Layout, Limits},
        ptx::{Conventions, search},
    };

    /// A test whose outcome only this rule forbids: the places of the threads, their cells, and the outcome.
    type Test = (Rule, &'static [(&'static str, &'static str)], &'static str);

    const G0: &str = "cta 0,gpu 0";
    const G1: &str = "cta 0,gpu 1";

    #[rustfmt::skip]
    const TESTS: [Test; 31] = [
        (Rule::ReadFirst, &[("x86", "MOV EAX,[x]; MOV [y],$1"), ("x86", "MOV EAX,[y]; MOV [x],$1")], "P0:EAX == 1 /\\ P1:EAX == 1"),
        (Rule::Writes, &[("x86", "MOV [x],$1; MOV [y],$1"), ("x86", "MOV EAX,[y]; MOV EBX,[x]")], "P1:EAX == 1 /\\ P1:EBX == 0"),
        (Rule::LockedFirst, &[("x86", "MOV EBX,$1; XCHG [x],EBX; MOV EAX,[y]"), ("x86", "MOV EBX,$1; XCHG [y],EBX; MOV EAX,[x]")],
            "P0:EAX == 0 /\\ P1:EAX == 0"),
        (Rule::LockedLast, &[("x86", "MOV [x],$1; MOV EAX,$5; LOCK CMPXCHG [y],EBX"), ("x86", "MOV [y],$1; MFENCE; MOV EAX,[x]")],
            "P0:EAX == 0 /\\ P1:EAX == 0"),
        (Rule::Successor, &[("aarch64", "MOV W9,#1; STR W9,[y]; STLR W9,[x]; MOV W8,#2; STR W8,[x]"),
            (G0, "ld.acquire.sys r0, x; ld.weak r1, y")], "P1:r0 == 2 /\\ P1:r1 == 0"),
        (Rule::Address, &[("aarch64", "MOV W9,#1; STR W9,[x]; DMB ISH; STR W9,[y]"),
            ("aarch64", "LDR W0,[y]; EOR W1,W0,W0; LDR W2,[x,W1,SXTW]")], "P1:X0 == 1 /\\ P1:X2 == 0"),
        (Rule::Data, &[("aarch64", "LDR W0,[x]; STR W0,[y]"), ("aarch64", "LDAR W0,[y]; MOV W1,#1; STR W1,[x]")],
            "P0:X0 == 1 /\\ P1:X0 == 1"),
        (Rule::Control, &[("aarch64", "LDR W0,[x]; CBNZ W0,on; on:; MOV W1,#1; STR W1,[y]"), ("aarch64", "LDAR W0,[y]; MOV W1,#1; STR W1,[x]")],
            "P0:X0 == 1 /\\ P1:X0 == 1"),
        (Rule::AfterAddress, &[("aarch64", "LDR W0,[x]; EOR W1,W0,W0; LDR W2,[z,W1,SXTW]; MOV W3,#1; STR W3,[y]"),
            ("aarch64", "LDAR W0,[y]; MOV W1,#1; STR W1,[x]")], "P0:X0 == 1 /\\ P1:X0 == 1"),
        (Rule::Picked, &[("aarch64", "MOV W0,#1; MOV W9,#2; CAS W0,W9,[x]; EOR W1,W0,W0; ADD W1,W1,#1; STR W1,[y]"),
            ("aarch64", "LDAR W0,[y]; STR W0,[x]")], "P0:X0 == 1 /\\ x == 2 /\\ P1:X0 == 1"),
        (Rule::Forwarded, &[("aarch64", "MOV W9,#1; STR W9,[x]; DMB ISH; STR W9,[y]"),
            ("aarch64", "LDR W0,[y]; STR W0,[z]; LDAR W1,[z]; LDR W2,[x]")], "P1:X0 == 1 /\\ P1:X1 == 1 /\\ P1:X2 == 0"),
        (Rule::AtomicAcquired, &[("aarch64", "MOV W9,#1; STR W9,[x]; DMB ISH; STR W9,[y]"),
            ("aarch64", "MOV W9,#2; SWP W9,W0,[y]; LDAR W1,[y]; LDR W2,[x]")], "P1:X0 == 1 /\\ P1:X1 == 2 /\\ P1:X2 == 0"),
        (Rule::DmbLoads, &[("aarch64", "MOV W9,#1; STR W9,[x]; STLR W9,[y]"), ("aarch64", "LDR W0,[y]; DMB ISHLD; LDR W1,[x]")],
            "P1:X0 == 1 /\\ P1:X1 == 0"),
        (Rule::DmbStores, &[("aarch64", "MOV W9,#1; STR W9,[x]; DMB ISHST; STR W9,[y]"), ("aarch64", "LDAR W0,[y]; LDR W1,[x]")],
            "P1:X0 == 1 /\\ P1:X1 == 0"),
        (Rule::AtomicBoth, &[("aarch64", "MOV W9,#1; LDADDAL W9,W8,[x]; LDR W0,[y]"), ("aarch64", "MOV W9,#1; STR W9,[y]; DMB ISH; LDR W0,[x]")],
            "P0:X0 == 0 /\\ P1:X0 == 0"),
        (Rule::ReleaseAcquire, &[("aarch64", "MOV W9,#1; STLR W9,[x]; LDAR W0,[y]"), ("aarch64", "MOV W9,#1; STLR W9,[y]; LDAR W0,[x]")],
            "P0:X0 == 0 /\\ P1:X0 == 0"),
        (Rule::Acquire, &[("aarch64", "MOV W9,#1; STR W9,[x]; STLR W9,[y]"), ("aarch64", "LDAPR W0,[y]; LDR W1,[x]")],
            "P1:X0 == 1 /\\ P1:X1 == 0"),
        (Rule::Release, &[("aarch64", "MOV W9,#1; STR W9,[x]; STLR W9,[y]"), ("aarch64", "LDAR W0,[y]; LDR W1,[x]")],
            "P1:X0 == 1 /\\ P1:X1 == 0"),
        (Rule::Isb, &[("aarch64", "MOV W9,#1; STR W9,[x]; STLR W9,[y]"), ("aarch64", "LDR W0,[y]; CBNZ W0,on; on:; ISB; LDR W1,[x]")],
            "P1:X0 == 1 /\\ P1:X1 == 0"),
        (Rule::IsbAddress, &[("aarch64", "MOV W9,#1; STR W9,[x]; STLR W9,[y]"),
            ("aarch64", "LDR W0,[y]; EOR W1,W0,W0; LDR W2,[z,W1,SXTW]; ISB; LDR W3,[x]")], "P1:X0 == 1 /\\ P1:X3 == 0"),
        (Rule::PostedInOrder, &[("nic", "MWr [x],1; MWr [y],1"), (G0, "ld.acquire.sys r0, y; ld.weak r1, x")], "P1:r0 == 1 /\\ P1:r1 == 0"),
        (Rule::PushedByPosted, &[("nic", "MWr [x],1; MRd R0,[y]"), ("x86", "MOV [y],$1; MFENCE; MOV EAX,[x]")], "P0:R0 == 0 /\\ P1:EAX == 0"),
        (Rule::Completion, &[("x86", "MOV [x],$1; MOV [y],$1"), ("nic", "MRd R0,[y]; CBZ R0,on; on:; MRd R1,[x]")],
            "P1:R0 == 1 /\\ P1:R1 == 0"),
        (Rule::AtomicCompletion, &[("nic", "FetchAdd R0,[x],1; CBZ R0,on; on:; MRd R1,[y]"), ("x86", "MOV [y],$1; MFENCE; MOV EAX,[x]")],
            "P0:R1 == 0 /\\ P1:EAX == 0"),
        (Rule::HostAcquires, &[(G0, "st.weak x, 1; st.release.sys y, 1"), ("aarch64", "LDAR W0,[y]; LDR W1,[x]")],
            "P1:X0 == 1 /\\ P1:X1 == 0"),
        (Rule::HostReleases, &[("x86", "MOV [x],$1; MOV [y],$1"), (G0, "ld.acquire.sys r0, y; ld.weak r1, x")],
            "P1:r0 == 1 /\\ P1:r1 == 0"),
        (Rule::FullBarrier, &[("x86", "MOV [x],$1; MFENCE; MOV EAX,[y]"), ("x86", "MOV [y],$1; MFENCE; MOV [z],$1"),
            (G0, "ld.acquire.sys r0, z; ld.relaxed.sys r1, x")], "P0:EAX == 0 /\\ P2:r0 == 1 /\\ P2:r1 == 0"),
        (Rule::Communication, &[(G0, "st.relaxed.sys x, 1"), ("x86", "MOV EAX,[x]; MOV EBX,[y]"), (G1, "st.relaxed.sys y, 1"),
            ("x86", "MOV EAX,[y]; MOV EBX,[x]")], "P1:EAX == 1 /\\ P1:EBX == 0 /\\ P3:EAX == 1 /\\ P3:EBX == 0"),
        (Rule::IntoFence, &[("aarch64", "MOV W9,#1; STLR W9,[x]; LDAR W0,[y]"), (G0, "st.relaxed.sys y, 1; fence.sc.sys; ld.relaxed.sys r0, x")],
            "P0:X0 == 0 /\\ P1:r0 == 0"),
        (Rule::OutOfFence, &[("aarch64", "MOV W9,#1; STLR W9,[x]; LDAR W0,[y]"), (G0, "st.relaxed.sys y, 1; fence.sc.sys; ld.relaxed.sys r0, x")],
            "P0:X0 == 0 /\\ P1:r0 == 0"),
        (Rule::PassedOn, &[(G0, "st.relaxed.sys x, 1; st.release.sys y, 1"), ("x86", "MOV EAX,[y]; MOV EBX,[z]"),
            (G1, "st.relaxed.sys z, 1; fence.sc.sys; ld.relaxed.sys r0, x")], "P1:EAX == 1 /\\ P1:EBX == 0 /\\ P2:r0 == 0"),
    ];

    fn litmus((rule, threads, outcome): Test) -> Litmus {
        let cells: Vec<Vec<&str>> = threads.iter().map(|(_, code)| code.split("; ").collect()).collect();
        let header: Vec<String> = threads.iter().enumerate().map(|(index, (at, _))| format!("P{index}@{at}")).collect();
        let mut text = format!("PTX {rule}\n{{ a=0; b=0; x=0; y=0; z=0; }}\n {} ;\n", header.join(" | "));
        for row in 0..cells.iter().map(Vec::len).max().unwrap_or_default() {
            let row: Vec<&str> =
                cells.iter().map(|cells| cells.get(row).map_or("", |cell| cell.trim_end_matches(';'))).collect();
            text += &format!(" {} ;\n", row.join(" | "));
        }
        text += &format!("exists ({outcome})\n");
        Litmus::read(&text).unwrap_or_else(|error| panic!("{text}{error}"))
    }

    /// Whether the condition of a test holds when a rule is disabled.
    fn ends(test: &Litmus, without: Option<Rule>) -> bool {
        LEFT_OUT.set(without);
        let found = search::outcomes(&test.program, Conventions::MANUAL, Limits::default());
        LEFT_OUT.set(None);
        found.holds(&test.condition, &Layout::new(&test.program)).expect("it is known")
    }

    #[test]
    fn each_rule_counts() {
        let wrong: Vec<String> = TESTS
            .iter()
            .filter_map(|&test| {
                let (rule, litmus) = (test.0, litmus(test));
                match (ends(&litmus, None), ends(&litmus, Some(rule))) {
                    (false, true) => None,
                    (with, without) => Some(format!("{rule}: with it {with}, without it {without}")),
                }
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        for rule in Rule::iter() {
            assert!(TESTS.iter().any(|(of, ..)| *of == rule), "no test for {rule}");
        }
    }
}
