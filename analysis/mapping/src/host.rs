//! The standard mappings of C++ to x86-64 and AArch64, for threads on the host.
//!
//! GCC and LLVM use these rows: <https://www.cl.cam.ac.uk/~pes20/cpp/cpp0xmappings.html> for x86-64, and for AArch64
//! with LSE the instructions that the Arm manual specifies for each ordering. There are two mappings for x86-64, which
//! differ in the seq_cst store, and two for AArch64, which differ in the acquiring load.

use ptx_memory_model::{
    host::{Dmb, HostFence},
    litmus::names::register,
    place::{Place, Processor},
    program::{AtomOp, Instruction, Register, RegisterDeclaration, RmwOp, Statement, Thread},
    ptx::{self, Fence, Ptx, Sem, Semantics},
    source::{Cpp, Order},
};

use crate::translate::{NoProgram, plain};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    Load,
    Store,
    Rmw,
    Fence,
}

/// An instruction in the implementation of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The access itself.
    Access(Semantics),
    /// A read-modify-write that implements a store: its result is not read.
    Exchange(Semantics),
    /// A read-modify-write without a result: the AArch64 implementation of an atomic whose result is unused.
    Discarding(Semantics),
    Barrier(HostFence),
}

/// The implementation of operations of one kind with these orderings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub kind: Kind,
    pub orders: &'static [Order],
    pub steps: Vec<Step>,
}

/// A mapping of C++ to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMapping {
    pub name: String,
    pub processor: Processor,
    pub rows: Vec<Row>,
}

const fn access(sem: Sem) -> Step {
    Step::Access(make_semantics(sem))
}

const fn make_semantics(sem: Sem) -> Semantics {
    Semantics { sem, ..Semantics::WEAK }
}

const MOV: Step = access(Sem::Relaxed);
const LOCK: Step = access(Sem::AcqRel);
const XCHG: Step = Step::Exchange(make_semantics(Sem::AcqRel));
const MFENCE: Step = Step::Barrier(HostFence::Mfence);
const LDR: Step = access(Sem::Relaxed);
const LDAR: Step = access(Sem::Acquire);
const LDAPR: Step = Step::Access(Semantics { pc: true, ..make_semantics(Sem::Acquire) });
const STR: Step = access(Sem::Relaxed);
const STLR: Step = access(Sem::Release);
const LSE: Step = access(Sem::Relaxed);
const LSE_A: Step = access(Sem::Acquire);
const LSE_L: Step = access(Sem::Release);
const LSE_AL: Step = access(Sem::AcqRel);
const DMB_ISH: Step = Step::Barrier(HostFence::Dmb(Dmb::Ish));
const DMB_ISHLD: Step = Step::Barrier(HostFence::Dmb(Dmb::IshLd));

use Order::{AcqRel, Acquire, NonAtomic, Relaxed, Release, SeqCst};

/// The rows of a table.
type Table = [(Kind, &'static [Order], &'static [Step])];

#[rustfmt::skip]
const X86: &Table = &[
    (Kind::Load,  &[NonAtomic, Relaxed, Acquire, SeqCst],         &[MOV]),
    (Kind::Store, &[NonAtomic, Relaxed, Release],                 &[MOV]),
    (Kind::Store, &[SeqCst],                                      &[XCHG]),
    (Kind::Rmw,   &[Relaxed, Acquire, Release, AcqRel, SeqCst],   &[LOCK]),
    (Kind::Fence, &[Acquire, Release, AcqRel],                    &[]),
    (Kind::Fence, &[SeqCst],                                      &[MFENCE]),
];

#[rustfmt::skip]
const AARCH64: &Table = &[
    (Kind::Load,  &[NonAtomic, Relaxed],        &[LDR]),
    (Kind::Load,  &[Acquire],                   &[LDAR]),
    (Kind::Load,  &[SeqCst],                    &[LDAR]),
    (Kind::Store, &[NonAtomic, Relaxed],        &[STR]),
    (Kind::Store, &[Release],                   &[STLR]),
    (Kind::Store, &[SeqCst],                    &[STLR]),
    (Kind::Rmw,   &[Relaxed],                   &[LSE]),
    (Kind::Rmw,   &[Acquire],                   &[LSE_A]),
    (Kind::Rmw,   &[Release],                   &[LSE_L]),
    (Kind::Rmw,   &[AcqRel, SeqCst],            &[LSE_AL]),
    (Kind::Fence, &[Acquire],                   &[DMB_ISHLD]),
    (Kind::Fence, &[Release],                   &[DMB_ISH]),
    (Kind::Fence, &[AcqRel],                    &[DMB_ISH]),
    (Kind::Fence, &[SeqCst],                    &[DMB_ISH]),
];

/// A row that replaces another row.
type Change = (&'static str, Kind, &'static [Order], &'static [Step]);

/// Further mappings that are sound.
#[rustfmt::skip]
const VARIANTS: [(Processor, Change); 2] = [
    (Processor::X86,     ("x86 with MOV; MFENCE", Kind::Store, &[SeqCst],  &[MOV, MFENCE])),
    (Processor::AArch64, ("aarch64 with LDAPR",   Kind::Load,  &[Acquire], &[LDAPR])),
];

/// Unsound mappings, each wrong in one row.
#[rustfmt::skip]
const WRONG: [(Processor, Change); 15] = [
    (Processor::X86,     ("a seq_cst store without MFENCE",       Kind::Store, &[SeqCst],          &[MOV])),
    (Processor::X86,     ("no MFENCE for a seq_cst fence",        Kind::Fence, &[SeqCst],          &[])),
    (Processor::AArch64, ("LDR for an acquire",                   Kind::Load,  &[Acquire],         &[LDR])),
    (Processor::AArch64, ("LDR for a seq_cst load",               Kind::Load,  &[SeqCst],          &[LDR])),
    (Processor::AArch64, ("LDAPR for a seq_cst load",             Kind::Load,  &[SeqCst],          &[LDAPR])),
    (Processor::AArch64, ("STR for a release",                    Kind::Store, &[Release],         &[STR])),
    (Processor::AArch64, ("STR for a seq_cst store",              Kind::Store, &[SeqCst],          &[STR])),
    (Processor::AArch64, ("an acquire atomic without A",          Kind::Rmw,   &[Acquire],         &[LSE])),
    (Processor::AArch64, ("a release atomic without L",           Kind::Rmw,   &[Release],         &[LSE])),
    (Processor::AArch64, ("an acq_rel atomic without A",          Kind::Rmw,   &[AcqRel, SeqCst],  &[LSE_L])),
    (Processor::AArch64, ("an acq_rel atomic without L",          Kind::Rmw,   &[AcqRel, SeqCst],  &[LSE_A])),
    (Processor::AArch64, ("no DMB ISHLD for an acquire fence",    Kind::Fence, &[Acquire],         &[])),
    (Processor::AArch64, ("DMB ISHLD for a release fence",        Kind::Fence, &[Release],         &[DMB_ISHLD])),
    (Processor::AArch64, ("DMB ISHLD for a seq_cst fence",        Kind::Fence, &[SeqCst],          &[DMB_ISHLD])),
    (Processor::AArch64, ("an atomic without a result for one that is not read", Kind::Rmw, &[Relaxed], &[
        Step::Discarding(make_semantics(Sem::Relaxed)),
    ])),
];

impl HostMapping {
    /// The mapping of most compilers for a processor; `None` for a GPU and a NIC.
    pub fn standard(processor: Processor) -> Option<Self> {
        let table = match processor {
            Processor::X86 => X86,
            Processor::AArch64 => AARCH64,
            Processor::Gpu | Processor::Nic => return None,
        };
        let rows = table.iter().map(|&(kind, orders, steps)| Row { kind, orders, steps: steps.to_vec() });
        Some(Self { name: processor.to_string(), processor, rows: rows.collect() })
    }

    fn with(processor: Processor, (name, kind, orders, steps): Change) -> Option<Self> {
        let mut mapping = Self::standard(processor)?;
        mapping.name = name.to_owned();
        let row = mapping.rows.iter_mut().find(|row| row.kind == kind && row.orders == orders)?;
        row.steps = steps.to_vec();
        Some(mapping)
    }

    /// All sound mappings for a processor.
    pub fn right(processor: Processor) -> Vec<Self> {
        let others =
            VARIANTS.iter().filter(|(of, _)| *of == processor).filter_map(|&(of, change)| Self::with(of, change));
        Self::standard(processor).into_iter().chain(others).collect()
    }

    /// Mappings for a processor with one unsound row.
    pub fn wrong(processor: Processor) -> Vec<Self> {
        WRONG.iter().filter(|(of, _)| *of == processor).filter_map(|&(of, change)| Self::with(of, change)).collect()
    }

    fn steps(&self, kind: Kind, order: Order) -> &[Step] {
        let row = self.rows.iter().find(|row| row.kind == kind && row.orders.contains(&order));
        row.map_or(&[], |row| &row.steps)
    }

    /// A thread of the source on the host.
    ///
    /// # Errors
    /// If the thread has a construct that no source language has.
    pub fn thread(&self, source: &Thread<Cpp>) -> Result<Thread<Ptx>, NoProgram> {
        let register = |(index, of): (usize, &RegisterDeclaration)| RegisterDeclaration {
            name: self.register(index),
            ..of.clone()
        };
        let mut thread = Thread {
            place: Place::host(self.processor),
            registers: source.registers.iter().enumerate().map(register).collect(),
            labels: source.labels.clone(),
            code: Vec::new(),
        };
        for Statement { guard, instruction } in &source.code {
            for instruction in self.instructions(instruction, &mut thread)? {
                thread.code.push(Statement { guard: *guard, instruction });
            }
        }
        Ok(thread)
    }

    /// The name of a register with a given number.
    fn register(&self, index: usize) -> String {
        const NAMES: [&str; 8] = ["RAX", "RBX", "RCX", "RDX", "RSI", "RDI", "R8", "R9"];
        match self.processor {
            Processor::X86 => NAMES.get(index).map_or(format!("%r{index}"), |name| (*name).to_owned()),
            _ => format!("X{index}"),
        }
    }

    fn instructions(
        &self,
        of: &Instruction<Cpp>,
        thread: &mut Thread<Ptx>,
    ) -> Result<Vec<ptx::Instruction>, NoProgram> {
        let (kind, order) = match of {
            Instruction::Load { access, .. } => (Kind::Load, access.order),
            Instruction::Store { access, .. } => (Kind::Store, access.order),
            Instruction::Rmw { access, .. } => (Kind::Rmw, joined(access.order, access.failure)),
            Instruction::Fence(fence) => (Kind::Fence, fence.order),
            other => return plain(other).map(|instruction| vec![instruction]).ok_or_else(|| unmodelled(other)),
        };
        self.steps(kind, order).iter().map(|step| spelled(*step, of, thread)).collect()
    }
}

fn unmodelled(of: &Instruction<Cpp>) -> NoProgram {
    NoProgram::Unmodelled(format!("{of:?}"))
}

/// One ordering for a compare-and-exchange that covers success and failure.
fn joined(success: Order, failure: Order) -> Order {
    match (success, failure) {
        (SeqCst, _) | (_, SeqCst) => SeqCst,
        (Release, Acquire) => AcqRel,
        (Relaxed, Acquire) => Acquire,
        (success, _) => success,
    }
}

fn spelled(step: Step, of: &Instruction<Cpp>, thread: &mut Thread<Ptx>) -> Result<ptx::Instruction, NoProgram> {
    // An atomic returns its result in some register, unless the instruction discards it.
    let mut some = |d: Option<Register>| d.or_else(|| Some(register(thread, "%unread")));
    Ok(match (step, of) {
        (Step::Barrier(of), _) => Instruction::Fence(Fence::Host(of)),
        (Step::Access(access), Instruction::Load { d, a, ty, .. }) => {
            Instruction::Load { d: *d, a: *a, ty: *ty, access }
        }
        (Step::Access(access), Instruction::Store { a, b, ty, .. }) => {
            Instruction::Store { a: *a, b: *b, ty: *ty, access }
        }
        (Step::Exchange(access), Instruction::Store { a, b, ty, .. }) => {
            let op = RmwOp::Atom(AtomOp::Exch);
            Instruction::Rmw { op, d: some(None), a: *a, b: *b, c: *b, ty: *ty, access }
        }
        (Step::Access(access), Instruction::Rmw { op, d, a, b, c, ty, .. }) => {
            Instruction::Rmw { op: *op, d: some(*d), a: *a, b: *b, c: *c, ty: *ty, access }
        }
        (Step::Discarding(access), Instruction::Rmw { op, d, a, b, c, ty, .. }) => {
            Instruction::Rmw { op: *op, d: *d, a: *a, b: *b, c: *c, ty: *ty, access }
        }
        (_, other) => return Err(unmodelled(other)),
    })
}
