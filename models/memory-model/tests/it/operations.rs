//! The search of programs with asynchronous operations is compared with an enumerator that tries every execution.

mod enumerator;
mod rules;

use ptx_memory_model::{
    litmus::Litmus,
    outcome::Limits,
    ptx::{
        Conventions, Program,
        readings::{Ambiguity, Reading, Readings, Rule},
        search,
    },
    unfold::Limit,
};
use strum::IntoEnumIterator;

/// Numbers out of a seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Operations: tensor memory `d` and `t`, shared memory `a` and `s`, global memory `g`. Each `#` is replaced by a new
/// register.
const OPERATIONS: [&str; 21] = [
    "tcgen05.mma.cta_group::1.kind::f16 [d], a, s, 0, 1",
    "tcgen05.mma.cta_group::1.kind::f16 [d], a, s, 0, 1",
    "tcgen05.mma.cta_group::1.kind::f16 [d], [t], s, 0, 1",
    "tcgen05.mma.cta_group::1.kind::tf32 [d], a, s, 0, 1",
    "tcgen05.mma.cta_group::1.kind::f16 [t], a, s, 0, 1",
    "tcgen05.cp.cta_group::1.128x256b [t], a",
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {#}, [d]",
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {#}, [t]",
    "tcgen05.st.sync.aligned.32x32b.x1.b32 [d], {q}",
    "tcgen05.st.sync.aligned.32x32b.x1.b32 [t], {q}",
    "st.shared.u64 [a], 5",
    "ld.shared.u64 #, [a]",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a], [g], 16, [bar]",
    "cp.async.bulk.global.shared::cta.bulk_group [g], [a], 16; cp.async.bulk.commit_group",
    "ld.shared.u64 #, [a]",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 32",
    "tcgen05.shift.cta_group::1.down [t]",
    "tcgen05.cp.cta_group::1.4x256b [t], a",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [g], [a], 16; cp.async.bulk.commit_group",
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {#}, [t]",
    "cp.async.bulk.global.shared::cta.bulk_group [g], [a], 16; cp.async.bulk.commit_group",
];

/// The waits and fences after the operations of one thread, and those before the operations of the other.
const BEHIND: [&str; 9] = [
    "tcgen05.wait::ld.sync.aligned",
    "tcgen05.wait::st.sync.aligned",
    "tcgen05.fence::before_thread_sync",
    "fence.proxy.async",
    "fence.proxy.async.shared::cta",
    "fence.acq_rel.cluster",
    "cp.async.bulk.wait_group 0",
    "cp.async.bulk.wait_group.read 0",
    "tcgen05.fence::after_thread_sync",
];
const TELLS: [&str; 11] = [
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [bar]",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.sync_restrict::shared::read::mma::a.b64 [bar]",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [bar]",
    "mbarrier.arrive.release.cta.b64 _, [bar]",
    "mbarrier.arrive.release.cluster.b64 _, [bar]",
    "mbarrier.arrive.relaxed.cluster.b64 _, [bar]",
    "mbarrier.arrive.expect_tx.b64 _, [bar], 16",
    "st.relaxed.cluster [f], 1",
    "mbarrier.arrive_drop.release.cta.b64 _, [bar]",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16; mbarrier.arrive.relaxed.cluster.b64 _, [bar]",
    "mbarrier.arrive.release.cta.b64 _, [bar]; mbarrier.arrive.relaxed.cluster.b64 _, [bar]",
];
const SEES: [&str; 7] = [
    "^: mbarrier.try_wait.parity.acquire.cta.b64 %p, [bar], 0; @!%p bra ^",
    "^: mbarrier.try_wait.parity.acquire.cluster.b64 %p, [bar], 0; @!%p bra ^",
    "^: mbarrier.try_wait.parity.relaxed.cluster.b64 %p, [bar], 0; @!%p bra ^",
    "^: mbarrier.try_wait.parity.relaxed.cluster.b64 %p, [bar], 0; @!%p bra ^",
    "ld.relaxed.cluster #, [f]",
    "^: mbarrier.try_wait.parity.acquire.cta.b64 %p, [bar], 1; @!%p bra ^",
    "mbarrier.test_wait.parity.acquire.cta.b64 %p, [bar], 0",
];

fn thread(random: &mut Random, number: usize) -> Vec<String> {
    let mut code = Vec::new();
    let some = |random: &mut Random, code: &mut Vec<String>, of: &[&str], chance: usize| {
        if random.below(100) < chance {
            code.push(random.pick(of).to_string());
        }
    };
    if number == 1 {
        some(random, &mut code, &SEES, 90);
        some(random, &mut code, &BEHIND, 60);
    }
    some(random, &mut code, &OPERATIONS, 100);
    some(random, &mut code, &BEHIND, 40);
    some(random, &mut code, &OPERATIONS, if number == 0 { 30 } else { 10 });
    if number == 0 {
        some(random, &mut code, &BEHIND, 70);
        some(random, &mut code, &TELLS, 95);
        some(random, &mut code, &SEES, 15);
        some(random, &mut code, &OPERATIONS, 15);
    } else {
        some(random, &mut code, &BEHIND, 20);
    }
    let (mut registers, mut labels) = (0, 0);
    let lines = code.iter().flat_map(|line| {
        labels += 1;
        let line = line.replace('^', &format!("L{labels}"));
        let lines: Vec<String> = line.split("; ").map(str::to_string).collect();
        lines
    });
    let named = lines.map(|line| {
        registers += usize::from(line.contains('#'));
        line.replace('#', &format!("r{registers}"))
    });
    named.collect()
}

/// A test of two threads, in one CTA or in two of a cluster.
fn text(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let threads = [thread(&mut random, 0), thread(&mut random, 1)];
    let (cta, count) = (random.below(4) / 3, 1 + random.below(5) / 4);
    let mut text = format!(
        "PTX seed {seed}\n{{ .shared bar={count}; .shared a=2; .shared s=3; .tensor d=4; .tensor t=5; g=6; f=0; P0:q=7; P1:q=8; }}\n"
    );
    text += &format!(" P0@cta 0,cluster 0 | P1@cta {cta},cluster 0 ;\n");
    for row in 0..threads.iter().map(Vec::len).max().unwrap_or(0) {
        let cell = |thread: usize| threads[thread].get(row).map_or("", |line| line);
        text += &format!(" {} | {} ;\n", cell(0), cell(1));
    }
    text + "exists (true)\n"
}

fn program(seed: u64) -> Option<(String, Program)> {
    let text = text(seed);
    let read = Litmus::read(&text);
    Some((text, read.ok()?.program))
}

/// The readings for a seed: a profile, with the opposite reading of one question.
fn readings(seed: u64) -> Readings {
    let profile = if seed.is_multiple_of(2) { Readings::STRICT } else { Readings::DEFAULT };
    let questions: Vec<Ambiguity> = Ambiguity::iter().collect();
    let Some(&question) = questions.get(seed as usize / 2 % (2 * questions.len())) else { return profile };
    profile.with(
        question,
        match profile.reading(question) {
            Reading::Strict => Reading::Lenient,
            Reading::Lenient => Reading::Strict,
        },
    )
}

/// The result of the search is the result of the enumerator.
#[test]
fn search_agrees_with_the_enumerator() {
    let (mut programs, mut hang, mut races, mut states, mut executions, mut unread) = (0, 0, 0, 0, 0, 0);
    for seed in 0..6000 {
        let Some((text, program)) = program(seed) else {
            unread += 1;
            continue;
        };
        let conventions = Conventions { readings: readings(seed), ..Conventions::MANUAL };
        let expected = enumerator::all(&program, conventions);
        let outcomes = search::outcomes(&program, conventions, Limits::default());
        assert_eq!(outcomes.unknown.filter(|limit| *limit != Limit::ThinAir), None, "{text}");
        let found: std::collections::BTreeSet<Vec<u64>> = outcomes.states.iter().map(<[u64]>::to_vec).collect();
        assert_eq!(found, expected.states, "{text} {:?}", conventions.readings);
        let race = match search::race(&program, conventions, Limits::default()) {
            Ok(race) => Some(race.is_some()),
            Err(Limit::Hangs) => None,
            Err(limit) => panic!("{limit}: {text}"),
        };
        let expected_race = (!expected.states.is_empty()).then_some(expected.races);
        assert_eq!(race, expected_race, "{text} {:?}", conventions.readings);
        programs += 1;
        hang += usize::from(race.is_none());
        races += usize::from(race == Some(true));
        states += expected.states.len();
        executions += expected.executions;
    }
    println!(
        "{programs} programs ({unread} are none), {hang} hang, {races} race, {states} outcomes, {executions} executions"
    );
    assert!(programs > 5000 && races > 200 && programs - hang - races > 200);
}

/// The tests of `litmus/async`, and generated programs.
fn programs() -> Vec<(String, Program)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus/async");
    let read = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path()).ok()?;
        Some((entry.file_name().to_string_lossy().into_owned(), Litmus::read(&text).ok()?.program))
    };
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let mut programs: Vec<_> = files.filter_map(|entry| read(entry.ok()?)).collect();
    programs.sort_by(|(a, _), (b, _)| a.cmp(b));
    programs.extend(rules::PROGRAMS.iter().map(|(about, text)| {
        (about.to_string(), Litmus::read(text).unwrap_or_else(|error| panic!("{about}: {error}")).program)
    }));
    programs.extend((0..600).filter_map(program));
    programs
}

/// Whether there is a data race, and the final states with their limit.
fn verdict(program: &Program, readings: Readings) -> (Result<bool, Limit>, Option<Limit>, Vec<Vec<u64>>) {
    let conventions = Conventions { readings, ..Conventions::MANUAL };
    let race = search::race(program, conventions, Limits::default()).map(|race| race.is_some());
    let outcomes = search::outcomes(program, conventions, Limits::default());
    (race, outcomes.unknown, outcomes.states.iter().map(<[u64]>::to_vec).collect())
}

/// If a rule of the model is disabled, the verdict on some program changes.
#[test]
fn every_rule_matters() {
    let programs = programs();
    let profiles = [Readings::STRICT, Readings::DEFAULT];
    let mut idle = Vec::new();
    for rule in Rule::iter() {
        let differs = |(_, program): &&(String, Program)| {
            profiles.iter().any(|&profile| verdict(program, profile) != verdict(program, profile.without(rule)))
        };
        match programs.iter().find(differs) {
            Some((name, _)) => println!("{rule}: {}", name.lines().next().unwrap_or_default()),
            None => idle.push(rule),
        }
    }
    assert_eq!(idle, []);
}

/// Whether a test has a data race.
fn race(variables: &str, body: &str) -> Result<bool, Limit> {
    let text = format!("PTX test\n{{ {variables} }}\n{body}\nexists (true)");
    let program = Litmus::read(&text).unwrap_or_else(|error| panic!("{text}: {error}")).program;
    search::race(&program, Conventions::MANUAL, Limits::default()).map(|race| race.is_some())
}

/// An mbarrier is initialized before its uses, including later arrivals, and invalidated after them.
#[test]
fn mbarriers_live() {
    let check = |body: &str, expected| {
        assert_eq!(race(".shared bar=0; .shared a=2; .shared b=3; .tensor d=4; x=5;", body), expected, "{body}");
    };
    let init = "mbarrier.init.shared::cta.b64 [bar], 1";
    let copy = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a], [x], 16, [bar]";
    let expect = "mbarrier.arrive.expect_tx.b64 _, [bar], 16";
    let wait = "L: mbarrier.try_wait.parity.acquire.cta.b64 %p, [bar], 0 ;\n @!%p bra L";
    let inval = "mbarrier.inval.shared::cta.b64 [bar]";
    let commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [bar]";
    check(&format!(" P0 ;\n {init} ;\n {expect} ;\n {copy} ;\n {wait} ;\n {inval} ;"), Ok(false));
    check(&format!(" P0 ;\n {init} ;\n {commit} ;\n {wait} ;\n {inval} ;"), Ok(false));
    check(&format!(" P0 | P1 ;\n {init} | {commit} ;"), Ok(true));
    check(&format!(" P0 | P1 ;\n {init} | {copy} ;\n {expect} | ;"), Ok(true));
    check(&format!(" P0 | P1 ;\n {init} | bar.sync 0 ;\n bar.sync 0 | {copy} ;\n {expect} | ;"), Ok(false));
    // Whether the copy is complete is unknown.
    check(&format!(" P0 ;\n {init} ;\n {expect} ;\n {copy} ;\n {inval} ;"), Ok(true));
}

/// Loops that wait at an mbarrier, and their verdicts.
#[test]
fn loops() {
    let check = |body: &str, expected| {
        assert_eq!(race(".shared bar=1; .shared a=2; x=0;", body), expected, "{body}");
    };
    let wait = "mbarrier.try_wait.parity.acquire.cta.b64 %p, [bar], 0";
    let arrive = "mbarrier.arrive.release.cta.b64 _, [bar]";
    check(&format!(" P0 | P1 ;\n {arrive} | L: {wait} ;\n | @!%p bra L ;"), Ok(false));
    // No thread arrives.
    check(&format!(" P0 ;\n L: {wait} ;\n @!%p bra L ;"), Err(Limit::Hangs));
    // The failed iterations write, and there may be more of them than the bound.
    check(
        &format!(
            " P0 | P1 ;\n {arrive} | L: add.u64 r1, r1, 1 ;\n | st.relaxed.gpu [x], r1 ;\n | {wait} ;\n | @!%p bra L ;"
        ),
        Err(Limit::Unroll),
    );
    // A wait whose result is not checked orders nothing.
    check(&format!(" P0 | P1 ;\n st.shared.u64 [a], 3 | {wait} ;\n {arrive} | ld.shared.u64 r0, [a] ;"), Ok(true));
    // With two iterations, the phases alternate.
    check(
        &format!(
            " P0 | P1 ;\n st.shared.u64 [a], 3 | L: {wait} ;\n {arrive} | @!%p bra L ;\n | ld.shared.u64 r0, [a] ;\n | {arrive} ;\n M: mbarrier.try_wait.parity.acquire.cta.b64 %q, [bar], 1 | ;\n @!%q bra M | ;\n st.shared.u64 [a], 4 | ;"
        ),
        Ok(false),
    );
}
