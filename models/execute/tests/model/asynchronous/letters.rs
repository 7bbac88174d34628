//! The instructions of programs with asynchronous operations. Each has one text, since litmus tests and PTX spell it
//! alike.

/// An instruction, or a short sequence of instructions.
pub struct Letter {
    /// Its name in programs.
    pub name: &'static str,
    /// Its lines, separated by `;`. `{0}` and so on are its operands, `#` is a unique number, `$` a value that no other
    /// instruction writes. `{rel}` and `{acq}` are semantics, `{sc}` is a scope, `{s}` the state space of the first
    /// operand, and `{end}` the label after the thread's last instruction.
    pub text: &'static str,
    /// The kinds of its operands: `d` data in shared memory, `D` also of another CTA, `g` in global memory, `m` an
    /// mbarrier, `M` also of another CTA, `n` a number of arrivals or groups, `p` a parity, `t` a number of bytes.
    pub operands: &'static str,
}

const fn letter(name: &'static str, operands: &'static str, text: &'static str) -> Letter {
    Letter { name, text, operands }
}

#[rustfmt::skip]
pub const LETTERS: [Letter; 54] = [
    letter("ld", "D", "ld.{s}.u64 r#, {0}"),
    letter("st", "D", "st.{s}.u64 {0}, $"),
    letter("ldr", "D", "ld.relaxed.{sc}.{s}.u64 r#, {0}"),
    letter("str", "D", "st.relaxed.{sc}.{s}.u64 {0}, $"),
    letter("add", "D", "red.relaxed.{sc}.{s}.add.u64 {0}, 1"),
    letter("ldg", "g", "ld.global.u64 r#, {0}"),
    letter("stg", "g", "st.global.u64 {0}, $"),
    letter("addg", "g", "red.relaxed.gpu.global.add.u64 {0}, 1"),
    letter("fence", "", "fence.acq_rel.{sc}"),
    letter("bar", "", "bar.sync 0"),
    letter("cluster", "", "barrier.cluster.arrive.release; barrier.cluster.wait.acquire"),
    letter("clusterr", "", "barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire"),
    // mbarriers
    letter("init", "mn", "mbarrier.init.shared::cta.b64 {0}, {1}"),
    letter("inval", "m", "mbarrier.inval.shared::cta.b64 {0}"),
    letter("fenceinit", "", "fence.mbarrier_init.release.cluster"),
    letter("arrive", "M", "mbarrier.arrive.{rel}.{sc}.{s}.b64 _, {0}"),
    letter("drop", "M", "mbarrier.arrive_drop.{rel}.{sc}.{s}.b64 _, {0}"),
    letter("expect", "Mt", "mbarrier.arrive.expect_tx.{rel}.{sc}.{s}.b64 _, {0}, {1}"),
    letter("tx", "Mt", "mbarrier.expect_tx.relaxed.{sc}.{s}.b64 {0}, {1}"),
    letter("complete", "mt", "mbarrier.complete_tx.relaxed.cluster.shared::cta.b64 {0}, {1}"),
    letter("wait", "mp", "L#:; mbarrier.try_wait.parity.{acq}.{sc}.shared::cta.b64 %p#, {0}, {1}; @!%p# bra L#"),
    letter("test", "mp", "mbarrier.test_wait.parity.{acq}.{sc}.shared::cta.b64 %p#, {0}, {1}; @!%p# bra {end}"),
    letter("sync", "m", "mbarrier.arrive.{rel}.{sc}.shared::cta.b64 %s#, {0}; L#:; mbarrier.try_wait.{acq}.{sc}.shared::cta.b64 %p#, {0}, %s#; @!%p# bra L#"),
    // Fences between proxies
    letter("proxy", "", "fence.proxy.async"),
    letter("proxycta", "", "fence.proxy.async.shared::cta"),
    letter("proxycluster", "", "fence.proxy.async.shared::cluster"),
    letter("proxyglobal", "", "fence.proxy.async.global"),
    letter("proxyrelease", "", "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster"),
    letter("proxyacquire", "", "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster"),
    // Copies of threads
    letter("cp", "dg", "cp.async.ca.shared.global {0}, {1}, 8"),
    letter("cpcommit", "", "cp.async.commit_group"),
    letter("cpwait", "n", "cp.async.wait_group {0}"),
    letter("cpall", "", "cp.async.wait_all"),
    letter("cparrive", "m", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 {0}"),
    letter("cparriveinc", "m", "cp.async.mbarrier.arrive.shared::cta.b64 {0}"),
    // Copies and reductions in bulk
    letter("in", "dgm", "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes {0}, {1}, 16, {2}"),
    letter("move", "DdM", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes {0}, {1}, 16, {2}"),
    letter("reduce", "DdM", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64 {0}, {1}, 16, {2}"),
    letter("out", "gd", "cp.async.bulk.global.shared::cta.bulk_group {0}, {1}, 16"),
    letter("reduceout", "gd", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 {0}, {1}, 16"),
    letter("commit", "", "cp.async.bulk.commit_group"),
    letter("bulk", "n", "cp.async.bulk.wait_group {0}"),
    letter("bulkread", "n", "cp.async.bulk.wait_group.read {0}"),
    // Stores
    letter("store", "DM", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 {0}, $, {1}"),
    letter("storeadd", "DM", "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 {0}, 1, {1}"),
    // Sequences that are frequent before or after a copy
    letter("fill", "dgm", "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, {2}, 16; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes {0}, {1}, 16, {2}"),
    letter("outall", "gd", "cp.async.bulk.global.shared::cta.bulk_group {0}, {1}, 16; cp.async.bulk.commit_group"),
    letter("cpgroup", "dg", "cp.async.ca.shared.global {0}, {1}, 8; cp.async.commit_group"),
    letter("acquire", "g", "ld.acquire.gpu.global.u64 r#, {0}"),
    letter("release", "g", "st.release.gpu.global.u64 {0}, $"),
    letter("acquires", "D", "ld.acquire.{sc}.{s}.u64 r#, {0}"),
    letter("releases", "D", "st.release.{sc}.{s}.u64 {0}, $"),
    letter("atomic", "D", "atom.relaxed.{sc}.{s}.add.u64 r#, {0}, 1"),
    letter("fencesc", "", "fence.sc.{sc}"),
];

/// Groups of letters that programs often confuse.
pub const ALIKE: [&[&str]; 13] = [
    &["proxy", "proxycta", "proxycluster", "proxyglobal", "proxyrelease", "proxyacquire", "fence", "fenceinit"],
    &["bulk", "bulkread", "cpwait"],
    &["cpall", "cpcommit", "commit"],
    &["cparrive", "cparriveinc", "arrive"],
    &["cluster", "clusterr", "bar"],
    &["arrive", "drop", "sync"],
    &["wait", "test"],
    &["ld", "st", "ldr", "str", "add", "atomic", "acquires", "releases"],
    &["ldg", "stg", "addg", "acquire", "release"],
    &["move", "reduce"],
    &["out", "reduceout", "outall"],
    &["store", "storeadd"],
    &["fence", "fencesc"],
];

/// The number of a letter.
pub fn named(name: &str) -> usize {
    LETTERS.iter().position(|letter| letter.name == name).unwrap_or_else(|| panic!("no letter `{name}`"))
}
