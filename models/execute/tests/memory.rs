//! The memory that the machine uses for each accessed byte of a kernel, with and without race detection.
//!
//! `cargo test --release -p ptx-execute --test memory` prints the table of `docs/evidence/executor-memory.md`; in a debug build the buffers
//! are smaller.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use ptx_execute::{Argument, Contents, Device, Launch, RunOptions};
use ptx_isa::{FullSize, Module};

/// An allocator that counts the allocated bytes and their maximum.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn grows(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(live, Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grows(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        if new > layout.size() {
            grows(new - layout.size());
        } else {
            LIVE.fetch_sub(layout.size() - new, Relaxed);
        }
        unsafe { System.realloc(at, layout, new) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The maximum memory of the machine for each byte that is accessed by accesses of four bytes.
const MOST_BYTES: f64 = 24.0;

/// CTAs of 256 threads. In a launch with more CTAs, loads do not return older values.
const CTAS: u32 = 8;
/// The size of each of two buffers in bytes.
const BYTES: u64 = if cfg!(debug_assertions) { 5 << 17 } else { 5 << 20 };
/// The size of shared memory of each CTA in bytes.
const SHARED: u32 = 192 << 10;

/// A kernel, the number of bytes that it accesses, and whether the limit applies to it.
struct Case {
    name: &'static str,
    body: String,
    touched: u64,
    is_bound: bool,
}

/// A loop over the places of a thread. In each iteration `body` accesses its bytes at `%at`, and `%at` advances by
/// `step` until `end`.
fn over(end: u64, start: &str, step: u64, body: &str) -> String {
    format!("{start}\nagain:\n{body}\nadd.u32 %at, %at, {step};\nsetp.lt.u32 %q, %at, {end};\n@%q bra again;\n")
}

fn cases() -> Vec<Case> {
    let threads = u64::from(CTAS) * 256;
    let of_grid = |width: u64| format!("mad.lo.u32 %at, %c, 256, %t;\nmul.lo.u32 %at, %at, {width};");
    let of_cta = |width: u64| format!("mul.lo.u32 %at, %t, {width};");
    let place = "cvt.u64.u32 %x, %at;\nadd.u64 %y, %b, %x;\nadd.u64 %x, %a, %x;\n";
    let case = |name, body, touched, is_bound| Case { name, body, touched, is_bound };
    // A point, a neighbour in its row, and neighbours one row and two rows further on.
    let stencil = format!(
        "{place}ld.global.u32 %r0, [%x];\nld.global.u32 %r1, [%x+1024];\nadd.u32 %r0, %r0, %r1;\nld.global.u32 %r1, [%x+4096];\n\
         add.u32 %r0, %r0, %r1;\nld.global.u32 %r1, [%x+8192];\nadd.u32 %r0, %r0, %r1;\nst.global.u32 [%y], %r0;"
    );
    let all = format!("{place}ld.global.u32 %r0, [%x];");
    let copied = format!("{place}ld.global.u8 %r0, [%x];\nst.global.u8 [%y], %r0;");
    let bytes = format!("{place}ld.global.u8 %r0, [%x];");
    let added = format!("{place}red.relaxed.gpu.global.add.u32 [%x], 1;");
    let taken = format!("{place}atom.relaxed.gpu.global.add.u32 %r0, [%x], 1;");
    let strong = format!("{place}ld.relaxed.gpu.global.u32 %r0, [%x];\nst.relaxed.gpu.global.u32 [%x], %r0;");
    let first = format!(
        "{place}setp.eq.u32 %q, %c, 0;\n@%q st.relaxed.gpu.global.u32 [%x], %t;\nld.relaxed.gpu.global.u32 %r0, [%x];"
    );
    let vectors = format!(
        "{place}ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%x];\nst.global.v4.u32 [%y], {{%r0, %r1, %r2, %r3}};"
    );
    let tile = "\
st.shared.u32 [%at], %t;
bar.sync 0;
xor.b32 %r1, %at, 128;
ld.shared.u32 %r0, [%r1];
xor.b32 %r1, %at, 256;
ld.shared.u32 %r0, [%r1];
xor.b32 %r1, %at, 512;
ld.shared.u32 %r0, [%r1];
bar.sync 0;";
    let shared = u64::from(SHARED);
    vec![
        case(
            "a stencil, each word read by four CTAs",
            over(BYTES - 8192, &of_grid(4), threads * 4, &stencil),
            2 * BYTES,
            true,
        ),
        case("all words read by all CTAs", over(BYTES, &of_cta(4), 1024, &all), BYTES, true),
        case("a copy of 16 bytes at a time", over(BYTES, &of_grid(16), threads * 16, &vectors), 2 * BYTES, true),
        case("a copy of bytes", over(BYTES, &of_grid(1), threads, &copied), 2 * BYTES, false),
        case("all bytes read by all CTAs", over(BYTES / 4, &of_cta(1), 256, &bytes), BYTES / 4, false),
        case("`red` of all words by all CTAs", over(BYTES, &of_cta(4), 1024, &added), BYTES, true),
        case("`atom` of all words by all CTAs", over(BYTES, &of_cta(4), 1024, &taken), BYTES, true),
        case("relaxed reads and writes of all words by all CTAs", over(BYTES, &of_cta(4), 1024, &strong), BYTES, true),
        case(
            "words of one CTA, with relaxed reads by all CTAs",
            over(BYTES / 4, &of_cta(4), 1024, &first),
            BYTES / 4,
            false,
        ),
        case("tiles in shared memory", over(shared, &of_cta(4), 1024, tile), shared * u64::from(CTAS), true),
    ]
}

/// The maximum memory of a launch, including its buffers, in bytes.
fn measure(case: &Case, races: bool, seed: u64) -> usize {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 .ptr a, .param .u64 .ptr b)\n{{\n\
         .reg .pred %q;\n.reg .b32 %t, %c, %at, %r<4>;\n.reg .b64 %a, %b, %x, %y;\nld.param.u64 %a, [a];\nld.param.u64 %b, [b];\n\
         mov.u32 %t, %tid.x;\nmov.u32 %c, %ctaid.x;\n{}ret;\n}}\n",
        case.body
    );
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let before = LIVE.load(Relaxed);
    MOST.store(before, Relaxed);
    let options = RunOptions { races, ..RunOptions::default() }.of_seed(seed);
    let mut device = Device::new(&module, options).expect("a device");
    let arguments = ["a", "b"].map(|name| Argument::Buffer(device.allocate(name, Contents::GrowsZero(BYTES)), 0));
    let shared = if case.body.contains("shared") { SHARED } else { 0 };
    let launch = Launch::new("k", FullSize { grid: [CTAS, 1, 1], shared, ..[256, 1, 1].into() }, arguments.to_vec());
    let report = device.launch(&launch).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert!(report.findings.is_empty(), "{}: {:?}", case.name, report.findings);
    MOST.load(Relaxed) - before
}

fn main() -> ExitCode {
    let mut is_right = true;
    println!("| kernel | values alone | with races watched | and older values |\n| --- | --: | --: | --: |");
    for case in cases() {
        // The schedule of seed 5 is also round robin.
        let [alone, watched, older] = [(false, 0), (true, 0), (true, 5)]
            .map(|(races, seed)| measure(&case, races, seed) as f64 / case.touched as f64);
        println!("| {} | {alone:.1} | {watched:.1} | {older:.1} |", case.name);
        is_right &= !case.is_bound || watched <= MOST_BYTES;
    }
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
