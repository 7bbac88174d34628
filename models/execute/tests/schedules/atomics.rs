//! The code of kernels with atomic operations.

/// Uses of atomic operations and of the state of the machine: a name, whether the schedule steers the kernel, and code.
/// `#` is a number.
pub const ATOMICS: [(&str, bool, &str); 21] = [
    (
        "reductions",
        false,
        "red.global.add.u32 [%words], %tid;\nred.global.max.u32 [%words+4], %tid;\n\
         red.global.xor.b32 [%words+8], %tid;",
    ),
    ("unused", false, "atom.global.add.u32 %v, [%words], 1;"),
    ("noise", false, "atom.global.add.u32 %v, [%words], 1;\nst.global.u32 [%noise], %v;"),
    ("noise of exchanges", false, "atom.global.exch.b32 %v, [%words+12], %tid;\nst.global.u32 [%noise], %v;"),
    (
        "noise through memory",
        false,
        "atom.global.add.u32 %v, [%words], 1;\nmov.b32 %data, cells#;\nshl.b32 %offset, %tid, 2;\n\
         add.u32 %data, %data, %offset;\nst.shared.u32 [%data], %v;\nbar.sync 0;\nld.shared.u32 %v, [%data];\n\
         mul.lo.u32 %v, %v, 5;\nst.global.u32 [%noise], %v;",
    ),
    (
        "noise of a selection",
        false,
        "atom.global.add.u32 %v, [%words], 1;\nsetp.lt.u32 %q, %v, 5;\n@%q bra few#;\nadd.u32 %v, %v, 7;\nfew#:\n\
         st.global.u32 [%noise], %v;",
    ),
    ("noise of the clock", false, "mov.u32 %v, %clock;\nst.global.u32 [%noise], %v;"),
    ("noise of the processor", false, "mov.u32 %v, %smid;\nst.global.u32 [%noise], %v;"),
    (
        "sum",
        false,
        "@%first st.shared.u32 [cells#], 0;\nbar.sync 0;\nred.shared.add.u32 [cells#], %tid;\nbar.sync 0;\n\
         ld.shared.u32 %v, [cells#];\nsetp.lt.u32 %q, %v, 600;\n@%q bra small#;\nadd.u32 %acc, %acc, %v;\nsmall#:",
    ),
    (
        "branch by a ticket",
        true,
        "atom.global.add.u32 %v, [%words], 1;\nsetp.lt.u32 %q, %v, 5;\n@%q bra few#;\nst.global.u32 [%noise], %acc;\nfew#:",
    ),
    (
        "address of a ticket",
        true,
        "atom.global.add.u32 %v, [%words], 1;\nmul.wide.u32 %x0, %v, 4;\nadd.u64 %x0, %x0, %all;\n\
         st.global.u32 [%x0], %tid;",
    ),
    (
        "last CTA",
        true,
        "st.global.u32 [%noise], %tid;\nbar.sync 0;\n@!%first bra done#;\n\
         atom.acq_rel.gpu.global.add.u32 %v, [%words], 1;\n\
         setp.ne.u32 %q, %v, CTAS;\n@%q bra done#;\nld.global.u32 %v, [%all];\nadd.u32 %acc, %acc, 7;\ndone#:",
    ),
    (
        "flag",
        true,
        "setp.eq.u32 %q, %tid, 31;\n@%q bra reads#;\n@!%first bra done#;\nst.global.u32 [%words+32], 5;\n\
         st.release.gpu.global.u32 [%words+36], 1;\nbra done#;\nreads#:\nld.acquire.gpu.global.u32 %v, [%words+36];\n\
         setp.eq.u32 %q, %v, 0;\n@%q bra reads#;\nld.global.u32 %v, [%words+32];\nadd.u32 %acc, %acc, %v;\ndone#:",
    ),
    (
        "lock",
        true,
        "@!%lead bra done#;\nlock#:\natom.acquire.gpu.global.cas.b32 %v, [%words+40], 0, 1;\nsetp.ne.u32 %q, %v, 0;\n\
         @%q bra lock#;\nld.global.u32 %v, [%words+44];\nadd.u32 %v, %v, 1;\nst.global.u32 [%words+44], %v;\n\
         st.release.gpu.global.u32 [%words+40], 0;\nadd.u32 %acc, %acc, %v;\ndone#:",
    ),
    (
        "steering clock",
        true,
        "mov.u32 %v, %clock;\nand.b32 %v, %v, 16;\nsetp.eq.u32 %q, %v, 0;\n@%q bra no#;\nst.global.u32 [%noise], %acc;\nno#:",
    ),
    (
        "steering processor",
        true,
        "mov.u32 %v, %smid;\nsetp.eq.u32 %q, %v, 0;\n@%q bra no#;\nst.global.u32 [%noise], %acc;\nno#:",
    ),
    (
        "steering memory",
        true,
        "@%first st.shared.u32 [cells#], 0;\nbar.sync 0;\natom.shared.exch.b32 %v, [cells#], %tid;\nbar.sync 0;\n\
         ld.shared.u32 %v, [cells#];\nsetp.lt.u32 %q, %v, 9;\n@%q bra no#;\nst.global.u32 [%noise], %acc;\nno#:",
    ),
    (
        "noise of memory",
        false,
        "@%first st.shared.u32 [cells#], 0;\nbar.sync 0;\natom.shared.exch.b32 %v, [cells#], %tid;\nbar.sync 0;\n\
         ld.shared.u32 %v, [cells#];\nst.global.u32 [%noise], %v;",
    ),
    (
        "steering value",
        true,
        "ld.relaxed.gpu.global.u32 %v, [%words+48];\nred.relaxed.gpu.global.add.u32 [%words+48], 1;\n\
         setp.lt.u32 %q, %v, 9;\n@%q bra no#;\nst.global.u32 [%noise], %acc;\nno#:",
    ),
    (
        "noise of a value",
        false,
        "ld.relaxed.gpu.global.u32 %v, [%words+48];\nred.relaxed.gpu.global.add.u32 [%words+48], 1;\n\
         st.global.u32 [%noise], %v;",
    ),
    (
        "steering answer",
        true,
        "@%first mbarrier.init.shared::cta.b64 [cells#], 1;\nbar.sync 0;\n\
         @%first mbarrier.arrive.shared::cta.b64 _, [cells#];\n\
         mbarrier.test_wait.parity.shared::cta.b64 %q, [cells#], 0;\n\
         @!%q bra no#;\nst.global.u32 [%noise], %acc;\nno#:",
    ),
];

/// Replacements that plant a relaxed access, which exist in the code of a flag, of a lock and of a last CTA.
pub const RELAXED: [(&str, &str); 4] = [
    ("st.release", "st.relaxed"),
    ("ld.acquire", "ld.relaxed"),
    ("atom.acquire", "atom.relaxed"),
    ("acq_rel", "relaxed"),
];
