//! The conditions under which an execution speaks for every schedule, each with kernels that fail it and kernels that do
//! not. Random kernels against random schedules are in `tests/schedules`.

use ptx_execute::{Argument, Contents, Device, Launch, RunOptions, Schedules};
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
    let text = format!("{HEAD}{}\nend: ret;\n}}\n", body.replace("; ", ";\n"));
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    let buffers = ["x", "out"].map(|name| device.allocate(name, Contents::Bytes(vec![0; 1024])));
    let size = FullSize { grid: [2, 1, 1], ..[64, 1, 1].into() };
    let launch = Launch::new("kernel", size, buffers.map(|buffer| Argument::Buffer(buffer, 0)).into());
    let report = device.launch(&launch).unwrap_or_else(|errors| panic!("{errors:?}"));
    let found = match &report.schedules {
        Schedules::Dependent(failed) => format!("{:?}", failed.condition),
        Schedules::Determinate { .. } => "determinate".to_owned(),
        Schedules::Unknown => "unknown".to_owned(),
    };
    assert_eq!(found, expected, "{body}\n{:#?}\n{:#?}", report.schedules, report.findings);
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

#[test]
fn generations_of_barriers_have_fixed_participants() {
    check("determinate", "barrier.sync 1, 64;");
    check("Participants", "barrier.sync 1, 32;");
    check("determinate", "@!%first bra end; barrier.sync 1, 32;");
}
