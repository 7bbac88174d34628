//! Kernels in every language, with the result of the command on each.

use super::Case;

/// A PTX test with its header.
macro_rules! ptx {
    ($body:literal) => {
        concat!(".version 7.8\n.target sm_90\n.address_size 64\n", $body)
    };
}

/// A test of the value that an instruction computes in `%r9` from constants in `%r1`, `%r2` and `%r3`.
macro_rules! value {
    ($name:literal, $instruction:literal, $result:literal) => {
        Case {
            name: $name,
            file: "value.ptx",
            source: concat!(
                ".version 7.8\n.target sm_90\n.address_size 64\n",
                "// litmus: thread P0 = f(4275878552, 305419897, 37)\n// litmus: forall P0:return == ",
                $result,
                "\n.visible .func (.param .b32 r) f(.param .b32 a, .param .b32 b, .param .b32 c) {\n",
                ".reg .b32 %r<10>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; ld.param.b32 %r3, [c];\n",
                $instruction,
                "\nst.param.b32 [r], %r9; ret;\n}\n"
            ),
            flags: &[],
            status: 0,
            says: &["value holds"],
        }
    };
}

/// A kernel that writes a word and then a flag.
pub const MESSAGE: &str = ptx!(
    "
.visible .func send(.param .b64 word, .param .b64 flag) {
  .reg .b64 %rd<3>;
  ld.param.b64 %rd1, [word];
  ld.param.b64 %rd2, [flag];
  st.global.b32 [%rd1], 42;
  st.release.gpu.global.b32 [%rd2], 1;
  ret;
}
.visible .func (.param .b32 result) receive(.param .b64 word, .param .b64 flag) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p;
  ld.param.b64 %rd1, [word];
  ld.param.b64 %rd2, [flag];
$wait:
  ld.acquire.gpu.global.b32 %r1, [%rd2];
  setp.eq.b32 %p, %r1, 0;
  @%p bra $wait;
  ld.global.b32 %r2, [%rd1];
  st.param.b32 [result], %r2;
  ret;
}
"
);
/// The declarations of `MESSAGE`, as flags.
pub const WORDS: [&str; 8] = [
    "--declare",
    "u32 word, flag",
    "--thread",
    "P0 = send(word, flag) @ cta 0",
    "--thread",
    "P1 = receive(word, flag) @ cta 1",
    "--forall",
    "P1:return == 42",
];

/// A kernel in Rust with its prelude.
macro_rules! rust {
    ($body:literal) => {
        concat!(
            "#![no_std]\n#![feature(abi_ptx)]\nuse core::sync::atomic::{AtomicU32, Ordering::*};\n",
            "#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n",
            $body
        )
    };
}

/// A kernel in CUDA with its prelude.
macro_rules! cuda {
    ($body:literal) => {
        concat!(
            "#include <__clang_cuda_builtin_vars.h>\n#include <stdint.h>\n#define __device__ __attribute__((device))\n",
            "#define __global__ __attribute__((global))\n#define __shared__ __attribute__((shared))\n",
            $body
        )
    };
}

/// A message across a cluster. The second thread computes the address of the first thread's flag with `mapa`.
macro_rules! mapa {
    ($scope:literal, $find:literal) => {
        concat!(
            r".version 8.6
.target sm_90
.address_size 64
.visible .shared .align 4 .u32 s;
.visible .global .u32 d;
.visible .func p0()
{
 st.global.b32 [d], 1;
 st.release.",
            $scope,
            r".shared.b32 [s], 1;
 ret;
}
.visible .func (.param .b32 r) p1()
{
 .reg .b32 %r<9>;
 .reg .b64 %rd<9>;
",
            $find,
            r"
 shl.b32 %r4, %r2, 8;
 or.b32 %r5, %r4, %r3;
 st.param.b32 [r], %r5;
 ret;
}
// litmus: thread P0 = p0() @ cta 0, cluster 0, gpu 0
// litmus: thread P1 = p1() @ cta 1, cluster 0, gpu 0, %cluster_ctarank = 1
// litmus: forall ~(P1:return == 256)
"
        )
    };
}

#[rustfmt::skip]
pub static CASES: &[Case] = &[
    // Languages.
    Case {
        name: "mapa: a variable of another CTA",
        file: "mapa.ptx",
        source: mapa!("cluster", r" mapa.shared::cluster.u32 %r1, s, 0;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];"),
        flags: &["--outcomes"],
        status: 0,
        says: &["mapa holds", "257        1  1"],
    },
    Case {
        name: "mapa: a variable of another CTA, released to its own CTA",
        file: "mapa.ptx",
        source: mapa!("cta", r" mapa.shared::cluster.u32 %r1, s, 0;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];"),
        flags: &["--outcomes"],
        status: 0,
        says: &["does not hold", "256        1  1"],
    },
    Case {
        name: "mapa: a variable of another CTA, by registers",
        file: "mapa.ptx",
        source: mapa!("cta", r" mov.b32 %r6, s;
 mov.b32 %r7, 0;
 mapa.shared::cluster.u32 %r1, %r6, %r7;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];"),
        flags: &["--outcomes"],
        status: 0,
        says: &["does not hold"],
    },
    Case {
        name: "mapa: a variable of another CTA, by a generic address",
        file: "mapa.ptx",
        source: mapa!("cluster", r" mov.b64 %rd1, s;
 cvta.shared.u64 %rd2, %rd1;
 mapa.u64 %rd3, %rd2, 0;
 ld.acquire.cluster.u32 %r2, [%rd3];
 ld.global.b32 %r3, [d];"),
        flags: &["--outcomes"],
        status: 0,
        says: &["mapa holds", "257        1  1"],
    },
    Case {
        name: "mapa: a CTA's own variable by its rank",
        file: "mapa.ptx",
        source: mapa!("cluster", r" mov.b32 %r6, s;
 mov.b32 %r7, %cluster_ctarank;
 mapa.shared::cluster.u32 %r1, %r6, %r7;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];"),
        flags: &["--outcomes"],
        status: 0,
        says: &["impossible in every candidate execution"],
    },
    Case {
        name: "mapa: a variable of a missing CTA",
        file: "mapa.ptx",
        source: mapa!("cluster", r" mapa.shared::cluster.u32 %r1, s, 3;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];"),
        flags: &["--outcomes"],
        status: 1,
        says: &["unknown", "a CTA without threads"],
    },
    Case { name: "PTX", file: "message.ptx", source: MESSAGE, flags: &WORDS, status: 0, says: &["message holds", "st.release.gpu.global.b32"] },
    Case { name: "LLVM IR", file: "message.ll", source: r#"
; litmus: thread P0 = send @ cta 0
; litmus: thread P1 = receive @ cta 1
; litmus: forall P1:return == 42
target triple = "nvptx64-nvidia-cuda"
@word = addrspace(1) global i32 0
@flag = addrspace(1) global i32 0
define void @send() {
  store i32 42, ptr addrspace(1) @word
  store atomic i32 1, ptr addrspace(1) @flag syncscope("device") release, align 4
  ret void
}
define i32 @receive() {
  br label %wait
wait:
  %f = load atomic i32, ptr addrspace(1) @flag syncscope("device") acquire, align 4
  %again = icmp eq i32 %f, 0
  br i1 %again, label %wait, label %read
read:
  %v = load i32, ptr addrspace(1) @word
  ret i32 %v
}
"#, flags: &[], status: 0, says: &["message holds", "st.release.gpu.global.b32 [flag], 1"] },
    Case { name: "MLIR", file: "message.mlir", source: r#"
// litmus: u32 word, flag
// litmus: thread P0 = send(word, flag) @ cta 0
// litmus: thread P1 = receive(word, flag) @ cta 1
// litmus: exists P1:return == 0
llvm.func @send(%word: !llvm.ptr<1>, %flag: !llvm.ptr<1>) {
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.store %one, %word : i32, !llvm.ptr<1>
  llvm.store %one, %flag atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @receive(%word: !llvm.ptr<1>, %flag: !llvm.ptr<1>) -> i32 {
  %f = llvm.load %flag atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  %v = llvm.load %word : !llvm.ptr<1> -> i32
  llvm.return %v : i32
}
"#, flags: &[], status: 0, says: &["message holds", "st.relaxed.gpu.global.b32"] },
    Case { name: "Rust", file: "lock.rs", source: rust!("
static LOCK: AtomicU32 = AtomicU32::new(0);
static mut SUM: u32 = 0;
#[unsafe(no_mangle)]
pub extern \"C\" fn add(n: u32) {
    while LOCK.swap(1, Acquire) == 1 {}
    unsafe { SUM += n };
    LOCK.store(0, Release);
}
// litmus: thread P0 = add(1) @ cta 0
// litmus: thread P1 = add(2) @ cta 1
// litmus: thread P2 = add(3) @ cta 2
// litmus: forall SUM == 6 /\\ LOCK == 0
"), flags: &[], status: 0, says: &["lock holds", "lock.rs:11: unsafe { SUM += n };", "[lock::SUM]"] },
    Case { name: "CUDA, with shared memory", file: "shared.cu", source: cuda!("
__shared__ uint32_t word;
extern \"C\" __device__ uint32_t exchange() {
  if (threadIdx.x == 0) word = 42;
  __syncthreads();
  return word;
}
// litmus: thread P0 = exchange @ cta 0
// litmus: thread P1 = exchange @ cta 0
// litmus: forall P0:return == 42 /\\ P1:return == 42
"), flags: &[], status: 0, says: &["shared holds", "bar.sync 0", "shared.cu:9"] },
    Case { name: "C", file: "flag.c", source: "
// litmus: thread P0 = set @ cta 0
// litmus: thread P1 = get @ cta 1
// litmus: ~exists P1:return == 1
int word;
_Atomic int flag;
void set(void) { word = 42; flag = 1; }
int get(void) { return flag ? word : 42; }
", flags: &[], status: 0, says: &["flag holds"] },
    Case { name: "C++", file: "flag.cpp", source: "
// litmus: thread P0 = lib::set(7) @ cta 0
// litmus: thread P1 = lib::get @ cta 1
// litmus: forall P1:return == 0 || P1:return == 7
namespace lib {
int flag;
void set(int to) { __atomic_store_n(&flag, to, __ATOMIC_RELAXED); }
int get() { return __atomic_load_n(&flag, __ATOMIC_RELAXED); }
}
", flags: &[], status: 0, says: &["flag holds"] },
    // The values that threads get.
    Case { name: "parameters and special registers", file: "special.ptx", source: ptx!("
// litmus: thread P0 = f(5) @ cta 3, tid 2, %nsmid = 9
// litmus: bind f.1 = 70
// litmus: forall P0:return == 5233969
.visible .func (.param .b32 r) f(.param .b32 a, .param .b32 b) {
  .reg .b32 %r<9>;
  ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b];
  mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %nsmid;
  mad.lo.s32 %r7, %r1, 10, %r3; mad.lo.s32 %r7, %r7, 10, %r4; mad.lo.s32 %r7, %r7, 10, %r5;
  mad.lo.s32 %r7, %r7, 10, %r6; mad.lo.s32 %r7, %r7, 100, %r2;
  sub.s32 %r7, %r7, 1;
  st.param.b32 [r], %r7;
  ret;
}
"), flags: &["--outcomes"], status: 0, says: &["special holds"] },
    Case { name: "each CTA of a function has the same size", file: "size.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: thread P1 = f @ cta 0
// litmus: thread P2 = f @ cta 1
// litmus: thread P3 = g @ cta 2
// litmus: forall P0:return == 2 /\\ P2:return == 2 /\\ P3:return == 1
.visible .func (.param .b32 r) f() {
  .reg .b32 %r1;
  mov.u32 %r1, %ntid.x;
  st.param.b32 [r], %r1;
  ret;
}
.visible .func (.param .b32 r) g() {
  .reg .b32 %r1;
  mov.u32 %r1, %ntid.x;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 0, says: &["size holds"] },
    Case { name: "a parameter without a value", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 word", "--thread", "P0 = send(word) @ cta 0", "--forall", "word == 42"], status: 1, says: &["the parameter `flag` has no value"] },
    Case { name: "an unknown function", file: "m.ptx", source: MESSAGE, flags: &["--thread", "P0 = sned @ cta 0", "--forall", "true"], status: 1, says: &["the module has no function `sned`; its functions are `send`, `receive`"] },
    Case { name: "too many arguments", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x, x)", "--forall", "x == 0"], status: 1, says: &["`send` takes 2 arguments, found 3"] },
    Case { name: "an unknown object", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, y)", "--forall", "x == 0"], status: 1, says: &["the test has no `y`: declare it, as in `litmus: u32 y`"] },
    Case { name: "a condition with an unknown name", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x)", "--forall", "z == 0"], status: 1, says: &["the test has no `z`"] },
    Case { name: "a missing result", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x)", "--forall", "P0:return == 0"], status: 1, says: &["return"] },
    Case { name: "an unknown thread", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x)", "--forall", "P3:return == 0"], status: 1, says: &["P3"] },
    Case { name: "a missing condition", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x)"], status: 1, says: &["the test has no condition"] },
    Case { name: "a missing thread", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x"], status: 1, says: &["does not name the functions that run"] },
    Case { name: "malformed declarations", file: "m.ptx", source: ptx!("// litmus: thread P1 = f\n// litmus: u32 x[0]\n// litmus: for all x\n"), flags: &[], status: 1, says: &["m.ptx:4:19", "expected `P0`, found `P1`", "m.ptx:5", "an object has 1 to", "m.ptx:6"] },
    Case { name: "text that is not PTX", file: "m.ptx", source: "// litmus: thread P0 = f\n// litmus: forall true\n.version x {", flags: &[], status: 1, says: &["error"] },
    Case { name: "a source that does not compile", file: "m.cu", source: "// litmus: thread P0 = f\n// litmus: forall true\nint f( {", flags: &[], status: 1, says: &["cannot compile", "to LLVM IR", "expected"] },
    // Several tests.
    Case { name: "several tests of a file", file: "two.ptx", source: ptx!("
// litmus: u32 x
// litmus: test one
// litmus: thread P0 = f(x) @ cta 0
// litmus: forall x == 1
// litmus: test two
// litmus: thread P0 = f(x) @ cta 0
// litmus: thread P1 = f(x) @ cta 1
// litmus: forall x == 2
// litmus: exists P0:return == 1
.visible .func (.param .b32 r) f(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1;
  ld.param.b64 %rd1, [p];
  atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 0, says: &["one holds", "two#1 holds", "two#2 holds", "3 tests: 3 hold"] },
    // Addresses.
    Case { name: "an array indexed by a read value", file: "index.ptx", source: ptx!("
// litmus: u32 which = 2, array[4] = {5, 6, 7, 8}
// litmus: thread P0 = f(which, array) @ cta 0
// litmus: thread P1 = g(which, array) @ cta 1
// litmus: forall P0:return == 7 \\/ P0:return == 8 \\/ P0:return == 9
.visible .func (.param .b32 r) f(.param .b64 p, .param .b64 a) {
  .reg .b64 %rd<5>; .reg .b32 %r<3>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [a];
  ld.relaxed.gpu.global.b32 %r1, [%rd1];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.b32 %r2, [%rd4];
  st.param.b32 [r], %r2;
  ret;
}
.visible .func g(.param .b64 p, .param .b64 a) {
  .reg .b64 %rd<3>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [a];
  st.global.b32 [%rd2+12], 9;
  st.relaxed.gpu.global.b32 [%rd1], 3;
  ret;
}
"), flags: &[], status: 0, says: &["index holds"] },
    Case { name: "after the end of an array", file: "bounds.ptx", source: ptx!("
// litmus: u32 which = 4, array[4] = {5, 6, 7, 8}
// litmus: thread P0 = f(which, array) @ cta 0
// litmus: forall P0:return == 7
.visible .func (.param .b32 r) f(.param .b64 p, .param .b64 a) {
  .reg .b64 %rd<5>; .reg .b32 %r<3>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [a];
  ld.relaxed.gpu.global.b32 %r1, [%rd1];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.b32 %r2, [%rd4];
  st.param.b32 [r], %r2;
  ret;
}
"), flags: &[], status: 1, says: &["bounds unknown", "line 14 of the PTX: ld.global.b32 %r2, [%rd4]"] },
    Case { name: "a published pointer", file: "pointer.rs", source: rust!("
use core::sync::atomic::AtomicPtr;
static mut DATA: [u32; 2] = [0, 0];
static POINTER: AtomicPtr<u32> = AtomicPtr::new(core::ptr::null_mut());
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn publish() {
    unsafe { DATA[1] = 42 };
    POINTER.store(&raw mut DATA as *mut u32, Release);
}
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn read() -> u32 {
    let pointer = POINTER.load(Acquire);
    if pointer.is_null() { 42 } else { unsafe { *pointer.add(1) } }
}
// litmus: thread P0 = publish @ cta 0
// litmus: thread P1 = read @ cta 1
// litmus: forall P1:return == 42
"), flags: &[], status: 0, says: &["pointer holds"] },
    Case { name: "each CTA has its own shared memory", file: "own.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: thread P1 = f @ cta 1
// litmus: forall P0:return == 0 /\\ P1:return == 0 /\\ s$cta0 == 1 /\\ s$cta1 == 1
.shared .align 4 .u32 s;
.visible .func (.param .b32 r) f() {
  .reg .b32 %r1;
  atom.relaxed.cta.shared.add.u32 %r1, [s], 1;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 0, says: &["own holds"] },
    Case { name: "shared memory of two CTAs", file: "own.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: thread P1 = f @ cta 1
// litmus: forall s == 1
.shared .align 4 .u32 s;
.visible .func f() {
  st.shared.u32 [s], 1;
  ret;
}
"), flags: &[], status: 1, says: &["each CTA has its own `s`: `s$cta0`, `s$cta1`"] },
    Case { name: "generic addresses", file: "generic.ptx", source: ptx!("
// litmus: u32 x
// litmus: thread P0 = f(x) @ cta 0
// litmus: thread P1 = f(x) @ cta 0
// litmus: forall s == 2 /\\ x == 2 /\\ P0:return == 1 
.shared .align 4 .u32 s;
.visible .func (.param .b32 r) f(.param .b64 p) {
  .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p1;
  ld.param.b64 %rd1, [p];
  mov.u64 %rd2, s; cvta.shared.u64 %rd3, %rd2;
  atom.relaxed.gpu.add.u32 %r1, [%rd1], 1;
  atom.relaxed.cta.add.u32 %r1, [%rd3], 1;
  isspacep.shared %p1, %rd3;
  selp.b32 %r2, 1, 0, %p1;
  st.param.b32 [r], %r2;
  ret;
}
"), flags: &[], status: 0, says: &["generic holds"] },
    Case { name: "calls", file: "calls.ptx", source: ptx!("
// litmus: u32 x
// litmus: thread P0 = f(x) @ cta 0
// litmus: thread P1 = f(x) @ cta 1
// litmus: forall x == 4
.func (.param .b32 r) twice(.param .b64 p);
.visible .func (.param .b32 r) f(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1;
  ld.param.b64 %rd1, [p];
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd1; call.uni (b), twice, (a); ld.param.b32 %r1, [b]; }
  st.param.b32 [r], %r1;
  ret;
}
.func (.param .b32 r) twice(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r<3>;
  ld.param.b64 %rd1, [p];
  atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;
  atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;
  st.param.b32 [r], %r2;
  ret;
}
"), flags: &[], status: 0, says: &["calls holds"] },
    Case { name: "a table of branches", file: "table.ptx", source: ptx!("
// litmus: u32 which, flag
// litmus: thread P0 = f(which, 0) @ cta 0
// litmus: thread P1 = set(which, flag) @ cta 1
// litmus: thread P2 = f(flag, 1) @ cta 2
// litmus: exists P0:return == 50
// litmus: exists P0:return == 70
// litmus: forall P0:return == 50 \\/ P0:return == 70
// litmus: forall P2:return == 60
.visible .func (.param .b32 r) f(.param .b64 p, .param .b32 other) {
  .reg .b64 %rd1; .reg .b32 %r<4>; .reg .pred %p1;
  ld.param.b64 %rd1, [p]; ld.param.b32 %r2, [other];
  ld.relaxed.gpu.global.b32 %r1, [%rd1];
  setp.eq.u32 %p1, %r2, 0;
$targets: .branchtargets $zero, $one, $two;
  mov.u32 %r3, 60;
  @%p1 brx.idx %r1, $targets;
  bra.uni $end;
$zero:
  mov.u32 %r3, 50;
  bra.uni $end;
$one:
  mov.u32 %r3, 51;
  bra.uni $end;
$two:
  mov.u32 %r3, 70;
$end:
  st.param.b32 [r], %r3;
  ret;
}
.visible .func set(.param .b64 p, .param .b64 q) {
  .reg .b64 %rd<3>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [q];
  st.relaxed.gpu.global.b32 [%rd1], 2;
  st.relaxed.gpu.global.b32 [%rd2], 9;
  ret;
}
"), flags: &[], status: 0, says: &["4 tests: 4 hold"] },
    Case { name: "unknown: an index after the end of a table of branches", file: "table.ptx", source: ptx!("
// litmus: u32 which = 1
// litmus: thread P0 = f(which) @ cta 0
// litmus: forall P0:return == 1
.visible .func (.param .b32 r) f(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1;
  ld.param.b64 %rd1, [p];
  ld.relaxed.gpu.global.b32 %r1, [%rd1];
$targets: .branchtargets $zero;
  brx.idx %r1, $targets;
$zero:
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 1, says: &["table unknown", "line 13 of the PTX: brx.idx %r1, $targets: an index beyond the table of the branch"] },
    // The text of messages.
    Case { name: "a condition keeps its names", file: "out.ptx", source: MESSAGE, flags: &["--declare", "u32 word, flag, out = 3, pair[2]", "--thread", "P0 = send(word, flag)", "--forall", "out == 7 /\\ pair[1] == 0 /\\ word == 42", "--outcomes"], status: 0, says: &["out does not hold", "forall (out == 7 /\\ pair[1] == 0 /\\ word == 42)", "  word  out  pair[1]\n  42    3    0"] },
    Case { name: "the weakest atomics with which a test holds", file: "weakest.rs", source: rust!("
static FLAG: AtomicU32 = AtomicU32::new(0);
static DATA: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
pub extern \"C\" fn set() { DATA.store(1, Relaxed); FLAG.swap(1, Relaxed); }
#[unsafe(no_mangle)]
pub extern \"C\" fn get() -> u32 { if FLAG.swap(2, Acquire) == 1 { DATA.load(Relaxed) } else { 1 } }
// litmus: thread P0 = set @ cta 0
// litmus: thread P1 = get @ cta 1
// litmus: forall P1:return == 1
"), flags: &[], status: 0, says: &["weakest does not hold", "atom.relaxed.sys.exch.b32  ->  atom.release.sys.exch.b32\n"] },
    Case { name: "the weakest two", file: "two.ptx", source: ptx!("
// litmus: u32 word, flag
// litmus: thread P0 = send(word, flag) @ cta 0
// litmus: thread P1 = receive(word, flag) @ cta 1
// litmus: forall P1:return != 100
.visible .func send(.param .b64 word, .param .b64 flag) {
  .reg .b64 %rd<3>; .reg .b32 %r1;
  ld.param.b64 %rd1, [word]; ld.param.b64 %rd2, [flag];
  st.global.b32 [%rd1], 42;
  atom.relaxed.gpu.global.add.u32 %r1, [%rd2], 1;
  ret;
}
.visible .func (.param .b32 result) receive(.param .b64 word, .param .b64 flag) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.b64 %rd1, [word]; ld.param.b64 %rd2, [flag];
  atom.relaxed.gpu.global.add.u32 %r1, [%rd2], 1;
  ld.global.b32 %r2, [%rd1];
  mad.lo.u32 %r2, %r1, 100, %r2;
  st.param.b32 [result], %r2;
  ret;
}
"), flags: &[], status: 0, says: &["two does not hold", "Each two of these together make it hold", "atom.relaxed.gpu.add.u32  ->  atom.release.gpu.add.u32\n", "atom.relaxed.gpu.add.u32  ->  atom.acquire.gpu.add.u32\n"] },
    // Traps.
    Case { name: "an assertion that may fail", file: "assert.rs", source: rust!("
static FLAG: AtomicU32 = AtomicU32::new(0);
static DATA: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
pub extern \"C\" fn set() { DATA.store(1, Relaxed); FLAG.store(1, Relaxed); }
#[unsafe(no_mangle)]
pub extern \"C\" fn get() { if FLAG.load(Acquire) == 1 { assert!(DATA.load(Relaxed) == 1) } }
// litmus: thread P0 = set @ cta 0
// litmus: thread P1 = get @ cta 1
"), flags: &[], status: 0, says: &["assert does not hold", "assert.rs:11"] },
    Case { name: "an assertion that cannot fail", file: "assert.rs", source: rust!("
static FLAG: AtomicU32 = AtomicU32::new(0);
static DATA: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
pub extern \"C\" fn set() { DATA.store(1, Relaxed); FLAG.store(1, Release); }
#[unsafe(no_mangle)]
pub extern \"C\" fn get() { if FLAG.load(Acquire) == 1 { assert!(DATA.load(Relaxed) == 1) } }
// litmus: thread P0 = set @ cta 0
// litmus: thread P1 = get @ cta 1
"), flags: &[], status: 0, says: &["assert holds"] },
    Case { name: "CUDA's __assertfail", file: "assert.cu", source: cuda!("
extern \"C\" __device__ void __assertfail(const char *, const char *, unsigned, const char *, unsigned long) __attribute__((noreturn));
__device__ uint32_t x;
extern \"C\" __device__ void f() {
  if (__scoped_atomic_fetch_add(&x, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == 1) __assertfail(0, 0, 0, 0, 1);
}
// litmus: test alone
// litmus: thread P0 = f @ cta 0
// litmus: test together
// litmus: thread P0 = f @ cta 0
// litmus: thread P1 = f @ cta 1
"), flags: &[], status: 0, says: &["alone holds", "together does not hold"] },
    Case { name: "a trap that keeps other threads waiting", file: "trap.ptx", source: ptx!("
// litmus: u32 flag
// litmus: thread P0 = stops(flag) @ cta 0
// litmus: thread P1 = waits(flag) @ cta 1
.visible .func stops(.param .b64 p) {
  trap;
}
.visible .func waits(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1; .reg .pred %p1;
  ld.param.b64 %rd1, [p];
$wait:
  ld.acquire.gpu.global.b32 %r1, [%rd1];
  setp.eq.b32 %p1, %r1, 0;
  @%p1 bra $wait;
  ret;
}
"), flags: &[], status: 0, says: &["trap does not hold"] },
    // Arithmetic without an instruction in litmus tests.
    value!("mul.hi.u32", "mul.hi.u32 %r9, %r1, %r2;", 304062475),
    value!("mul.hi.s32", "mul.hi.s32 %r9, %r1, %r2;", 4293609874),
    value!("shf.l.wrap", "shf.l.wrap.b32 %r9, %r1, %r2, %r3;", 1183502143),
    value!("shf.r.wrap", "shf.r.wrap.b32 %r9, %r1, %r2, %r3;", 3489064404),
    value!("bfe.u32", "bfe.u32 %r9, %r1, 5, 11;", 1492),
    value!("bfe.u32 beyond the highest bit", "bfe.u32 %r9, %r1, 28, 11;", 15),
    Case { name: "bfe.u64", file: "value.ptx", source: ptx!("
// litmus: thread P0 = f(18364758546783713944)
// litmus: forall P0:return == 3416887277
.visible .func (.param .b32 r) f(.param .b64 a) {
  .reg .b32 %r<9>; .reg .b64 %rd<4>;
  ld.param.b64 %rd1, [a];
  bfe.u64 %rd2, %rd1, 20, 33;
  cvt.u32.u64 %r1, %rd2;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 0, says: &["value holds"] },
    // Features that the model lacks.
    Case { name: "unknown: a vote", file: "vote.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: forall P0:return == 1
.visible .func (.param .b32 r) f() {
  .reg .b32 %r1; .reg .pred %p1;
  setp.eq.b32 %p1, 1, 1;
  vote.sync.ballot.b32 %r1, %p1, -1;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 1, says: &["vote unknown", "in P0 f, line 10 of the PTX: vote.sync.ballot.b32 %r1, %p1, -1"] },
    Case { name: "unknown: an mbarrier", file: "mbarrier.ptx", source: ptx!("
// litmus: u64 bar[1]
// litmus: thread P0 = f(bar) @ cta 0
// litmus: forall P0:return == 1
.visible .func (.param .b32 r) f(.param .b64 bar) {
  .reg .b32 %r1; .reg .b64 %rd1;
  ld.param.b64 %rd1, [bar];
  mov.b32 %r1, 1;
  mbarrier.init.b64 [%rd1], 1;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 1, says: &["mbarrier unknown", "mbarrier.init.b64 [%rd1], 1: asynchronous operations are modelled in litmus tests, not in kernels"] },
    Case { name: "unknown: a texture", file: "tex.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: forall P0:return == 1
.visible .func (.param .b32 r) f() {
  .reg .f32 %f<5>; .reg .b32 %r1; .reg .b64 %rd1;
  tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1}];
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 1, says: &["tex unknown", "line 9 of the PTX: tex.1d"] },
    Case { name: "unknown: floats", file: "float.cu", source: cuda!("
extern \"C\" __device__ float f(float x) {
  return x * 2;
}
// litmus: thread P0 = f(1) @ cta 0
// litmus: forall P0:return == 1
"), flags: &[], status: 1, says: &["float unknown", "float.cu:8: return x * 2;"] },
    Case { name: "unknown: more iterations", file: "rounds.ptx", source: ptx!("
// litmus: u32 n = 5
// litmus: thread P0 = f(n) @ cta 0
// litmus: thread P1 = f(n) @ cta 1
// litmus: forall n == 0
.visible .func f(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1; .reg .pred %p1;
  ld.param.b64 %rd1, [p];
$again:
  atom.relaxed.gpu.global.add.u32 %r1, [%rd1], -1;
  setp.gt.s32 %p1, %r1, 1;
  @%p1 bra $again;
  ret;
}
"), flags: &["--rounds", "2"], status: 1, says: &["rounds unknown", "rounds"] },
    Case { name: "a constant number of iterations", file: "rounds.cu", source: cuda!("
__device__ uint32_t x;
extern \"C\" __device__ void f(uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) __scoped_atomic_fetch_add(&x, i, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
// litmus: thread P0 = f(9) @ cta 0
// litmus: forall x == 36
"), flags: &["--rounds", "1"], status: 0, says: &["rounds holds"] },
];
