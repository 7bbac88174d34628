//! The target requirements of LLVM's instructions, and of its intrinsics that are not for NVIDIA GPUs.
//!
//! The name of an instruction has its opcode, the element type of its first operand, and the words `afn` and `vector` for
//! an instruction with the flag and on vectors: `frem f32`, `llvm.sin f32 afn vector`. A second name has the element type
//! of the result: `fptosi to i64`. Integers have the next width of 1, 8, 16, 32 and 64 bits. `wide` precedes types with
//! more than 64 bits: `wide f128`, `wide i128`, and `wide uneven` for an integer by whose width LLVM cannot divide.
//!
//! Missing here are the intrinsics that LLVM's passes replace before its backend, such as the intrinsics of coroutines.

use ptx_lowering::PtxVersion;

use super::row::{IntrinsicFamily, measured as row, row as named};
use crate::needs::{Needs, Span};

const LIBDEVICE: &str = "call the function of libdevice, or clang's math function, which becomes that call";
const AFN: &str = "call the function of libdevice, or add the flag `afn` to a call for `float`";
const NARROWER: &str = "compute with at most 64 bits, or call a function";

/// Vectors of two `float` or `i32`, which are registers from `sm_100` on, and then lack this instruction.
const BEFORE_PAIRS: Needs = Needs::in_spans(PAIRS);
const PAIRS: &[Span] = &[(0..=99, PtxVersion(0, 0)..=PtxVersion(u8::MAX, 0))];

/// The rows. The row with the longest pattern counts.
#[rustfmt::skip]
pub(super) const ROWS: &[IntrinsicFamily] = {
    const NEVER: Needs = Needs::NEVER;
    const ALWAYS: Needs = Needs::ALWAYS;
    const fn since(sm: u32, major: u8, minor: u8) -> Needs { Needs::since(sm, major, minor) }
    &[
        // Instructions.
        named("alloca of variable size",       since(52, 7, 3), "alloca"),
        named("access of no space",            NEVER,           "an access in an address space that PTX lacks").only_in(23),
        named("addrspacecast of no space",     NEVER,           "addrspacecast of an address space that PTX lacks"),
        named("blockaddress",                  NEVER,           "the address of a basic block"),
        named("indirectbr",                    NEVER,           "indirectbr").help("use `switch`"),
        named("inline assembly of 128 bits",   since(70, 6, 0), "an operand of 128 bits of inline assembly"),
        named("memmove between spaces",        NEVER,           "llvm.memmove between address spaces").only_in(23).help("copy through generic addresses"),
        named("scalable vector",               NEVER,           "a scalable vector").help("use a vector of fixed length"),
        // LLVM selects a direct access, and then gives all threads one variable.
        named("thread_local",                  NEVER,           "a thread-local variable"),
        named("vaarg to aggregate",            NEVER,           "va_arg of an aggregate"),

        // Arithmetic with more than 64 bits.
        named("fadd wide",                      NEVER, "fadd of more than 64 bits").help(NARROWER),
        named("fsub wide",                      NEVER, "fsub of more than 64 bits").help(NARROWER),
        named("fmul wide",                      NEVER, "fmul of more than 64 bits").help(NARROWER),
        named("fdiv wide",                      NEVER, "fdiv of more than 64 bits").help(NARROWER),
        named("frem wide",                      NEVER, "frem of more than 64 bits").help(NARROWER),
        named("fcmp wide",                      NEVER, "fcmp of more than 64 bits").help(NARROWER),
        row("fcmp wide ppcf128",ALWAYS),
        named("fptosi wide", NEVER, "fptosi from more than 64 bits").help(NARROWER),
        named("fptosi to wide", NEVER, "fptosi to more than 64 bits").only_in(22).help(NARROWER),
        named("fptoui wide", NEVER, "fptoui from more than 64 bits").help(NARROWER),
        named("fptoui to wide", NEVER, "fptoui to more than 64 bits").only_in(22).help(NARROWER),
        named("sitofp wide", NEVER, "sitofp from more than 64 bits").only_in(22).help(NARROWER),
        named("sitofp to wide", NEVER, "sitofp to more than 64 bits").help(NARROWER),
        named("uitofp wide", NEVER, "uitofp from more than 64 bits").only_in(22).help(NARROWER),
        named("uitofp to wide", NEVER, "uitofp to more than 64 bits").help(NARROWER),
        named("fpext to wide", NEVER, "fpext to more than 64 bits").help(NARROWER),
        named("fptrunc wide", NEVER, "fptrunc from more than 64 bits").help(NARROWER),

        // Mathematical functions.
        row("llvm.acos ", NEVER).help(LIBDEVICE),
        row("llvm.asin ", NEVER).help(LIBDEVICE),
        row("llvm.atan ", NEVER).help(LIBDEVICE),
        row("llvm.atan2 ", NEVER).help(LIBDEVICE),
        row("llvm.cosh ", NEVER).help(LIBDEVICE),
        row("llvm.exp ", NEVER).help(LIBDEVICE),
        row("llvm.exp10 ", NEVER).help(LIBDEVICE),
        row("llvm.llrint ", NEVER).help(LIBDEVICE),
        row("llvm.llround ", NEVER).only_in(22).help(LIBDEVICE),
        row("llvm.llround wide", NEVER).only_in(23).help(LIBDEVICE),
        row("llvm.llround f16", NEVER).only_in(23).help(LIBDEVICE),
        row("llvm.llround bf16", NEVER).only_in(23).help(LIBDEVICE),
        row("llvm.log ", NEVER).help(LIBDEVICE),
        row("llvm.log10 ", NEVER).help(LIBDEVICE),
        row("llvm.log2 ", NEVER).help(LIBDEVICE),
        row("llvm.lrint ", NEVER).help(LIBDEVICE),
        row("llvm.lround ", NEVER).only_in(22).help(LIBDEVICE),
        row("llvm.lround wide", NEVER).only_in(23).help(LIBDEVICE),
        row("llvm.lround f16", NEVER).only_in(23).help(LIBDEVICE),
        row("llvm.lround bf16", NEVER).only_in(23).help(LIBDEVICE),
        row("llvm.modf ", NEVER).only_in(22).help(LIBDEVICE),
        row("llvm.modf wide", NEVER).only_in(23).help(LIBDEVICE),
        row("llvm.pow ", NEVER).help(LIBDEVICE),
        row("llvm.powi ", NEVER).help(LIBDEVICE),
        row("llvm.sincos ", NEVER).help(LIBDEVICE),
        row("llvm.sincospi ", NEVER).help(LIBDEVICE),
        row("llvm.sinh ", NEVER).help(LIBDEVICE),
        row("llvm.tan ", NEVER).help(LIBDEVICE),
        row("llvm.exp2 f64", NEVER).help(LIBDEVICE),
        row("llvm.cos ", NEVER).help(AFN),
        row("llvm.cos bf16 afn", ALWAYS),
        row("llvm.cos f16 afn", ALWAYS),
        row("llvm.cos f32 afn", ALWAYS),
        row("llvm.sin ", NEVER).help(AFN),
        row("llvm.sin bf16 afn", ALWAYS),
        row("llvm.sin f16 afn", ALWAYS),
        row("llvm.sin f32 afn", ALWAYS),
        row("llvm.tanh ", NEVER).help(AFN),
        row("llvm.tanh bf16 afn", since(75, 7, 0)),
        row("llvm.tanh f16 afn", since(75, 7, 0)),
        row("llvm.tanh f32 afn", since(75, 7, 0)),
        named("llvm.canonicalize wide", NEVER, "llvm.canonicalize of more than 64 bits").help(NARROWER),
        named("llvm.ceil wide", NEVER, "llvm.ceil of more than 64 bits").help(NARROWER),
        named("llvm.exp2 wide", NEVER, "llvm.exp2 of more than 64 bits").help(NARROWER),
        named("llvm.floor wide", NEVER, "llvm.floor of more than 64 bits").help(NARROWER),
        named("llvm.fma wide", NEVER, "llvm.fma of more than 64 bits").help(NARROWER),
        named("llvm.fmuladd wide", NEVER, "llvm.fmuladd of more than 64 bits").help(NARROWER),
        named("llvm.frexp wide", NEVER, "llvm.frexp of more than 64 bits").help(NARROWER),
        named("llvm.ldexp wide", NEVER, "llvm.ldexp of more than 64 bits").help(NARROWER),
        named("llvm.maximum wide", NEVER, "llvm.maximum of more than 64 bits").help(NARROWER),
        named("llvm.maximumnum wide", NEVER, "llvm.maximumnum of more than 64 bits").help(NARROWER),
        named("llvm.maxnum wide", NEVER, "llvm.maxnum of more than 64 bits").help(NARROWER),
        named("llvm.minimum wide", NEVER, "llvm.minimum of more than 64 bits").help(NARROWER),
        named("llvm.minimumnum wide", NEVER, "llvm.minimumnum of more than 64 bits").help(NARROWER),
        named("llvm.minnum wide", NEVER, "llvm.minnum of more than 64 bits").help(NARROWER),
        named("llvm.nearbyint wide", NEVER, "llvm.nearbyint of more than 64 bits").help(NARROWER),
        named("llvm.rint wide", NEVER, "llvm.rint of more than 64 bits").help(NARROWER),
        named("llvm.round wide", NEVER, "llvm.round of more than 64 bits").help(NARROWER),
        named("llvm.roundeven wide", NEVER, "llvm.roundeven of more than 64 bits").help(NARROWER),
        named("llvm.sqrt wide", NEVER, "llvm.sqrt of more than 64 bits").help(NARROWER),
        named("llvm.trunc wide", NEVER, "llvm.trunc of more than 64 bits").help(NARROWER),
        named("llvm.fptosi.sat wide", NEVER, "llvm.fptosi.sat of more than 64 bits").help(NARROWER),
        named("llvm.fptoui.sat wide", NEVER, "llvm.fptoui.sat of more than 64 bits").help(NARROWER),
        named("llvm.fptosi.sat to wide", NEVER, "llvm.fptosi.sat to more than 64 bits").only_in(22).help(NARROWER),
        named("llvm.fptoui.sat to wide", NEVER, "llvm.fptoui.sat to more than 64 bits").only_in(22).help(NARROWER),
        row("llvm.canonicalize bf16", NEVER),
        row("llvm.canonicalize f16", since(53, 3, 2)),
        named("llvm.canonicalize f16* vector", NEVER, "llvm.canonicalize of a vector"),
        named("llvm.canonicalize f32* vector", BEFORE_PAIRS, "llvm.canonicalize of a vector"),
        named("llvm.bswap i32 vector", BEFORE_PAIRS, "llvm.bswap of a vector"),
        named("llvm.frexp.exponent f16* vector", since(100, 8, 6), "llvm.frexp of a vector without its fractions"),
        named("llvm.frexp.exponent bf16* vector", since(100, 8, 6), "llvm.frexp of a vector without its fractions"),
        named("llvm.vector.reduce.fadd wide", NEVER, "llvm.vector.reduce.fadd of more than 64 bits"),
        named("llvm.vector.reduce.fmul wide", NEVER, "llvm.vector.reduce.fmul of more than 64 bits"),
        named("llvm.fshl wide uneven", NEVER, "llvm.fshl of this width").only_in(22),
        named("llvm.fshr wide uneven", NEVER, "llvm.fshr of this width").only_in(22),
        row("llvm.sdiv.fix", NEVER),
        row("llvm.sdiv.fix i16 vector", since(100, 8, 6)),
        row("llvm.sdiv.fix.sat i16 vector", since(100, 8, 6)),
        row("llvm.udiv.fix i64", NEVER),
        row("llvm.udiv.fix wide", NEVER),
        row("llvm.udiv.fix.sat i64", NEVER),
        row("llvm.udiv.fix.sat wide", NEVER),

        // Strict floating-point operations.
        row("llvm.experimental.constrained.fadd wide", NEVER),
        row("llvm.experimental.constrained.fadd f16", since(53, 3, 2)),
        row("llvm.experimental.constrained.fadd bf16", since(90, 7, 8)),
        row("llvm.experimental.constrained.fsub wide", NEVER),
        row("llvm.experimental.constrained.fsub f16", since(53, 3, 2)),
        row("llvm.experimental.constrained.fsub bf16", since(90, 7, 8)),
        row("llvm.experimental.constrained.fmul wide", NEVER),
        row("llvm.experimental.constrained.fmul f16", since(53, 3, 2)),
        row("llvm.experimental.constrained.fmul bf16", since(90, 7, 8)),
        row("llvm.experimental.constrained.fdiv wide", NEVER),
        row("llvm.experimental.constrained.fdiv f16", NEVER),
        row("llvm.experimental.constrained.fdiv bf16", NEVER),
        row("llvm.experimental.constrained.sqrt wide", NEVER),
        row("llvm.experimental.constrained.sqrt f16", NEVER),
        row("llvm.experimental.constrained.sqrt bf16", NEVER),
        row("llvm.experimental.constrained.frem ", NEVER),
        row("llvm.experimental.constrained.fptosi ", since(90, 7, 8)),
        row("llvm.experimental.constrained.fptosi wide", NEVER),

        // Control of the machine.
        row("llvm.addressofreturnaddress", NEVER),
        row("llvm.adjust.trampoline", NEVER),
        row("llvm.clear_cache", NEVER),
        row("llvm.get.fpenv", NEVER),
        row("llvm.get.fpmode", NEVER),
        row("llvm.init.trampoline", NEVER),
        row("llvm.pcmarker", NEVER),
        row("llvm.read_register", NEVER),
        row("llvm.read_volatile_register", NEVER),
        row("llvm.reset.fpenv", NEVER),
        row("llvm.reset.fpmode", NEVER),
        row("llvm.set.fpenv", NEVER),
        row("llvm.set.fpmode", NEVER),
        row("llvm.set.rounding", NEVER),
        row("llvm.sponentry", NEVER),
        row("llvm.swift.async.context.addr", NEVER),
        row("llvm.thread.pointer", NEVER),
        row("llvm.vscale", NEVER),
        row("llvm.write_register", NEVER),
        row("llvm.stackrestore", since(52, 7, 3)),
        row("llvm.stacksave", since(52, 7, 3)),

        // The intrinsics of other targets.
        row("llvm.aarch64.", NEVER),
        row("llvm.amdgcn.", NEVER),
        row("llvm.arm.", NEVER),
        row("llvm.bpf.", NEVER),
        row("llvm.dx.", NEVER),
        row("llvm.hexagon.", NEVER),
        row("llvm.loongarch.", NEVER),
        row("llvm.mips.", NEVER),
        row("llvm.ppc.", NEVER),
        row("llvm.r600.", NEVER),
        row("llvm.riscv.", NEVER),
        row("llvm.s390.", NEVER),
        row("llvm.spv.", NEVER),
        row("llvm.ve.", NEVER),
        row("llvm.wasm.", NEVER),
        row("llvm.x86.", NEVER),
        row("llvm.xcore.", NEVER),
    ]
};
