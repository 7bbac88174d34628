//! Launches that may start before the preceding launches have ended: their findings, and the values that they read.

use std::collections::BTreeSet;

use ptx_execute::{Argument, Buffer, Contents, Device, Fault, Launch, RunOptions};
use ptx_isa::{Dim3, FullSize, Module};

/// Threads of a CTA. Thread 0 has the predicate `%first`.
const THREADS: u32 = 64;

/// A launch: whether it is dependent, the number of its CTAs and of the CTAs of each cluster, and its code, which uses
/// the address `%p`.
#[derive(Clone, Copy)]
struct Of(bool, [u32; 2], &'static str);

fn first(body: &'static str) -> Of {
    Of(false, [1, 1], body)
}

fn dependent(body: &'static str) -> Of {
    Of(true, [1, 1], body)
}

fn module(launches: &[Of]) -> Module {
    let kernel = |(index, Of(.., body)): (usize, &Of)| {
        format!(
            ".visible .entry grid{index}(.param .u64 .ptr .global .align 16 p)\n{{\n.reg .pred %first, %q;\n.reg .b32 %t, %r, %c;\n\
             .reg .b64 %p;\nld.param.u64 %p, [p];\nmov.u32 %t, %tid.x;\nmov.u32 %c, %ctaid.x;\nsetp.eq.u32 %first, %t, 0;\n\
             {body}\nret;\n}}\n"
        )
    };
    let kernels: String = launches.iter().enumerate().map(kernel).collect();
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{kernels}")
        .parse()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs launches one after the other, with the host's actions in between. Returns the findings, and the words of the
/// buffer.
fn run(launches: &[Of], options: RunOptions, between: impl Fn(&mut Device<'_>, Buffer)) -> (Vec<Fault>, [u32; 4]) {
    let module = module(launches);
    let mut device = Device::new(&module, options).expect("a device");
    let buffer = device.allocate("p", Contents::Bytes(vec![0; 64]));
    let mut found = Vec::new();
    for (index, Of(dependent, [grid, cluster], _)) in launches.iter().enumerate() {
        let (grid, cluster): (Dim3, Dim3) = ([*grid, 1, 1], [*cluster, 1, 1]);
        let size = FullSize { grid, cluster, ..[THREADS, 1, 1].into() };
        let launch = Launch::new(format!("grid{index}"), size, vec![Argument::Buffer(buffer, 0)]);
        let launch = Launch { dependent: *dependent, ..launch };
        let report = device.launch(&launch).unwrap_or_else(|errors| panic!("{errors:?}"));
        found.extend(report.findings);
        between(&mut device, buffer);
    }
    let word =
        |index: usize| device.contents(buffer)[index * 4..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    (found, [0, 1, 2, 3].map(word))
}

fn check(what: &str, launches: &[Of], expected: &[&str]) {
    let all = (0..10).flat_map(|seed| run(launches, RunOptions::default().of_seed(seed), |_, _| ()).0);
    let found: BTreeSet<String> = all.map(|finding| finding.message).collect();
    assert_eq!(found, expected.iter().map(|text| (*text).to_owned()).collect(), "{what}");
}

const WRITE: &str = "@%first st.global.u32 [%p], 1;";
const READ: &str = "@%first ld.global.u32 %r, [%p];";
const WAIT_READ: &str = "griddepcontrol.wait;\n@%first ld.global.u32 %r, [%p];";
const RELEASE: &str = "@%first st.global.u32 [%p], 1;\n@%first st.release.gpu.global.u32 [%p+16], 1;";
const ACQUIRE: &str = "\
@!%first bra end;
again: ld.acquire.gpu.global.u32 %r, [%p+16];
setp.eq.u32 %q, %r, 0;
@%q bra again;
ld.global.u32 %r, [%p];
end:";

const WAIT_TRIGGER: &str = "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;";
const TRIGGER_WAIT: &str = "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;";
const ONE_WAITS: &str = "@%first griddepcontrol.wait;\ngriddepcontrol.launch_dependents;";
const ONE_CTA_WAITS: &str = "\
setp.ne.u32 %q, %c, 1;
@%q bra past;
griddepcontrol.wait;
past: griddepcontrol.launch_dependents;";

const WRITE_READ: &str = "a write by the earlier grid of 'grid0' and a read of `p` have no order";
const READ_WRITE: &str = "a read by the earlier grid of 'grid0' and a write of `p` have no order";
const WRITE_WRITE: &str = "a write by the earlier grid of 'grid0' and a write of `p` have no order";
const SAME: &str = "a write by the earlier grid of 'grid0' and a write of the same value to `p` have no order";

#[test]
fn two_grids() {
    let table: &[(&str, &str, Of, &[&str])] = &[
        ("not dependent", WRITE, first(READ), &[]),
        ("no wait", WRITE, dependent(READ), &[WRITE_READ]),
        ("a wait", WRITE, dependent(WAIT_READ), &[]),
        (
            "a wait after the read",
            WRITE,
            dependent("@%first ld.global.u32 %r, [%p];\ngriddepcontrol.wait;"),
            &[WRITE_READ],
        ),
        ("an earlier read", READ, dependent("@%first st.global.u32 [%p], 2;"), &[READ_WRITE]),
        ("two writes", WRITE, dependent("@%first st.global.u32 [%p], 2;"), &[WRITE_WRITE]),
        ("two equal writes", WRITE, dependent("@%first st.global.u32 [%p], 1;"), &[SAME]),
        ("two reads", READ, dependent(READ), &[]),
        (
            "strong",
            "red.relaxed.gpu.global.add.u32 [%p], 1;",
            dependent("red.relaxed.gpu.global.add.u32 [%p], 1;"),
            &[],
        ),
        (
            "the scope of a CTA",
            "@%first red.relaxed.cta.global.add.u32 [%p], 1;",
            dependent("@%first red.relaxed.cta.global.add.u32 [%p], 1;"),
            &["an atomic operation by the earlier grid of 'grid0' and an atomic operation of `p` have no order"],
        ),
        (
            "the wait of another thread, and a barrier",
            WRITE,
            dependent("@%first bra all;\ngriddepcontrol.wait;\nall: bar.sync 0;\n@%first ld.global.u32 %r, [%p];"),
            &[],
        ),
        (
            "the wait of another thread without a barrier",
            WRITE,
            dependent("@%first bra all;\ngriddepcontrol.wait;\nall:\n@%first ld.global.u32 %r, [%p];"),
            &[WRITE_READ],
        ),
        (
            "a write after the start of dependents",
            "griddepcontrol.launch_dependents;\n@%first st.global.u32 [%p], 1;",
            dependent(WAIT_READ),
            &[],
        ),
        (
            "the start of dependents orders nothing",
            "@%first st.global.u32 [%p], 1;\nbar.sync 0;\ngriddepcontrol.launch_dependents;",
            dependent(READ),
            &[WRITE_READ],
        ),
        ("a flag", RELEASE, dependent(ACQUIRE), &[]),
    ];
    for (what, one, two, expected) in table {
        check(what, &[first(one), *two], expected);
        check(what, &[Of(false, [2, 2], one), *two].map(of_one_cta), expected);
    }
}

/// Restricts a launch's code to CTA 0.
fn of_one_cta(Of(is, sizes, body): Of) -> Of {
    let body = body.replace("end:", "over:").replace("bra end", "bra over");
    Of(is, sizes, format!("setp.ne.u32 %q, %c, 0;\n@%q bra end;\n{body}\nend:").leak())
}

/// CTA 1 of three releases within its cluster, and a CTA of the first cluster of the next four CTAs acquires.
#[test]
fn clusters_of_other_sizes() {
    let release = "\
setp.eq.and.u32 %q, %c, 1, %first;
@%q st.global.u32 [%p], 1;
@%q red.release.cluster.global.add.u32 [%p+16], 1;
@%q red.relaxed.gpu.global.add.u32 [%p+16], 1;";
    let acquire = "\
setp.eq.and.u32 %q, %c, 0, %first;
@!%q bra end;
again: ld.acquire.gpu.global.u32 %r, [%p+16];
setp.ne.u32 %q, %r, 2;
@%q bra again;
ld.global.u32 %r, [%p];
end:";
    check("the scope of a cluster", &[Of(false, [3, 1], release), Of(true, [8, 4], acquire)], &[WRITE_READ]);
    let wide = release.replace("release.cluster", "release.gpu").leak();
    check("the scope of the GPU", &[Of(false, [3, 1], wide), Of(true, [8, 4], acquire)], &[]);
}

#[test]
fn three_grids() {
    let table: &[(&str, [Of; 3], &[&str])] = &[
        ("the one in between waits", [first(WRITE), dependent("griddepcontrol.wait;"), dependent(WAIT_READ)], &[]),
        (
            "one thread of it waits",
            [first(WRITE), dependent("@%first griddepcontrol.wait;"), dependent(WAIT_READ)],
            &[],
        ),
        ("it does not wait", [first(WRITE), dependent(""), dependent(WAIT_READ)], &[WRITE_READ]),
        ("the last one starts after it", [first(WRITE), dependent("griddepcontrol.wait;"), dependent(READ)], &[]),
        ("its start follows a wait", [first(WRITE), dependent(WAIT_TRIGGER), dependent(READ)], &[]),
        ("its start precedes a wait", [first(WRITE), dependent(TRIGGER_WAIT), dependent(READ)], &[WRITE_READ]),
        ("a thread does not wait", [first(WRITE), dependent(ONE_WAITS), dependent(READ)], &[WRITE_READ]),
        ("a CTA does not wait", [first(WRITE), Of(true, [3, 1], ONE_CTA_WAITS), dependent(READ)], &[]),
        ("neither of the others waits", [first(WRITE), dependent(""), dependent(READ)], &[WRITE_READ]),
        ("it is not dependent", [first(WRITE), first(""), dependent(READ)], &[]),
        ("the last one is not dependent", [first(WRITE), dependent(""), first(READ)], &[]),
        ("a flag in between", [first(RELEASE), dependent(ACQUIRE), dependent(WAIT_READ)], &[]),
    ];
    for (what, launches, expected) in table {
        check(what, launches, expected);
    }
}

#[test]
fn sites_and_help() {
    let launches = [Of(false, [3, 1], "setp.eq.u32 %q, %c, 2;\n@%q st.global.u32 [%p], %t;"), dependent(READ)];
    let found = run(&launches[..], RunOptions::default(), |_, _| ()).0;
    let told = found.iter().find(|finding| finding.message == WRITE_READ).expect("a race");
    let other = told.other.as_ref().expect("the first access");
    assert_eq!((&*other.instruction, other.cta, told.site.cta), ("st.global.u32", [2, 0, 0], [0; 3]));
    assert!(other.at.line < told.site.at.line);
    let help = |launches: &[Of]| {
        run(launches, RunOptions::default(), |_, _| ()).0[0].help.as_ref().map(ToString::to_string).unwrap_or_default()
    };
    let wait =
        "add `griddepcontrol.wait` before the access, in its thread or in a thread that a barrier orders before it";
    assert_eq!(help(&[first(WRITE), dependent(READ)]), wait);
    let both = format!("{wait}, and in the grid in between, which has not waited either");
    assert_eq!(help(&[first(WRITE), dependent(""), dependent(READ)]), both);
}

/// A dependent grid copies a word from the first place to the second place.
#[test]
fn older_values() {
    let copy = "@%first ld.relaxed.gpu.global.u32 %r, [%p];\n@%first st.global.u32 [%p+4], %r;";
    let waits = format!("griddepcontrol.wait;\n{copy}").leak();
    let write = "@%first st.relaxed.gpu.global.u32 [%p], 7;";
    let values = |second| -> BTreeSet<u32> {
        (0..40).map(|seed| run(&[first(write), second], RunOptions::default().of_seed(seed), |_, _| ()).1[1]).collect()
    };
    assert_eq!(values(dependent(copy)), [0, 7].into());
    assert_eq!(values(dependent(waits)), [7].into());
    assert_eq!(values(first(copy)), [7].into());
}

/// A write of the host waits for the end of all grids.
#[test]
fn writes_of_the_host() {
    let launches = [first(WRITE), dependent(READ)];
    let (found, _) = run(&launches, RunOptions::default(), |device, buffer| device.write(buffer, 32, &[1]));
    assert_eq!(found, []);
}
