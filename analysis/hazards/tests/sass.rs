//! Rule R1 against machine code: if the rule fires, then in the code that ptxas generates, a thread informs another
//! thread about a load of tensor memory that nothing has waited for.
//!
//! `tcgen05.ld` becomes `LDTM`, which sets a scoreboard; `tcgen05.wait::ld` makes the instructions after it wait for
//! the scoreboard. A use of the loaded registers also waits: then the machine waits, although the manual does not
//! guarantee it.

use std::{fmt::Write, path::PathBuf, process::Command};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Arguments, Failed};
use ptx_hazards::{Claim, Rule, check, read};
use ptx_isa::Module;
use ptx_memory_model::ptx::readings::Readings;
use testing::{ASSEMBLERS, Assembler, root, success, target, trial};

const NVDISASM: &str = "nvdisasm-13.5";

fn main() {
    let assembler = ASSEMBLERS.into_iter().find(|assembler| assembler.name == "ptxas-13.5").expect("one of ours");
    let missing = assembler.missing().or((!nvdisasm().exists()).then_some(NVDISASM));
    let name = "R1 fires where the machine code does not wait for the load".to_owned();
    let trials = vec![trial(name, missing, move || compare(&assembler))];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// An instruction by which a thread informs other threads.
struct Publication {
    name: &'static str,
    ptx: &'static str,
    /// The wait of another thread for it; empty if the instruction itself conflicts with the load.
    waits: &'static str,
    /// Its opcode in machine code.
    opcode: &'static str,
    /// Whether it has branches in machine code, which may wait for loads in flight.
    branches: bool,
}

#[rustfmt::skip]
const PUBLICATIONS: [Publication; 8] = [
    Publication { name: "arrive",   ptx: "mbarrier.arrive.release.cta.shared::cta.b64 _, [m];", waits: "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %done, [m], %parity;", opcode: "SYNCS.ARRIVE", branches: false },
    Publication { name: "cluster",  ptx: "mbarrier.arrive.release.cluster.shared::cta.b64 _, [m];", waits: "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [m], %parity;", opcode: "SYNCS.ARRIVE", branches: false },
    Publication { name: "relaxed",  ptx: "tcgen05.fence::before_thread_sync; mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [m];", waits: "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %done, [m], %parity;", opcode: "SYNCS.ARRIVE", branches: false },
    Publication { name: "remote",   ptx: "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%mapped];", waits: "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %done, [m], %parity;", opcode: "SYNCS.ARRIVE", branches: false },
    Publication { name: "sync",     ptx: "barrier.sync 1, 64;", waits: "barrier.sync 1, 64;", opcode: "BAR.SYNC", branches: false },
    Publication { name: "bar",      ptx: "barrier.arrive 1, 64;", waits: "barrier.sync 1, 64;", opcode: "BAR.ARV", branches: false },
    Publication { name: "all",      ptx: "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;", waits: "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;", opcode: "UCGABAR_ARV", branches: true },
    Publication { name: "dealloc",  ptx: "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;", waits: "", opcode: "UTCATOMSWS", branches: true },
];

/// The positions of `tcgen05.wait::ld`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Nowhere,
    BehindTheFirst,
    BehindAll,
}

/// The form of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Straight,
    /// Everything is in a loop.
    Loop,
    /// The loads are in a loop.
    BehindLoop,
}

struct Case {
    publication: &'static Publication,
    loads: usize,
    waits: Waits,
    /// Whether the registers are stored before the publication.
    used: bool,
    form: Form,
}

fn cases() -> Vec<Case> {
    let waits = [Waits::Nowhere, Waits::BehindTheFirst, Waits::BehindAll];
    let forms = [Form::Straight, Form::Loop, Form::BehindLoop];
    let all = iproduct!(&PUBLICATIONS, [1, 2, 3], waits, [false, true], forms);
    let cases = all.map(|(publication, loads, waits, used, form)| Case { publication, loads, waits, used, form });
    // With one load, nothing follows the first; and memory is freed only once.
    cases
        .filter(|case| case.loads > 1 || case.waits != Waits::BehindTheFirst)
        .filter(|case| case.publication.name != "dealloc" || case.form != Form::Loop)
        .collect()
}

impl Case {
    fn name(&self) -> String {
        let Self { publication, loads, waits, used, form } = self;
        format!("{}: {loads} loads, waits {waits:?}, {form:?}{}", publication.name, if *used { ", used" } else { "" })
    }

    fn kernel(&self, index: usize) -> Result<String, Failed> {
        let Self { publication, loads, waits, used, form } = self;
        let cluster = if matches!(publication.name, "all" | "remote") { " .reqnctapercluster 2" } else { "" };
        let mut ptx = format!(
            ".visible .entry cell_{index}(.param .u64 .ptr .global out, .param .u32 rounds) .reqntid 64{cluster}\n{{\n{BEGINNING}"
        );
        let stores: String =
            (0..*loads).map(|load| format!("st.global.b32 [%out+{}], %r{load};\n", load * 4)).collect();
        let again = |of: &str| format!("add.u32 %round, %round, 1;\nsetp.lt.u32 %p, %round, %rounds;\n@%p bra {of};\n");
        ptx += "READER:\n";
        for load in 0..*loads {
            writeln!(ptx, "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r{load}}}, [%t+{load}];")?;
            if *waits == Waits::BehindAll && load + 1 == *loads || *waits == Waits::BehindTheFirst && load == 0 {
                ptx += "tcgen05.wait::ld.sync.aligned;\n";
            }
        }
        if *form == Form::BehindLoop {
            ptx += &again("READER");
        }
        if *used {
            ptx += &stores;
        }
        ptx += publication.ptx;
        ptx += "\n";
        if !used {
            ptx += &stores;
        }
        if *form == Form::Loop {
            ptx += "WRITES:\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %done, [back], %parity;\n@!%done bra WRITES;\n";
            ptx += "tcgen05.fence::after_thread_sync;\nxor.b32 %parity, %parity, 1;\n";
            ptx += &again("READER");
        }
        ptx += "bra END;\nWRITER:\n";
        if !publication.waits.is_empty() {
            ptx += publication.waits;
            if publication.waits.contains("try_wait") {
                ptx += "\n@!%done bra WRITER;";
            }
            ptx += "\ntcgen05.fence::after_thread_sync;\nsetp.ne.u32 %p, %thread, 32;\n@%p bra WRITTEN;\n";
            ptx += "tcgen05.mma.cta_group::1.kind::f16 [%t], %a, %a, %shape, %true;\n";
            ptx += "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [back];\nWRITTEN:\n";
            if *form == Form::Loop {
                ptx += "xor.b32 %parity, %parity, 1;\n";
                ptx += &again("WRITER");
            }
        }
        Ok(ptx + "END:\nret;\n}\n")
    }

    /// Whether there is a wait for all loads.
    fn is_right(&self) -> bool {
        self.waits == Waits::BehindAll
    }
}

const BEGINNING: &str = "\
.reg .pred %p, %done, %true;
.reg .b32 %thread, %warp, %at, %mapped, %t, %shape, %round, %rounds, %parity, %r<4>;
.reg .b64 %a, %out;
.shared .align 128 .b8 a[4096];
.shared .align 8 .b64 m;
.shared .align 8 .b64 back;
.shared .align 4 .b32 address;
mov.u32 %thread, %tid.x;
shr.u32 %warp, %thread, 5;
setp.ne.u32 %p, %warp, 0;
@%p bra READY;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
setp.ne.u32 %p, %thread, 0;
@%p bra READY;
mbarrier.init.shared::cta.b64 [m], 32;
mbarrier.init.shared::cta.b64 [back], 1;
fence.mbarrier_init.release.cluster;
READY:
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %t, [address];
ld.param.u64 %out, [out];
ld.param.u32 %rounds, [rounds];
mov.u32 %shape, 136314896;
mov.u32 %round, 0;
mov.u32 %parity, 0;
setp.eq.u32 %true, 0, 0;
mov.u32 %at, m;
mapa.shared::cluster.u32 %mapped, %at, 0;
mov.u32 %at, a;
shr.u32 %at, %at, 4;
and.b32 %at, %at, 16383;
cvt.u64.u32 %a, %at;
or.b64 %a, %a, 4611756662317416448;
setp.eq.u32 %p, %warp, 0;
@%p bra READER;
bra WRITER;
";

fn compare(assembler: &Assembler) -> Result<(), Failed> {
    let cases = cases();
    let kernels = cases.iter().enumerate().map(|(index, case)| case.kernel(index)).collect::<Result<Vec<_>, _>>()?;
    let text = format!(".version 8.8\n.target sm_100a\n.address_size 64\n{}", kernels.concat());
    let waits = machine(assembler, &text, &cases)?;
    let module: Module = text.parse().map_err(|error| format!("{error}"))?;
    let read = read(&module);
    if read.len() != cases.len() || waits.len() != cases.len() {
        return Err(format!("{} kernels of {} were read", read.len(), cases.len()).into());
    }
    let (mut fires, mut by_registers, mut by_branches) = (0, 0, 0);
    let mut wrong = Vec::new();
    for ((case, kernel), waits) in cases.iter().zip(&read).zip(waits) {
        let is_r1 = |of: &ptx_hazards::Hazard| of.rule == Some(Rule::R1) && of.claim == Claim::Wrong;
        let found = check(kernel, Readings::DEFAULT).findings.iter().any(is_r1);
        fires += usize::from(found);
        let expected = match (found, waits) {
            // The machine code waits because of the use of the registers, which the manual does not guarantee.
            (true, true) if case.used => {
                by_registers += 1;
                true
            }
            (true, true) if case.publication.branches || case.form == Form::BehindLoop => {
                by_branches += 1;
                true
            }
            (found, waits) => found != waits,
        };
        if !expected || found == case.is_right() {
            wrong.push(format!("{}: R1 fires: {found}, the machine waits: {waits}", case.name()));
        }
    }
    println!(
        "{} kernels: R1 fires in {fires}; in {by_registers} of these the machine waits for registers that are used, in {by_branches} at a branch",
        cases.len()
    );
    if fires == 0 || fires == cases.len() || !wrong.is_empty() {
        return Err(format!("{} wrong of {}\n{}", wrong.len(), cases.len(), wrong.join("\n")).into());
    }
    Ok(())
}

fn nvdisasm() -> PathBuf {
    root().join(".tools").join(NVDISASM).join("nvidia/cu13/bin/nvdisasm")
}

/// An instruction of machine code, with the scoreboards that it sets and waits for.
struct Machine {
    opcode: String,
    sets: u64,
    waits: u64,
}

impl Machine {
    /// Reads an instruction: its text, and the upper half of its 128 bits, which is in a comment in the next line. Bits
    /// 110 to 112 of the instruction are the scoreboard that it sets, and bits 116 to 121 the scoreboards that it waits
    /// for.
    fn read(text: &str, next: &str) -> Option<Self> {
        let (_, text) = text.trim().strip_prefix("/*")?.split_once("*/")?;
        let opcode = text.split([' ', ';']).find(|word| !word.is_empty() && !word.starts_with('@'))?;
        let higher = u64::from_str_radix(next.trim().strip_prefix("/* 0x")?.strip_suffix("*/")?.trim(), 16).ok()?;
        Some(Self { opcode: opcode.to_owned(), sets: higher >> 46 & 7, waits: higher >> 52 & 63 })
    }
}

/// For each kernel, whether all loads are waited for when the thread informs other threads.
fn machine(assembler: &Assembler, ptx: &str, cases: &[Case]) -> Result<Vec<bool>, Failed> {
    let file = tempfile::NamedTempFile::new()?;
    assembler.assemble_to(file.path(), &target("sm_100a", Some("ptx88")), ptx.as_bytes())?;
    let text = success(Command::new(nvdisasm()).args(["-c", "-ndf", "-hex"]).arg(file.path()))?;
    let mut code: Vec<Vec<Machine>> = cases.iter().map(|_| Vec::new()).collect();
    let mut index = None;
    for (line, next) in text.lines().tuple_windows() {
        if let Some(section) = line.trim().strip_prefix(".text.").and_then(|line| line.strip_suffix(':')) {
            index = section.strip_prefix("cell_").and_then(|number| number.parse::<usize>().ok());
        }
        if let Some(code) = index.and_then(|index| code.get_mut(index)) {
            code.extend(Machine::read(line, next));
        }
    }
    let of_case = |(case, code): (&Case, &Vec<Machine>)| {
        waits(code, case.publication.opcode)
            .ok_or_else(|| Failed::from(format!("{}: no load, or no access after it", case.name())))
    };
    cases.iter().zip(&code).map(of_case).collect()
}

/// Whether the code waits for the last load before the publication. Loads complete in their order: the last one sets a
/// scoreboard for all. `None` if the code has no load, or no publication after it.
fn waits(code: &[Machine], opcode: &str) -> Option<bool> {
    let load = code.iter().position(|of| of.opcode.starts_with("LDTM"))?;
    let told = load + code[load..].iter().position(|of| of.opcode.starts_with(opcode))?;
    let last = code[..told].iter().rposition(|of| of.opcode.starts_with("LDTM"))?;
    let scoreboard = code[last].sets;
    Some(code[last + 1..=told].iter().any(|of| of.waits >> scoreboard & 1 != 0))
}
