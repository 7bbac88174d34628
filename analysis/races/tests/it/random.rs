//! Random kernels: no kernel that is racy in an execution is proved free.
//! `KERNELS=100000 cargo test -p ptx-races --test it random` tries more kernels.

use std::fmt::Write;

use ptx_execute::{Argument, Contents, Device, FaultKind, Launch, RunOptions};
use ptx_isa::{
    FullSize, LaunchSize, Module, Stop,
    flat::{self, Flat, Library},
};
use ptx_races::{budget::ProofBudget, launch::Sizes, prove::prove};

/// The default number of kernels.
const KERNELS: u64 = 500;

struct Kernel {
    text: String,
    /// The state of the random number generator.
    random: u64,
    labels: usize,
    left: usize,
}

impl Kernel {
    fn below(&mut self, count: u32) -> u32 {
        // SplitMix64 (Steele, Lea, Flood, 2014).
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((mixed >> 32) * u64::from(count)) >> 32) as u32
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let at = self.below(of.len() as u32);
        of[at as usize]
    }

    fn line(&mut self, line: impl std::fmt::Display) {
        writeln!(self.text, "{line}").expect("a string grows");
    }

    /// A register name.
    fn register(&mut self) -> String {
        format!("%r{}", self.below(8))
    }

    /// A register or a constant, often next to a power of two.
    fn operand(&mut self) -> String {
        match self.below(3) {
            0 => {
                self.pick(&["1", "2", "3", "31", "32", "33", "64", "1024", "-1", "2147483647", "1073741824"]).to_owned()
            }
            _ => self.register(),
        }
    }

    /// Puts the address of one of 1024 words into `%rd3`.
    fn address(&mut self) -> &'static str {
        let (space, base) = self.pick(&[("shared", "buf"), ("shared", "buf"), ("global", "%rd1"), ("global", "%rd2")]);
        let index = match self.below(4) {
            0 => self.register(),
            1 => "%r9".to_owned(),
            // The index of the thread in the grid, and an index that other threads may share.
            _ => self.pick(&["%r8", "%r9"]).to_owned(),
        };
        // The neighbor of this thread, in the same warp or in another.
        let beside = self.pick(&["0", "0", "0", "1", "32"]);
        self.line(format_args!(
            "xor.b32 %r10, {index}, {beside};\nand.b32 %r10, %r10, 1023;\nmul.wide.u32 %rd3, %r10, 4;"
        ));
        match base {
            "buf" => self.line("mov.u64 %rd4, buf;\nadd.s64 %rd3, %rd3, %rd4;"),
            base => self.line(format_args!("add.s64 %rd3, %rd3, {base};")),
        }
        space
    }

    fn access(&mut self) {
        let space = self.address();
        let (to, from) = (self.register(), self.operand());
        let offset = self.pick(&["", "", "", "+4"]);
        let guard = self.pick(&["", "", "@%p1 ", "@!%p1 "]);
        let scope = self.pick(&["cta", "gpu"]);
        let offset = if space == "shared" { "" } else { offset };
        match self.below(8) {
            0..3 => self.line(format_args!("{guard}ld.{space}.u32 {to}, [%rd3{offset}];")),
            3..6 => self.line(format_args!("{guard}st.{space}.u32 [%rd3{offset}], {from};")),
            6 => self.line(format_args!("{guard}red.relaxed.{scope}.{space}.add.u32 [%rd3], {from};")),
            _ => self.line(format_args!("{guard}ld.relaxed.{scope}.{space}.u32 {to}, [%rd3{offset}];")),
        }
    }

    fn arithmetic(&mut self) {
        let op = self.pick(&[
            "add.u32",
            "sub.u32",
            "mul.lo.u32",
            "and.b32",
            "or.b32",
            "xor.b32",
            "shl.b32",
            "shr.u32",
            "shr.s32",
            "min.s32",
            "rem.u32",
        ]);
        let (to, a, b) = (self.register(), self.register(), self.operand());
        self.line(format_args!("{op} {to}, {a}, {b};"));
    }

    fn compare(&mut self, predicate: &str) {
        let cmp = self.pick(&["lt.u32", "lt.s32", "ge.u32", "ge.s32", "eq.u32", "ne.u32"]);
        let a = match self.below(2) {
            0 => "%r8".to_owned(),
            _ => self.register(),
        };
        let b = self.operand();
        self.line(format_args!("setp.{cmp} {predicate}, {a}, {b};"));
    }

    fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            match self.below(16) {
                0..6 => self.access(),
                6..9 => self.arithmetic(),
                9..11 => self.compare("%p1"),
                11..14 => {
                    let barrier = self.pick(&["bar.sync 0;", "bar.warp.sync -1;"]);
                    self.line(barrier);
                }
                14 if depth < 2 => {
                    self.labels += 1;
                    let label = self.labels;
                    self.compare("%p2");
                    self.line(format_args!("@%p2 bra L{label};"));
                    self.statements(2, depth + 1);
                    self.line(format_args!("L{label}:"));
                }
                15 if depth < 2 => self.rounds(depth),
                _ => self.arithmetic(),
            }
        }
    }

    /// A loop of a few iterations, with a counter or a shifted value.
    fn rounds(&mut self, depth: u32) {
        self.labels += 1;
        let label = self.labels;
        let counter = format!("%r{}", 11 + depth);
        let kinds = [
            ("0", "add.u32", "1", "lt.u32", "3"),
            ("%r8", "add.u32", "32", "lt.u32", "160"),
            ("1", "shl.b32", "1", "lt.u32", "16"),
            ("16", "shr.u32", "1", "gt.u32", "0"),
            ("0", "add.u32", "1073741824", "ne.u32", "0"),
            ("0", "add.u32", "1", "lt.u32", "%r8"),
        ];
        let (start, op, step, cmp, end) = self.pick(&kinds);
        let end = if op == "add.u32" && step == "1" && end == "%r8" && self.below(2) == 0 { "4" } else { end };
        self.line(format_args!("mov.u32 {counter}, {start};\nL{label}:"));
        let to = self.register();
        let how = self.pick(&["add.u32", "xor.b32", "mul.lo.u32"]);
        self.line(format_args!("{how} {to}, %r8, {counter};"));
        self.statements(3, depth + 1);
        self.line(format_args!("{op} {counter}, {counter}, {step};"));
        let predicate = format!("%p{}", 3 + depth);
        self.line(format_args!("setp.{cmp} {predicate}, {counter}, {end};\n@{predicate} bra L{label};"));
    }
}

fn kernel(seed: u64) -> String {
    let mut kernel = Kernel { text: String::new(), random: seed, labels: 0, left: 24 };
    kernel.line(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n\
         .shared .align 4 .b8 buf[4096];\n.reg .pred %p<6>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u32 %r7, [n];\nmov.u32 %r8, %tid.x;\n\
         mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmad.lo.u32 %r9, %r0, %r1, %r8;\nmov.u32 %r2, %r8;\n\
         add.u32 %r3, %r8, 1;\nshl.b32 %r4, %r8, 1;\nmov.u32 %r5, 5;\nmov.u32 %r6, %r9;\nsetp.eq.u32 %p1, %r8, 0;",
    );
    let count = 4 + kernel.below(14);
    kernel.statements(count, 0);
    kernel.line("ret;\n}");
    kernel.text
}

impl Kernel {
    /// A part of a message protocol: accesses of two words of data and of two flags with orderings.
    fn handing(&mut self, count: u32) {
        for _ in 0..count {
            let (word, flag) = (self.pick(&["%rd1", "%rd1", "%rd1+4"]), self.pick(&["%rd2", "%rd2", "%rd2", "%rd2+4"]));
            let value = self.pick(&["1", "1", "1", "2", "0", "%r0"]);
            let scope = self.pick(&["gpu", "gpu", "gpu", "sys", "cta"]);
            let release = self.pick(&["release", "release", "release", "relaxed"]);
            let acquire = self.pick(&["acquire", "acquire", "acquire", "relaxed"]);
            match self.below(12) {
                0..2 => self.line(format_args!("st.global.u32 [{word}], %r8;")),
                2..4 => self.line(format_args!("ld.global.u32 %r2, [{word}];")),
                4..7 => self.line(format_args!("st.{release}.{scope}.global.u32 [{flag}], {value};")),
                7 => self.line(format_args!("atom.{release}.{scope}.global.exch.b32 %r3, [{flag}], {value};")),
                8 => {
                    let fence =
                        self.pick(&["fence.acq_rel.gpu", "fence.sc.gpu", "fence.acq_rel.cta", "bar.warp.sync -1"]);
                    self.line(format_args!("{fence};"));
                }
                9 => {
                    let (op, more) = self.pick(&[("cas.b32", "0, 1"), ("exch.b32", "1"), ("add.u32", "1")]);
                    self.line(format_args!("atom.{acquire}.{scope}.global.{op} %r3, [{flag}], {more};"));
                    let value = self.pick(&["0", "0", "1"]);
                    self.line(format_args!("setp.ne.u32 %p1, %r3, {value};\n@%p1 bra DONE;"));
                }
                _ => {
                    self.labels += 1;
                    let label = self.labels;
                    self.line(format_args!("L{label}:\nld.{acquire}.{scope}.global.u32 %r3, [{flag}];"));
                    let cmp = self.pick(&["ne", "ne", "ne", "lt", "gt"]);
                    self.line(format_args!("setp.{cmp}.u32 %p1, %r3, {value};"));
                    let to = if self.below(2) == 0 { "DONE".to_owned() } else { format!("L{label}") };
                    self.line(format_args!("@%p1 bra {to};"));
                }
            }
        }
    }
}

/// A kernel that passes data between CTAs by flags and locks; usually one thread of each CTA takes part.
fn hands_on(seed: u64) -> String {
    let mut kernel = Kernel { text: String::new(), random: seed, labels: 0, left: 0 };
    kernel.line(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r8, %tid.x;\nmov.u32 %r0, %ctaid.x;",
    );
    // One or two threads of each CTA, and a first CTA or thread, or none.
    let threads = kernel.pick(&["0", "0", "1"]);
    kernel.line(format_args!("setp.gt.u32 %p0, %r8, {threads};\n@%p0 bra DONE;"));
    let first = kernel.pick(&["%r0", "%r0", "%r0", "%r8"]);
    if kernel.below(4) > 0 {
        kernel.line(format_args!("setp.ne.u32 %p2, {first}, 0;\n@%p2 bra OTHER;"));
        let count = 1 + kernel.below(4);
        kernel.handing(count);
        kernel.line("bra DONE;\nOTHER:");
    }
    let count = 1 + kernel.below(4);
    kernel.handing(count);
    kernel.line("DONE:\nret;\n}");
    kernel.text
}

/// A kernel that counts the arrivals of its CTAs. The last CTA, or each CTA after all arrivals, reads the data of the
/// other CTAs. Each part is often correct.
fn counts_arrivals(seed: u64) -> String {
    let mut kernel = Kernel { text: String::new(), random: seed, labels: 0, left: 0 };
    kernel.line(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n\
         .shared .align 4 .b8 word[8];\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r8, %tid.x;\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %nctaid.x;\n\
         mul.wide.u32 %rd4, %r0, 4;\nadd.s64 %rd5, %rd1, %rd4;",
    );
    let is_last = kernel.below(3) > 0;
    if is_last {
        kernel.line("sub.u32 %r1, %r1, 1;");
    }
    let most = kernel.pick(&["0", "0", "0", "0", "0", "1"]);
    kernel.line(format_args!("setp.gt.u32 %p0, %r8, {most};"));
    if kernel.below(8) == 0 {
        kernel.line("setp.eq.u32 %p1, %r0, 2;\n@%p1 bra DONE;");
    }
    kernel.line("@%p0 bra JOIN;");
    let own = ["st.global.u32 [%rd5], %r0;"; 6];
    let write =
        kernel.pick(&[&own[..], &["st.global.u32 [%rd1], 1;", "red.relaxed.gpu.global.add.u32 [%rd1], 1;"]].concat());
    kernel.line(write);
    let sem = kernel.pick(&["acq_rel", "acq_rel", "acq_rel", "release", "acquire", "relaxed"]);
    let scope = kernel.pick(&["gpu", "gpu", "gpu", "gpu", "sys", "cta"]);
    let fence = if sem == "acq_rel" { "" } else { "fence.acq_rel.gpu;" };
    let fences = [0, 1].map(|_| kernel.pick(&[fence, fence, fence, "fence.acq_rel.cta;", ""]));
    let op = kernel.pick(&[
        "add.u32 %r2, [%rd2], 1;",
        "add.u32 %r2, [%rd2], 1;",
        "add.u32 %r2, [%rd2], 2;",
        "inc.u32 %r2, [%rd2], %r1;",
    ]);
    kernel.line(fences[0]);
    kernel.line(format_args!("atom.{sem}.{scope}.global.{op}"));
    if kernel.below(8) == 0 {
        kernel.line("red.relaxed.gpu.global.add.u32 [%rd2], 1;");
    }
    if is_last {
        kernel.line(fences[1]);
        let cmp = kernel.pick(&["eq", "eq", "eq", "eq", "ge", "le", "ne"]);
        kernel.line(format_args!("setp.{cmp}.u32 %p2, %r2, %r1;\nselp.u32 %r3, 1, 0, %p2;"));
        let word = kernel.pick(&["word", "word", "word", "word", "word", "word+4"]);
        kernel.line(format_args!("st.shared.u32 [{word}], %r3;"));
    } else {
        let cmp = kernel.pick(&["lt", "lt", "ne", "le"]);
        let sem = kernel.pick(&["acquire", "acquire", "acquire", "relaxed"]);
        kernel.line(format_args!(
            "POLL:\nld.{sem}.{scope}.global.u32 %r3, [%rd2];\nsetp.{cmp}.u32 %p2, %r3, %r1;\n@%p2 bra POLL;"
        ));
        kernel.line(fences[1]);
    }
    kernel.line("JOIN:");
    let barrier = kernel.pick(&["bar.sync 0;", "bar.sync 0;", "bar.sync 0;", "bar.sync 0;", "bar.warp.sync -1;"]);
    kernel.line(barrier);
    if is_last {
        let cmp = kernel.pick(&["eq", "eq", "eq", "eq", "ne"]);
        kernel.line(format_args!("ld.shared.u32 %r4, [word];\nsetp.{cmp}.u32 %p3, %r4, 0;\n@%p3 bra DONE;"));
    }
    kernel.line("setp.ne.u32 %p3, %r8, 0;\n@%p3 bra DONE;");
    for _ in 0..1 + kernel.below(2) {
        let line = kernel.pick(&[
            "ld.global.u32 %r5, [%rd1];",
            "ld.global.u32 %r5, [%rd1+4];",
            "ld.global.u32 %r5, [%rd5];",
            "st.global.u32 [%rd1+64], %r0;",
            "st.global.u32 [%rd2], 0;",
            "st.global.u32 [%rd5], %r0;",
        ]);
        kernel.line(line);
    }
    kernel.line("DONE:\nret;\n}");
    kernel.text
}

/// A kernel whose CTAs proceed one after another: the first thread of each CTA waits for its turn, or acquires a lock.
fn takes_turns(seed: u64) -> String {
    let mut kernel = Kernel { text: String::new(), random: seed, labels: 0, left: 0 };
    kernel.line(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r8, %tid.x;\nmov.u32 %r0, %ctaid.x;\n\
         mul.wide.u32 %rd4, %r8, 4;\nadd.s64 %rd5, %rd1, %rd4;\nxor.b32 %r7, %r8, 1;\nmul.wide.u32 %rd6, %r7, 4;\nadd.s64 %rd6, %rd1, %rd6;\n\
         setp.ne.u32 %p0, %r8, 0;",
    );
    if kernel.below(8) == 0 {
        kernel.line("setp.eq.u32 %p1, %r0, 1;\n@%p1 bra MINE;");
    }
    kernel.line("@%p0 bra MINE;");
    let acquire = kernel.pick(&["acquire", "acquire", "acquire", "acquire", "relaxed"]);
    let release = kernel.pick(&["release", "release", "release", "release", "relaxed"]);
    let scope = kernel.pick(&["gpu", "gpu", "gpu", "gpu", "sys", "cta"]);
    let fence = |kernel: &mut Kernel, sem: &str| {
        let fence = kernel.pick(&["fence.acq_rel.gpu;", "fence.acq_rel.cta;", ""]);
        if sem == "relaxed" { fence } else { "" }
    };
    let give = match kernel.below(3) {
        0 => {
            let take =
                kernel.pick(&["cas.b32 %r2, [%rd2], 0, 1;", "exch.b32 %r2, [%rd2], 1;", "cas.b32 %r2, [%rd2], 0, 0;"]);
            kernel.line(format_args!(
                "TAKE:\natom.{acquire}.{scope}.global.{take}\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra TAKE;"
            ));
            "0"
        }
        turn => {
            let drawn = kernel.pick(&["mov.u32 %r3, %r0;", "atom.relaxed.gpu.global.add.u32 %r3, [%rd2+4], 1;"]);
            let drawn = if turn == 1 { "mov.u32 %r3, %r0;" } else { drawn };
            let cmp = kernel.pick(&["ne", "ne", "ne", "ne", "lt", "gt"]);
            kernel.line(format_args!(
                "{drawn}\nPOLL:\nld.{acquire}.{scope}.global.u32 %r2, [%rd2];\nsetp.{cmp}.u32 %p2, %r2, %r3;\n@%p2 bra POLL;\nadd.u32 %r4, %r3, 1;"
            ));
            kernel.pick(&["%r4", "%r4", "%r4", "%r4", "2"])
        }
    };
    let late = kernel.below(6) == 0;
    let taken = fence(&mut kernel, acquire);
    kernel.line(if late { "" } else { taken });
    let barriers =
        [0, 1].map(|_| kernel.pick(&["bar.sync 0;", "bar.sync 0;", "bar.sync 0;", "bar.sync 0;", "bar.warp.sync -1;"]));
    kernel.line(format_args!("MINE:\n{}\n{}", barriers[0], if late { taken } else { "" }));
    for _ in 0..1 + kernel.below(2) {
        let line = kernel.pick(&[
            "ld.global.u32 %r5, [%rd5];",
            "st.global.u32 [%rd5], %r8;",
            "st.global.u32 [%rd5], %r8;",
            "ld.global.u32 %r5, [%rd6];",
            "@%p0 bra AT;\nst.global.u32 [%rd1], 1;\nAT:",
        ]);
        // A label may be defined only once.
        let line = if kernel.text.contains("AT:") { "ld.global.u32 %r5, [%rd5];" } else { line };
        kernel.line(line);
    }
    let given = fence(&mut kernel, release);
    let early = kernel.below(6) == 0;
    kernel.line(format_args!("{}\n{}\n@%p0 bra DONE;", if early { given } else { "" }, barriers[1]));
    kernel.line(if early { "" } else { given });
    kernel.line(format_args!("st.{release}.{scope}.global.u32 [%rd2], {give};"));
    if kernel.below(8) == 0 {
        kernel.line("st.global.u32 [%rd5], 1;");
    }
    kernel.line("DONE:\nret;\n}");
    kernel.text
}

/// A kernel whose CTAs synchronize at barriers of the grid, with or without a loop; each part is often correct.
fn syncs_the_grid(seed: u64) -> String {
    let mut kernel = Kernel { text: String::new(), random: seed, labels: 0, left: 0 };
    let first = kernel.pick(&["%r0", "%r0", "%r0", "%r0", "%r0", "%r8"]);
    let less = kernel.pick(&["1", "1", "1", "1", "1", "2"]);
    kernel.line(format_args!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<9>;\n\
         ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r8, %tid.x;\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\n\
         mad.lo.u32 %r2, %r0, %r1, %r8;\nmul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd5, %rd1, %rd4;\nmul.wide.u32 %rd6, %r8, 4;\n\
         add.s64 %rd6, %rd1, %rd6;\nmov.u32 %r3, %nctaid.x;\nsub.u32 %r3, {less}, %r3;\nadd.u32 %r3, %r3, 2147483648;\n\
         setp.eq.u32 %p1, {first}, 0;\nselp.u32 %r4, %r3, 1, %p1;\nsetp.ne.u32 %p0, %r8, 0;\nmov.u32 %r9, 0;"
    ));
    let is_loop = kernel.below(2) == 0;
    if is_loop {
        kernel.line("ROUND:");
    }
    let access = |kernel: &mut Kernel| {
        let line = kernel.pick(&[
            "st.global.u32 [%rd5], %r2;",
            "ld.global.u32 %r5, [%rd5];",
            "ld.global.u32 %r5, [%rd6];",
            "st.global.u32 [%rd5], %r2;",
        ]);
        kernel.line(line);
    };
    access(&mut kernel);
    for number in 0..1 + kernel.below(2) {
        let skip = kernel.below(10) == 0;
        if skip {
            kernel.line(format_args!("setp.eq.u32 %p3, %r0, 1;\n@%p3 bra MET{number};"));
        }
        let barriers = [0, 1].map(|_| kernel.pick(&["bar.sync 0;"; 7]));
        let barriers = barriers.map(|barrier| if kernel.below(8) == 0 { "" } else { barrier });
        let release = kernel.pick(&["release", "release", "release", "release", "release", "relaxed"]);
        let acquire = kernel.pick(&["acquire", "acquire", "acquire", "acquire", "acquire", "relaxed"]);
        let scope = kernel.pick(&["gpu", "gpu", "gpu", "gpu", "sys", "cta"]);
        let op = kernel.pick(&["xor", "xor", "xor", "xor", "xor", "or"]);
        let most = kernel.pick(&["0", "0", "0", "0", "0", "1"]);
        let alone = if most == "0" { "%p0" } else { "%p4" };
        kernel.line(format_args!(
            "{}\nsetp.gt.u32 %p4, %r8, {most};\n@{alone} bra MET{number};\natom.{release}.{scope}.global.add.u32 %r6, [%rd2], %r4;\nPOLL{number}:\n\
             ld.{acquire}.{scope}.global.u32 %r7, [%rd2];\n{op}.b32 %r5, %r7, %r6;\nsetp.gt.s32 %p2, %r5, -1;\n@%p2 bra POLL{number};\nMET{number}:\n{}",
            barriers[0], barriers[1]
        ));
        access(&mut kernel);
    }
    if is_loop {
        let rounds = kernel.pick(&["3", "3", "3", "%r0"]);
        kernel.line(format_args!("add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p5, %r9, {rounds};\n@%p5 bra ROUND;"));
    }
    kernel.line("ret;\n}");
    kernel.text
}

/// A kernel whose CTAs access the shared memory of other CTAs of their cluster, and synchronize at its barriers.
fn shares_in_a_cluster(seed: u64) -> String {
    let mut kernel = Kernel { text: String::new(), random: seed, labels: 0, left: 0 };
    let ctas = kernel.pick(&["2, 1, 1", "3, 1, 1", "2, 2, 1", "4, 1, 1"]);
    let (bits, space) = kernel.pick(&[("64", "shared::cluster."), ("64", ""), ("32", "shared::cluster.")]);
    let (other, own, two) = if bits == "64" { ("%rd3", "%rd2", "%rd6") } else { ("%r13", "%r12", "%r14") };
    let next =
        kernel.pick(&["add.u32 %r3, %r0, 1;\nrem.u32 %r3, %r3, %r4;", "xor.b32 %r3, %r0, 1;", "mov.u32 %r3, 0;"]);
    kernel.line(format_args!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n\
         .reqnctapercluster {ctas}\n{{\n.shared .align 4 .b8 pad[64];\n.shared .align 4 .b8 buf[512];\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<9>;\n\
         ld.param.u64 %rd1, [a];\nmov.u32 %r8, %tid.x;\nmov.u32 %r0, %cluster_ctarank;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r4, %cluster_nctarank;\n\
         mov.u32 %r2, %ctaid.y;\nmov.u32 %r9, 0;\n{next}\nmul.wide.u32 %rd4, %r8, 4;\nmov.u64 %rd5, buf;\nadd.s64 %rd2, %rd5, %rd4;\n\
         cvt.u32.u64 %r12, %rd2;\nxor.b32 %r14, %r12, 4;\nmapa.{space}u{bits} {other}, {own}, %r3;\nxor.b64 %rd6, %rd2, 4;"
    ));
    let access = if space.is_empty() { "" } else { ".shared::cluster" };
    kernel.line(format_args!(
        "mad.lo.u32 %r5, %r2, 4096, %r1;\nmad.lo.u32 %r5, %r5, 64, %r8;\nmul.wide.u32 %rd7, %r5, 4;\nadd.s64 %rd7, %rd1, %rd7;\n\
         setp.eq.u32 %p0, %r0, 0;\nsetp.eq.u32 %p1, %r8, 0;"
    ));
    let is_loop = kernel.below(3) == 0;
    if is_loop {
        kernel.line("ROUND:");
    }
    for number in 0..1 + kernel.below(3) {
        for _ in 0..1 + kernel.below(2) {
            let guard = kernel.pick(&["", "", "", "@%p0 ", "@!%p0 ", "@%p1 "]);
            let scope = kernel.pick(&["cluster", "gpu", "cta"]);
            let line = match kernel.below(9) {
                0 | 1 => format!("st.shared.u32 [{own}], %r8;"),
                2 => format!("ld.shared.u32 %r6, [{own}];"),
                3 => format!("ld{access}.u32 %r6, [{other}];"),
                4 => format!("st{access}.u32 [{other}], %r8;"),
                5 => format!("atom.relaxed.{scope}{access}.add.u32 %r7, [{other}], 1;"),
                6 => format!("ld.shared.u32 %r6, [{two}];"),
                7 => "st.global.u32 [%rd7], %r8;".to_owned(),
                _ => format!("atom.relaxed.{scope}.shared.add.u32 %r7, [{own}], 1;"),
            };
            kernel.line(format_args!("{guard}{line}"));
        }
        match kernel.below(12) {
            0 => kernel.line("bar.sync 0;"),
            1 => kernel.line("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;"),
            2 => kernel.line(format_args!(
                "@%p0 bra MET{number};\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nMET{number}:"
            )),
            3 => kernel.line(format_args!("barrier.cluster.arrive;\nst.shared.u32 [{own}], 3;\nbarrier.cluster.wait;")),
            _ => kernel.line("barrier.cluster.arrive;\nbarrier.cluster.wait;"),
        }
    }
    if is_loop {
        let rounds = kernel.pick(&["3", "3", "3", "%r0", "%r8"]);
        kernel.line(format_args!("add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p5, %r9, {rounds};\n@%p5 bra ROUND;"));
    }
    kernel.line("ret;\n}");
    kernel.text
}

/// A kernel of two warps that pass a buffer to each other by barriers of both warps, with or without a loop.
fn hands_between_warps(seed: u64) -> String {
    let mut kernel = Kernel { text: String::new(), random: seed, labels: 0, left: 0 };
    // In most kernels, a third warp takes no part.
    let threads = kernel.pick(&["96", "96", "64"]);
    kernel.line(format_args!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n.reqntid {threads}, 1, 1\n{{\n\
         .shared .align 4 .b8 buf[512];\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<9>;\n\
         ld.param.u32 %r7, [n];\nmin.u32 %r7, %r7, 3;\nmov.u32 %r8, %tid.x;\nmov.u32 %r9, 0;\nsetp.gt.u32 %p1, %r8, 31;\n\
         and.b32 %r1, %r8, 31;\nmul.wide.u32 %rd4, %r1, 4;\nmov.u64 %rd5, buf;\nadd.s64 %rd2, %rd5, %rd4;\nxor.b64 %rd3, %rd2, 4;\nsetp.gt.u32 %p3, %r8, 63;\n@%p3 bra END;\n@%p1 bra READ;"
    ));
    let is_loop = kernel.below(3) > 0;
    // The steps of each side in an iteration, in order; often correct.
    let (fills, empties, first) = kernel.pick(&[
        (["A", "a1", "s2"], ["s1", "L", "a2"], ""),
        (["A", "s1", "s2"], ["s1", "L", "s2"], ""),
        (["s2", "A", "a1"], ["s1", "L", "a2"], "a2"),
        (["s2", "A", "s1"], ["s1", "L", "a2"], "a2"),
        (["s2", "A", "s1"], ["a2", "s1", "L"], ""),
    ]);
    let other = kernel.pick(&["", "s2", "a2", "s0"]);
    let first = kernel.pick(&[first, first, first, first, first, other]);
    for (number, side) in [fills, empties].into_iter().enumerate() {
        let mut side: Vec<&str> = side.to_vec();
        let at = kernel.below(3) as usize;
        match kernel.below(16) {
            0 => side.swap(0, 1),
            1 => side.swap(1, 2),
            2 => drop(side.remove(at)),
            3 => side.insert(at, kernel.pick(&["s0", "a1", "s1", "A", "L", "s2"])),
            _ => {}
        }
        if number == 1 {
            kernel.line("READ:");
            kernel.side(first);
        }
        kernel.line(format_args!("ROUND{number}:"));
        side.into_iter().for_each(|what| kernel.side(what));
        if is_loop {
            let rounds = kernel.pick(&[&["%r7"; 12][..], &["2", "%r1"]].concat());
            kernel.line(format_args!("add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, {rounds};\n@%p2 bra ROUND{number};"));
        }
        kernel.line("bra END;");
    }
    kernel.line("END:\nret;\n}");
    kernel.text
}

impl Kernel {
    /// An access, or a barrier of 64 threads at which this thread waits or only arrives.
    fn side(&mut self, what: &str) {
        match what {
            "A" => {
                let to = self.pick(&["%rd2", "%rd2", "%rd2", "%rd2", "%rd2", "%rd2", "%rd2", "%rd5"]);
                self.line(format_args!("st.shared.u32 [{to}], %r9;"));
            }
            "L" => {
                let from = self.pick(&["%rd2", "%rd3"]);
                self.line(format_args!("ld.shared.u32 %r3, [{from}];"));
            }
            "" => {}
            barrier => {
                let kind = if barrier.starts_with('s') { "sync" } else { "arrive" };
                self.line(format_args!("bar.{kind} {}, 64;", &barrier[1..]));
            }
        }
    }
}

/// A race or a divergent barrier of an execution, if there is one. If threads wait at barriers only, a wait that never
/// ends counts, too.
fn executed(module: &Module, threads: u32, is_zero: bool, waits_at_barriers: bool) -> Option<String> {
    let kernel = module.functions().next().expect("a kernel");
    let cluster = kernel.head.required_ctas.unwrap_or([1; 3]);
    let ctas = if is_zero { 3 } else { 2 };
    for seed in 0..if is_zero { 8 } else { 4 } {
        let most_steps = if is_zero { 4_000 } else { 100_000 };
        let options = RunOptions { most_steps, findings: 1, ..RunOptions::default() };
        let mut device = Device::new(module, options.of_seed(seed)).expect("a device");
        let mut buffer = |name| {
            let small = if seed % 2 == 0 && !is_zero { Contents::Grows(1 << 16) } else { Contents::GrowsZero(1 << 16) };
            Argument::Buffer(device.allocate(name, small), 0)
        };
        let arguments = vec![buffer("a"), buffer("b"), Argument::u32(seed as u32 * 17)];
        let grid = [ctas * cluster[0], cluster[1], cluster[2]];
        let launch = Launch::new("k", FullSize { grid, cluster, ..[threads, 1, 1].into() }, arguments);
        let report = device.launch(&launch).expect("a launch");
        let is_wrong = |kind| {
            matches!(
                kind,
                FaultKind::Race
                    | FaultKind::SameValue
                    | FaultKind::DivergentBarrier
                    | FaultKind::DivergentWarp
                    | FaultKind::BarrierCount
            ) || kind == FaultKind::Hang && waits_at_barriers
        };
        if let Some(found) = report.findings.iter().find(|found| is_wrong(found.kind)) {
            return Some(format!(
                "{found} at lines {:?} and {}",
                found.other.as_ref().map(|site| site.at.line),
                found.site.at.line
            ));
        }
    }
    None
}

/// Proves and executes kernels. At least the given numbers of [`KERNELS`] must be proved free and be racy; otherwise
/// the test would show nothing.
fn check(make: fn(u64) -> String, is_zero: bool, least: [u64; 2]) {
    let kernels = std::env::var("KERNELS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(KERNELS / testing::stride(8) as u64);
    let (mut free, mut racy) = (0, 0);
    for seed in 0..kernels {
        let text = make(seed);
        let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        let entry = module.functions().next().expect("a kernel");
        let flat = Flat::inline_calls(&Library::new(&module), entry, flat::Limits::default());
        let required = flat.head.required_threads.map(|[x, _, _]| x);
        let threads = required.unwrap_or([32, 48, 64][seed as usize % 3]);
        let block = (seed % 2 == 0).then_some([threads, 1, 1]);
        let sizes = Sizes::new(&flat, LaunchSize { block, ..LaunchSize::default() });
        let proof = prove(
            &flat,
            sizes,
            false,
            ProofBudget { decisions: if required.is_some() { 20_000 } else { 500 }, ..ProofBudget::default().part(8) },
            &Stop::never(),
        );
        // The proof assumes that all lanes of a warp reach its barriers.
        let waits_at_barriers = !is_zero && !text.contains("bar.warp.sync");
        let found = executed(&module, threads, is_zero, waits_at_barriers);
        racy += u64::from(found.is_some());
        if proof.holds() {
            free += 1;
            assert_eq!(found, None, "kernel {seed}, which is proved free:\n{text}");
        }
    }
    println!("{kernels} kernels: {free} proved free, {racy} racy");
    assert!(free * KERNELS >= least[0] * kernels && racy * KERNELS >= least[1] * kernels, "{free} free, {racy} racy");
}

#[test]
fn proved_kernels_have_no_race() {
    check(kernel, false, [40, 150]);
}

#[test]
fn accesses_ordered_by_values_have_no_race() {
    check(hands_on, true, [40, 100]);
}

#[test]
fn accesses_after_the_last_arrival_have_no_race() {
    check(counts_arrivals, true, [40, 100]);
}

#[test]
fn alternating_accesses_have_no_race() {
    check(takes_turns, true, [40, 100]);
}

#[test]
fn accesses_ordered_by_grid_barriers_have_no_race() {
    check(syncs_the_grid, true, [40, 100]);
}

#[test]
fn accesses_ordered_by_cluster_barriers_have_no_race() {
    check(shares_in_a_cluster, false, [40, 100]);
}

#[test]
fn accesses_ordered_by_named_barriers_have_no_race() {
    check(hands_between_warps, false, [40, 100]);
}
