//! The conditions under which an execution speaks for every schedule, each with kernels that fail it and kernels that do
//! not. Random kernels against random schedules are in `tests/schedules`.

use ptx_execute::{Argument, Contents, Device, ExpectedRaces, Fault, Launch, Report, RunOptions, Schedules};
use ptx_isa::{FullSize, Module};

/// The code before each case: two CTAs with two warps each.
const HEAD: &str = "\
.version 8.8
.target sm_100a
.address_size 64
.visible .entry kernel(.param .u64 .ptr .global .align 16 x, .param .u64 .ptr .global .align 16 out) .reqntid 64
{
.reg .pred %p, %lane, %first;
.reg .b32 %t, %n, %r, %s, %v<4>;
.reg .b64 %x, %out, %own, %d;
.shared .align 16 .b8 tile[1024];
.shared .align 8 .b64 full;
.shared .align 4 .b32 word;
.local .align 4 .b32 depot;
mov.u32 %t, %tid.x;
setp.eq.u32 %lane, %t, 0;
setp.lt.u32 %first, %t, 32;
mov.u32 %n, %ctaid.x;
shl.b32 %n, %n, 6;
add.u32 %n, %n, %t;
ld.param.u64 %x, [x];
ld.param.u64 %out, [out];
mul.wide.u32 %own, %n, 4;
add.u64 %own, %out, %own;
";

/// Checks the first condition that a kernel fails: the name of the condition, or `determinate`.
fn check(expected: &str, body: &str) {
    let report = run(body, &[], ExpectedRaces::Varying);
    assert_eq!(condition(&report), expected, "{body}\n{:#?}\n{:#?}", report.schedules, report.findings);
}

/// Checks the first condition that a kernel with a race fails in a second run: with the values of the race as values that
/// depend on the schedule, and with an order for the race.
fn check_race([varying, ordered]: [&str; 2], body: &str) {
    let first = run(body, &[], ExpectedRaces::Varying);
    assert_eq!(condition(&first), "Race", "{body}");
    for (races, expected) in [(ExpectedRaces::Varying, varying), (ExpectedRaces::Ordered, ordered)] {
        let second = run(body, &first.findings, races);
        assert_eq!(second.findings, first.findings, "{body}");
        assert_eq!(condition(&second), expected, "{races:?}: {body}\n{:#?}", second.schedules);
    }
}

fn run(body: &str, findings: &[Fault], races: ExpectedRaces) -> Report {
    let text = format!("{HEAD}{}\nend: ret;\n}}\n", body.replace("; ", ";\n"));
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    device.expect_races(findings, races);
    let buffers = ["x", "out"].map(|name| device.allocate(name, Contents::Bytes(vec![0; 1024])));
    let size = FullSize { grid: [2, 1, 1], ..[64, 1, 1].into() };
    let launch = Launch::new("kernel", size, buffers.map(|buffer| Argument::Buffer(buffer, 0)).into());
    device.launch(&launch).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn condition(report: &Report) -> String {
    match &report.schedules {
        Schedules::Dependent(failed) => format!("{:?}", failed.condition),
        Schedules::Determinate { lag: None } => "determinate".to_owned(),
        Schedules::Determinate { lag: Some(_) } => "determinate, with a lag".to_owned(),
        Schedules::Unknown => "unknown".to_owned(),
    }
}

/// A number that threads take from a counter, which the other CTA uses, too.
const TICKET: &str = "atom.relaxed.gpu.global.add.u32 %r, [%x], 1;";
/// A number that one thread takes from the counter of its CTA.
const OWN_TICKET: &str = "mov.u32 %s, %ctaid.x; mul.wide.u32 %d, %s, 256; add.u64 %d, %x, %d; mov.u32 %r, 0; \
                          @%lane atom.relaxed.gpu.global.add.u32 %r, [%d], 1;";
/// A branch on a value.
const BRANCH: &str = "setp.gt.u32 %p, %r, 7; @%p bra end; st.global.u32 [%own], %t;";

#[test]
fn races_fail() {
    check("determinate", "st.global.u32 [%own], %t;");
    check("Race", "st.global.u32 [%out], %n;");
    check("determinate", "st.global.u32 [%out], 7;");
    check("Race", "st.shared.u32 [word], %t; bar.sync 0; ld.shared.u32 %r, [word];");
}

/// The values of a known race may steer nothing; then every schedule has the same races.
#[test]
fn known_races_fail_if_their_values_steer() {
    let free = ["determinate"; 2];
    let steered = |condition| [condition, "determinate"];
    check_race(free, "@%lane st.global.u32 [%out], %n;");
    let few = "and.b32 %s, %t, 31; setp.eq.u32 %p, %s, 0;";
    let read = &format!("{few} @%lane st.shared.u32 [word], 7; mov.u32 %r, 0; @%p ld.shared.u32 %r, [word];");
    check_race(free, &format!("{read} st.global.u32 [%own], %r;"));
    check_race(steered("Steered(Race)"), &format!("{read} {BRANCH}"));
    // The values go through memory.
    let through = "shl.b32 %s, %t, 2; mov.u32 %v0, tile; add.u32 %s, %s, %v0; st.shared.u32 [%s], %r; bar.sync 0; \
                   ld.shared.u32 %r, [%s];";
    check_race(free, &format!("{read} {through} st.global.u32 [%own], %r;"));
    check_race(steered("Steered(Memory)"), &format!("{read} {through} {BRANCH}"));
    let write = &format!("{few} @%p st.shared.u32 [word], %t; bar.sync 0; ld.shared.u32 %r, [word];");
    check_race(free, &format!("{write} st.global.u32 [%own], %r;"));
    check_race(steered("Steered(Memory)"), &format!("{write} {BRANCH}"));
    // The model says nothing about accesses that overlap in part.
    check_race(["Race", "determinate"], "@%lane st.shared.u8 [word], 7; ld.shared.u32 %r, [word];");
    // A copy carries the values to other memory.
    let copy = |wait: &str| {
        format!(
            "{few} @%p st.shared.u32 [tile], %t; mov.u32 %s, tile; fence.proxy.async; bar.sync 0; mov.u32 %v0, %ctaid.x; \
             mul.wide.u32 %d, %v0, 256; add.u64 %d, %x, %d; @%lane cp.async.bulk.global.shared::cta.bulk_group [%d], [%s], 16; \
             @%lane cp.async.bulk.commit_group; @%lane cp.async.bulk.wait_group 0; bar.sync 0; ld.global.u32 %r, [%d]; {wait}"
        )
    };
    check_race(free, &copy("st.global.u32 [%own], %r;"));
    check_race(steered("Steered(Memory)"), &copy(BRANCH));
}

/// A branch over instructions on registers alone selects values, which may steer.
#[test]
fn branches_select_values() {
    let select = |body: &str| format!("{TICKET} mov.u32 %s, 0; setp.gt.u32 %p, %r, 7; @%p bra skip; {body} skip:");
    check("determinate", &format!("{} st.global.u32 [%own], %s;", select("add.u32 %s, %t, 5;")));
    check("Steered(Ticket)", &format!("{} mov.u32 %r, %s; {BRANCH}", select("add.u32 %s, %t, 5;")));
    check("Steered(Ticket)", &select("st.global.u32 [%own], %t;"));
    check("Steered(Ticket)", &select("ld.global.u32 %s, [%own];"));
    let other = "add.u32 %s, %t, 5; bra join; skip: add.u32 %s, %t, 6; join: st.global.u32 [%own], %s;";
    check("determinate", &format!("{TICKET} setp.gt.u32 %p, %r, 7; @%p bra skip; {other}"));
    check("Steered(Ticket)", &format!("{TICKET} again: sub.u32 %r, %r, 1; setp.gt.s32 %p, %r, 0; @%p bra again;"));
}

/// A value that a generic store writes is in local memory only if its address may be one of local memory.
#[test]
fn generic_addresses_reach_local_memory_if_they_depend_on_its_addresses() {
    let load = |to: &str, from: &str| {
        format!("cvta.local.u64 %d, depot; {TICKET} st.u32 [{to}], %r; ld.u32 %r, [{from}]; {BRANCH}")
    };
    check("determinate", &load("%own", "%x+768"));
    check("determinate", &load("%d", "%x+768"));
    check("Steered(Ticket)", &load("%d", "%d"));
    // The address is in memory, and may come from there.
    check(
        "Steered(Ticket)",
        &format!("@%lane st.shared.u64 [full], %x; {}", load("%own", "%x+768")).replace("[full], %x", "[full], %d"),
    );
}

#[test]
fn races_of_tensor_memory_fail() {
    let kernel = |wait: &str| {
        format!(
            "@!%first bra end; mov.u32 %s, word; \
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%s], 32; ld.shared.u32 %s, [word]; \
             tcgen05.st.sync.aligned.32x32b.x1.b32 [%s], {{%t}}; {wait} \
             tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r}}, [%s]; tcgen05.wait::ld.sync.aligned; \
             tcgen05.dealloc.cta_group::1.sync.aligned.b32 %s, 32; st.global.u32 [%own], %r;"
        )
    };
    check("determinate", &kernel("tcgen05.wait::st.sync.aligned;"));
    check("Race", &kernel(""));
    check_race(["determinate"; 2], &kernel(""));
    let branch = |store: &str| kernel("").replace("st.global.u32 [%own], %r;", store);
    check_race(["Steered(Race)", "determinate"], &branch(BRANCH));
}

#[test]
fn results_of_contended_accesses_fail_if_they_steer() {
    check("determinate", TICKET);
    check("determinate", &format!("{TICKET} st.global.u32 [%own], %r;"));
    check("Steered(Ticket)", &format!("{TICKET} {BRANCH}"));
    check(
        "Steered(Ticket)",
        &format!("{TICKET} mul.wide.u32 %d, %r, 4; add.u64 %d, %out, %d; st.global.u32 [%d], %t;"),
    );
    check("determinate", &format!("{OWN_TICKET} {BRANCH}"));
    check("Steered(Lock)", "atom.relaxed.gpu.global.cas.b32 %r, [%x], 0, 1; st.global.u32 [%own], %r;");
    // A later access of its thread hides the `cas`, and nothing uses its result.
    check(
        "Steered(Lock)",
        "setp.eq.u32 %p, %n, 0; @%p atom.relaxed.gpu.global.cas.b32 %r, [%x], 0, 1; \
         @%lane red.relaxed.gpu.global.add.u32 [%x], 1;",
    );
    check(
        "Steered(Flag)",
        "@%lane st.release.gpu.global.u32 [%x], 1; again: ld.acquire.gpu.global.u32 %r, [%x]; setp.eq.u32 %p, %r, 0; \
         @%p bra again;",
    );
    check("Steered(Lock)", &format!("atom.acquire.gpu.global.cas.b32 %r, [%x], 0, 1; {BRANCH}"));
    check(
        "Steered(Value)",
        &format!("@%lane st.relaxed.gpu.global.u32 [%x], %t; ld.relaxed.gpu.global.u32 %r, [%x]; {BRANCH}"),
    );
}

#[test]
fn values_are_followed_through_memory() {
    let through =
        |take: &str| format!("{take} @%lane st.shared.u32 [word], %r; bar.sync 0; ld.shared.u32 %r, [word]; {BRANCH}");
    check("determinate", &through(OWN_TICKET));
    check("Steered(Memory)", &through(&format!("mov.u32 %r, 0; @%lane {TICKET}")));
    // The access contends after its result has steered, and a later access of its thread hides it.
    check(
        "Steered(Memory)",
        &format!("{} {OWN_TICKET} @%lane red.relaxed.gpu.global.add.u32 [%x], 1;", through(OWN_TICKET)),
    );
    let matrix = |take: &str, then: &str| {
        format!(
            "{take} @!%first bra end; mov.u32 %s, tile; mad.lo.u32 %s, %t, 16, %s; \
             stmatrix.sync.aligned.m8n8.x1.shared.b16 [%s], {{%r}}; bar.warp.sync -1; \
             ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r}}, [%s]; {then}"
        )
    };
    check("determinate", &matrix(OWN_TICKET, BRANCH));
    check("determinate", &matrix(TICKET, "st.global.u32 [%own], %r;"));
    check("Steered(Memory)", &matrix(TICKET, BRANCH));
}

/// Nothing but a value that a thread read orders the other thread's events before it. The value steers nothing.
#[test]
fn orders_by_values_fail() {
    let acquire = "ld.acquire.gpu.global.u32 %r, [%x];";
    let first = "@%first bra end;";
    check("determinate", &format!("{first} {acquire} st.global.u32 [%own], %r;"));
    check(
        "OrderedByValue",
        &format!("{first} st.release.gpu.global.u32 [%x], %t; {acquire} st.global.u32 [%own], %r;"),
    );
    check("OrderedByValue", &format!("{first} fence.sc.gpu; st.global.u32 [%own], %t;"));
    check("determinate", &format!("{first} fence.acq_rel.gpu; st.global.u32 [%own], %t;"));
    // A barrier orders the events.
    let shared = "st.release.cta.shared.u32 [word], 7; bar.sync 0; ld.acquire.cta.shared.u32 %r, [word];";
    check("determinate", &format!("{shared} st.global.u32 [%own], %r;"));
}

#[test]
fn the_state_of_the_gpu_fails_if_it_steers() {
    check("determinate", "mov.u32 %r, %clock; st.global.u32 [%own], %r;");
    check("Steered(Machine)", &format!("mov.u32 %r, %clock; {BRANCH}"));
    check("Steered(Machine)", &format!("activemask.b32 %r; {BRANCH}"));
}

#[test]
fn waits_observe_one_phase() {
    let kernel = |arrive: &str, wait: &str| {
        format!("@%lane mbarrier.init.shared::cta.b64 [full], 64; bar.sync 0; {arrive} {wait}")
    };
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [full];";
    let wait = "again: mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0; @!%p bra again;";
    check("determinate", &kernel(arrive, wait));
    check(
        "Steered(Answer)",
        &kernel(
            arrive,
            "mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0; @!%p bra end; st.global.u32 [%own], %t;",
        ),
    );
    // If the bytes came before the last arrival, it would be in the next phase.
    let [expect, complete] = ["expect_tx", "complete_tx"]
        .map(|event| format!("@%lane mbarrier.{event}.relaxed.cta.shared::cta.b64 [full], 16;"));
    check("determinate", &kernel(&format!("{expect} {arrive} {complete}"), wait));
    check("EarlyArrival", &kernel(&format!("{expect} {arrive} bar.sync 0; @%lane {arrive} {complete}"), wait));
    // Nothing expects the bytes.
    check("LateExpectation", &kernel(arrive, &format!("{wait} {complete}")));
    check("EarlyArrival", &kernel(&format!("{arrive} {arrive}"), wait));
    check(
        "EarlyArrival",
        &kernel(
            &format!(
                "{arrive} @%lane mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full], 16; @%lane mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [full], 16;"
            ),
            wait,
        ),
    );
}

/// A thread that only waits may be late by a phase, and then never ends.
#[test]
fn a_thread_that_only_waits_lags() {
    let kernel = |then: &str| {
        let wait = |label: &str, parity: u32| {
            format!("{label}: mbarrier.try_wait.parity.shared::cta.b64 %p, [full], {parity}; @!%p bra {label};")
        };
        let arrive = "@%lane mbarrier.arrive.shared::cta.b64 _, [full];";
        format!(
            "@!%first bra end; @%lane mbarrier.init.shared::cta.b64 [full], 1; bar.warp.sync -1; {arrive} {} {then} @!%lane bra end; {arrive} {}",
            wait("first", 0),
            wait("second", 1)
        )
    };
    check("determinate, with a lag", &kernel(""));
    check("Lapped", &kernel("st.global.u32 [%own], %t;"));
}

#[test]
fn generations_of_barriers_have_fixed_participants() {
    check("determinate", "barrier.sync 1, 64;");
    check("Participants", "barrier.sync 1, 32;");
    check("determinate", "@!%first bra end; barrier.sync 1, 32;");
}
