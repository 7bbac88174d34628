//! NICs: each row of the ordering rules of PCIe, and the scopes of a GPU.

use ptx_memory_model::{litmus::Litmus, ptx::readings::Readings};

use crate::two_threads::{is_allowed, litmus};

/// The reason of a case, the code of a NIC and of another thread at a place, an outcome, and whether it is allowed.
type Case = (&'static str, &'static str, (&'static str, &'static str), &'static str, bool);

const GPU: &str = "cta 0,gpu 0";
const READER: (&str, &str) = (GPU, "ld.acquire.sys r0, y; ld.weak r1, x");
const OLD: &str = "P1:r0 == 1 /\\ P1:r1 == 0";
const POLL: &str = "wait:; MRd R0,[y]; CBZ R0,wait; MRd R1,[x]";

#[rustfmt::skip]
const CASES: [Case; 22] = [
    ("writes are in order", "MWr [x],1; MWr [y],1", READER, OLD, false),
    ("a relaxed write passes a write", "MWr [x],1; MWr.RO [y],1", READER, OLD, true),
    ("a write does not pass a relaxed write", "MWr.RO [x],1; MWr [y],1", READER, OLD, false),
    ("an AtomicOp does not pass a write", "MWr [x],1; FetchAdd R0,[y],1", READER, OLD, false),
    ("a relaxed AtomicOp passes a write", "MWr [x],1; FetchAdd.RO R0,[y],1", READER, OLD, true),
    ("a relaxed AtomicOp passes a relaxed write", "MWr.RO [x],1; Swap.RO R0,[y],1", READER, OLD, true),
    ("a compare-and-swap does not pass a write", "MWr [x],1; CAS R0,[y],0,1", READER, OLD, false),
    ("a write passes an AtomicOp", "FetchAdd R0,[x],1; MWr [y],1", READER, OLD, true),
    ("a write after the completion of an AtomicOp", "FetchAdd R0,[x],1; CBNZ R0,on; on:; MWr [y],1", READER, OLD, false),
    ("AtomicOps are not in order", "FetchAdd R0,[x],1; FetchAdd R1,[y],1", READER, OLD, true),
    ("a read does not pass a write", "MWr [y],1; MRd R0,[x]", ("x86", "MOV [x],$1; MFENCE; MOV EAX,[y]"), "P0:R0 == 0 /\\ P1:EAX == 0", false),
    ("a write passes a read", "MRd R0,[x]; MWr [y],1", ("x86", "MOV EAX,[y]; MOV [x],$1"), "P0:R0 == 1 /\\ P1:EAX == 1", true),
    ("a write of the value of a read", "MRd R0,[x]; MWr [y],R0", (GPU, "st.weak d, 1; st.release.sys x, 1; ld.acquire.sys r0, y; ld.weak r1, d"),
        "P0:R0 == 1 /\\ P1:r0 == 1 /\\ P1:r1 == 0", false),
    ("reads are not in order", "MRd R0,[y]; MRd R1,[x]", ("x86", "MOV [x],$1; MOV [y],$1"), "P0:R0 == 1 /\\ P0:R1 == 0", true),
    ("a read after a completion", POLL, ("x86", "MOV [x],$1; MOV [y],$1"), "P0:R1 == 0", false),
    ("a release to the NIC", POLL, (GPU, "st.weak x, 1; st.release.sys y, 1"), "P0:R1 == 0", false),
    ("a release by a fence", POLL, (GPU, "st.weak x, 1; fence.acq_rel.sys; st.mmio.relaxed.sys y, 1"), "P0:R1 == 0", false),
    ("a store without a release", POLL, (GPU, "st.weak x, 1; st.mmio.relaxed.sys y, 1"), "P0:R1 == 0", true),
    ("the scope of a release excludes the NIC", POLL, (GPU, "st.weak x, 1; st.release.gpu y, 1"), "P0:R1 == 0", true),
    ("the scope of a fence excludes the NIC", POLL, (GPU, "st.weak x, 1; fence.acq_rel.gpu; st.relaxed.sys y, 1"), "P0:R1 == 0", true),
    ("relaxed writes to one address", "MWr [x],1; MWr.RO [x],2", (GPU, ""), "x == 1", true),
    ("writes to one address", "MWr [x],1; MWr [x],2", (GPU, ""), "x == 1", false),
];

#[test]
fn each_rule() {
    let mut wrong = Vec::new();
    for (reason, nic, (place, other), outcome, expected) in CASES {
        let litmus = litmus("x=0; y=0; d=0;", ["nic", place], [nic, other], outcome);
        if is_allowed(&litmus, Readings::DEFAULT) != expected {
            wrong.push(format!("{reason}: not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn errors() {
    let check = |cell: &str, expected: &str| {
        let text = format!("PTX t\n{{ x=0; }}\n P0@nic ;\n {cell} ;\nexists (x == 0)\n");
        let found = Litmus::read(&text).map_or_else(|error| error.to_string(), |litmus| litmus.to_string());
        assert!(found.starts_with(expected), "{cell}: {found}");
    };
    check("MRd.RO R0,[x]", "4:2: the attribute of a read lets it pass no write: write `MRd`");
    check("MRd W0,[x]", "4:6: `W0` is not a register of nic");
    check("DMB ISH", "4:2: `DMB` is not an instruction of a litmus test on a NIC");
    check("FetchAdd R0,[x]", "4:2: `FETCHADD` takes 3 operands here, not 2");
    check("MWr x,1", "4:6: expected an address in brackets (`[x]`), found `x`");
}
