//! Tests that a determinate report is about every schedule. Random small kernels, some with a planted fault, run with
//! many seeds. If the report of one run is determinate, all runs have the same kinds of findings and the same output.
//!
//! `SCHEDULES_FIRST`, `SCHEDULES_COUNT` and `SCHEDULES_RUNS` select the kernels of each part and the runs of a kernel.

mod atomics;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    process::ExitCode,
    sync::Mutex,
};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_execute::{
    AccessType, Argument, Contents, Device, ExpectedRaces, Fault, FaultKind, Launch, Report, RunOptions, Schedules,
};
use ptx_isa::{FullSize, Module};
use testing::random::Random;

use self::atomics::{ATOMICS, RELAXED};

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Planted {
    /// A consumer omits a wait for data.
    NoFullWait,
    /// The producer omits a wait for a free stage.
    NoEmptyWait,
    /// A wait has the other parity.
    Parity,
    /// An mbarrier or a named barrier has another count.
    Count,
    /// An arrival is missing in one iteration.
    Arrival,
    /// The arrivals of a warp are missing.
    WarpArrival,
    /// A warp is not counted, and does not arrive.
    Uncounted,
    /// The bytes of a copy are not expected.
    NoBytes,
    /// The expected bytes are not the bytes of the copy.
    Bytes,
    /// A thread expects bytes that its arrival does not follow.
    LateBytes,
    /// The lanes that wait and the lane that copies do not meet.
    NoWarpSync,
    /// A barrier is missing for all threads.
    NoBarrier,
    /// A barrier is missing for one warp.
    WarpBarrier,
    /// A wait for the cluster is missing.
    NoClusterWait,
    /// A release or an acquire is relaxed.
    Relaxed,
}

use Planted::{
    Arrival, Bytes, Count, LateBytes, NoBarrier, NoBytes, NoClusterWait, NoEmptyWait, NoFullWait, NoWarpSync, Parity,
    Relaxed, Uncounted, WarpArrival, WarpBarrier,
};

/// A kind of kernels.
#[derive(Debug)]
struct Part {
    name: &'static str,
    /// Writes the code of a kernel.
    make: fn(&mut Maker),
    faults: &'static [Planted],
    /// The number of kernels in a quick test and of all tests.
    kernels: [u64; 2],
}

const PARTS: [Part; 6] = [
    Part {
        name: "rings of mbarriers",
        make: make_ring,
        faults: &[
            NoFullWait,
            NoEmptyWait,
            Parity,
            Count,
            Arrival,
            WarpArrival,
            Uncounted,
            NoBytes,
            Bytes,
            LateBytes,
            NoWarpSync,
        ],
        kernels: [66, 800],
    },
    Part {
        name: "named barriers",
        make: make_named,
        faults: &[NoFullWait, NoEmptyWait, Count, Arrival],
        kernels: [8, 250],
    },
    Part { name: "phases of CTAs", make: make_phases, faults: &[NoBarrier, WarpBarrier], kernels: [8, 200] },
    Part {
        name: "clusters",
        make: make_cluster,
        faults: &[NoBarrier, WarpBarrier, NoClusterWait, Relaxed],
        kernels: [8, 200],
    },
    Part { name: "atomics", make: make_atomics, faults: &[Relaxed], kernels: [100, 350] },
    Part { name: "two parts", make: make_two, faults: &[NoEmptyWait, Parity, Arrival, NoBarrier], kernels: [8, 200] },
];

/// A kernel and its launch.
#[derive(Debug)]
struct Kernel {
    part: &'static Part,
    index: u64,
    fault: Option<Planted>,
    /// The choices that differ between kernels of the part.
    shape: String,
    /// Whether the schedule steers it.
    is_steered: bool,
    size: FullSize,
    text: String,
}

/// The code of a kernel while it is written. `%i` is the iteration, `%acc` is written to the output at the end.
struct Maker {
    random: Random,
    fault: Option<Planted>,
    /// The number of labels.
    labels: usize,
    shared: String,
    code: String,
    shape: String,
    is_steered: bool,
    /// Whether a warp may end before the output.
    may_end: bool,
    warps: usize,
    grid: u32,
    cluster: u32,
}

/// A wait for an mbarrier.
#[derive(Clone, Copy)]
struct Wait {
    /// Whether only the first lane waits.
    by_lane: bool,
    peek: Peek,
    /// Whether the loop has two branches.
    has_exit: bool,
}

/// A wait without a loop, whose answer skips a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Peek {
    None,
    /// Directly before the loop.
    Here,
    /// In the iteration before.
    Earlier,
}

impl Maker {
    fn below(&mut self, end: usize) -> usize {
        self.random.below(end)
    }

    /// A number of a range.
    fn within(&mut self, range: std::ops::Range<usize>) -> usize {
        range.start + self.below(range.len())
    }

    fn flip(&mut self) -> bool {
        self.random.chance(2)
    }

    fn has(&self, fault: Planted) -> bool {
        self.fault == Some(fault)
    }

    /// A new number for labels and variables.
    fn number(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn add(&mut self, code: impl AsRef<str>) {
        self.code += code.as_ref();
        self.code.push('\n');
    }

    /// Notes a choice.
    fn note(&mut self, choice: impl std::fmt::Display) {
        write!(self.shape, " {choice}").expect("a text");
    }

    /// The code, except where the condition `when` sets `%skip`.
    fn skip(&mut self, when: &str, code: &str) -> String {
        let n = self.number();
        format!("{when}\n@%skip bra skip{n};\n{code}\nskip{n}:")
    }

    /// The code, except in an iteration if the fault is planted.
    fn omit(&mut self, is: bool, iteration: usize, code: String) -> String {
        if !is {
            return code;
        }
        self.skip(&format!("setp.eq.u32 %skip, %i, {iteration};"), &code)
    }

    /// Repeats code, in a loop or unrolled.
    fn repeat(&mut self, times: usize, mut body: impl FnMut(&mut Self) -> String) -> String {
        if self.flip() {
            return (0..times).fold(String::new(), |all, i| all + &format!("mov.u32 %i, {i};\n{}\n", body(self)));
        }
        let (n, body) = (self.number(), body(self));
        format!("mov.u32 %i, 0;\nloop{n}:\n{body}\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %q, %i, {times};\n@%q bra loop{n};")
    }

    fn pick_wait(&mut self) -> Wait {
        let peek = self.random.pick(&[Peek::None, Peek::None, Peek::Here, Peek::Earlier]);
        Wait { by_lane: self.flip(), peek, has_exit: self.flip() }
    }
}

const TRY: &str = "mbarrier.try_wait.parity.shared::cta.b64";

/// A ring of stages, and the way in which a role uses it.
struct Ring {
    stages: usize,
    times: usize,
    /// The number of the variables.
    n: usize,
}

impl Ring {
    /// Code that finds the stage, the mbarrier and the parity of an iteration.
    fn place(&self, iteration: &str, barriers: &str, parity: u32) -> String {
        let Self { stages, n, .. } = self;
        format!(
            "rem.u32 %stage, {iteration}, {stages};\ndiv.u32 %parity, {iteration}, {stages};\n\
             add.u32 %parity, %parity, {parity};\nand.b32 %parity, %parity, 1;\nshl.b32 %offset, %stage, 3;\n\
             mov.b32 %bar, {barriers}{n};\nadd.u32 %bar, %bar, %offset;"
        )
    }

    /// Code that waits for an mbarrier, with another parity in the iteration `wrong`.
    fn wait(&self, m: &mut Maker, barriers: &str, parity: u32, how: Wait, wrong: Option<usize>) -> String {
        let mut code = self.place("%i", barriers, parity);
        if let Some(wrong) = wrong {
            let flip = "selp.u32 %offset, 1, 0, %q;\nxor.b32 %parity, %parity, %offset;";
            write!(code, "\nsetp.eq.u32 %q, %i, {wrong};\n{flip}").expect("a text");
        }
        let n = m.number();
        if how.by_lane {
            write!(code, "\n@!%lead bra all{n};").expect("a text");
        }
        if how.peek == Peek::Here {
            write!(code, "\n{TRY} %token, [%bar], %parity;").expect("a text");
        }
        if how.peek != Peek::None {
            write!(code, "\n@%token bra over{n};").expect("a text");
        }
        write!(code, "\nagain{n}:\n{TRY} %done, [%bar], %parity;").expect("a text");
        match how.has_exit {
            true => write!(code, "\n@%done bra over{n};\nbra again{n};\nover{n}:"),
            false => write!(code, "\n@!%done bra again{n};\nover{n}:"),
        }
        .expect("a text");
        if how.by_lane {
            write!(code, "\nall{n}:\nbar.warp.sync -1;").expect("a text");
        }
        code
    }

    /// Code that asks for the phase of the next iteration.
    fn peek(&self, m: &mut Maker, barriers: &str, parity: u32, how: Wait) -> String {
        if how.peek != Peek::Earlier {
            return String::new();
        }
        let (n, place) = (m.number(), self.place("%next", barriers, parity));
        let lane = if how.by_lane { format!("@!%lead bra none{n};\n") } else { String::new() };
        format!(
            "add.u32 %next, %i, 1;\nsetp.lt.u32 %token, %next, {};\n@!%token bra none{n};\n{lane}{place}\n\
             {TRY} %token, [%bar], %parity;\nnone{n}:",
            self.times
        )
    }
}

/// One producer warp, one or two consumer warps, and mbarriers of full and of empty stages.
fn make_ring(m: &mut Maker) {
    let stages = 1 + m.below(3);
    let times = m.within(stages + 1..7);
    let ring = Ring { stages, times, n: m.number() };
    let is_bulk = match m.fault {
        Some(NoBytes | Bytes | LateBytes | NoWarpSync) => true,
        _ => m.flip(),
    };
    let consumers = if m.has(WarpArrival) || m.has(Uncounted) { 2 } else { 1 + m.below(2) };
    let counted = if m.has(Uncounted) { 1 } else { consumers };
    let (all_fill, all_free) = (!is_bulk && m.flip(), m.flip());
    // In some kernels without a fault, a warp waits for each phase and does nothing else.
    let watches = m.fault.is_none() && m.may_end && m.random.chance(8);
    // If each iteration has its own data, an early write does not race.
    let slot = if m.has(Uncounted) && m.flip() { "%i" } else { "%stage" };
    let is_elected = is_bulk && !m.has(NoWarpSync) && m.flip();
    m.warps = m.warps.max(1 + consumers + usize::from(watches));
    m.note(format!("{stages}x{times} {consumers} consumers, bulk {is_bulk}, watches {watches}, slot {slot}"));
    let n = ring.n;
    writeln!(
        m.shared,
        ".shared .align 128 .b8 data{n}[1024];\n.shared .align 8 .b64 full{n}[3];\n.shared .align 8 .b64 empty{n}[3];"
    )
    .expect("a text");

    let mut counts = [[if all_fill { 32 } else { 1 }; 3], [counted * if all_free { 32 } else { 1 }; 3]];
    if m.has(Count) {
        let count = &mut counts[m.random.below(2)][m.random.below(stages)];
        *count = if m.random.chance(2) { *count + 1 } else { *count - 1 };
    }
    for stage in 0..stages {
        for (name, counts) in ["full", "empty"].iter().zip(counts) {
            m.add(format!("@%first mbarrier.init.shared::cta.b64 [{name}{n}+{}], {};", stage * 8, counts[stage]));
        }
    }
    m.add("@%first fence.mbarrier_init.release.cluster;\nfence.proxy.async;\nbar.sync 0;");
    m.add(format!("mov.b32 %data, data{n};\nshl.b32 %offset, %lane, 2;\nadd.u32 %data, %data, %offset;"));
    m.add(format!("setp.eq.u32 %q, %warp, 0;\n@%q bra producer{n};"));
    m.add(format!("setp.gt.u32 %q, %warp, {};\n@%q bra end{n};", consumers + usize::from(watches)));
    if watches {
        let how = Wait { peek: Peek::None, ..m.pick_wait() };
        m.add(format!("setp.le.u32 %q, %warp, {consumers};\n@%q bra consumer{n};"));
        let code = m.repeat(times, |m| ring.wait(m, "full", 0, how, None));
        m.add(format!("{code}\nret;\nconsumer{n}:"));
    }
    let by_producer = m.flip();
    add_consumer(m, &ring, slot, all_free, by_producer);
    m.add(format!("bra end{n};\nproducer{n}:"));
    if is_elected {
        m.add(format!("@!%lead bra end{n};"));
    }
    add_producer(m, &ring, slot, (is_bulk, is_elected, all_fill), by_producer);
    m.add(format!("end{n}:"));
}

/// Adds the loop of the consumers. The producer or a consumer has the fault.
fn add_consumer(m: &mut Maker, ring: &Ring, slot: &str, all_free: bool, by_producer: bool) {
    let how = m.pick_wait();
    let at = m.below(ring.times);
    let wrong = (m.has(Parity) && !by_producer).then_some(at);
    let missing = m.below(ring.times - ring.stages);
    m.add("mov.pred %token, 0;");
    let code = m.repeat(ring.times, |m| {
        let wait = ring.wait(m, "full", 0, how, wrong);
        let wait = m.omit(m.has(NoFullWait), at, wait);
        let arrive = match all_free {
            true => "mbarrier.arrive.shared::cta.b64 _, [%bar];",
            false => "bar.warp.sync -1;\n@%lead mbarrier.arrive.shared::cta.b64 _, [%bar];",
        };
        let mut arrive = m.omit(m.has(Arrival) && !by_producer, missing, arrive.to_owned());
        if m.has(WarpArrival) || m.has(Uncounted) {
            arrive = m.skip("setp.eq.u32 %skip, %warp, 2;", &arrive);
        }
        let place = ring.place("%i", "empty", 0);
        let peek = ring.peek(m, "full", 0, how);
        format!(
            "{wait}\n{place}\nmad.lo.u32 %slot, {slot}, 128, %data;\nld.shared.u32 %v, [%slot];\n\
             mad.lo.u32 %acc, %acc, 31, %v;\n{arrive}\n{peek}"
        )
    });
    m.add(code);
}

/// Adds the loop of the producer, with copies in bulk or with stores.
fn add_producer(
    m: &mut Maker,
    ring: &Ring,
    slot: &str,
    (is_bulk, is_elected, all_fill): (bool, bool, bool),
    by_producer: bool,
) {
    let mut how = m.pick_wait();
    how.by_lane &= !is_elected && !m.has(NoWarpSync);
    let meet = if is_elected || m.has(NoWarpSync) { "" } else { "bar.warp.sync -1;" };
    let at = m.within(ring.stages..ring.times);
    let wrong = (m.has(Parity) && by_producer).then_some(at);
    let missing = m.below(ring.times);
    // The first waits end at once, since the phase before the first phase has ended.
    let is_guarded = how.peek != Peek::Earlier && m.flip();
    let bytes = m.random.pick(&[64, 112, 144, 256]);
    let is_late = m.flip();
    m.add("mov.pred %token, 0;");
    let code = m.repeat(ring.times, |m| {
        let mut wait = ring.wait(m, "empty", 1, how, wrong);
        wait = m.omit(m.has(NoEmptyWait), at, wait);
        if is_guarded {
            wait = m.skip(&format!("setp.lt.u32 %skip, %i, {};", ring.stages), &wait);
        }
        let place = ring.place("%i", "full", 0);
        let fill = match is_bulk {
            true => copy(m, missing, bytes, is_late, by_producer),
            false => {
                let arrive = match all_fill {
                    true => "mbarrier.arrive.shared::cta.b64 _, [%bar];",
                    false => "bar.warp.sync -1;\n@%lead mbarrier.arrive.shared::cta.b64 _, [%bar];",
                };
                let arrive = m.omit(m.has(Arrival) && by_producer, missing, arrive.to_owned());
                format!("mad.lo.u32 %v, %i, 100, %lane;\nst.shared.u32 [%slot], %v;\n{arrive}")
            }
        };
        let peek = ring.peek(m, "empty", 1, how);
        format!("{wait}\n{meet}\n{place}\nmad.lo.u32 %slot, {slot}, 128, %data;\n{fill}\n{peek}")
    });
    m.add(code);
}

/// Code that copies to a stage in bulk, with an arrival. The fault is in the iteration `at`.
fn copy(m: &mut Maker, at: usize, bytes: u32, is_late: bool, by_producer: bool) -> String {
    let address = "mul.wide.u32 %x0, %i, 128;\nadd.u64 %x0, %x0, %from;";
    let copy = "@%lead cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%slot], [%x0], 128, [%bar];";
    let expect = "@%lead mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;".to_owned();
    if m.has(LateBytes) {
        let expect = "@%lead mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 128;";
        return format!("{address}\n@%lead mbarrier.arrive.shared::cta.b64 _, [%bar];\n{expect}\n{copy}");
    }
    let other = match m.fault {
        Some(Bytes) => Some(expect.replace("128", &bytes.to_string())),
        Some(NoBytes) => Some("@%lead mbarrier.arrive.shared::cta.b64 _, [%bar];".to_owned()),
        _ => None,
    };
    let mut arrive = m.omit(other.is_some() || m.has(Arrival) && by_producer, at, expect);
    if let Some(other) = other {
        write!(arrive, "\n{}", m.skip(&format!("setp.ne.u32 %skip, %i, {at};"), &other)).expect("a text");
    }
    match is_late {
        true => format!("{address}\n{copy}\n{arrive}"),
        false => format!("{address}\n{arrive}\n{copy}"),
    }
}

/// A producer and consumers, or two warps in turn, with named barriers.
fn make_named(m: &mut Maker) {
    let (times, n) = (2 + m.below(5), m.number());
    writeln!(m.shared, ".shared .align 128 .b8 data{n}[1024];").expect("a text");
    m.add(format!("mov.b32 %data, data{n};\nshl.b32 %offset, %lane, 2;\nadd.u32 %data, %data, %offset;"));
    match m.random.chance(3) && m.fault.is_none_or(|fault| fault != NoFullWait) {
        true => add_turns(m, n, times.max(3)),
        false => add_pairs(m, n, times.max(3)),
    }
    m.add(format!("end{n}:"));
}

/// Adds code in which two warps tell each other that data are ready, or that all uses of the data have ended.
fn add_pairs(m: &mut Maker, n: usize, times: usize) {
    let (slots, consumers) = (1 + m.below(2), 1 + m.below(2));
    m.warps = m.warps.max(1 + consumers);
    let all = 32 * (1 + consumers);
    let by_producer = m.flip();
    let other = if m.has(Count) { m.random.pick(&[all - 32, all + 32]) } else { all };
    // A wrong count is in one of the four instructions.
    let wrong = m.below(4);
    let count = |index: usize| if index == wrong { other } else { all };
    let (late, early) = (m.within(slots..times), m.below(times - slots));
    let starts = m.flip();
    m.note(format!("pairs {slots}x{times} {consumers} consumers"));
    let ids = format!(
        "rem.u32 %stage, %i, {slots};\nadd.u32 %full, %stage, 1;\nadd.u32 %empty, %stage, 3;\n\
                       mad.lo.u32 %slot, %stage, 128, %data;"
    );
    let last = format!("setp.ge.u32 %skip, %i, {};", times - slots);
    m.add(format!(
        "setp.eq.u32 %q, %warp, 0;\n@%q bra producer{n};\nsetp.gt.u32 %q, %warp, {consumers};\n@%q bra end{n};"
    ));
    if starts {
        (0..slots).for_each(|slot| m.add(format!("bar.arrive {}, {all};", 3 + slot)));
    }
    let consume = m.repeat(times, |m| {
        let wait = m.omit(m.has(NoFullWait), early, format!("bar.sync %full, {};", count(0)));
        let arrive = m.omit(m.has(Arrival) && !by_producer, early, format!("bar.arrive %empty, {};", count(1)));
        let arrive = m.skip(&last, &arrive);
        format!("{ids}\n{wait}\nld.shared.u32 %v, [%slot];\nmad.lo.u32 %acc, %acc, 31, %v;\n{arrive}")
    });
    m.add(format!("{consume}\nbra end{n};\nproducer{n}:"));
    let produce = m.repeat(times, |m| {
        let mut wait = m.omit(m.has(NoEmptyWait), late, format!("bar.sync %empty, {};", count(2)));
        if !starts {
            wait = m.skip(&format!("setp.lt.u32 %skip, %i, {slots};"), &wait);
        }
        let arrive = m.omit(m.has(Arrival) && by_producer, early, format!("bar.arrive %full, {};", count(3)));
        format!("{ids}\n{wait}\nmad.lo.u32 %v, %i, 100, %lane;\nst.shared.u32 [%slot], %v;\n{arrive}")
    });
    m.add(produce);
}

/// Adds code in which two warps change the same data in turn.
fn add_turns(m: &mut Maker, n: usize, times: usize) {
    m.warps = m.warps.max(2);
    m.note(format!("turns x{times}"));
    let (at, faulty) = (m.below(times - 1), m.below(2));
    let wrong = if m.has(Count) { m.random.pick(&[32, 96]) } else { 64 };
    m.add(format!("setp.eq.u32 %q, %warp, 0;\n@%q bra producer{n};\nsetp.gt.u32 %q, %warp, 1;\n@%q bra end{n};"));
    m.add("st.shared.u32 [%data], %lane;\nbar.arrive 1, 64;");
    for warp in [1, 0] {
        let is = |m: &Maker, fault| m.has(fault) && faulty == warp;
        let code = m.repeat(times, |m| {
            let (own, next) = (2 - (1 - warp), 2 - warp);
            let wait = format!("bar.sync {own}, {};", if faulty == warp { wrong } else { 64 });
            let wait = m.omit(is(m, NoEmptyWait), at, wait);
            let arrive = m.omit(is(m, Arrival), at, format!("bar.arrive {next}, 64;"));
            let arrive = match warp {
                1 => m.skip(&format!("setp.ge.u32 %skip, %i, {};", times - 1), &arrive),
                _ => arrive,
            };
            format!(
                "{wait}\nld.shared.u32 %v, [%slot];\nmad.lo.u32 %v, %v, 3, %warp;\nst.shared.u32 [%slot], %v;\n\
                 mad.lo.u32 %acc, %acc, 31, %v;\n{arrive}"
            )
            .replace("%slot", "%data")
        });
        m.add(code);
        if warp == 1 {
            m.add(format!("bra end{n};\nproducer{n}:"));
        }
    }
}

/// Phases of shared memory between barriers of the CTA.
fn make_phases(m: &mut Maker) {
    let (times, n) = (2 + m.below(5), m.number());
    m.warps = m.warps.max(if m.has(WarpBarrier) { 2 } else { 1 + m.below(4) });
    m.grid = m.grid.max(1 + m.below(3) as u32);
    let threads = 32 * m.warps;
    let (shift, buffers) = (1 + m.below(threads - 1), 1 + m.below(2));
    m.note(format!("x{times}, {buffers} buffers"));
    writeln!(m.shared, ".shared .align 128 .b8 data{n}[1024];").expect("a text");
    m.add(format!(
        "mov.b32 %data, data{n};\nadd.u32 %v, %tid, {shift};\nrem.u32 %v, %v, {threads};\nshl.b32 %v, %v, 2;\n\
         add.u32 %other, %data, %v;\nshl.b32 %v, %tid, 2;\nadd.u32 %data, %data, %v;"
    ));
    let (at, warp) = (m.below(times - 1), m.below(m.warps));
    let second = buffers == 1 && m.flip();
    let code = m.repeat(times, |m| {
        let sync = |m: &mut Maker, is_second: bool| {
            let code = m.omit(m.has(NoBarrier) && is_second == second, at, "bar.sync 0;".to_owned());
            match m.has(WarpBarrier) && is_second == second {
                true => {
                    let equal = format!("setp.eq.u32 %skip, %warp, {warp};\nsetp.eq.and.u32 %skip, %i, {at}, %skip;");
                    m.skip(&equal, &code)
                }
                false => code,
            }
        };
        let first = sync(m, false);
        let last = if buffers == 1 { sync(m, true) } else { String::new() };
        format!(
            "rem.u32 %stage, %i, {buffers};\nmad.lo.u32 %slot, %stage, 512, %data;\nmad.lo.u32 %v, %acc, 3, %tid;\n\
             st.shared.u32 [%slot], %v;\n{first}\nmad.lo.u32 %slot, %stage, 512, %other;\nld.shared.u32 %v, [%slot];\n\
             mad.lo.u32 %acc, %acc, 31, %v;\n{last}"
        )
    });
    m.add(code);
}

/// Exchanges between the two CTAs of a cluster.
fn make_cluster(m: &mut Maker) {
    let (times, n) = (2 + m.below(4), m.number());
    m.warps = m.warps.max(if m.has(WarpBarrier) { 2 } else { 1 + m.below(3) });
    (m.grid, m.cluster) = (2 + 2 * m.below(2) as u32, 2);
    let (buffers, pulls) = (1 + m.below(2), m.flip());
    m.note(format!("x{times}, {buffers} buffers, pulls {pulls}"));
    writeln!(m.shared, ".shared .align 128 .b8 data{n}[1024];").expect("a text");
    m.add(format!(
        "mov.b32 %data, data{n};\nshl.b32 %v, %tid, 2;\nadd.u32 %data, %data, %v;\nmov.u32 %peer, %cluster_ctarank;\n\
         xor.b32 %peer, %peer, 1;\nmapa.shared::cluster.u32 %other, %data, %peer;"
    ));
    let arrive = match m.random.below(3) {
        0 if !m.has(Relaxed) => "fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;",
        1 => "barrier.cluster.arrive.release;",
        _ => "barrier.cluster.arrive;",
    };
    let wait = m.random.pick(&["barrier.cluster.wait;", "barrier.cluster.wait.acquire;"]);
    m.add(format!("{arrive}\n{wait}"));
    let (at, warp) = (m.below(times - 1), m.below(m.warps));
    let second = buffers == 1 && m.flip();
    let (to, from) = if pulls { ("%data", "%other") } else { ("%other", "%data") };
    let (store, load) = match pulls {
        true => ("st.shared.u32", "ld.shared::cluster.u32"),
        false => ("st.shared::cluster.u32", "ld.shared.u32"),
    };
    let code = m.repeat(times, |m| {
        let sync = |m: &mut Maker, is_second: bool| {
            let is = is_second == second;
            let arrive = if m.has(Relaxed) && !is_second { "barrier.cluster.arrive.relaxed;" } else { arrive };
            let wait = m.omit(m.has(NoClusterWait) && is, at, wait.to_owned());
            let code = format!("{arrive}\nadd.u32 %acc, %acc, 1;\n{wait}");
            let code = m.omit(m.has(NoBarrier) && is, at, code);
            match m.has(WarpBarrier) && is {
                true => {
                    let equal = format!("setp.eq.u32 %skip, %warp, {warp};\nsetp.eq.and.u32 %skip, %i, {at}, %skip;");
                    m.skip(&equal, &code)
                }
                false => code,
            }
        };
        let first = sync(m, false);
        let last = if buffers == 1 { sync(m, true) } else { String::new() };
        format!(
            "rem.u32 %stage, %i, {buffers};\nmad.lo.u32 %slot, %stage, 512, {to};\nmad.lo.u32 %v, %acc, 3, %tid;\n\
             mad.lo.u32 %v, %peer, 1000, %v;\n{store} [%slot], %v;\n{first}\nmad.lo.u32 %slot, %stage, 512, {from};\n\
             {load} %v, [%slot];\nmad.lo.u32 %acc, %acc, 31, %v;\n{last}"
        )
    });
    m.add(code);
    m.add("barrier.cluster.arrive;\nbarrier.cluster.wait;");
}

fn make_atomics(m: &mut Maker) {
    let may_relax = |code: &str| RELAXED.iter().any(|(strong, _)| code.contains(strong));
    let may_be = m.has(Relaxed);
    add_atomics(m, |(_, _, code)| !may_be || may_relax(code));
}

/// Adds a random one of the uses that fit.
fn add_atomics(m: &mut Maker, fits: impl Fn(&(&str, bool, &str)) -> bool) {
    let kinds: Vec<_> = ATOMICS.into_iter().filter(fits).collect();
    let (name, is_steered, code) = m.random.pick(&kinds);
    let n = m.number();
    // A lock and the last CTA need two threads.
    m.warps = m.warps.max(if name == "lock" { 2 } else { 1 } + m.below(3));
    m.grid = m.grid.max(if name == "last CTA" { 2 } else { 1 } + m.below(2) as u32);
    m.is_steered |= is_steered;
    m.note(name);
    writeln!(m.shared, ".shared .align 8 .b32 cells{n}[128];").expect("a text");
    let mut code = code.replace('#', &n.to_string()).replace("CTAS", &(m.grid - 1).to_string());
    // Only one CTA uses a flag.
    if name == "flag" {
        code = m.skip("setp.ne.u32 %skip, %cta, 0;", &code);
    }
    if m.has(Relaxed) {
        let fitting: Vec<_> = RELAXED.iter().filter(|(strong, _)| code.contains(strong)).collect();
        let (strong, relaxed) = fitting[m.random.below(fitting.len())];
        code = code.replace(strong, relaxed);
    }
    m.add(code);
}

/// Two of the other parts, one after the other. The first one has the fault.
fn make_two(m: &mut Maker) {
    let first = match m.fault {
        Some(NoEmptyWait | Arrival) => m.random.pick(&[0, 1]),
        Some(Parity) => 0,
        Some(NoBarrier) => 2,
        _ => m.below(4),
    };
    (m.warps, m.may_end) = (4, false);
    for index in [first, m.below(4)] {
        match index {
            3 => add_atomics(m, |(_, is_steered, _)| !is_steered),
            index => (PARTS[index].make)(m),
        }
        m.add("bar.warp.sync -1;\nbar.sync 0;");
        m.fault = None;
    }
}

const HEAD: &str = "\
.reg .pred %first, %lead, %q, %skip, %done, %token;
.reg .b32 %tid, %lane, %warp, %cta, %size, %i, %next, %stage, %parity;
.reg .b32 %offset, %bar, %data, %slot, %other, %peer, %v, %acc, %full, %empty;
.reg .b64 %x0, %out, %noise, %all, %from, %words;
ld.param.u64 %out, [out];
ld.param.u64 %all, [noise];
ld.param.u64 %from, [from];
ld.param.u64 %words, [words];
mov.u32 %tid, %tid.x;
mov.u32 %cta, %ctaid.x;
mov.u32 %size, %ntid.x;
mad.lo.u32 %v, %cta, %size, %tid;
mul.wide.u32 %x0, %v, 4;
add.u64 %out, %out, %x0;
add.u64 %noise, %all, %x0;
and.b32 %lane, %tid, 31;
shr.u32 %warp, %tid, 5;
setp.eq.u32 %first, %tid, 0;
setp.eq.u32 %lead, %lane, 0;
mov.u32 %acc, 0;
mov.u32 %i, 0;
";

impl Kernel {
    /// Makes a kernel of a part. Each second kernel has a fault, and the faults take turns.
    fn new(number: usize, index: u64) -> Self {
        let part: &'static Part = &PARTS[number];
        let fault = (index % 2 == 1).then(|| part.faults[(index / 2) as usize % part.faults.len()]);
        let mut m = Maker {
            random: Random((number as u64) << 32 | index),
            fault,
            labels: 0,
            shared: String::new(),
            code: String::new(),
            shape: String::new(),
            is_steered: false,
            may_end: true,
            warps: 1,
            grid: 1,
            cluster: 1,
        };
        (part.make)(&mut m);
        let parameters =
            ["out", "noise", "from", "words"].map(|name| format!(".param .u64 .ptr .global .align 16 {name}"));
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel({})\n{{\n{}{HEAD}{}\
             st.global.u32 [%out], %acc;\nret;\n}}\n",
            parameters.join(", "),
            m.shared,
            m.code
        );
        let size = FullSize { grid: [m.grid, 1, 1], cluster: [m.cluster, 1, 1], ..[32 * m.warps as u32, 1, 1].into() };
        Self { part, index, fault, shape: m.shape, is_steered: m.is_steered, size, text }
    }

    /// Runs the kernel. `races` are the findings of an earlier run.
    fn run(&self, module: &Module, seed: u64, races: &[Fault]) -> Result<Outcome, String> {
        let options = RunOptions { step_limit: 1 << 14, ..RunOptions::default().of_seed(seed) };
        let mut device = Device::new(module, options).map_err(|errors| format!("{errors:?}"))?;
        device.expect_races(races, ExpectedRaces::Varying);
        let bytes = 4 * (self.size.grid[0] * self.size.block[0]) as usize;
        let inputs: Vec<u8> = (0..192u32).flat_map(|index| (index * index + 7).to_le_bytes()).collect();
        let out = device.allocate("out", Contents::Bytes(vec![0; bytes]));
        let others = [("noise", vec![0; bytes]), ("from", inputs), ("words", vec![0; 64])];
        let others = others.map(|(name, bytes)| device.allocate(name, Contents::Bytes(bytes)));
        let arguments = [out].into_iter().chain(others).map(|buffer| Argument::Buffer(buffer, 0)).collect();
        let report =
            device.launch(&Launch::new("kernel", self.size, arguments)).map_err(|errors| format!("{errors:?}"))?;
        let found = report.findings.iter().filter(|fault| !is_tolerated(fault));
        let messages = found.map(|fault| (fault.kind, format!("{} ({})", fault.message, fault.site))).collect();
        let Report { schedules, findings, .. } = report;
        Ok(Outcome { messages, out: device.contents(out).to_vec(), schedules, findings })
    }
}

/// Whether a read before an asynchronous write only lacks a proxy fence.
fn is_tolerated(fault: &Fault) -> bool {
    let is = |race: ptx_execute::Race| race.accesses == [AccessType::Read, AccessType::AsynchronousWrite];
    fault.lacks_fence() && fault.race().is_some_and(is)
}

/// The result of a run.
struct Outcome {
    /// A message for each kind of findings.
    messages: BTreeMap<FaultKind, String>,
    out: Vec<u8>,
    schedules: Schedules,
    findings: Vec<Fault>,
}

impl Outcome {
    fn kinds(&self) -> BTreeSet<FaultKind> {
        self.messages.keys().copied().collect()
    }

    fn hangs(&self) -> bool {
        self.messages.contains_key(&FaultKind::Hang)
    }

    fn has_lag(&self) -> bool {
        matches!(self.schedules, Schedules::Determinate { lag: Some(_) })
    }

    /// The condition that fails, or `determinate`.
    fn condition(&self) -> String {
        match &self.schedules {
            Schedules::Dependent(failed) => format!("{:?}", failed.condition),
            Schedules::Determinate { lag: None } => "determinate".to_owned(),
            Schedules::Determinate { lag: Some(_) } => "with a lag".to_owned(),
            Schedules::Unknown => "unknown".to_owned(),
        }
    }
}

/// The results of the kernels with the same fault.
#[derive(Clone, Debug, Default)]
struct Counts {
    kernels: usize,
    /// Kernels whose first run is determinate, and the part of them without findings.
    determinate: usize,
    clean: usize,
    /// Kernels whose run with known races is determinate.
    racing: usize,
    /// Kernels that hang in the first run, and in some run.
    hung: usize,
    hangs: usize,
    /// Kernels with a condition that fails only in some runs.
    split: usize,
    conditions: BTreeMap<String, usize>,
}

/// Checks that the runs of a kernel agree with each determinate report.
fn check(kernel: &Kernel, runs: u64, counts: &mut Counts) -> Result<(), String> {
    let module: Module = kernel.text.parse().map_err(|error| format!("{error}"))?;
    let all: Vec<Outcome> = (0..runs).map(|seed| kernel.run(&module, seed, &[])).collect::<Result<_, _>>()?;
    let is_determinate = |outcome: &Outcome| outcome.schedules.is_determinate();
    let first = &all[0];
    counts.kernels += 1;
    counts.determinate += usize::from(is_determinate(first));
    counts.clean += usize::from(is_determinate(first) && first.messages.is_empty());
    counts.hung += usize::from(first.hangs());
    counts.hangs += usize::from(all.iter().any(Outcome::hangs));
    counts.split += usize::from(all.iter().any(|other| is_determinate(other) != is_determinate(first)));
    *counts.conditions.entry(first.condition()).or_default() += 1;

    if kernel.fault.is_none() {
        for (seed, outcome) in all.iter().enumerate() {
            let messages: Vec<_> =
                outcome.messages.iter().filter(|(kind, _)| !may_find(kernel, **kind, &all)).collect();
            if !messages.is_empty() {
                return Err(format!("a kernel without faults has findings with seed {seed}: {messages:?}"));
            }
        }
    }
    let Some((by, claim)) = all.iter().enumerate().find(|(_, outcome)| is_determinate(outcome)) else {
        return check_races(kernel, &module, &all, counts);
    };
    if kernel.is_steered {
        return Err(format!("the schedule steers the kernel, and the report of seed {by} is determinate"));
    }
    let has_lag = all.iter().any(Outcome::has_lag);
    for (seed, other) in all.iter().enumerate() {
        // A thread that only waits may hang if it is late. A run whose threads wait in loops may reach the limit.
        let is_cut = (claim.hangs() || has_lag) && other.messages.contains_key(&FaultKind::StepLimit);
        if is_cut || has_lag && other.hangs() != claim.hangs() {
            continue;
        }
        if other.kinds() != claim.kinds() {
            let (one, two) = (&claim.messages, &other.messages);
            return Err(format!("seed {by} is determinate and has {one:?}; seed {seed} has {two:?}"));
        }
        if other.out != claim.out {
            return Err(format!("seed {by} is determinate, and the output of seed {seed} differs"));
        }
    }
    Ok(())
}

/// Checks that all runs have the kinds of findings of the first run, if the values of its races steer nothing.
fn check_races(kernel: &Kernel, module: &Module, all: &[Outcome], counts: &mut Counts) -> Result<(), String> {
    if all[0].condition() != "Race" {
        return Ok(());
    }
    let claim = kernel.run(module, 0, &all[0].findings)?;
    if !claim.schedules.is_determinate() {
        return Ok(());
    }
    counts.racing += 1;
    if kernel.is_steered {
        return Err("the schedule steers the kernel, and a run with known races is determinate".into());
    }
    // The values of a race decide whether two writes write the same value, and whether a read comes before any write.
    let is_of_race =
        |kind: &FaultKind| matches!(kind, FaultKind::Race | FaultKind::SameValue | FaultKind::Uninitialized);
    let kinds = |outcome: &Outcome| {
        let (races, mut kinds): (BTreeSet<_>, BTreeSet<_>) = outcome.kinds().into_iter().partition(is_of_race);
        kinds.extend(races.first().map(|_| FaultKind::Race));
        kinds
    };
    // A run whose threads wait in loops may reach the limit.
    let is_cut = |other: &Outcome| claim.hangs() && other.messages.contains_key(&FaultKind::StepLimit);
    let mut others = all.iter().enumerate().filter(|(_, other)| !claim.has_lag() && !is_cut(other));
    let wrong = others.find(|(_, other)| kinds(other) != kinds(&claim));
    wrong.map_or(Ok(()), |(seed, other)| {
        let (one, two) = (&claim.messages, &other.messages);
        Err(format!("with known races, the run is determinate and has {one:?}; seed {seed} has {two:?}"))
    })
}

/// Whether a run of a correct kernel may have a finding: threads may wait too long for a lock, and a warp that only
/// waits may be late, so that it hangs, or polls up to the limit.
fn may_find(kernel: &Kernel, kind: FaultKind, all: &[Outcome]) -> bool {
    let is_late = matches!(kind, FaultKind::Hang | FaultKind::StepLimit) && all.iter().any(Outcome::has_lag);
    kind == FaultKind::StepLimit && kernel.is_steered || is_late
}

/// The counts of all kernels, by part and fault.
static TABLE: Mutex<BTreeMap<(usize, Option<Planted>), Counts>> = Mutex::new(BTreeMap::new());

/// Checks the kernels of a part.
fn check_part(number: usize, kernels: std::ops::Range<u64>, runs: u64) -> Result<(), Failed> {
    let mut all: BTreeMap<Option<Planted>, Counts> = BTreeMap::new();
    let mut wrong: Vec<(String, String)> = Vec::new();
    for index in kernels {
        let kernel = Kernel::new(number, index);
        if let Err(reason) = check(&kernel, runs, all.entry(kernel.fault).or_default()) {
            let Kernel { part, index, fault, shape, size, text, .. } = &kernel;
            let (grid, block) = (size.grid[0], size.block[0]);
            let head =
                format!("{} {index}, fault {fault:?},{shape}, {grid} CTAs of {block} threads: {reason}", part.name);
            wrong.push((head, text.clone()));
        }
    }
    TABLE.lock().expect("a table").extend(all.iter().map(|(fault, counts)| ((number, *fault), counts.clone())));
    wrong.extend(find_vacuous(&PARTS[number], &all).into_iter().map(|head| (head, String::new())));
    wrong.sort_by_key(|(_, text)| text.len());
    if wrong.is_empty() {
        return Ok(());
    }
    // Each error is named, and the shortest kernels are printed.
    let heads = wrong.iter().map(|(head, _)| head.as_str()).take(40);
    let texts = wrong.iter().filter(|(_, text)| !text.is_empty()).take(2).map(|(head, text)| format!("{head}\n{text}"));
    Err(format!("{} errors:\n{}\n{}", wrong.len(), heads.collect::<Vec<_>>().join("\n"), texts.collect::<String>())
        .into())
}

/// The ways in which a part tests nothing.
fn find_vacuous(part: &Part, all: &BTreeMap<Option<Planted>, Counts>) -> Vec<String> {
    let mut found = Vec::new();
    for (fault, of) in all {
        let is_known = fault.is_none() && part.name != "atomics";
        if is_known && of.determinate * 100 < of.kernels * 80 {
            found.push(format!("only {} of {} kernels without faults are determinate", of.determinate, of.kernels));
        }
        if fault.is_some() && of.clean == of.kernels {
            found.push(format!("no kernel shows the fault {fault:?}"));
        }
    }
    found
}

fn print_table() {
    let table = TABLE.lock().expect("a table");
    let names = ["kernels", "determinate", "clean", "known races", "hang first", "hang", "split"];
    println!("{:20}{:15}{}", "part", "fault", names.map(|name| format!("{name:>12}")).concat());
    for ((number, fault), of) in &*table {
        let numbers = [of.kernels, of.determinate, of.clean, of.racing, of.hung, of.hangs, of.split];
        let fault = fault.map_or_else(|| "none".to_owned(), |fault| format!("{fault:?}"));
        let numbers = numbers.map(|number| format!("{number:>12}")).concat();
        let conditions: Vec<String> = of.conditions.iter().map(|(name, count)| format!("{count} {name}")).collect();
        println!("{:20}{fault:15}{numbers}  {}", PARTS[*number].name, conditions.join(", "));
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let runs = number("SCHEDULES_RUNS").unwrap_or(if testing::all() { 200 } else { 12 });
    let trials = PARTS.iter().enumerate().map(|(index, part)| {
        let first = number("SCHEDULES_FIRST").unwrap_or(0);
        let count = number("SCHEDULES_COUNT").unwrap_or(part.kernels[usize::from(testing::all())]);
        Trial::test(part.name, move || check_part(index, first..first + count, runs))
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    print_table();
    conclusion.exit_code()
}
