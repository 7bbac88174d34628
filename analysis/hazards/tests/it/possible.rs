//! Undecided findings: the check reports exactly the questions that it cannot decide.

use ptx_hazards::{Cause, Claim, Hazard, HazardOptions, check, read, read_with};
use ptx_isa::{LaunchSize, Module};
use ptx_memory_model::ptx::readings::Readings;

fn kernel(limit: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 buf[];\n\
         .shared .align 8 .b64 bars[4];\n\
         .visible .entry k(.param .u64 .ptr .global p, .param .u32 n) {limit} {{\nld.param.u64 %to, [p];\n\
         ld.param.u32 %n, [n];\nmov.u32 %thread, %tid.x;\nsetp.eq.u32 %first, %thread, 0;\n{body}\nret;\n}}\n"
    );
    text.parse().unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

fn list_hazards(module: &Module, options: &HazardOptions, readings: Readings) -> Vec<Hazard> {
    read_with(module, options).into_iter().flat_map(|kernel| check(&kernel, readings).findings).collect()
}

fn list_messages(module: &Module, options: &HazardOptions, readings: Readings) -> Vec<(Claim, String)> {
    list_hazards(module, options, readings)
        .into_iter()
        .map(|finding| (finding.claim, finding.message.to_string()))
        .collect()
}

/// The cause of the only finding; `None` if the finding is certain.
fn cause(module: &Module, options: &HazardOptions) -> Option<Cause> {
    let found = list_hazards(module, options, Readings::DEFAULT);
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().and_then(|finding| finding.cause)
}

/// A write at a swizzled address, and a copy of the written data.
fn swizzled(base: &str, fence: &str) -> Module {
    let body = format!(
        "mov.u32 %a, buf;\n{base}shl.b32 %b, %thread, 4;\nadd.u32 %b, %b, %a;\nshr.u32 %c, %b, 3;\nand.b32 %c, %c, 112;\n\
         xor.b32 %b, %c, %b;\nst.shared.b32 [%b], %thread;\n{fence}bar.sync 0;\n@!%first bra E;\n\
         cp.async.bulk.global.shared::cta.bulk_group [%to], [%a], 512;\ncp.async.bulk.commit_group;\n\
         cp.async.bulk.wait_group 0;\nE:"
    );
    kernel(".reqntid 32", &body)
}

#[test]
fn a_swizzled_address_has_its_base() {
    for base in ["", "add.u32 %a, %a, 1023;\nand.b32 %a, %a, -1024;\n"] {
        let of = |fence| list_messages(&swizzled(base, fence), &HazardOptions::default(), Readings::DEFAULT);
        let before = of("");
        assert!(matches!(&before[..], [(Claim::Wrong, message)] if message.contains("no proxy fence")), "{before:?}");
        assert_eq!(of("fence.proxy.async.shared::cta;\n"), []);
    }
}

#[test]
fn the_size_of_a_cta_is_not_guessed() {
    let body = "shl.b32 %at, %thread, 2;\nmov.u32 %sm, buf;\nadd.u32 %at, %at, %sm;\nst.shared.b32 [%at], %n;\nbar.sync 0;\n\
                @!%first bra E;\ncp.async.bulk.global.shared::cta.bulk_group [%to], [%sm+512], 512;\n\
                cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nE:";
    let module = kernel("", body);
    let open = list_messages(&module, &HazardOptions::default(), Readings::DEFAULT);
    assert!(
        matches!(&open[..], [(Claim::NotChecked, message)] if message.contains("more than 128 threads")),
        "{open:?}"
    );
    let block = |threads| HazardOptions {
        size: LaunchSize { block: Some([threads, 1, 1]), ..LaunchSize::default() },
        ..HazardOptions::default()
    };
    assert_eq!(list_messages(&module, &block(128), Readings::DEFAULT), []);
    let large = list_messages(&module, &block(256), Readings::DEFAULT);
    assert!(matches!(&large[..], [(Claim::Wrong, _)]), "{large:?}");
}

/// Two rows, to which each thread copies 16 bytes; a write after them in memory; and a read of data that other threads
/// have copied.
fn rows(second: u32, write: u32, after: &str) -> Module {
    let body = format!(
        "mov.u32 %sm, buf;\nshl.b32 %at, %thread, 4;\nadd.u32 %at, %at, %sm;\nshl.b32 %w, %thread, 2;\n\
         add.u32 %w, %w, %sm;\ncp.async.cg.shared.global [%at], [%to], 16;\n\
         cp.async.cg.shared.global [%at+{second}], [%to+{second}], 16;\ncp.async.commit_group;\n\
         st.shared.b32 [%w+{write}], %n;\n{after}\nld.shared.b32 %v, [%w];"
    );
    kernel("", &body)
}

#[test]
fn rows_of_copies_say_how_many_threads_there_are() {
    const WAIT: &str = "cp.async.wait_group 0;\n";
    const BARRIER: &str = "bar.sync 0;\n";
    let said = |module: &Module| list_messages(module, &HazardOptions::default(), Readings::DEFAULT);
    let right = format!("{WAIT}{BARRIER}");
    assert_eq!(read(&rows(2048, 4096, &right))[0].most, Some(128));
    assert_eq!(said(&rows(2048, 4096, &right)), []);
    for wrong in [WAIT, BARRIER] {
        let found = said(&rows(2048, 4096, wrong));
        assert!(matches!(&found[..], [(Claim::Wrong, _)]), "{wrong}: {found:?}");
    }
    // With room for more threads than a CTA can have, rows imply no limit.
    assert_eq!(read(&rows(32768, 4096, &right))[0].most, None);
    let open = said(&rows(32768, 4096, &right));
    assert!(matches!(&open[..], [(_, message)] if message.contains("more than 256 threads")), "{open:?}");
    // A write to a row overlaps it in any CTA that is not larger.
    let near = said(&rows(2048, 4000, &right));
    assert!(matches!(&near[..], [(Claim::Wrong, _)]), "{near:?}");
}

#[test]
fn copies_that_not_all_threads_do_are_no_rows() {
    let body = |guard: &str| {
        format!(
            "mov.u32 %sm, buf;\nshl.b32 %at, %thread, 4;\nadd.u32 %at, %at, %sm;\nsetp.lt.u32 %some, %thread, 128;\n\
             setp.lt.u32 %n1, %n, 128;\n{guard}cp.async.cg.shared.global [%at], [%to], 16;\n\
             {guard}cp.async.cg.shared.global [%at+2048], [%to+2048], 16;\ncp.async.wait_all;\nbar.sync 0;\nE:"
        )
    };
    let most = |guard: &str| read(&kernel("", &body(guard)))[0].most;
    assert_eq!(most("@%n1 "), Some(128));
    assert_eq!(most("@%some "), None);
    assert_eq!(most("@!%some bra E;\n"), None);
    assert_eq!(most("bar.sync 0;\n"), None);
}

#[test]
fn a_parameter_is_a_number_where_it_is_given() {
    let module = kernel(
        ".reqntid 32",
        "shl.b32 %b, %n, 3;\nmov.u32 %a, bars;\nadd.u32 %b, %b, %a;\nmbarrier.inval.shared.b64 [%b];",
    );
    let given = HazardOptions { parameters: [("n".into(), 2)].into(), ..HazardOptions::default() };
    let printed = read_with(&module, &given)[0].to_string();
    assert!(printed.contains("invalidate bars+16"), "{printed}");
    assert!(!read(&module)[0].to_string().contains("invalidate bars+16"));
}

#[test]
fn a_factor_without_a_sign_divides() {
    for (multiply, shift) in [
        ("mul.wide.u32 %d, %k, -1431655765;", 33),
        ("cvt.u64.u32 %d, %k;\nmul.hi.u64 %d, %d, -6148914691236517205;", 1),
    ] {
        let body = format!(
            "mov.u32 %k, 0;\nmov.u32 %bar, bars;\nL:\n{multiply}\nshr.u64 %d, %d, {shift};\ncvt.u32.u64 %q, %d;\n\
             mul.lo.u32 %q, %q, 3;\nsub.u32 %q, %k, %q;\nshl.b32 %q, %q, 3;\nadd.u32 %q, %q, %bar;\n\
             mbarrier.arrive.shared.b64 _, [%q];\nadd.u32 %k, %k, 1;\nsetp.lt.u32 %p, %k, %n;\n@%p bra L;"
        );
        let printed = read(&kernel(".reqntid 32", &body))[0].to_string();
        assert!(printed.contains("0..=2"), "{printed}");
    }
}

#[test]
fn a_scope_that_is_left_out_and_the_same_one_written_are_warnings() {
    let body = |words: &str| {
        format!(
            "mov.u32 %a, bars;\nmapa.shared::cluster.u32 %b, %a, 0;\n\
             mbarrier.init.shared.b64 [%a], 1;\nmbarrier.arrive{words}.shared::cluster.b64 _, [%b];"
        )
    };
    let r8 = |words: &str, readings| {
        let said = list_messages(&kernel(".reqntid 32", &body(words)), &HazardOptions::default(), readings);
        said.into_iter().find(|(_, message)| message.contains(".cluster")).map(|(claim, _)| claim)
    };
    for words in ["", ".release.cta"] {
        assert_eq!(r8(words, Readings::DEFAULT), Some(Claim::Note), "{words}");
        assert_eq!(r8(words, Readings::STRICT), Some(Claim::Wrong), "{words}");
    }
    assert_eq!(r8(".release.cluster", Readings::DEFAULT), None);
}

#[test]
fn one_option_settles_one_finding() {
    let module = kernel(
        "",
        "shl.b32 %at, %thread, 4;\nmov.u32 %sm, buf;\nadd.u32 %at, %at, %sm;\nst.shared.b32 [%at], %n;\n\
         st.shared.b32 [%at+8], %n;\nbar.sync 0;\n@!%first bra E;\n\
         cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm+512], 512;\ncp.async.bulk.commit_group;\n\
         cp.async.bulk.wait_group 0;\nE:",
    );
    let all = list_hazards(&module, &HazardOptions::default(), Readings::DEFAULT);
    let [finding] = &all[..] else { panic!("{all:?}") };
    let help = finding.cause.as_ref().and_then(Cause::help);
    assert_eq!(
        (&finding.cause, help.as_deref()),
        (&Some(Cause::Block(Some(32))), Some("give --block THREADS to settle it"))
    );
    assert!(
        finding.message.to_string().contains("and 1 more pair of accesses, for example on line "),
        "{}",
        finding.message
    );
    assert_eq!(finding.pairs().count(), 2);
    let block = HazardOptions {
        size: LaunchSize { block: Some([32, 1, 1]), ..LaunchSize::default() },
        ..HazardOptions::default()
    };
    assert_eq!(list_hazards(&module, &block, Readings::DEFAULT), []);
}

/// As many threads as a parameter specifies copy, and all read at an offset, before other threads know of the copies.
fn guarded(offset: u32) -> Module {
    kernel(
        ".reqntid 256",
        &format!(
            "mov.u32 %sm, buf;\nshr.u32 %x, %thread, 3;\nand.b32 %x, %x, 7;\nxor.b32 %x, %x, %thread;\nshl.b32 %a, %x, 4;\n\
             add.u32 %a, %a, %sm;\nsetp.lt.s32 %p, %thread, %n;\n@%p cp.async.cg.shared.global [%a], [%to], 16;\n\
             cp.async.commit_group;\ncp.async.wait_group 0;\nand.b32 %r, %thread, 7;\nshl.b32 %r, %r, 4;\n\
             add.u32 %r, %r, %sm;\nld.shared.b32 %v, [%r+{offset}];"
        ),
    )
}

#[test]
fn a_parameter_says_which_threads_copy() {
    let given = |n: i64| HazardOptions { parameters: [("n".into(), n)].into(), ..HazardOptions::default() };
    assert_eq!(cause(&guarded(2048), &HazardOptions::default()), Some(Cause::Parameter("n".into())));
    assert_eq!(list_hazards(&guarded(2048), &given(128), Readings::DEFAULT), []);
    assert_eq!(cause(&guarded(2048), &given(256)), None);
    // The first threads copy there, whatever the parameter is.
    assert_eq!(cause(&guarded(0), &HazardOptions::default()), None);
    assert_eq!(cause(&guarded(0), &given(128)), None);
}

#[test]
fn paths_around_a_barrier_are_kept_outside_of_loops() {
    let of = |skipped: u32| {
        let body = format!(
            "mov.u32 %sm, buf;\nld.shared.b32 %v, [%sm];\nmov.u32 %r, {skipped};\nsetp.eq.s32 %p, %n, 3;\n@%p bra J;\n\
             bar.sync 0;\nmov.u32 %r, 1;\nJ:\nsetp.eq.s32 %q, %r, 0;\n@%q bra E;\n\
             cp.async.cg.shared.global [%sm], [%to], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\nE:"
        );
        list_hazards(&kernel(".reqntid 128", &body), &HazardOptions::default(), Readings::DEFAULT)
    };
    assert_eq!(of(0), []);
    assert!(matches!(&of(2)[..], [Hazard { claim: Claim::Wrong, .. }]), "{:?}", of(2));
}
